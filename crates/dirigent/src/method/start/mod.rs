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
use self::descent::{Descent, Level};
use self::sample::Sample;
use crate::error::{Error, Result};
use crate::family::ColumnsKind;
use crate::interrupt::Interrupt;
use crate::model::{Covariance, Model, ModelOptions, WidthSearch, choose};
use crate::observer::Observer;
use crate::rng::{Role, Seed, Stream};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::survey::{CellSummary, Survey};
use crate::sweep::{Kernel, sampler};
use std::time::Instant;

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
/// Rows that are labelled between two looks at the interrupt.
const BLOCK: usize = 4096;

/// What a run begins with: the components of a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// Their statistics.
    pub components: Vec<Stats>,
}

/// Small cells of rows that lie close together: the cell of each row.
pub(crate) fn cells_of(
    rows: &Shard,
    model: &Model,
    n_cells: usize,
    n_threads: usize,
    interrupt: &Interrupt,
    rng: &mut Stream,
) -> Vec<u32> {
    Points::of(std::slice::from_ref(rows), model, n_threads).cells(n_cells, n_threads, interrupt, rng)
}

/// What a search for a start works with.
pub(super) struct Search<'a> {
    pub(super) rows: &'a Shard,
    pub(super) survey: &'a Survey,
    pub(super) seed: Seed,
    pub(super) kernel: Kernel,
    pub(super) n_threads: usize,
    /// When the search is to end with the best that it has.
    pub(super) deadline: Option<Instant>,
    pub(super) observer: &'a mut dyn Observer,
}

/// What a search has found.
struct Found {
    level: Level,
    n_sampled: usize,
    /// Mean log-density of the rows left out.
    held_out: f64,
}

impl Search<'_> {
    /// Whether the search must end.
    fn is_time_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Numbers that a row has: its columns, or the words of a document.
    fn numbers_a_row(&self) -> f64 {
        match &self.survey.cells {
            CellSummary::Counts(counts) => counts.n_entries as f64 / self.survey.n_rows.max(1) as f64,
            CellSummary::Numbers { .. } => self.survey.n_columns as f64,
        }
    }

    /// Numbers in the statistics of a component that a row touches: the words of a document, or all.
    fn numbers_a_component(&self, model: &Model) -> usize {
        match &self.survey.cells {
            CellSummary::Counts(_) => self.numbers_a_row() as usize + 1,
            CellSummary::Numbers { .. } => model.conjugate().stats_len(),
        }
    }

    /// The best level of a descent from cells, which are made finer as long as most of them stay. The search ends early if what finer cells have gained says
    /// that still finer ones will not reach the density of held-out rows that a rival has.
    fn find(&mut self, options: &ModelOptions, rival: Option<f64>) -> Result<Found> {
        let usual = Model::resolve(options, self.survey)?;
        // documents cost what their words do
        let numbers_a_row = self.numbers_a_component(&usual);
        let mut geometries = self.geometries(options, &usual)?;
        let mut found: Option<Found> = None;
        let mut n_cells_before = 0;
        for attempt in 0..ATTEMPTS {
            let wanted = CELLS * MORE_CELLS.pow(attempt);
            let n_rows = SAMPLE.max(ROWS_A_CELL * wanted).min(WORK / (wanted * numbers_a_row)).max(FEWEST_SAMPLED);
            let sample = Sample::new(self.rows, n_rows, self.kernel, self.n_threads, self.observer.interrupt());
            let n_cells = wanted.min(sample.n_rows() / FEWEST_ROWS_A_CELL).max(1);
            if n_cells <= n_cells_before {
                break;
            }
            n_cells_before = n_cells;
            let (mut best, mut best_geometry): (Option<Descent>, _) = (None, 0);
            for (geometry_ix, geometry) in geometries.iter().enumerate() {
                if best.is_some() && self.is_time_over() {
                    break;
                }
                self.observer.on_start(&format!("{n_cells} cells of {} rows", sample.n_rows()));
                let points = Points::of(&sample.parts, geometry, self.n_threads);
                let mut rng = self.seed.stream(Role::Start, u32::MAX, 0);
                let cells = points.cells(n_cells, self.n_threads, &sample.interrupt, &mut rng);
                sample.check_interrupt()?;
                let widths = WidthSearch::new(options, &usual);
                let descent = descent::descend(&sample, &cells, widths, self)?;
                if best.as_ref().is_none_or(|best| descent.log_evidence > best.log_evidence) {
                    (best, best_geometry) = (Some(descent), geometry_ix);
                }
            }
            let Descent { level: best, gain, .. } = best.expect("there is a geometry");
            // finer cells are made where these were better
            geometries = vec![geometries.swap_remove(best_geometry)];
            let is_fine = 2 * best.n_components() <= n_cells;
            let held_out = sample.held_out_density(&best.labelling, &best.model);
            // finer cells gain less each time
            let gained = found.as_ref().map_or(gain / sample.n_rows() as f64, |before| held_out - before.held_out);
            let is_hopeless = rival.is_some_and(|rival| held_out + gained < rival);
            found = Some(Found { level: best, n_sampled: sample.n_rows(), held_out });
            if is_fine || is_hopeless || self.is_time_over() {
                break;
            }
        }
        Ok(found.expect("there was an attempt"))
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
            covariance: Some(Covariance::Isotropic),
            columns: options.columns.clone(),
            ..ModelOptions::default()
        };
        Ok(vec![usual.clone(), Model::resolve(&as_measured, self.survey)?])
    }

    /// The labels to begin with under a model, from components that are sought unless they have been found already.
    pub(super) fn labels(
        &mut self,
        shards: &[Shard],
        model: &Model,
        options: &ModelOptions,
        found: Option<&Start>,
    ) -> Result<Vec<u32>> {
        let start = match found {
            Some(start) => start.clone(),
            None => self.find(options, None)?.level.start(),
        };
        self.observer.on_start(&format!("{} components, labels of all rows", start.components.len()));
        start.labels(shards, model, self.kernel, self.n_threads, &self.observer.interrupt())
    }
}

