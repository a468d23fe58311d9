//! The shapes that are measured: a worker's shard of a few thousand rows against components that hold many more.
#![allow(dead_code, unreachable_pub)] // each benchmark uses its part

pub mod drawn;
pub mod product;

use dirigent::internals::family::{
    Column, ColumnLaw, Columns, ColumnsKind, GaussianFixed, GaussianFull, Multinomial, VonMisesFisher,
};
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::rows::{CountTable, Shard, Table};
use dirigent::internals::sweep::{Sampler, reference_sampler, sampler};
use dirigent::{Conjugate, Family, Kernel, Model, OwnedRow, Row, Stats, Stream, Sums};

/// Rows that other workers hold in each component.
const OTHERS: i64 = 200;
/// A state to sweep over.
pub struct Case {
    pub name: &'static str,
    pub n_columns: usize,
    pub n_components: usize,
    pub model: Model,
    pub shard: Shard,
    pub labels: Vec<u32>,
    pub components: Vec<Stats>,
}

/// What a case is made of; rows are drawn as they are asked for, because the slow twin needs few.
#[derive(Clone, Copy)]
pub enum Shape {
    /// Columns, components, and the standard deviation of the centres in units of the noise.
    Gaussian(usize, usize, f64),
    /// The same with covariances to be found: columns, components, and the standard deviation of the centres.
    Full(usize, usize, f64),
    /// Words, words of a document, and components.
    Multinomial(usize, usize, usize),
    /// Columns, components and concentration.
    Directions(usize, usize, f64),
    /// The law of all columns, columns, components.
    Columns(ColumnLaw, usize, usize),
}

/// Clusters about a third as wide as the column.
const NORMAL: ColumnLaw =
    ColumnLaw::Normal { offset: 0.0, scale: 1.0, prior_mean: 0.0, prior_rows: 0.1, shape: 4.0, rate: 0.4 };
const BERNOULLI: ColumnLaw = ColumnLaw::Bernoulli { a: 0.5, b: 0.5 };
const CATEGORICAL: ColumnLaw = ColumnLaw::Categorical { smoothing: 0.5, n_levels: 8 };

const POISSON: ColumnLaw = ColumnLaw::Poisson { shape: 2.0, rate: 0.2 };

pub const SHAPES: [(&str, Shape); 18] = [
    ("gaussian D=2 K=50", Shape::Gaussian(2, 50, 10.0)),
    ("gaussian D=48 K=1000", Shape::Gaussian(48, 1000, 1.0)),
    ("gaussian D=48 K=10000", Shape::Gaussian(48, 10_000, 1.0)),
    ("gaussian D=384 K=1000", Shape::Gaussian(384, 1000, 1.0)),
    ("full D=2 K=6", Shape::Full(2, 6, 10.0)),
    ("full D=8 K=50", Shape::Full(8, 50, 3.0)),
    ("full D=32 K=50", Shape::Full(32, 50, 1.0)),
    ("full D=128 K=20", Shape::Full(128, 20, 1.0)),
    ("multinomial V=9866 K=160", Shape::Multinomial(9866, 100, 160)),
    ("multinomial V=9866 K=1000", Shape::Multinomial(9866, 100, 1000)),
    ("multinomial V=100 L=500 K=6", Shape::Multinomial(100, 500, 6)),
    ("vmf D=64 K=100", Shape::Directions(64, 100, 100.0)),
    ("vmf D=384 K=500", Shape::Directions(384, 500, 400.0)),
    ("diagonal D=48 K=100", Shape::Columns(NORMAL, 48, 100)),
    ("diagonal D=48 K=1000", Shape::Columns(NORMAL, 48, 1000)),
    ("bernoulli D=100 K=50", Shape::Columns(BERNOULLI, 100, 50)),
    ("categorical D=20x8 K=50", Shape::Columns(CATEGORICAL, 20, 50)),
    ("poisson D=20 K=50", Shape::Columns(POISSON, 20, 50)),
];

