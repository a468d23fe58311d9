//! What the chain says: α, how long to listen to it, and whether several chains agree.

pub mod alpha;
pub mod diagnostics;
pub mod horizon;
pub mod stationary;
