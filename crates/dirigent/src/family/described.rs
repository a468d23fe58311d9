//! How a family describes itself: when a fit begins, in warnings, in the model file.

use crate::stats::Stats;

/// A family that can speak of itself.
pub trait FamilyText {
    /// Its name, with its kind where there are several.
    fn name(&self) -> &str;

    /// The parameters of its prior, as the options of the command name them.
    fn priors(&self) -> Vec<(&'static str, f64)>;

    /// Why all rows may have ended in one component, and what to try.
    fn cause_of_one(&self) -> String;

    /// Why there may be far too many components, and what to try.
    fn cause_of_many(&self) -> String;

    /// What is wrong with the parameters, if anything: they may have been read from a file.
    fn problem(&self) -> Option<String>;

    /// How predictions are computed from the arrays of the model file, in words and formulas.
    fn formula(&self) -> &'static str;

    /// Arrays of the model file that no component changes.
    fn constants(&self) -> Vec<NamedArray>;

    /// Arrays that say of the components what people want to know, such as their means.
    fn arrays(&self, components: &[Stats]) -> Vec<NamedArray>;
}

/// An array with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedArray {
    /// What it is called.
    pub name: &'static str,
    /// Its lengths.
    pub shape: Vec<usize>,
    /// Its numbers, the last index running fastest.
    pub numbers: Vec<f64>,
}

impl NamedArray {
    /// One number for each column.
    pub fn of_columns(name: &'static str, numbers: &[f64]) -> Self {
        Self { name, shape: vec![numbers.len()], numbers: numbers.to_vec() }
    }

    /// One row of numbers for each component.
    pub fn of_components<I: Iterator<Item = f64>>(
        name: &'static str,
        components: &[Stats],
        length: usize,
        row: impl FnMut(&Stats) -> I,
    ) -> Self {
        Self { name, shape: vec![components.len(), length], numbers: components.iter().flat_map(row).collect() }
    }
}

/// What is wrong with a number that must be positive.
pub(super) fn not_positive(name: &str, value: f64) -> Option<String> {
    let is_positive = value > 0.0 && value.is_finite();
    (!is_positive).then(|| format!("`{name}` must be a positive number, got {value}"))
}