impl Case {
    pub fn new(name: &'static str, shape: Shape, n_rows: usize) -> Self {
        let mut rng = Seed::new(1).stream(Role::Observer, 0, 0);
        match shape {
            Shape::Gaussian(n_columns, n_components, spread) => {
                gaussian(name, n_columns, n_components, spread, n_rows, &mut rng)
            }
            Shape::Full(n_columns, n_components, spread) => {
                full(name, n_columns, n_components, spread, n_rows, &mut rng)
            }
            Shape::Multinomial(n_words, length, n_components) => {
                multinomial(name, n_words, length, n_components, n_rows, &mut rng)
            }
            Shape::Directions(n_columns, n_components, concentration) => {
                let mut prior_direction = vec![0.0; n_columns];
                prior_direction[0] = 1.0;
                let family = VonMisesFisher { concentration, prior_direction, prior_strength: 0.0 };
                drawn::case_of(name, Model::VonMisesFisher(family), n_components, n_rows, Row::F64(&[]))
            }
            Shape::Columns(law, n_columns, n_components) => {
                columns(name, law, n_columns, n_components, n_rows, &mut rng)
            }
        }
    }

    /// The fast sampler, or the slow twin, ready to sweep.
    pub fn sampler(&self, kernel: Option<Kernel>) -> Box<dyn Sampler> {
        let mut sampler = match kernel {
            Some(kernel) => sampler(&self.model, self.shard.clone(), kernel),
            None => reference_sampler(&self.model, self.shard.clone()),
        };
        sampler.load(&self.components);
        sampler.set_labels(self.labels.clone());
        sampler
    }
}

fn gaussian(
    name: &'static str,
    n_columns: usize,
    n_components: usize,
    spread: f64,
    n_rows: usize,
    rng: &mut Stream,
) -> Case {
    let zeros = vec![0.0; n_columns];
    let family = GaussianFixed { noise_sd: 1.0, mean_sd: spread, prior_mean: zeros.clone(), offset: zeros };
    let centres: Vec<Vec<f64>> =
        (0..n_components).map(|_| (0..n_columns).map(|_| spread * rng.normal()).collect()).collect();
    let others = |centre: &Vec<f64>, rng: &mut Stream| {
        let sums = centre.iter().map(|x| OTHERS as f64 * x + (OTHERS as f64).sqrt() * rng.normal());
        Stats { count: OTHERS, sums: Sums::Dense(sums.collect()) }
    };
    let mut components: Vec<Stats> = centres.iter().map(|centre| others(centre, rng)).collect();
    let labels: Vec<u32> = (0..n_rows).map(|_| rng.below(n_components) as u32).collect();
    let mut cells = Vec::with_capacity(n_rows * n_columns);
    for &label in &labels {
        cells.extend(centres[label as usize].iter().map(|x| (x + rng.normal()) as f32));
    }
    let shard = Shard::of_table(Table::from_f32(n_columns, cells));
    for (row, &label) in shard.rows().zip(&labels) {
        family.add_row(row, &mut components[label as usize]);
    }
    Case { name, n_columns, n_components, model: Model::GaussianFixed(family), shard, labels, components }
}

/// Covariances from an inverse Wishart of two degrees more than columns, centres N(0, `spread`²), sizes uniform on all there are.
fn full(
    name: &'static str,
    n_columns: usize,
    n_components: usize,
    spread: f64,
    n_rows: usize,
    rng: &mut Stream,
) -> Case {
    let upper = (0..n_columns).flat_map(|i| (i..n_columns).map(move |j| if i == j { 1.0 } else { 0.0 }));
    let family = GaussianFull {
        offset: vec![0.0; n_columns],
        scale: vec![1.0; n_columns],
        prior_mean: vec![0.0; n_columns],
        prior_rows: 0.01,
        degrees: n_columns as f64 + 2.0,
        prior_scale: upper.collect(),
    };
    let params: Vec<Vec<f64>> = (0..n_components)
        .map(|_| {
            let mut params = family.sample_parameters(&family.empty_stats(), rng);
            params[..n_columns].iter_mut().for_each(|x| *x = spread * rng.normal());
            params
        })
        .collect();
    let shares = rng.log_dirichlet(&vec![1.0; n_components]);
    let draw = |label: usize, rng: &mut Stream| {
        let OwnedRow::Numbers(row) = family.sample_row(&params[label], Row::F64(&[]), rng) else { unreachable!() };
        row.into_iter().map(|x| x as f32)
    };
    let mut components = vec![family.empty_stats(); n_components];
    for (label, stats) in components.iter_mut().enumerate() {
        for _ in 0..OTHERS {
            let row: Vec<f32> = draw(label, rng).collect();
            family.add_row(Row::F32(&row), stats);
        }
    }
    let labels: Vec<u32> = (0..n_rows).map(|_| rng.categorical(&shares) as u32).collect();
    let cells: Vec<f32> = labels.iter().flat_map(|&label| draw(label as usize, rng).collect::<Vec<_>>()).collect();
    let shard = Shard::of_table(Table::from_f32(n_columns, cells));
    for (row, &label) in shard.rows().zip(&labels) {
        family.add_row(row, &mut components[label as usize]);
    }
    Case { name, n_columns, n_components, model: Model::GaussianFull(family), shard, labels, components }
}

