//! What the chain says: α, how long to listen to it, whether several chains agree, and what the components say of rows.

pub mod alpha;
pub mod diagnostics;
pub mod horizon;
pub mod predictive;
pub mod stationary;
