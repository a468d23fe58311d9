//! How a run begins: many small cells, merged best-first, and a prior that fits what they show.
//!
//! What should be one is seen by comparing two statistics. What should be two is found by halves that drift apart over cycles, if the cut is lucky. So a run begins with
//! too many: a sample of the rows is partitioned into small cells (`cells.rs`), which are merged down to one component, and the level of the highest evidence is taken
//! (`descent.rs`). The prior's widths follow on the way, and covariances compete by the density of rows that were left out (`model.rs`).

mod cells;
mod descent;
mod gamma;
pub mod model;
mod sample;

use self::cells::{Points, in_parts};
use self::descent::Level;
use self::sample::Sample;
use crate::error::Result;
use crate::family::ColumnsKind;
use crate::interrupt::Interrupt;
use crate::model::{Covariance, Model, ModelOptions, WidthSearch, choose};
use crate::rng::{Role, Seed};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::survey::{CellSummary, Survey};
use crate::sweep::{Kernel, sampler};

/// Rows of a sample, at most about twice as many.
const SAMPLE: usize = 20_000;
/// Rows of a sample, times cells, times the numbers in a component's statistics, at most: about as many multiplications as a descent makes in a second.
const WORK: usize = 1_500_000_000;
/// Rows of a sample for each cell, where there are as many.
const ROWS_A_CELL: usize = 25;
/// A sample is not made smaller than this, however wide its rows are.
const FEWEST_SAMPLED: usize = 2000;
/// A cell has at least so many rows on average, where rows are few.
const FEWEST_ROWS_A_CELL: usize = 8;
/// Cells of the first attempt, how many times more each further one has, and how many attempts there are.
const CELLS: usize = 200;
const MORE_CELLS: usize = 4;
const ATTEMPTS: u32 = 3;

/// What a run begins with: the components of a sample.
///
/// ```
/// use dirigent::interrupt::Interrupt;
/// use dirigent::method::start::model::choose;
/// use dirigent::model::ModelOptions;
/// use dirigent::rows::{Shard, Table};
/// use dirigent::survey::Survey;
/// use dirigent::sweep::Kernel;
///
/// let cells = (0..200).map(|row| f64::from(row % 2) * 50.0 + f64::from(row % 7) * 0.1).collect();
/// let rows = Shard::of_table(Table::from_f64(1, cells));
/// let survey = Survey::of(&rows);
/// let chosen = choose(&rows, &ModelOptions::default(), &survey, Kernel::best(), 1, &Interrupt::new())?;
/// let n_rows: i64 = chosen.start.unwrap().components.iter().map(|stats| stats.count).sum();
/// assert_eq!(n_rows, 160, "a fifth of the rows was held out");
/// # Ok::<(), dirigent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// Their statistics.
    pub components: Vec<Stats>,
}

/// What a search for a start has to do with.
#[derive(Clone, Copy)]
pub(super) struct Search<'a> {
    pub(super) rows: &'a Shard,
    pub(super) survey: &'a Survey,
    pub(super) seed: Seed,
    pub(super) kernel: Kernel,
    pub(super) n_threads: usize,
    pub(super) interrupt: &'a Interrupt,
}

