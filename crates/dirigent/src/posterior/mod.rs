//! What the chain says: α.

pub mod alpha;
