//! What can be added from outside, as docs/dev/extend-*.md quote it: a family, a consolidation, an engine.

mod consolidation;
mod engine;
mod family;
