//! Rows as a fitted model would make them: a component by its size, its parameters from their
//! posterior, a row from these.

use crate::family::{Family, Multinomial, OwnedRow, table_of_rows};
use crate::model::{Model, with_family};
use crate::rng::{Role, Seed, Stream};
use crate::rows::{CountRow, Row, Table};
use crate::run_dir::FittedModel;
use crate::stats::Stats;
use crate::{InputError, Result};

/// Rows and the components they were drawn from.
#[derive(Debug)]
pub struct GeneratedRows {
    /// The rows, in the units of the table that was fitted.
    pub rows: Table,
    /// The component of each.
    pub labels: Vec<u32>,
}

/// Draws rows of the components there are, as many as asked for, at least one. A document is as
/// long as those of its component are on average.
pub fn generate(fitted: &FittedModel, n_rows: usize, seed: u64) -> Result<GeneratedRows> {
    let transform = fitted.transform.as_ref();
    if transform.is_some_and(|transform| transform.normalize) {
        let error = InputError::new("rows of a model that was fitted with `normalize` have lost their lengths");
        return Err(error.hint("normalize the rows yourself, and fit these").into());
    }
    let mut rng = Seed::new(seed).stream(Role::Observer, 0, 0);
    let log_sizes: Vec<f64> = fitted.components.iter().map(|stats| libm::log(stats.count as f64)).collect();
    let (mut rows, mut labels) = (Vec::with_capacity(n_rows), Vec::with_capacity(n_rows));
    for _row in 0..n_rows {
        let component = rng.categorical(&log_sizes);
        labels.push(component as u32);
        rows.push(
            with_family!(&fitted.model, family => row_of(family, &fitted.model, &fitted.components[component], &mut rng)),
        );
    }
    let rows = table_of_rows(fitted.model.n_columns(), &rows);
    Ok(GeneratedRows { rows: transform.map(|transform| transform.undo(&rows)).unwrap_or(rows), labels })
}

/// A row that a component would make.
fn row_of<F: Family + ?Sized>(family: &F, model: &Model, stats: &Stats, rng: &mut Stream) -> OwnedRow {
    let params = family.sample_parameters(stats, rng);
    let counts = [mean_length(model, stats)];
    let like = CountRow { words: &[0], counts: &counts };
    family.sample_row(&params, Row::Counts(like), rng)
}

/// Rows of the posterior predictive of a component, for estimates that need many.
pub(crate) fn rows_of(model: &Model, stats: &Stats, n_rows: usize, rng: &mut Stream) -> Vec<OwnedRow> {
    match model {
        Model::Multinomial(family) => {
            let urn = Urn::new(family, stats);
            let length = mean_length(model, stats);
            (0..n_rows).map(|_| urn.document(length, rng)).collect()
        }
        model => with_family!(model, family => rows_of_family(family, stats, n_rows, rng)),
    }
}

/// Rows that are made from one draw of the parameters: a draw of a large covariance costs more than a row.
const ROWS_PER_DRAW: usize = 16;

fn rows_of_family<F: Family + ?Sized>(family: &F, stats: &Stats, n_rows: usize, rng: &mut Stream) -> Vec<OwnedRow> {
    let (mut rows, like) = (Vec::with_capacity(n_rows), CountRow { words: &[0], counts: &[0] });
    while rows.len() < n_rows {
        let params = family.sample_parameters(stats, rng);
        let n_more = ROWS_PER_DRAW.min(n_rows - rows.len());
        rows.extend((0..n_more).map(|_| family.sample_row(&params, Row::Counts(like), rng)));
    }
    rows
}

/// Pólya's urn: the words of a document, each drawn given those before it.
struct Urn {
    n_words: usize,
    /// γV.
    prior: f64,
    /// Words of the component, and how often they and those before them occur.
    words: Vec<u32>,
    ends: Vec<f64>,
}

impl Urn {
    fn new(family: &Multinomial, stats: &Stats) -> Self {
        let (mut words, mut ends, mut end) = (Vec::new(), Vec::new(), 0.0);
        for (word, count) in stats.to_counts().into_iter().filter(|(word, _)| (*word as usize) < family.n_words) {
            end += count as f64;
            words.push(word);
            ends.push(end);
        }
        Self { n_words: family.n_words, prior: family.smoothing * family.n_words as f64, words, ends }
    }

    fn document(&self, length: u32, rng: &mut Stream) -> OwnedRow {
        let n_known = self.ends.last().copied().unwrap_or(0.0);
        let mut words: Vec<u32> = Vec::with_capacity(length as usize);
        for _ in 0..length {
            let place = rng.uniform() * (self.prior + n_known + words.len() as f64);
            let word = if place < n_known {
                self.words[self.ends.partition_point(|end| *end <= place).min(self.words.len() - 1)]
            } else if place < n_known + self.prior {
                rng.below(self.n_words) as u32
            } else {
                words[rng.below(words.len())]
            };
            words.push(word);
        }
        words.sort_unstable();
        let runs = words.chunk_by(|a, b| a == b);
        OwnedRow::Counts(runs.map(|run| (run[0], run.len() as u32)).collect())
    }
}

/// The words of a component's documents, on average.
fn mean_length(model: &Model, stats: &Stats) -> u32 {
    let Model::Multinomial(family) = model else { return 0 };
    let is_total = |entry: &&(u32, i64)| entry.0 as usize == family.n_words;
    let total = stats.to_counts().iter().find(is_total).map_or(0, |(_, total)| *total);
    (total as f64 / stats.count as f64).round().clamp(0.0, f64::from(u32::MAX)) as u32
}