impl Level {
    fn start(self) -> Start {
        Start { components: self.labelling.components.into_iter().filter(|stats| stats.count > 0).collect() }
    }
}

impl Start {
    /// The most probable component of every row, shard by shard.
    fn labels(
        &self,
        shards: &[Shard],
        model: &Model,
        kernel: Kernel,
        n_threads: usize,
        interrupt: &Interrupt,
    ) -> Result<Vec<u32>> {
        let of_rows = |rows: Shard| {
            let assigned = sampler(model, rows, kernel).assign(&self.components);
            assigned.into_iter().map(|assignment| assignment.label).collect::<Vec<u32>>()
        };
        // in blocks, so that all threads have work and an interrupt is seen soon
        let blocks_of = |shard: &Shard| -> Vec<Shard> {
            let n_rows = shard.n_rows();
            (0..n_rows).step_by(BLOCK).map(|first| shard.part(first..n_rows.min(first + BLOCK))).collect()
        };
        let blocks: Vec<Shard> = shards.iter().flat_map(blocks_of).collect();
        let labels = in_parts(blocks.len(), n_threads, |part| {
            let live = part.take_while(|_| !interrupt.is_raised());
            live.flat_map(|ix| of_rows(blocks[ix].clone())).collect::<Vec<u32>>()
        });
        if interrupt.is_raised() { Err(Error::Interrupted) } else { Ok(labels.concat()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::consolidated::{DistributedOptions, Engine};
    use crate::method::{MethodSetup, run};
    use crate::protocol::CoordinatorOptions;
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
        let chosen = model::choose(&rows, &ModelOptions::default(), &survey, Kernel::best(), 1, None, &mut ());
        let chosen = chosen.unwrap();
        let fit = |start: Option<Vec<u32>>, n_threads| {
            let mut options = options(start, n_threads);
            options.model = chosen.options.clone();
            run(&rows, &chosen.model, &MethodSetup::Distributed(options), None, &mut ()).unwrap().0
        };
        let found = fit(None, 1);
        assert_eq!((found.k, fit(Some(truth), 1).k), (4, 4));
        assert_eq!(found.labels, fit(None, 2).labels, "the number of threads changes nothing");
    }
}
