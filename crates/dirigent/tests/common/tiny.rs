//! Sets of a few rows, one of each family.

use dirigent::internals::family::{
    Column, ColumnLaw, Columns, ColumnsKind, GaussianFixed, GaussianFull, Multinomial, VonMisesFisher,
};
use dirigent::internals::rows::Shard;
use dirigent::{Model, OwnedRow};

use super::shard_of;

/// Seven points on a line, overlapping.
pub fn tiny_gaussian() -> (Model, Shard) {
    let points = [-2.1, -1.4, -0.3, 0.2, 0.9, 2.2, 2.6];
    let rows: Vec<_> = points.iter().map(|&x| OwnedRow::Numbers(vec![x, 0.3 * x])).collect();
    let family = GaussianFixed { noise_sd: 1.0, mean_sd: 2.0, prior_mean: vec![0.0; 2], offset: vec![0.5, 0.0] };
    (Model::GaussianFixed(family), shard_of(2, &rows))
}

/// Ψ₀ = `psi0` times the identity, about the origin; offset and scale are of no consequence.
fn full_family(n: usize, prior_rows: f64, degrees: f64, psi0: f64) -> GaussianFull {
    // y = (x − offset) / scale, so Ψ₀ in units of y is that of x over the squared scale
    let scale = 2.0;
    let upper = (0..n).flat_map(|i| (i..n).map(move |j| if i == j { psi0 / (scale * scale) } else { 0.0 }));
    GaussianFull {
        offset: vec![0.5; n],
        scale: vec![scale; n],
        prior_mean: vec![0.0; n],
        prior_rows,
        degrees,
        prior_scale: upper.collect(),
    }
}

/// Seven points of the plane, overlapping, with covariances to be found.
pub fn tiny_full() -> (Model, Shard) {
    let points = [-2.1, -1.4, -0.3, 0.2, 0.9, 2.2, 2.6];
    let row = |(ix, x): (usize, &f64)| OwnedRow::Numbers(vec![*x, 0.3 * x + 0.4 * ((ix * 7 % 3) as f64 - 1.0)]);
    let rows: Vec<_> = points.iter().enumerate().map(row).collect();
    (Model::GaussianFull(full_family(2, 0.3, 4.0, 0.5)), shard_of(2, &rows))
}

/// Six points of nine columns: fewer rows than columns.
pub fn tiny_full_wide() -> (Model, Shard) {
    let cell = |i: usize, j: usize| {
        let side = if i % 2 == 1 { 0.8 } else { -0.8 };
        libm::sin(1.7 * i as f64 + 2.3 * j as f64) + if j.is_multiple_of(3) { side } else { 0.0 }
    };
    let rows: Vec<_> = (0..6).map(|i| OwnedRow::Numbers((0..9).map(|j| cell(i, j)).collect())).collect();
    (Model::GaussianFull(full_family(9, 1.0, 12.0, 5.0)), shard_of(9, &rows))
}

/// Six short documents with repeats.
pub fn tiny_multinomial() -> (Model, Shard) {
    let documents: [&[(u32, u32)]; 6] = [
        &[(0, 2), (1, 1)],
        &[(0, 1), (1, 2), (2, 1)],
        &[(2, 2), (3, 1)],
        &[(3, 3)],
        &[(1, 1), (3, 1), (4, 1)],
        &[(0, 1), (4, 2)],
    ];
    let rows: Vec<_> = documents.iter().map(|entries| OwnedRow::Counts(entries.to_vec())).collect();
    let family = Multinomial { smoothing: 0.6, n_words: 5 };
    (Model::Multinomial(family), shard_of(5, &rows))
}

