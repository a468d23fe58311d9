//! Mean and range of what several seeds say.

/// The mean of some numbers, the least and the greatest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// None of no numbers.
    pub(crate) fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let numbers: Vec<f64> = numbers.into_iter().collect();
        let mean = mean(numbers.iter().copied())?;
        let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { mean, low, high })
    }

    /// Each number shifted or scaled alike.
    pub(crate) fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self { mean: change(self.mean), low: change(self.low), high: change(self.high) }
    }

    /// None if one of the numbers is missing.
    pub(crate) fn of_all(numbers: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        numbers.into_iter().collect::<Option<Vec<f64>>>().and_then(Self::of)
    }
}

/// None of no numbers.
pub(crate) fn mean(numbers: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, n_numbers) = numbers.into_iter().fold((0.0, 0usize), |(sum, n), number| (sum + number, n + 1));
    (n_numbers > 0).then(|| sum / n_numbers as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_mean_and_range() {
        assert_eq!(Spread::of([3.0, 1.0, 5.0]), Some(Spread { mean: 3.0, low: 1.0, high: 5.0 }));
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of_all([Some(1.0), None]), None);
    }
}
