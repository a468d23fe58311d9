//! A pilot: a few short fits of a sample of the rows, from which the width of clusters is learnt before the run begins.
//!
//! How wide clusters are beforehand, and how surely, decides how many there will be, and no summary of the columns tells it. But clusters do: given components, each
//! candidate of a prior has a log-joint, which is computed from their statistics alone. So a sample is fitted under the usual prior, the candidate that makes its
//! components most probable is taken, and that is done once more with it. Where columns are of one scale, clusters of one width compete with those that have
//! a shape each, by the same measure. The sample is every n-th row, the seed always the same: what is learnt depends on the rows and on nothing else.

mod documents;
mod sample;

use self::sample::Sample;
use super::cgs::Outcome;
use crate::error::Result;
use crate::model::{Choice, Model, ModelOptions, choose, priors};
use crate::rows::Shard;
use crate::survey::Survey;
use crate::sweep::Kernel;

/// Rows of the first sample, at most about twice as many.
const SAMPLE: usize = 2000;
/// Each further sample has so many times the rows of the one before.
const GROWTH: usize = 4;
/// Rows of the last sample.
const LARGEST_SAMPLE: usize = SAMPLE * GROWTH * GROWTH;
/// With fewer rows for each of its components a sample is too small to tell.
const ROWS_A_COMPONENT: usize = 100;
/// With fewer rows than this a component is hardly a cluster: what was found is not worth another fit.
const FEWEST_ROWS_A_COMPONENT: usize = 10;
/// The least of those who take the place of the usual model: with few rows many narrow clusters are as probable as a few that have a shape.
const FEWEST_ROWS_OF_A_RIVAL: usize = 20;
/// Nats a row: whoever is further behind the best has no part in the next sample.
const BEHIND: f64 = 1.0;
/// Fits of a sample from one start, at most.
const ROUNDS: usize = 3;

/// The model that a run is to have.
///
/// ```
/// use dirigent::method::pilot;
/// use dirigent::model::{Model, ModelOptions};
/// use dirigent::rows::{Shard, Table};
/// use dirigent::survey::Survey;
/// use dirigent::sweep::Kernel;
///
/// // where the user leaves nothing open there is nothing to learn
/// let rows = Shard::of_table(Table::from_f64(1, vec![0.0, 0.1, 0.2, 9.0, 9.1]));
/// let asked = ModelOptions { noise_sd: Some(0.5), mean_sd: Some(5.0), ..ModelOptions::default() };
/// let pilot = pilot::learn(&rows, &asked, &Survey::of(&rows), Kernel::best())?;
/// assert_eq!(pilot.model, Model::resolve(&asked, &Survey::of(&rows))?);
/// # Ok::<(), dirigent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Pilot {
    /// The options, with what was learnt filled in.
    pub options: ModelOptions,
    /// The model.
    pub model: Model,
    /// What was chosen for the user, and why.
    pub choices: Vec<Choice>,
}

impl Pilot {
    /// The model with what was learnt filled in. `choices` are those of its shape; the priors are told after them, the learnt ones with this reason.
    fn with_learnt(options: ModelOptions, mut choices: Vec<Choice>, survey: &Survey, reason: &str) -> Result<Self> {
        let (model, by_rule) = priors::model(choose::shape(&options, survey)?.shape, &options, survey)?;
        choices.extend(by_rule);
        choices.extend(priors::told(&model, &options, reason));
        Ok(Self { options, model, choices })
    }
}

/// The model of the rows, what the user left open learnt from a sample of them where a sample can tell.
///
/// ```
/// use dirigent::io::synthetic::MixtureLaw;
/// use dirigent::method::pilot;
/// use dirigent::model::{Model, ModelOptions};
/// use dirigent::rows::Shard;
/// use dirigent::survey::Survey;
/// use dirigent::sweep::Kernel;
///
/// // five clusters, whose rows spread with a standard deviation of 1 about centres that are far apart
/// let law = MixtureLaw { n_rows: 500, n_clusters: 5, centre_sd: 40.0, ..MixtureLaw::synthetic() };
/// let rows = Shard::of_table(law.table()?.0);
/// let pilot = pilot::learn(&rows, &ModelOptions::default(), &Survey::of(&rows), Kernel::best())?;
/// assert_ne!(pilot.options, ModelOptions::default(), "what was learnt is filled in");
/// assert_eq!(pilot.model, Model::resolve(&pilot.options, &Survey::of(&rows))?);
/// # Ok::<(), dirigent::Error>(())
/// ```
pub fn learn(rows: &Shard, options: &ModelOptions, survey: &Survey, kernel: Kernel) -> Result<Pilot> {
    let (usual, choices) = Model::explain(options, survey)?;
    if options.learns_smoothing && options.smoothing.is_none() {
        return documents::learn(rows, options, survey, kernel);
    }
    let mut contenders = Vec::new();
    for options in std::iter::once(options.clone()).chain(choose::rivals(options, survey)) {
        contenders.extend(Contender::new(options, survey)?);
    }
    for n_rows in (0..).map(|growth| SAMPLE * GROWTH.pow(growth)) {
        let sample = Sample::new(rows, n_rows, kernel);
        // a sample may look like another family: columns of zeros and ones with a few other cells
        let is_alike = |model: Model| model.described().name() == usual.described().name();
        if contenders.is_empty() || !Model::resolve(options, &sample.survey).is_ok_and(is_alike) {
            break;
        }
        for contender in &mut contenders {
            contender.learn(&sample)?;
        }
        contenders.sort_by(|a, b| b.best.log_joint.total_cmp(&a.best.log_joint));
        let n_sampled = sample.rows.n_rows();
        let is_believed = |contender: &&Contender| {
            let is_rival = contender.best.options.covariance != options.covariance;
            !is_rival || FEWEST_ROWS_OF_A_RIVAL * contender.best.n_components <= n_sampled
        };
        let best = contenders.iter().find(is_believed).unwrap_or(&contenders[0]);
        let can_grow = n_sampled < rows.n_rows() && n_rows < LARGEST_SAMPLE;
        if contenders[0].can_tell(n_sampled) || !can_grow {
            return best.told(n_sampled, survey, options);
        }
        let least = contenders[0].best.log_joint - BEHIND * n_sampled as f64;
        contenders.retain(|contender| contender.best.log_joint >= least);
    }
    Ok(Pilot { options: options.clone(), model: usual, choices })
}