/// Seven directions along an arc, a little beside it in the other columns.
pub fn tiny_directions(n_columns: usize, concentration: f64, prior_strength: f64) -> (Model, Shard) {
    let beside = 0.3 / (n_columns as f64).sqrt();
    let rows: Vec<_> = [-1.5, -1.0, -0.3, 0.2, 0.8, 1.5, 1.9]
        .iter()
        .enumerate()
        .map(|(row_ix, &angle)| {
            let mut row = vec![libm::cos(angle), libm::sin(angle)];
            row.extend((2..n_columns).map(|column| beside * (((row_ix * 7 + column * 3) % 5) as f64 - 2.0)));
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            OwnedRow::Numbers(row.iter().map(|x| x / length).collect())
        })
        .collect();
    let mut prior_direction = vec![0.0; n_columns];
    prior_direction[0] = 1.0;
    let family = VonMisesFisher { concentration, prior_direction, prior_strength };
    (Model::VonMisesFisher(family), shard_of(n_columns, &rows))
}

/// Seven rows of columns of one law or of all of them, with missing cells.
pub fn tiny_columns(kind: ColumnsKind) -> (Model, Shard) {
    const NONE: f64 = f64::NAN;
    let normal =
        |offset| ColumnLaw::Normal { offset, scale: 2.0, prior_mean: 0.3, prior_rows: 0.3, shape: 2.0, rate: 0.5 };
    let (bernoulli, poisson) = (ColumnLaw::Bernoulli { a: 0.6, b: 0.9 }, ColumnLaw::Poisson { shape: 1.2, rate: 0.5 });
    let categorical = |n_levels| ColumnLaw::Categorical { smoothing: 0.4, n_levels };
    let (laws, cells): ([ColumnLaw; 3], [[f64; 3]; 7]) = match kind {
        ColumnsKind::Diagonal => (
            [normal(0.5), normal(0.0), normal(-1.0)],
            [
                [-2.1, -0.7, 0.1],
                [-1.4, NONE, 0.3],
                [-0.3, -0.1, NONE],
                [0.2, 0.0, 0.2],
                [0.9, NONE, NONE],
                [2.2, 0.6, -0.1],
                [2.6, 0.8, 0.4],
            ],
        ),
        ColumnsKind::Bernoulli => (
            [bernoulli; 3],
            [
                [1.0, 1.0, 0.0],
                [1.0, NONE, 0.0],
                [1.0, 1.0, 1.0],
                [0.0, 0.0, NONE],
                [0.0, NONE, NONE],
                [0.0, 0.0, 1.0],
                [1.0, 0.0, 1.0],
            ],
        ),
        ColumnsKind::Poisson => (
            [poisson, ColumnLaw::Poisson { shape: 0.7, rate: 0.1 }, poisson],
            [
                [0.0, 3.0, 1.0],
                [1.0, NONE, 0.0],
                [0.0, 5.0, NONE],
                [4.0, 70.0, 2.0],
                [3.0, NONE, NONE],
                [6.0, 66.0, 1.0],
                [2.0, 9.0, 3.0],
            ],
        ),
        ColumnsKind::Categorical => (
            [categorical(3), categorical(4), categorical(2)],
            [
                [0.0, 3.0, 1.0],
                [0.0, NONE, 0.0],
                [0.0, 3.0, NONE],
                [2.0, 1.0, 1.0],
                [2.0, NONE, NONE],
                [2.0, 0.0, 1.0],
                [1.0, 1.0, 0.0],
            ],
        ),
        ColumnsKind::Mixed => (
            [normal(0.5), poisson, categorical(3)],
            [
                [-2.1, 0.0, 1.0],
                [-1.4, NONE, 1.0],
                [-0.3, 1.0, NONE],
                [0.2, 2.0, 0.0],
                [NONE, NONE, 0.0],
                [NONE, 3.0, 2.0],
                [2.6, 2.0, 0.0],
            ],
        ),
    };
    let rows: Vec<_> = cells.iter().map(|row| OwnedRow::Numbers(row.to_vec())).collect();
    let has_missing = |ix: usize| cells.iter().any(|row| row[ix].is_nan());
    let columns = (0..3).map(|ix| Column { law: laws[ix], has_missing: has_missing(ix) }).collect();
    (Model::Columns(Columns { kind, columns }), shard_of(3, &rows))
}

/// All kinds of columns.
pub const KINDS: [ColumnsKind; 5] =
    [ColumnsKind::Diagonal, ColumnsKind::Bernoulli, ColumnsKind::Poisson, ColumnsKind::Categorical, ColumnsKind::Mixed];
