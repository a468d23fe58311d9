//! The model of a run: what the user leaves open is chosen from cells of a sample.
//!
//! How wide clusters are decides how many there will be, and no summary of the columns tells it. Components do: given them, each width has a log-joint, which is computed
//! from their statistics alone. Covariances compete by the density of rows that were left out. The sample is every n-th row and the seed always the same: what is
//! chosen depends on the rows and on nothing else.

use super::{Found, Search, Start, gamma};
use crate::error::Result;
use crate::model::{Choice, Gamma, Model, ModelOptions, choose, priors};
use crate::observer::Observer;
use crate::rng::Seed;
use crate::rows::Shard;
use crate::survey::Survey;
use crate::sweep::Kernel;
use std::time::Instant;

/// The model that a run is to have, and what it begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenModel {
    /// The options, with what was chosen filled in.
    pub options: ModelOptions,
    /// The model.
    pub model: Model,
    /// What was chosen for the user, and why.
    pub choices: Vec<Choice>,
    /// The components that were found on the way.
    pub start: Option<Start>,
}

/// What one contender has come to.
struct Attempt {
    options: ModelOptions,
    start: Start,
    n_sampled: usize,
    /// Mean log-density of the rows left out.
    held_out: f64,
}

impl ChosenModel {
    /// The model with what was learned filled in. `choices` are those of its shape; the priors are told after them, the learned ones with this reason.
    pub(super) fn with_learned(
        options: ModelOptions,
        mut choices: Vec<Choice>,
        survey: &Survey,
        reason: &str,
    ) -> Result<Self> {
        let (model, by_rule) = priors::model(choose::shape(&options, survey)?.shape, &options, survey)?;
        choices.extend(by_rule);
        choices.extend(priors::told(&model, &options, reason));
        Ok(Self { options, model, choices, start: None })
    }
}

/// The model of the rows. The interrupt of the observer ends the search with an error. A deadline ends it with the best that it has.
pub fn choose(
    rows: &Shard,
    options: &ModelOptions,
    survey: &Survey,
    kernel: Kernel,
    n_threads: usize,
    deadline: Option<Instant>,
    observer: &mut dyn Observer,
) -> Result<ChosenModel> {
    let mut search = Search { rows, survey, kernel, n_threads, seed: Seed::new(0), deadline, observer };
    if options.gamma == Some(Gamma::Learn) {
        choose::shape(options, survey)?;
        return gamma::learn(&mut search, options);
    }
    let (usual, choices) = Model::explain(options, survey)?;
    let mut contenders = Vec::new();
    for options in std::iter::once(options.clone()).chain(choose::rivals(options, survey)) {
        if priors::is_width_open(&Model::resolve(&options, survey)?, &options) {
            contenders.push(options);
        }
    }
    let mut attempts: Vec<Attempt> = Vec::new();
    for contender in &contenders {
        if !attempts.is_empty() && search.is_time_over() {
            break;
        }
        let rival = attempts.iter().map(|attempt| attempt.held_out).max_by(f64::total_cmp);
        let Found { level, n_sampled, held_out } = search.find(contender, rival)?;
        attempts.push(Attempt { options: level.options.clone(), n_sampled, held_out, start: level.start() });
    }
    match attempts.iter().max_by(|a, b| a.held_out.total_cmp(&b.held_out)) {
        Some(best) => told(best, &attempts, survey, options),
        None => Ok(ChosenModel { options: options.clone(), model: usual, choices, start: None }),
    }
}

