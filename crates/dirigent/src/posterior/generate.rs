//! Rows as a fitted model would make them: a component by its size, its parameters from their posterior, a row from these.

use crate::family::{Family, OwnedRow, table_of_rows};
use crate::model::{Model, with_family};
use crate::rng::{Role, Seed, Stream};
use crate::rows::{CountRow, Row, Table};
use crate::run_dir::FittedModel;
use crate::stats::Stats;
use crate::{InputError, Result};

/// Rows and the components they were drawn from.
///
/// ```
/// # use dirigent::io::{FittedColumns, Selection};
/// # use dirigent::model::{Model, ModelOptions};
/// # use dirigent::rows::{Shard, Table};
/// # use dirigent::stats::{Stats, Sums};
/// # use dirigent::survey::Survey;
/// use dirigent::posterior::generate::{Generated, generate};
/// use dirigent::run_dir::FittedModel;
///
/// # let rows = Shard::of_table(Table::from_f64(1, vec![-1.0, 1.0]));
/// # let options = ModelOptions { noise_sd: Some(1.0), mean_sd: Some(1.0), ..ModelOptions::default() };
/// # let columns = FittedColumns {
/// #     n_columns: 1,
/// #     names: None,
/// #     selection: Selection::default(),
/// #     levels: Vec::new(),
/// #     numbered_from_zero: false,
/// # };
/// # let fitted = FittedModel {
/// #     model: Model::resolve(&options, &Survey::of(&rows))?,
/// #     alpha: 1.0,
/// #     columns,
/// #     transform: None,
/// #     components: vec![Stats { count: 2, sums: Sums::Dense([0.0].into()) }],
/// # };
/// let Generated { rows, labels } = generate(&fitted, 3, 0)?;
/// assert_eq!((rows.n_rows(), labels.len()), (3, 3));
/// # Ok::<(), dirigent::Error>(())
/// ```
#[derive(Debug)]
pub struct Generated {
    /// The rows, in the units of the table that was fitted.
    pub rows: Table,
    /// The component of each.
    pub labels: Vec<u32>,
}

/// Draws rows of the components there are, as many as asked for, at least one. A document is as long as those of its component are on average.
///
/// ```
/// use dirigent::io::{FittedColumns, Selection};
/// use dirigent::model::{Model, ModelOptions};
/// use dirigent::posterior::generate::generate;
/// use dirigent::rows::{Row, Shard, Table};
/// use dirigent::run_dir::FittedModel;
/// use dirigent::stats::{Stats, Sums};
/// use dirigent::survey::Survey;
///
/// let rows = Shard::of_table(Table::from_f64(1, vec![-50.0, 50.0]));
/// let options = ModelOptions { noise_sd: Some(1.0), mean_sd: Some(50.0), ..ModelOptions::default() };
/// let component = |mean: f64| Stats { count: 100, sums: Sums::Dense([100.0 * mean].into()) };
/// let fitted = FittedModel {
///     model: Model::resolve(&options, &Survey::of(&rows))?,
///     alpha: 1.0,
///     columns: FittedColumns {
///         n_columns: 1,
///         names: None,
///         selection: Selection::default(),
///         levels: Vec::new(),
///         numbered_from_zero: false,
///     },
///     transform: None,
///     components: vec![component(-50.0), component(50.0)],
/// };
/// let made = generate(&fitted, 20, 0)?;
/// for (row_ix, label) in made.labels.iter().enumerate() {
///     let Row::F64(&[number]) = made.rows.row(row_ix) else { panic!("rows as they were fitted") };
///     assert_eq!(number > 0.0, *label == 1);
/// }
/// # Ok::<(), dirigent::Error>(())
/// ```
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
            with_family!(&fitted.model, family => one(family, &fitted.model, &fitted.components[component], &mut rng)),
        );
    }
    let rows = table_of_rows(fitted.model.n_columns(), &rows);
    Ok(Generated { rows: transform.map(|transform| transform.undo(&rows)).unwrap_or(rows), labels })
}

fn one<F: Family>(family: &F, model: &Model, stats: &Stats, rng: &mut Stream) -> OwnedRow {
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
