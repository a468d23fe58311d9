//! Eigenvalues and eigenvectors of a symmetric matrix: Householder reflections to three diagonals,
//! then implicitly shifted QR steps.
//!
//! One thread and one fixed order, so the same matrix gives the same bits everywhere. Eigenvectors
//! are kept as rows, which makes every inner loop one over neighbours.

/// Eigenvalues in falling order, with their eigenvectors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Eigen {
    /// The eigenvalues.
    pub(crate) values: Vec<f64>,
    /// To each a vector of length 1, whose largest component (the first of these) is positive.
    pub(crate) vectors: Vec<Vec<f64>>,
}

/// QR steps for one eigenvalue after which it is taken as it is. Two or three are usual.
const MOST_STEPS: usize = 100;
/// Below this, with the largest entry scaled to 1, squares may vanish.
const NOTHING: f64 = 1e-140;

/// Takes a symmetric matrix of finite numbers apart, given row after row.
pub(crate) fn symmetric(n: usize, mut matrix: Vec<f64>) -> Eigen {
    assert_eq!(matrix.len(), n * n, "a square matrix");
    let largest = matrix.iter().fold(0.0f64, |largest, entry| largest.max(entry.abs()));
    let scale = if largest > 0.0 { largest } else { 1.0 };
    matrix.iter_mut().for_each(|entry| *entry /= scale);
    let mut tridiagonal = reduce(n, matrix);
    tridiagonal.diagonalize();
    let Tridiagonal { diagonal, basis, .. } = tridiagonal;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| diagonal[b].total_cmp(&diagonal[a]));
    let vector = |ix: usize| upright(basis[ix * n..(ix + 1) * n].to_vec());
    Eigen {
        values: order.iter().map(|&ix| diagonal[ix] * scale).collect(),
        vectors: order.iter().map(|&ix| vector(ix)).collect(),
    }
}

/// The vector or its opposite, so that the largest component is positive.
fn upright(mut vector: Vec<f64>) -> Vec<f64> {
    let largest = vector.iter().fold(0.0f64, |largest, x| if x.abs() > largest.abs() { *x } else { largest });
    if largest < 0.0 {
        vector.iter_mut().for_each(|x| *x = -*x);
    }
    vector
}

/// A matrix of three diagonals, and the basis (as rows) in which the first matrix looks so.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// One shorter; entry i is beside the diagonal entries i and i + 1.
    beside: Vec<f64>,
    basis: Vec<f64>,
}

fn reduce(n: usize, mut matrix: Vec<f64>) -> Tridiagonal {
    let mut basis = vec![0.0; n * n];
    (0..n).for_each(|ix| basis[ix * n + ix] = 1.0);
    let mut beside = vec![0.0; n.saturating_sub(1)];
    for k in 0..n.saturating_sub(1) {
        // the row right of the diagonal is turned into a multiple of its first axis
        let mut mirror = matrix[k * n + k + 1..(k + 1) * n].to_vec();
        let norm = dot(&mirror, &mirror).sqrt();
        let rest = mirror[1..].iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
        if rest <= NOTHING {
            beside[k] = mirror[0];
            continue;
        }
        beside[k] = if mirror[0] > 0.0 { -norm } else { norm };
        mirror[0] -= beside[k];
        let factor = 2.0 / dot(&mirror, &mirror);
        reflect_both_sides(&mut matrix, n, k + 1, &mirror, factor);
        reflect_rows(&mut basis, n, k + 1, &mirror, factor);
    }
    let diagonal = (0..n).map(|ix| matrix[ix * n + ix]).collect();
    Tridiagonal { diagonal, beside, basis }
}

/// H M H for H = 1 − factor · mirror mirrorᵀ in the coordinates from `first` on; what is left of
/// them is not needed any more.
fn reflect_both_sides(matrix: &mut [f64], n: usize, first: usize, mirror: &[f64], factor: f64) {
    let mut image = vec![0.0; mirror.len()];
    for (row, &weight) in matrix.chunks_exact(n).skip(first).zip(mirror) {
        add_multiple(&mut image, weight * factor, &row[first..]);
    }
    let overlap = dot(&image, mirror);
    add_multiple(&mut image, -0.5 * factor * overlap, mirror);
    for ((row, &m), &w) in matrix.chunks_exact_mut(n).skip(first).zip(mirror).zip(&image) {
        for ((entry, &mirror), &image) in row[first..].iter_mut().zip(mirror).zip(&image) {
            *entry -= m * image + w * mirror;
        }
    }
}

/// H M.
fn reflect_rows(matrix: &mut [f64], n: usize, first: usize, mirror: &[f64], factor: f64) {
    let mut overlap = vec![0.0; n];
    for (row, &weight) in matrix.chunks_exact(n).skip(first).zip(mirror) {
        add_multiple(&mut overlap, weight, row);
    }
    for (row, &weight) in matrix.chunks_exact_mut(n).skip(first).zip(mirror) {
        add_multiple(row, -factor * weight, &overlap);
    }
}

impl Tridiagonal {
    fn diagonalize(&mut self) {
        let (mut last, mut n_steps) = (self.diagonal.len().saturating_sub(1), 0);
        while last > 0 {
            if self.is_apart(last - 1) || n_steps == MOST_STEPS {
                (last, n_steps) = (last - 1, 0);
                continue;
            }
            let first = (0..last - 1).rev().find(|ix| self.is_apart(*ix)).map_or(0, |ix| ix + 1);
            self.step(first, last);
            n_steps += 1;
        }
    }

