//! A case of any family, by one path: components from the prior, rows from the components.

use dirigent::internals::family::table_of_rows;
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::rows::{Shard, Table};
use dirigent::{Family, Model, OwnedRow, Row, Stats, Stream, Sums};

use super::{Case, OTHERS};

/// Rows drawn for what other workers hold; they stand for [`OTHERS`].
const DRAWN: i64 = 20;

/// A case of a model. What the family does not model of a row, as a document's length, is that of `like`.
pub fn case_of(name: &'static str, model: Model, n_components: usize, n_rows: usize, like: Row<'_>) -> Case {
    draw(model.family(), n_components, n_rows, like).case(name, model, n_components)
}

/// What does not depend on the type of the family.
struct Drawn {
    shard: Shard,
    labels: Vec<u32>,
    components: Vec<Stats>,
}

impl Drawn {
    fn case(self, name: &'static str, model: Model, n_components: usize) -> Case {
        let Self { shard, labels, components } = self;
        Case { name, n_columns: shard.n_columns(), n_components, model, shard, labels, components }
    }
}

fn draw(family: &dyn Family, n_components: usize, n_rows: usize, like: Row<'_>) -> Drawn {
    let mut rng = Seed::new(1).stream(Role::Observer, 0, 0);
    let empty = family.empty_stats();
    let params: Vec<Vec<f64>> = (0..n_components).map(|_| family.sample_parameters(&empty, &mut rng)).collect();
    let mut components: Vec<Stats> = params.iter().map(|params| others(family, params, like, &mut rng)).collect();
    let labels: Vec<u32> = (0..n_rows).map(|_| rng.below(n_components) as u32).collect();
    let rows: Vec<OwnedRow> =
        labels.iter().map(|&label| family.sample_row(&params[label as usize], like, &mut rng)).collect();
    let shard = Shard::of_table(singles(table_of_rows(family.n_columns(), &rows)));
    for (row, &label) in shard.rows().zip(&labels) {
        family.add_row(row, &mut components[label as usize]);
    }
    Drawn { shard, labels, components }
}

/// The statistics of the rows that other workers hold.
fn others(family: &dyn Family, params: &[f64], like: Row<'_>, rng: &mut Stream) -> Stats {
    let rows: Vec<OwnedRow> = (0..DRAWN).map(|_| family.sample_row(params, like, rng)).collect();
    let table = table_of_rows(family.n_columns(), &rows);
    let mut stats = family.empty_stats();
    (0..rows.len()).for_each(|row_ix| family.add_row(table.row(row_ix), &mut stats));
    stats.count = OTHERS;
    match &mut stats.sums {
        Sums::Dense(sums) => sums.iter_mut().for_each(|sum| *sum *= (OTHERS / DRAWN) as f64),
        Sums::Counts(entries) => entries.iter_mut().for_each(|(_, count)| *count *= OTHERS / DRAWN),
    }
    stats
}

/// Dense rows as the usual file holds them.
fn singles(table: Table) -> Table {
    match table {
        Table::F64 { n_columns, cells } => {
            Table::from_f32(n_columns, cells.as_slice().iter().map(|&x| x as f32).collect())
        }
        other => other,
    }
}
