//! Small symmetric matrices: Cholesky factors, their inverses, products and rank-one changes.
//!
//! A triangle is packed: the lower one, row after row, so that entry (i, j) with j ≤ i is at
//! i(i+1)/2 + j and every row lies together.
//!
//! Matrices here are positive definite on paper, but rounding may say otherwise (columns that
//! depend on one another, constant columns). So a pivot is at least [`SMALLEST_PIVOT`] of its
//! diagonal entry, and no entry of a factor is larger than the root of its row's diagonal entry,
//! which on paper it never is. Thus every factor is finite and its diagonal positive, whatever the
//! matrix was rounded to.

use std::ops::Range;

use crate::special::dot;

/// The smallest pivot, as a share of the diagonal entry: some thousand times what rounding leaves
/// of it.
const SMALLEST_PIVOT: f64 = 1e-12;

/// The length of a packed triangle.
pub(crate) const fn packed_len(n: usize) -> usize {
    n * (n + 1) / 2
}

/// Where a row lies, its diagonal entry last.
#[inline(always)]
pub(crate) fn row(i: usize) -> Range<usize> {
    packed_len(i)..packed_len(i + 1)
}

/// Where a diagonal entry lies.
#[inline(always)]
pub(crate) fn diagonal(i: usize) -> usize {
    packed_len(i + 1) - 1
}

/// a += factor · b.
#[inline(always)]
pub(crate) fn add_scaled(a: &mut [f64], factor: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += factor * b);
}

/// Replaces a matrix of n rows by its factor L, A = LLᵀ.
pub(crate) fn factor(matrix: &mut [f64], n: usize) {
    for i in 0..n {
        let (before, of_row) = matrix.split_at_mut(packed_len(i));
        let on_diagonal = of_row[i];
        let bound = on_diagonal.sqrt();
        for j in 0..i {
            let above = &before[row(j)];
            let entry = (of_row[j] - dot(&of_row[..j], &above[..j])) / above[j];
            of_row[j] = entry.clamp(-bound, bound);
        }
        let pivot = on_diagonal - dot(&of_row[..i], &of_row[..i]);
        of_row[i] = pivot.max(SMALLEST_PIVOT * on_diagonal).sqrt();
    }
}

/// Whether a matrix is positive definite by more than rounding.
pub(crate) fn is_positive_definite(matrix: &[f64], n: usize) -> bool {
    let is_sound = |i: usize| matrix[diagonal(i)] > 0.0 && matrix[row(i)].iter().all(|entry| entry.is_finite());
    if !(0..n).all(is_sound) {
        return false;
    }
    let mut factored = matrix.to_vec();
    factor(&mut factored, n);
    (0..n).all(|i| factored[diagonal(i)].powi(2) > 2.0 * SMALLEST_PIVOT * matrix[diagonal(i)])
}

/// ln |A| of a factored matrix.
pub(crate) fn log_determinant(factor: &[f64], n: usize) -> f64 {
    2.0 * (0..n).map(|i| libm::log(factor[diagonal(i)])).sum::<f64>()
}

/// Replaces b by the x of Lx = b.
pub(crate) fn solve(factor: &[f64], b: &mut [f64]) {
    for i in 0..b.len() {
        let of_row = &factor[row(i)];
        b[i] = (b[i] - dot(&of_row[..i], &b[..i])) / of_row[i];
    }
}

/// Replaces b by the x of Lᵀx = b.
pub(crate) fn solve_transposed(factor: &[f64], b: &mut [f64]) {
    for i in (0..b.len()).rev() {
        let of_row = &factor[row(i)];
        b[i] /= of_row[i];
        let x = b[i];
        add_scaled(&mut b[..i], -x, &of_row[..i]);
    }
}

/// Replaces x by Lx.
pub(crate) fn multiply(factor: &[f64], x: &mut [f64]) {
    for i in (0..x.len()).rev() {
        x[i] = dot(&factor[row(i)], &x[..=i]);
    }
}