/// The model with what was chosen, and why.
fn told(best: &Attempt, attempts: &[Attempt], survey: &Survey, asked: &ModelOptions) -> Result<ChosenModel> {
    let (options, n_sampled) = (best.options.clone(), best.n_sampled);
    let mut choices = choose::shape(asked, survey)?.choices;
    if attempts.len() > 1 {
        let usual = choose::usual_covariance(asked, survey);
        let name = |attempt: &Attempt| attempt.options.covariance.unwrap_or(usual).name();
        let densities: Vec<String> =
            attempts.iter().map(|attempt| format!("{} {:.3}", name(attempt), attempt.held_out)).collect();
        choices.retain(|choice| choice.name != "covariance");
        let why = format!("the densest for held-out rows, in nats per row: {}", densities.join(", "));
        choices.push(Choice::new("covariance", name(best), &why));
    }
    let reason = format!("the most probable for the {} components of {n_sampled} rows", best.start.components.len());
    let mut chosen = ChosenModel::with_learned(options, choices, survey, &reason)?;
    let why = format!("the highest evidence between small cells and one component, in {n_sampled} rows");
    chosen.choices.push(Choice::new("start", &format!("{} components", best.start.components.len()), &why));
    Ok(ChosenModel { start: Some(best.start.clone()), ..chosen })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::interrupt::Interrupt;
    use crate::model::{ColumnOptions, Covariance};
    use crate::rng::Role;
    use crate::rows::Table;

    /// Cells about centres that lie ten wide, the noise of each cluster and column by a rule.
    fn cells(n_rows: usize, n_columns: usize, n_clusters: usize, noise: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut rng = Seed::new(5).stream(Role::Observer, 0, 0);
        let centres: Vec<f64> = (0..n_clusters * n_columns).map(|_| 10.0 * rng.normal()).collect();
        let mut cells = Vec::with_capacity(n_rows * n_columns);
        for row in 0..n_rows {
            let cluster = row % n_clusters;
            for column in 0..n_columns {
                cells.push(centres[cluster * n_columns + column] + noise(cluster, column) * rng.normal());
            }
        }
        cells
    }

    fn chosen(n_columns: usize, cells: Vec<f64>, options: &ModelOptions, n_threads: usize) -> ChosenModel {
        let rows = Shard::of_table(Table::from_f64(n_columns, cells));
        choose(&rows, options, &Survey::of(&rows), Kernel::best(), n_threads, None, &mut ()).unwrap()
    }

    #[test]
    fn the_width_that_all_clusters_have_is_found() {
        let asked = ModelOptions { covariance: Some(Covariance::Isotropic), ..ModelOptions::default() };
        // not a multiple of five: every fifth row is held out, and must not be a cluster's every row
        let chosen = chosen(6, cells(4100, 6, 41, |_, _| 2.0), &asked, 2);
        let Model::GaussianFixed(family) = chosen.model else { panic!("as asked") };
        assert!((family.noise_sd / 2.0 - 1.0).abs() < 0.1, "σ {}", family.noise_sd);
        let n_components = chosen.start.unwrap().components.len();
        // a level has three quarters of the components of the one before
        assert!((41..=54).contains(&n_components), "{n_components} of 41");
    }

    #[test]
    fn clusters_with_a_shape_each_are_found_whatever_the_unit_and_the_threads() {
        let in_unit = |unit: f64, n_threads| {
            let cells = cells(3000, 3, 6, |cluster, column| if cluster % 3 == column { 3.0 } else { 0.3 });
            let cells = cells.into_iter().map(|cell| unit * cell).collect();
            chosen(3, cells, &ModelOptions::default(), n_threads)
        };
        let found = in_unit(1.0, 1);
        assert_ne!(found.model.described().name(), "gaussian, covariance isotropic");
        assert_eq!(found.start.as_ref().unwrap().components.len(), 6);
        assert_eq!(found, in_unit(1.0, 3));
        assert_eq!(found.options.width, in_unit(1024.0, 2).options.width);
    }

    /// Three clusters that lie far apart, and two columns of levels that tell nothing.
    #[test]
    fn columns_of_levels_that_tell_nothing_do_not_decide() {
        let n_rows = 600;
        for (n_levels, n_columns) in [(100, 1), (300, 1), (100, 2)] {
            let mut rng = Seed::new(7).stream(Role::Observer, 0, 0);
            let mut cells = Vec::new();
            for row in 0..n_rows {
                cells.extend((0..3).map(|column| if row % 3 == column { 9.0 } else { 0.0 } + rng.normal()));
                cells.extend((0..n_columns).map(|_| (rng.uniform() * n_levels as f64).floor()));
            }
            let levels = |column| (column >= 3).then_some(n_levels);
            let columns =
                ColumnOptions { n_levels: (0..3 + n_columns).map(levels).collect(), ..ColumnOptions::default() };
            let asked = ModelOptions { columns, ..ModelOptions::default() };
            let chosen = chosen(3 + n_columns, cells, &asked, 1);
            let n_components = chosen.start.unwrap().components.len();
            // without weights: 3 to 7
            assert!((3..=4).contains(&n_components), "{n_columns} columns of {n_levels} levels: {n_components}");
        }
    }

    #[test]
    fn what_the_user_says_is_not_chosen() {
        let asked = ModelOptions { sigma: Some(2.5), ..ModelOptions::default() };
        let Model::GaussianFixed(family) = chosen(3, cells(500, 3, 4, |_, _| 1.0), &asked, 1).model else {
            panic!("σ was given")
        };
        assert_eq!(family.noise_sd, 2.5);
        let asked = ModelOptions { covariance: Some(Covariance::Diag), ..ModelOptions::default() };
        let chosen = chosen(3, cells(500, 3, 4, |_, _| 1.0), &asked, 1);
        assert_eq!(chosen.model.described().name(), "gaussian, covariance diag");
    }

    /// Listens, and raises an interrupt at one of the steps.
    struct Listener {
        interrupt: Interrupt,
        raises_at: usize,
        heard: Vec<String>,
    }

    impl Observer for Listener {
        fn interrupt(&mut self) -> Interrupt {
            self.interrupt.clone()
        }

        fn on_start(&mut self, text: &str) {
            self.heard.push(text.to_owned());
            if self.heard.len() == self.raises_at {
                self.interrupt.raise();
            }
        }
    }

    /// The outcome of a search that is interrupted at a step or has a deadline, and what was heard of it.
    fn ended(raises_at: usize, deadline: Option<Instant>) -> (Result<ChosenModel>, Vec<String>) {
        let rows = Shard::of_table(Table::from_f64(2, cells(2000, 2, 2, |_, _| 1.0)));
        let mut listener = Listener { interrupt: Interrupt::new(), raises_at, heard: Vec::new() };
        let (options, survey) = (ModelOptions::default(), Survey::of(&rows));
        let outcome = choose(&rows, &options, &survey, Kernel::best(), 1, deadline, &mut listener);
        (outcome, listener.heard)
    }

    #[test]
    fn an_interrupt_ends_the_search_among_cells_and_at_any_level() {
        for step in [1, 2, 5] {
            let (outcome, heard) = ended(step, None);
            assert!(matches!(outcome, Err(Error::Interrupted)));
            assert_eq!(heard.len(), step, "nothing is done after the interrupt");
        }
    }

    #[test]
    fn a_search_out_of_time_ends_with_its_first_level() {
        let (outcome, heard) = ended(usize::MAX, Some(Instant::now()));
        assert_eq!(heard, ["200 cells of 1600 rows", "200 components"]);
        assert!(outcome.unwrap().start.unwrap().components.len() > 100);
        let (outcome, heard) = ended(usize::MAX, None);
        assert!(heard.len() > 10);
        assert_eq!(outcome.unwrap().start.unwrap().components.len(), 2);
    }
}