/// A kind of model whose prior is to be learnt.
struct Contender {
    candidates: Vec<ModelOptions>,
    /// Where to begin with the next sample, the widest clusters first.
    starts: Vec<ModelOptions>,
    best: Attempt,
}

/// What was learnt from one start.
struct Attempt {
    options: ModelOptions,
    /// Of the components that were found, under these options.
    log_joint: f64,
    n_components: usize,
    /// Candidates that these options were chosen from.
    n_candidates: usize,
}

impl Attempt {
    fn at(options: ModelOptions) -> Self {
        Self { options, log_joint: f64::NEG_INFINITY, n_components: 0, n_candidates: 0 }
    }
}

impl Contender {
    /// `None` where there is nothing left to learn.
    fn new(options: ModelOptions, survey: &Survey) -> Result<Option<Self>> {
        let model = Model::resolve(&options, survey)?;
        let candidates = priors::candidates(&model, &options);
        let starts = priors::starts(&model, &options);
        Ok((!candidates.is_empty()).then_some(Self { candidates, starts, best: Attempt::at(options) }))
    }

    /// Learns from a sample, going on from what an earlier one has taught. Narrower starts are tried as long as they are no worse, or as nothing was found but a
    /// single component, which says nothing of how wide clusters are.
    fn learn(&mut self, sample: &Sample) -> Result<()> {
        self.best.log_joint = f64::NEG_INFINITY;
        for start in std::mem::take(&mut self.starts) {
            let attempt = self.climb(start, ROUNDS, sample)?;
            if attempt.log_joint >= self.best.log_joint {
                self.best = attempt;
            } else if self.best.n_components > 1 {
                break;
            }
        }
        // components that were found under too wide a prior speak for it: what is narrower must be tried
        while let Some(narrower) = self.narrower().filter(|_| self.can_tell(sample.rows.n_rows())) {
            let attempt = self.climb(narrower, 1, sample)?;
            if attempt.log_joint <= self.best.log_joint {
                break;
            }
            self.best = attempt;
        }
        self.starts = vec![self.best.options.clone()];
        Ok(())
    }

    /// Fits, takes the candidate that is most probable for what was found, and fits again, until it is the same one.
    fn climb(&self, start: ModelOptions, n_rounds: usize, sample: &Sample) -> Result<Attempt> {
        let mut attempt = Attempt::at(start);
        for _ in 0..n_rounds {
            let found = sample.fit(&attempt.options)?;
            let candidates = self.candidates_for(&found, sample)?;
            let (n_components, n_candidates) = (found.components.len(), candidates.len());
            let mut best = Attempt { n_components, n_candidates, ..Attempt::at(attempt.options.clone()) };
            for candidate in candidates {
                let log_joint = sample.log_joint_under(&candidate, &found)?;
                if log_joint > best.log_joint {
                    best = Attempt { options: candidate, log_joint, ..best };
                }
            }
            let is_settled = best.options == attempt.options;
            let is_hopeless = FEWEST_ROWS_A_COMPONENT * best.n_components > sample.rows.n_rows();
            attempt = best;
            if is_settled || is_hopeless {
                break;
            }
        }
        Ok(attempt)
    }

    /// The candidates, and where rows are few the same with the widths that the components found have in each column.
    fn candidates_for(&self, found: &Outcome, sample: &Sample) -> Result<Vec<ModelOptions>> {
        let mut candidates = self.candidates.clone();
        if sample.is_of_few {
            let model = Model::resolve(&self.best.options, &sample.survey)?;
            let _ = (model, found);
        }
        Ok(candidates)
    }

    /// The candidate after the best one, where they differ in one number and so form a line.
    fn narrower(&self) -> Option<ModelOptions> {
        let best_ix = self.candidates.iter().position(|candidate| *candidate == self.best.options)?;
        self.candidates.get(best_ix + 1).filter(|candidate| candidate.width.is_none()).cloned()
    }