impl Search<'_> {
    /// The best level of a descent from cells, which are made finer as long as most of them stay.
    fn find(&self, options: &ModelOptions) -> Result<(Level, Sample)> {
        let usual = Model::resolve(options, self.survey)?;
        // documents cost what their words do
        let numbers_a_row = match &self.survey.cells {
            CellSummary::Counts(counts) => (counts.n_entries / self.survey.n_rows.max(1)) as usize + 1,
            CellSummary::Numbers { .. } => usual.conjugate().stats_len(),
        };
        for attempt in 0.. {
            let wanted = CELLS * MORE_CELLS.pow(attempt);
            let n_rows = SAMPLE.max(ROWS_A_CELL * wanted).min(WORK / (wanted * numbers_a_row)).max(FEWEST_SAMPLED);
            let sample = Sample::new(self.rows, n_rows, self.kernel, self.n_threads);
            let n_cells = wanted.min(sample.n_rows() / FEWEST_ROWS_A_CELL).max(1);
            let mut best: Option<Level> = None;
            for geometry in self.geometries(options, &usual)? {
                let points = Points::of(&sample.parts, &geometry, self.n_threads);
                let mut rng = self.seed.stream(Role::Start, u32::MAX, 0);
                let cells = points.cells(n_cells, self.n_threads, &mut rng);
                let widths = WidthSearch::new(options, &usual);
                let level = descent::descend(&sample, &cells, widths, self)?;
                if best.as_ref().is_none_or(|best| level.log_evidence > best.log_evidence) {
                    best = Some(level);
                }
            }
            let best = best.expect("there is a geometry");
            if 2 * best.n_components() <= n_cells || n_cells < wanted || attempt + 1 == ATTEMPTS {
                return Ok((best, sample));
            }
        }
        unreachable!("the last attempt is taken")
    }

    /// How rows are near one another: as the family has it, and for Gaussians whose columns differ in scale also in the unit they were measured in.
    fn geometries(&self, options: &ModelOptions, usual: &Model) -> Result<Vec<Model>> {
        let is_scaled = match usual {
            Model::GaussianFull(_) => true,
            Model::Columns(family) => family.kind == ColumnsKind::Diagonal,
            _ => false,
        };
        let has_missing = self.rows.n_columns() > 0 && is_scaled && choose::has_missing(self.survey);
        if !is_scaled || has_missing || choose::is_of_one_scale(self.survey) {
            return Ok(vec![usual.clone()]);
        }
        let as_measured = ModelOptions {
            covariance: Some(Covariance::Fixed),
            columns: options.columns.clone(),
            ..ModelOptions::default()
        };
        Ok(vec![usual.clone(), Model::resolve(&as_measured, self.survey)?])
    }

    /// The components to begin with, where the model is known.
    pub(super) fn start(&self, options: &ModelOptions) -> Result<Start> {
        Ok(self.find(options)?.0.start())
    }
}

impl Level {
    fn start(self) -> Start {
        Start { components: self.labelling.components.into_iter().filter(|stats| stats.count > 0).collect() }
    }
}

impl Start {
    /// The most probable component of every row, shard by shard.
    pub(super) fn labels(&self, shards: &[Shard], model: &Model, kernel: Kernel, n_threads: usize) -> Vec<u32> {
        let of_shard = |shard: &Shard| {
            let assigned = sampler(model, shard.clone(), kernel).assign(&self.components);
            assigned.into_iter().map(|assignment| assignment.label).collect::<Vec<u32>>()
        };
        in_parts(shards.len(), n_threads, |part| part.flat_map(|ix| of_shard(&shards[ix])).collect::<Vec<u32>>())
            .concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::distributed::{DistributedOptions, Engine};
    use crate::method::{MethodOptions, run};
    use crate::node::CoordinatorOptions;
    use crate::rows::Table;

    /// Four clusters of unit width at the corners of a square of three, and the cluster of each row.
    fn four_overlapping(n_rows: usize) -> (Shard, Vec<u32>) {
        let mut rng = Seed::new(8).stream(Role::Observer, 0, 0);
        let labels: Vec<u32> = (0..n_rows as u32).map(|row| row % 4).collect();
        let corner = |label: u32| [3.0 * f64::from(label / 2), 3.0 * f64::from(label % 2)];
        let cells = labels.iter().flat_map(|label| corner(*label)).map(|x| x + rng.normal()).collect();
        (Shard::of_table(Table::from_f64(2, cells)), labels)
    }

    fn options(start: Option<Vec<u32>>, n_threads: usize) -> DistributedOptions {
        DistributedOptions {
            coordinator: CoordinatorOptions { n_workers: 3, ..CoordinatorOptions::default() },
            engine: Engine::Threads(n_threads),
            start,
            ..DistributedOptions::default()
        }
    }

    #[test]
    fn overlapping_clusters_are_found_and_stay_apart() {
        let (rows, truth) = four_overlapping(6000);
        let survey = Survey::of(&rows);
        let chosen = model::choose(&rows, &ModelOptions::default(), &survey, Kernel::best(), 1, &Interrupt::new());
        let chosen = chosen.unwrap();
        let fit = |start: Option<Vec<u32>>, n_threads| {
            let mut options = options(start, n_threads);
            options.coordinator.model = chosen.options.clone();
            run(&rows, &chosen.model, &MethodOptions::Distributed(options), None, &mut ()).unwrap().0
        };
        let found = fit(None, 1);
        assert_eq!((found.k, fit(Some(truth), 1).k), (4, 4));
        assert_eq!(found.labels, fit(None, 2).labels, "the number of threads changes nothing");
    }
}