/// Replaces x by Lᵀx.
pub(crate) fn multiply_transposed(factor: &[f64], x: &mut [f64]) {
    for i in 0..x.len() {
        let (of_row, along) = (&factor[row(i)], x[i]);
        x[i] = 0.0;
        add_scaled(&mut x[..=i], along, of_row);
    }
}

/// ‖Lx‖².
#[inline(always)]
pub(crate) fn squared_norm_of_product(factor: &[f64], x: &[f64]) -> f64 {
    let mut square = 0.0;
    for i in 0..x.len() {
        let y = dot(&factor[row(i)], &x[..=i]);
        square += y * y;
    }
    square
}

/// The inverse of a factor.
pub(crate) fn invert(factor: &[f64], n: usize, inverse: &mut [f64]) {
    for i in 0..n {
        let (before, of_row) = inverse[..packed_len(i + 1)].split_at_mut(packed_len(i));
        let factors = &factor[row(i)];
        of_row.fill(0.0);
        for j in 0..i {
            add_scaled(&mut of_row[..=j], factors[j], &before[row(j)]);
        }
        let scale = 1.0 / factors[i];
        of_row[..i].iter_mut().for_each(|entry| *entry *= -scale);
        of_row[i] = scale;
    }
}

/// The product of two lower triangles; the left one is given row by row, its diagonal last.
pub(crate) fn multiply_triangles(left: &[f64], right: &[f64], n: usize, product: &mut [f64]) {
    for i in 0..n {
        let of_row = &mut product[row(i)];
        of_row.fill(0.0);
        for (j, entry) in left[row(i)].iter().enumerate() {
            add_scaled(&mut of_row[..=j], *entry, &right[row(j)]);
        }
    }
}