    /// Whether nothing to speak of connects the coordinates `ix` and `ix + 1`.
    fn is_apart(&self, ix: usize) -> bool {
        let around = self.diagonal[ix].abs() + self.diagonal[ix + 1].abs();
        self.beside[ix].abs() <= (f64::EPSILON * around).max(NOTHING)
    }

    /// One implicit QR step on the block from `first` to `last`, shifted by the eigenvalue of its
    /// lower corner that is nearer to the corner.
    fn step(&mut self, first: usize, last: usize) {
        let corner = self.beside[last - 1];
        let half_gap = (self.diagonal[last - 1] - self.diagonal[last]) / 2.0;
        let root = (half_gap * half_gap + corner * corner).sqrt();
        let shift = self.diagonal[last] - corner * corner / (half_gap + if half_gap < 0.0 { -root } else { root });
        let (mut along, mut across) = (self.diagonal[first] - shift, self.beside[first]);
        for k in first..last {
            let length = (along * along + across * across).sqrt();
            let (cos, sin) = if length > 0.0 { (along / length, across / length) } else { (1.0, 0.0) };
            if k > first {
                self.beside[k - 1] = length;
            }
            let (a, b, c) = (self.diagonal[k], self.beside[k], self.diagonal[k + 1]);
            self.diagonal[k] = cos * cos * a + 2.0 * cos * sin * b + sin * sin * c;
            self.diagonal[k + 1] = sin * sin * a - 2.0 * cos * sin * b + cos * cos * c;
            self.beside[k] = cos * sin * (c - a) + (cos * cos - sin * sin) * b;
            along = self.beside[k];
            if k + 1 < last {
                across = sin * self.beside[k + 1];
                self.beside[k + 1] *= cos;
            }
            self.turn(k, cos, sin);
        }
    }

    /// Turns the basis vectors `k` and `k + 1` in their plane.
    fn turn(&mut self, k: usize, cos: f64, sin: f64) {
        let n = self.diagonal.len();
        let (upper, lower) = self.basis[k * n..(k + 2) * n].split_at_mut(n);
        for (upper, lower) in upper.iter_mut().zip(lower) {
            (*upper, *lower) = (cos * *upper + sin * *lower, cos * *lower - sin * *upper);
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add_multiple(sum: &mut [f64], factor: f64, of: &[f64]) {
    sum.iter_mut().zip(of).for_each(|(sum, x)| *sum += factor * x);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, Seed};

    /// Checks A v = λ v, that vectors are orthonormal and upright, and that values fall.
    fn check(n: usize, matrix: Vec<f64>) -> Eigen {
        let eigen = symmetric(n, matrix.clone());
        let size = matrix.iter().fold(f64::MIN_POSITIVE, |largest, entry| largest.max(entry.abs())) * n as f64;
        assert!(eigen.values.is_sorted_by(|a, b| a >= b));
        for (ix, (value, vector)) in eigen.values.iter().zip(&eigen.vectors).enumerate() {
            for (row, x) in matrix.chunks_exact(n).zip(vector) {
                assert!((dot(row, vector) - value * x).abs() < 1e-14 * size, "{n}: {value} {}", dot(row, vector));
            }
            for (other_ix, other) in eigen.vectors.iter().enumerate() {
                let expected = if ix == other_ix { 1.0 } else { 0.0 };
                assert!((dot(vector, other) - expected).abs() < 1e-13, "{n}: {}", dot(vector, other));
            }
            assert!(vector.iter().all(|x| x.abs() <= vector.iter().fold(0.0, |largest: f64, x| largest.max(*x))));
        }
        eigen
    }

    fn random(n: usize, rank: usize) -> Vec<f64> {
        let mut stream = Seed::new(3).stream(Role::Synthetic, 0, n as u64);
        let factors: Vec<f64> = (0..n * rank).map(|_| stream.normal()).collect();
        let entry = |a: usize, b: usize| dot(&factors[a * rank..(a + 1) * rank], &factors[b * rank..(b + 1) * rank]);
        (0..n * n).map(|ix| entry(ix / n, ix % n)).collect()
    }

    #[test]
    fn a_matrix_is_taken_apart_whatever_its_rank_and_scale() {
        for n in [1, 2, 3, 10, 60] {
            check(n, random(n, n));
            check(n, random(n, 1));
            check(n, random(n, n.div_ceil(2)));
            check(n, random(n, n).iter().map(|entry| entry * 1e200).collect());
            check(n, random(n, n).iter().map(|entry| entry * 1e-200).collect());
        }
    }

    #[test]
    fn known_eigenvalues_are_found() {
        assert!(are_close(&check(2, vec![2.0, 1.0, 1.0, 2.0]).values, &[3.0, 1.0]));
        assert_eq!(check(3, vec![1.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 3.0]).values, [5.0, 3.0, 1.0]);
        assert_eq!(check(3, vec![0.0; 9]).values, [0.0; 3]);
        let identity: Vec<f64> = (0..25).map(|ix| if ix % 6 == 0 { 1.0 } else { 0.0 }).collect();
        assert_eq!(check(5, identity).values, [1.0; 5]);
        // −1 beside 2: the second difference, with eigenvalues 2 − 2 cos(jπ/(n+1))
        let n = 30;
        let entry = |ix: usize| match (ix / n).abs_diff(ix % n) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        };
        let exact = |j: usize| 2.0 - 2.0 * libm::cos(j as f64 * std::f64::consts::PI / (n + 1) as f64);
        let expected: Vec<f64> = (1..=n).rev().map(exact).collect();
        assert!(are_close(&check(n, (0..n * n).map(entry).collect()).values, &expected));
    }

    fn are_close(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-13)
    }
}
