//! Rows as a fitted model would make them: a component by its size, its parameters from their posterior, a row from these.

use crate::family::{Family, OwnedRow, table_of_rows};
use crate::model::{Model, with_family};
use crate::rng::{Role, Seed, Stream};
use crate::rows::{CountRow, Row, Table};
use crate::run_dir::FittedModel;
use crate::stats::Stats;
use crate::{InputError, Result};

/// Rows and the components they were drawn from.
#[derive(Debug)]
pub struct Generated {
    /// The rows, in the units of the table that was fitted.
    pub rows: Table,
    /// The component of each.
    pub labels: Vec<u32>,
}

/// Draws rows of the components there are, as many as asked for, at least one. A document is as long as those of its component are on average.
pub fn generate(fitted: &FittedModel, n_rows: usize, seed: u64) -> Result<Generated> {
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
    Ok(Generated { rows: transform.map(|transform| transform.undo(&rows)).unwrap_or(rows), labels })
}

/// A row that a component would make.
pub(crate) fn row_of<F: Family>(family: &F, model: &Model, stats: &Stats, rng: &mut Stream) -> OwnedRow {
    let params = family.sample_params(stats, rng);
    let counts = [mean_length(model, stats)];
    let like = CountRow { words: &[0], counts: &counts };
    family.sample_row(&params, Row::Counts(like), rng)
}

/// The words of a component's documents, on average.
fn mean_length(model: &Model, stats: &Stats) -> u32 {
    let Model::Multinomial(family) = model else { return 0 };
    let is_total = |entry: &&(u32, i64)| entry.0 as usize == family.n_words;
    let total = stats.to_counts().iter().find(is_total).map_or(0, |(_, total)| *total);
    (total as f64 / stats.count as f64).round().clamp(0.0, f64::from(u32::MAX)) as u32
}
