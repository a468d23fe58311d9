//! The model of a run: what the user leaves open is chosen from cells of a sample.
//!
//! How wide clusters are decides how many there will be, and no summary of the columns tells it. Components do: given them, each width has a log-joint, which is computed
//! from their statistics alone. Covariances compete by the density of rows that were left out. The sample is every n-th row and the seed always the same: what is
//! chosen depends on the rows and on nothing else.

use super::{Search, Start, gamma};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::model::{Choice, Model, ModelOptions, choose, priors};
use crate::rng::Seed;
use crate::rows::Shard;
use crate::survey::Survey;
use crate::sweep::Kernel;

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

/// The model of the rows. An interrupt ends the search with an error.
///
/// ```
/// use dirigent::interrupt::Interrupt;
/// use dirigent::io::synthetic::MixtureLaw;
/// use dirigent::method::start::model::choose;
/// use dirigent::model::{Model, ModelOptions};
/// use dirigent::rows::Shard;
/// use dirigent::survey::Survey;
/// use dirigent::sweep::Kernel;
///
/// // five clusters, whose rows spread with a standard deviation of 1 about centres that are far apart
/// let law = MixtureLaw { n_rows: 500, n_clusters: 5, centre_sd: 40.0, ..MixtureLaw::synthetic() };
/// let rows = Shard::of_table(law.table()?.0);
/// let survey = Survey::of(&rows);
/// let chosen = choose(&rows, &ModelOptions::default(), &survey, Kernel::best(), 1, &Interrupt::new())?;
/// assert_eq!(chosen.model, Model::resolve(&chosen.options, &survey)?, "what was learned is filled in");
/// assert_eq!(chosen.start.unwrap().components.len(), 5);
/// # Ok::<(), dirigent::Error>(())
/// ```
pub fn choose(
    rows: &Shard,
    options: &ModelOptions,
    survey: &Survey,
    kernel: Kernel,
    n_threads: usize,
    interrupt: &Interrupt,
) -> Result<ChosenModel> {
    if options.learns_smoothing && options.smoothing.is_none() {
        choose::shape(options, survey)?;
        return gamma::learn(rows, options, survey, kernel);
    }
    let (usual, choices) = Model::explain(options, survey)?;
    let mut contenders = Vec::new();
    for options in std::iter::once(options.clone()).chain(choose::rivals(options, survey)) {
        if priors::is_width_open(&Model::resolve(&options, survey)?, &options) {
            contenders.push(options);
        }
    }
    let mut attempts = Vec::new();
    for contender in &contenders {
        let search = Search { rows, survey, kernel, n_threads, seed: Seed::new(0), interrupt };
        let (level, sample) = search.find(contender)?;
        let held_out = sample.held_out_density(&level.labelling, &level.model);
        attempts.push(Attempt { options: level.options.clone(), n_sampled: sample.n_rows(), held_out, start: level.start() });
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
    if let Some(covariance) = options.covariance.filter(|_| asked.covariance.is_none()) {
        choices.retain(|choice| choice.name != "covariance");
        let densities: Vec<String> = attempts.iter().map(|attempt| format!("{:.3}", attempt.held_out)).collect();
        let why = format!("held-out rows are densest, in nats per row: {:.3} of {}", best.held_out, densities.join(", "));
        choices.push(Choice::new("covariance", covariance.name(), &why));
    }
    let reason = format!("the most probable for the {} components of {n_sampled} rows", best.start.components.len());
    let chosen = ChosenModel::with_learned(options, choices, survey, &reason)?;
    Ok(ChosenModel { start: Some(best.start.clone()), ..chosen })
}
