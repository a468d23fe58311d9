//! Two axes along which clusters differ most: principal components of the clusters' points, weighed by their sizes.
//!
//! Rows count a little, too, so that there are two axes even where there are one or two clusters.

/// Rounds of the power method; a plot needs no more digits.
const ROUNDS: usize = 60;
/// What all rows together count, in shares of what all clusters do.
const WEIGHT_OF_ROWS: f64 = 1e-3;
/// Rows that are looked at.
const MOST_ROWS: usize = 400;

/// A plane in the space of features.
#[derive(Debug, Clone)]
pub(crate) struct Plane {
    middle: Vec<f64>,
    /// Two directions of length 1, at right angles.
    pub(crate) axes: [Vec<f64>; 2],
    /// The share of the clusters' spread that lies along each.
    pub(crate) shares: [f64; 2],
}

impl Plane {
    /// The plane of clusters (points and weights that sum to 1) and rows.
    pub(crate) fn of(clusters: &[Vec<f64>], weights: &[f64], rows: &[Vec<f64>]) -> Self {
        let n_features = clusters[0].len();
        let mut middle = vec![0.0; n_features];
        clusters.iter().zip(weights).for_each(|(point, weight)| add(&mut middle, *weight, point));
        let centred = |point: &[f64], weight: f64| -> Vec<f64> {
            point.iter().zip(&middle).map(|(x, middle)| (x - middle) * weight.sqrt()).collect()
        };
        let mut vectors: Vec<Vec<f64>> =
            clusters.iter().zip(weights).map(|(point, weight)| centred(point, *weight)).collect();
        let n_clusters = vectors.len();
        let step = rows.len().div_ceil(MOST_ROWS).max(1);
        let n_looked_at = rows.len().div_ceil(step).max(1);
        vectors.extend(rows.iter().step_by(step).map(|row| centred(row, WEIGHT_OF_ROWS / n_looked_at as f64)));
        let spread = |vectors: &[Vec<f64>]| vectors.iter().map(|vector| dot(vector, vector)).sum::<f64>();
        let total = spread(&vectors[..n_clusters]);
        let mut shares = [0.0; 2];
        let axes = [0, 1].map(|ix| {
            let axis = longest(&vectors, n_features);
            let along: f64 = vectors[..n_clusters].iter().map(|vector| dot(vector, &axis).powi(2)).sum();
            shares[ix] = if total > 0.0 { along / total } else { 0.0 };
            for vector in &mut vectors {
                let part = dot(vector, &axis);
                add(vector, -part, &axis);
            }
            axis
        });
        Self { middle, axes, shares }
    }

    /// Where a point lies in the plane.
    pub(crate) fn place(&self, point: &[f64]) -> [f64; 2] {
        let along = |axis: &Vec<f64>| axis.iter().zip(point).zip(&self.middle).map(|((a, x), m)| a * (x - m)).sum();
        [along(&self.axes[0]), along(&self.axes[1])]
    }
}

/// The direction along which the vectors are longest, with its largest entry positive; the first axis where they have no length.
fn longest(vectors: &[Vec<f64>], n_features: usize) -> Vec<f64> {
    let zero = || vec![0.0; n_features];
    // all of them, each with a weight of its own: a beginning that is hardly ever at right angles to the direction sought
    let mut axis = zero();
    vectors.iter().enumerate().for_each(|(ix, vector)| add(&mut axis, 0.1 + (ix as f64 * 0.618_034) % 1.0, vector));
    for _ in 0..ROUNDS {
        let length = dot(&axis, &axis).sqrt();
        if length < 1e-300 {
            let mut axis = zero();
            axis[0] = 1.0;
            return axis;
        }
        axis.iter_mut().for_each(|x| *x /= length);
        let mut next = zero();
        vectors.iter().for_each(|vector| add(&mut next, dot(vector, &axis), vector));
        axis = next;
    }
    let length = dot(&axis, &axis).sqrt().max(f64::MIN_POSITIVE);
    let largest = axis.iter().fold(0.0f64, |largest, x| if x.abs() > largest.abs() { *x } else { largest });
    let sign = if largest < 0.0 { -1.0 } else { 1.0 };
    axis.iter().map(|x| sign * x / length).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(sum: &mut [f64], factor: f64, of: &[f64]) {
    sum.iter_mut().zip(of).for_each(|(sum, x)| *sum += factor * x);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axes_are_those_along_which_clusters_differ() {
        let clusters = [vec![0.0, 9.0, 1.0], vec![0.0, -9.0, 1.0], vec![3.0, 0.0, 1.0], vec![-3.0, 0.0, 1.0]];
        let plane = Plane::of(&clusters, &[0.25; 4], &[vec![0.0, 0.0, 50.0]]);
        assert!((plane.axes[0][1] - 1.0).abs() < 1e-6 && (plane.axes[1][0] - 1.0).abs() < 1e-6, "{plane:?}");
        assert!((plane.shares[0] - 0.9).abs() < 1e-6 && (plane.shares[1] - 0.1).abs() < 1e-6);
        let [x, y] = plane.place(&[3.0, 9.0, 7.0]);
        assert!((x - 9.0).abs() < 1e-3 && (y - 3.0).abs() < 1e-3);
    }

    #[test]
    fn one_cluster_is_seen_by_its_rows_and_nothing_at_all_does_no_harm() {
        let rows = [vec![0.0, 2.0], vec![0.0, -2.0], vec![1.0, 0.0], vec![-1.0, 0.0]];
        let plane = Plane::of(&[vec![0.0, 0.0]], &[1.0], &rows);
        assert!((plane.axes[0][1] - 1.0).abs() < 1e-6 && plane.shares == [0.0, 0.0], "{plane:?}");
        let plane = Plane::of(&[vec![5.0]], &[1.0], &[]);
        assert_eq!(plane.place(&[6.0]), [1.0, 1.0]);
    }
}