    /// Whether a sample of so many rows had enough for each component.
    fn can_tell(&self, n_sampled: usize) -> bool {
        self.best.n_components > 1 && ROWS_A_COMPONENT * self.best.n_components <= n_sampled
    }

    /// The model with what was learnt, and why: the shape by the user's own options, unless it is this contender's.
    fn told(&self, n_sampled: usize, survey: &Survey, asked: &ModelOptions) -> Result<Pilot> {
        let options = self.best.options.clone();
        let mut choices = choose::shape(asked, survey)?.choices;
        let of_sample = format!("the most probable for the clusters of {n_sampled} rows");
        if let Some(covariance) = options.covariance.filter(|_| asked.covariance.is_none()) {
            choices.retain(|choice| choice.name != "covariance");
            choices.push(Choice::new("covariance", covariance.name(), &of_sample));
        }
        let reason = format!("of {} tried, {of_sample}", self.best.n_candidates);
        Pilot::with_learnt(options, choices, survey, &reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::synthetic::MixtureLaw;
    use crate::model::Covariance;
    use crate::rng::{Role, Seed};
    use crate::rows::Table;

    /// Cells about centres that lie ten wide, the noise of each cluster and column by a law.
    fn cells(n_rows: usize, n_columns: usize, n_clusters: usize, noise: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut rng = Seed::new(5).stream(Role::Observer, 0, 0);
        let centres: Vec<f64> = (0..n_clusters * n_columns).map(|_| 10.0 * rng.normal()).collect();
        let mut cells = Vec::with_capacity(n_rows * n_columns);
        for row in 0..n_rows {
            let cluster = row % n_clusters;
            for column in 0..n_columns {
                let noise = noise(cluster, column) * rng.normal();
                cells.push(centres[cluster * n_columns + column] + noise);
            }
        }
        cells
    }

    fn rows(n_rows: usize, n_columns: usize, n_clusters: usize, noise: impl Fn(usize, usize) -> f64) -> Shard {
        Shard::of_table(Table::from_f64(n_columns, cells(n_rows, n_columns, n_clusters, noise)))
    }

    fn learnt(rows: &Shard, options: &ModelOptions) -> Pilot {
        learn(rows, options, &Survey::of(rows), Kernel::best()).unwrap()
    }

    #[test]
    fn clusters_of_one_width_are_found_to_be_so() {
        // a sample of 2000 has seven rows of each
        let rows = rows(12_000, 12, 300, |_, _| 4.0);
        let Model::GaussianFixed(family) = learnt(&rows, &ModelOptions::default()).model else {
            panic!("clusters have one width")
        };
        assert!((family.noise_sd / 4.0 - 1.0).abs() < 0.12, "σ {}", family.noise_sd);
    }

    #[test]
    fn a_single_component_does_not_end_the_search() {
        // two wide starts find one component in a sample of this set, and the next one less probable ones
        let (table, _) = MixtureLaw::synthetic().table().unwrap();
        let asked = ModelOptions { covariance: Some(Covariance::Fixed), ..ModelOptions::default() };
        let Model::GaussianFixed(family) = learnt(&Shard::of_table(table), &asked).model else { panic!("as asked") };
        assert!((0.9..1.2).contains(&family.noise_sd), "σ {}", family.noise_sd);
    }

    #[test]
    fn clusters_with_a_shape_each_are_found_to_be_so() {
        let rows = rows(3000, 4, 6, |cluster, column| if cluster % 4 == column { 3.0 } else { 0.3 });
        let Pilot { model, choices, .. } = learnt(&rows, &ModelOptions::default());
        assert_eq!(model.described().name(), "gaussian, covariance full");
        let names: Vec<&str> = choices.iter().map(|choice| choice.name.as_str()).collect();
        assert_eq!(names, ["family", "covariance", "kappa0", "m0", "nu0", "psi0"]);
    }

    #[test]
    fn what_the_user_says_is_not_learnt() {
        let rows = rows(500, 3, 4, |_, _| 1.0);
        let asked = ModelOptions { noise_sd: Some(2.5), ..ModelOptions::default() };
        let Model::GaussianFixed(family) = learnt(&rows, &asked).model else { panic!("σ was given") };
        assert_eq!(family.noise_sd, 2.5);
        let asked = ModelOptions { prior_rows: Some(0.5), ..ModelOptions::default() };
        let Model::GaussianFull(family) = learnt(&rows, &asked).model else { panic!("κ₀ was given") };
        assert_eq!(family.prior_rows, 0.5);
    }

    #[test]
    fn the_unit_does_not_matter() {
        let width = |unit: f64| {
            let cells = cells(6000, 2, 5, |_, _| 1.0).into_iter().map(|cell| unit * cell).collect();
            let rows = Shard::of_table(Table::from_f64(2, cells));
            learnt(&rows, &ModelOptions::default()).options.noise_sd.map(|sd| sd / unit)
        };
        assert!(width(1.0).is_some());
        assert_eq!(width(1.0), width(1024.0));
    }
}