/// Changes W = L⁻¹ of A to that of A + sign·c·ddᵀ, where `whitened` is √c·Wd; the ratio of the
/// determinants is returned. `partial` is room for a row. A ratio near 0 (only where something is
/// taken out) shows that little is left of the precision.
///
/// With v = √c·Wd, the new matrix is L(I + sign·vvᵀ)Lᵀ. The inverse factor of the middle is known
/// in closed form: with ρ_i = 1 + sign·Σ_{j≤i} v_j², row i of the new W is √(ρ_{i−1}/ρ_i)·(W_i −
/// sign·v_i/ρ_{i−1}·Σ_{j<i} v_jW_j). In exact arithmetic all ρ are positive.
#[inline(always)]
pub(crate) fn change_inverse(inverse: &mut [f64], whitened: &[f64], sign: f64, partial: &mut [f64]) -> f64 {
    let mut ratio = 1.0f64;
    partial.fill(0.0);
    for (i, &v) in whitened.iter().enumerate() {
        let next = (ratio + sign * v * v).max(SMALLEST_PIVOT * ratio);
        let (scale, along) = ((ratio / next).sqrt(), -sign * v / ratio);
        let of_row = &mut inverse[row(i)];
        for (entry, partial) in of_row.iter_mut().zip(&mut *partial) {
            let before = *entry;
            *entry = scale * (before + along * *partial);
            *partial += v * before;
        }
        ratio = next;
    }
    ratio
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, Seed, Stream};

    fn stream(seed: u64) -> Stream {
        Seed::new(seed).stream(Role::Observer, 0, 0)
    }

    /// Σ over rows of xxᵀ, some more than columns.
    fn random_matrix(n: usize, rng: &mut Stream) -> Vec<f64> {
        let mut matrix = vec![0.0; packed_len(n)];
        for _ in 0..n + 3 {
            let x: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
            add_outer(&mut matrix, &x, 1.0);
        }
        matrix
    }

    fn add_outer(matrix: &mut [f64], x: &[f64], factor: f64) {
        for i in 0..x.len() {
            add_scaled(&mut matrix[row(i)], factor * x[i], &x[..=i]);
        }
    }

    fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} is not {b}");
        }
    }

    #[test]
    fn a_factor_multiplies_back_and_its_inverse_undoes_it() {
        for n in [1, 2, 3, 8, 17, 40] {
            let mut rng = stream(n as u64);
            let matrix = random_matrix(n, &mut rng);
            let mut lower = matrix.clone();
            factor(&mut lower, n);
            let mut back = vec![0.0; packed_len(n)];
            for i in 0..n {
                for j in 0..=i {
                    back[packed_len(i) + j] = dot(&lower[row(i)][..=j], &lower[row(j)]);
                }
            }
            assert_close(&back, &matrix, 1e-12);
            let mut inverse = vec![0.0; packed_len(n)];
            invert(&lower, n, &mut inverse);
            let mut identity = vec![0.0; packed_len(n)];
            multiply_triangles(&inverse, &lower, n, &mut identity);
            (0..n).for_each(|i| identity[diagonal(i)] -= 1.0);
            assert_close(&identity, &vec![0.0; packed_len(n)], 1e-10);
            let x: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
            let mut y = x.clone();
            multiply(&lower, &mut y);
            assert!((dot(&y, &y) - squared_norm_of_product(&lower, &x)).abs() < 1e-9 * dot(&y, &y));
            solve(&lower, &mut y);
            assert_close(&y, &x, 1e-9);
            multiply_transposed(&lower, &mut y);
            solve_transposed(&lower, &mut y);
            assert_close(&y, &x, 1e-9);
        }
    }

    #[test]
    fn a_rank_one_change_equals_factoring_anew() {
        for n in [1, 2, 5, 8, 33] {
            let mut rng = stream(n as u64);
            let mut matrix = random_matrix(n, &mut rng);
            let mut lower = matrix.clone();
            factor(&mut lower, n);
            let mut inverse = vec![0.0; packed_len(n)];
            invert(&lower, n, &mut inverse);
            let mut log_determinant_now = log_determinant(&lower, n);
            let rows: Vec<Vec<f64>> = (0..60).map(|_| (0..n).map(|_| rng.normal()).collect()).collect();
            // all go in, most come out again
            let steps = rows.iter().map(|x| (x, 1.0)).chain(rows[..50].iter().map(|x| (x, -1.0)));
            for (x, sign) in steps {
                let mut whitened = x.clone();
                multiply(&inverse, &mut whitened);
                log_determinant_now += libm::log(change_inverse(&mut inverse, &whitened, sign, &mut vec![0.0; n]));
                add_outer(&mut matrix, x, sign);
            }
            factor(&mut matrix, n);
            let mut anew = vec![0.0; packed_len(n)];
            invert(&matrix, n, &mut anew);
            assert_close(&inverse, &anew, 1e-9);
            assert!((log_determinant_now - log_determinant(&matrix, n)).abs() < 1e-10);
        }
    }

    #[test]
    fn whatever_rounding_left_a_factor_is_finite_and_positive() {
        let n = 12;
        let mut rng = stream(4);
        let x: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        for noise in [0.0, 1e-16, 1e-12, 1e-6, 1e-2, 1.0] {
            // of rank one, and then not even positive
            let mut matrix = vec![0.0; packed_len(n)];
            add_outer(&mut matrix, &x, 1e9);
            matrix.iter_mut().for_each(|entry| *entry += 1e9 * noise * rng.normal());
            (0..n).for_each(|i| matrix[diagonal(i)] = matrix[diagonal(i)].abs().max(1e-3));
            assert!(!is_positive_definite(&matrix, n));
            factor(&mut matrix, n);
            assert!((0..n).all(|i| matrix[diagonal(i)] > 0.0), "noise {noise}");
            assert!(matrix.iter().all(|entry| entry.is_finite()), "noise {noise}");
        }
    }
}
