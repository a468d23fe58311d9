//! What the chain says: α, how long to listen to it, whether several chains agree; what the draws
//! say, and one partition that stands for them; what the components say of rows.

pub mod alpha;
pub mod diagnostics;
pub mod draws;
pub mod generate;
pub mod horizon;
pub mod membership;
pub mod point;
pub mod predictive;
pub mod stationary;
