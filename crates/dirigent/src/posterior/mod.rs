//! What the chain says: α, the draws, one partition that stands for them, how sure a row is of its cluster.

pub mod alpha;
pub mod draws;
pub mod membership;
pub mod point;
