//! What the chain says: α, and what the components say of rows.

pub mod alpha;
pub mod predictive;