fn multinomial(
    name: &'static str,
    n_words: usize,
    length: usize,
    n_components: usize,
    n_rows: usize,
    rng: &mut Stream,
) -> Case {
    let family = Multinomial { smoothing: 1.0, n_words };
    // a Zipf law, tilted by each component
    let cumulative: Vec<Vec<f64>> = (0..n_components)
        .map(|_| {
            let mut sum = 0.0;
            let tilted = (0..n_words).map(|word| libm::exp(rng.normal()) / (word as f64 + 10.0));
            tilted
                .map(|weight| {
                    sum += weight;
                    sum
                })
                .collect()
        })
        .collect();
    let document = |law: &Vec<f64>, rng: &mut Stream| {
        let word = |rng: &mut Stream| {
            let target = rng.uniform() * law[law.len() - 1];
            law.partition_point(|&sum| sum <= target) as u32
        };
        let mut words: Vec<u32> = (0..length).map(|_| word(rng)).collect();
        words.sort_unstable();
        words.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect::<Vec<_>>()
    };
    let mut components = Vec::new();
    for law in &cumulative {
        let mut table = CountTable::new(n_words);
        (0..OTHERS / 4).for_each(|_| table.push_row(document(law, rng)));
        let table = Table::Counts(table);
        let mut stats = Stats::empty_dense(n_words + 1);
        (0..table.n_rows()).for_each(|row_ix| family.add_row(table.row(row_ix), &mut stats));
        components.push(stats);
    }
    let labels: Vec<u32> = (0..n_rows).map(|_| rng.below(n_components) as u32).collect();
    let mut table = CountTable::new(n_words);
    labels.iter().for_each(|&label| table.push_row(document(&cumulative[label as usize], rng)));
    let shard = Shard::of_table(Table::Counts(table));
    for (row, &label) in shard.rows().zip(&labels) {
        family.add_row(row, &mut components[label as usize]);
    }
    Case { name, n_columns: n_words, n_components, model: Model::Multinomial(family), shard, labels, components }
}

fn columns(
    name: &'static str,
    law: ColumnLaw,
    n_columns: usize,
    n_components: usize,
    n_rows: usize,
    rng: &mut Stream,
) -> Case {
    let column = Column { law, has_missing: false };
    let family = Columns { kind: ColumnsKind::Mixed, columns: vec![column; n_columns] };
    let parameters: Vec<Vec<f64>> =
        (0..n_components).map(|_| family.sample_parameters(&family.empty_stats(), rng)).collect();
    let row = |component: usize, rng: &mut Stream| match family.sample_row(&parameters[component], Row::F32(&[]), rng) {
        OwnedRow::Numbers(numbers) => numbers.into_iter().map(|x| x as f32).collect::<Vec<f32>>(),
        OwnedRow::Counts(_) => unreachable!("columns are dense"),
    };
    let mut components = vec![family.empty_stats(); n_components];
    for (component, stats) in components.iter_mut().enumerate() {
        (0..OTHERS).for_each(|_| family.add_row(Row::F32(&row(component, rng)), stats));
    }
    let labels: Vec<u32> = (0..n_rows).map(|_| rng.below(n_components) as u32).collect();
    let cells: Vec<f32> = labels.iter().flat_map(|&label| row(label as usize, rng)).collect();
    let shard = Shard::of_table(Table::from_f32(n_columns, cells));
    for (row, &label) in shard.rows().zip(&labels) {
        family.add_row(row, &mut components[label as usize]);
    }
    Case { name, n_columns, n_components, model: Model::Columns(family), shard, labels, components }
}
