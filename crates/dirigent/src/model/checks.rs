//! Numbers that a user gave, checked.

use crate::error::{InputError, Result};

/// The value, which must be positive.
pub(super) fn positive(option: &str, value: f64) -> Result<f64> {
    above(option, value, 0.0, "a positive number")
}

/// The value, which must be above a bound.
pub(super) fn above(option: &str, value: f64, bound: f64, what: &str) -> Result<f64> {
    if value > bound && value.is_finite() {
        return Ok(value);
    }
    let problem = format!("{option} must be {what}, got {value}");
    Err(InputError::new(problem).hint(format!("leave {option} out to have it chosen from the data")).into())
}

/// The value, which must be finite.
pub(super) fn finite(option: &str, value: f64) -> Result<f64> {
    above(option, value, f64::NEG_INFINITY, "a finite number")
}
