//! A family of one's own: waiting times, exponential with a gamma prior on the rate.

use dirigent::internals::consolidate::{WeighedStats, log_merge_ratio};
use dirigent::internals::family::log_joint;
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::rows::{Shard, Table};
use dirigent::internals::special::log_gamma;
use dirigent::internals::sweep::reference::Reference;
use dirigent::internals::sweep::{Sampler, UNASSIGNED};
use dirigent::{
    Conjugate, Data, EngineName, Family, FitOptions, MethodName, OwnFamily, OwnedRow, Row, Stats, Stream, Sums,
};

// begin: family
/// Waiting times: x ~ Exp(rate), rate ~ Gamma(shape, scale): `shape` waits of `total / shape` each are what the prior has seen.
#[derive(Debug, Clone)]
struct Waiting {
    shape: f64,
    total: f64,
}

impl Waiting {
    fn posterior(&self, stats: &Stats) -> (f64, f64) {
        (self.shape + stats.count as f64, self.total + stats.dense()[0])
    }
}

fn wait(row: Row<'_>) -> f64 {
    match row {
        Row::F64(numbers) => numbers[0],
        Row::F32(numbers) => numbers[0].into(),
        Row::Counts(_) => panic!("waits are numbers"),
    }
}

impl Conjugate for Waiting {
    fn n_columns(&self) -> usize {
        1
    }

    fn stats_len(&self) -> usize {
        1
    }

    /// ln Γ(a + n) − (a + n) ln(b + Σx): what is left of the marginal when constants of the family are left out.
    fn log_normalizer(&self, stats: &Stats) -> f64 {
        let (shape, total) = self.posterior(stats);
        log_gamma(shape) - shape * libm::log(total)
    }

    fn parameters_len(&self) -> usize {
        1
    }

    /// The rate.
    fn sample_parameters(&self, stats: &Stats, rng: &mut Stream) -> Vec<f64> {
        let (shape, total) = self.posterior(stats);
        vec![rng.gamma(shape) / total]
    }

    /// Components whose mean waits differ by a factor are far apart.
    fn sketch(&self, stats: &Stats) -> Vec<f32> {
        let (shape, total) = self.posterior(stats);
        vec![libm::log(total / shape) as f32]
    }
}

impl Family for Waiting {
    fn accumulate(&self, row: Row<'_>, sign: i64, stats: &mut Stats) {
        let Sums::Dense(sums) = &mut stats.sums else { panic!("waits have dense sums") };
        stats.count += sign;
        sums[0] += sign as f64 * wait(row);
    }

    fn log_base_measure(&self, _row: Row<'_>) -> f64 {
        0.0
    }

    /// A Lomax density: a b^a / (b + x)^(a+1), with the posterior's a and b.
    fn log_predictive(&self, row: Row<'_>, stats: &Stats) -> f64 {
        let (shape, total) = self.posterior(stats);
        libm::log(shape) + shape * libm::log(total) - (shape + 1.0) * libm::log(total + wait(row))
    }

    fn log_likelihood(&self, row: Row<'_>, parameters: &[f64]) -> f64 {
        libm::log(parameters[0]) - parameters[0] * wait(row)
    }

    fn sample_row(&self, parameters: &[f64], _like: Row<'_>, rng: &mut Stream) -> OwnedRow {
        OwnedRow::Numbers(vec![rng.exponential() / parameters[0]])
    }
}
// end: family

const PRIOR: Waiting = Waiting { shape: 1.0, total: 1.0 };

fn waits(means: &[f64], n_rows: usize) -> Shard {
    let mut rng = Seed::new(1).stream(Role::Synthetic, 0, 0);
    let cells = (0..n_rows).map(|row| means[row % means.len()] * rng.exponential()).collect();
    Shard::of_table(Table::from_f64(1, cells))
}

// begin: sweep
/// The exact sampler, which works for any family: labels after so many sweeps.
fn sweep(family: &Waiting, shard: &Shard, alpha: f64, n_sweeps: u64) -> Vec<Vec<u32>> {
    let mut sampler = Reference::new(family.clone(), shard.clone());
    let states = (0..n_sweeps).map(|cycle| {
        // at the border of a cycle components are numbered without gaps
        let with_rows = (0..).zip(sampler.contributions()).filter(|(_, stats)| stats.count > 0);
        let (slots, components): (Vec<u32>, Vec<Stats>) = with_rows.unzip();
        let number = |label| slots.iter().position(|slot| slot == label).map_or(UNASSIGNED, |number| number as u32);
        sampler.set_labels(sampler.labels().iter().map(number).collect());
        sampler.load(&components);
        sampler.sweep(alpha, &mut Seed::new(7).stream(Role::Sweep, 0, cycle));
        sampler.labels().to_vec()
    });
    states.collect()
}
// end: sweep

#[test]
fn predictives_multiply_to_the_marginal() {
    let shard = waits(&[0.1, 10.0], 12);
    let (mut stats, mut product) = (PRIOR.empty_stats(), 0.0);
    for row in shard.rows() {
        product += PRIOR.log_predictive(row, &stats);
        PRIOR.add_row(row, &mut stats);
    }
    let marginal = PRIOR.log_normalizer(&stats) - PRIOR.log_normalizer_empty();
    assert!((product - marginal).abs() < 1e-9, "{product} is not {marginal}: suspect log_predictive");
}

/// Of two rows the posterior is one number, ρ/(1 + ρ). 20,000 sweeps, five standard errors of draws that are independent: false alarm below 1e-6
/// (of two rows every sweep forgets the one before).
#[test]
fn two_rows_are_together_as_often_as_they_should_be() {
    let shard = waits(&[0.3, 2.0], 2);
    let [a, b] = [0, 1].map(|row_ix| {
        let mut stats = PRIOR.empty_stats();
        PRIOR.add_row(shard.row(row_ix), &mut stats);
        WeighedStats::new(&PRIOR, stats)
    });
    let ratio = libm::exp(log_merge_ratio(&PRIOR, 1.0, &a, &b));
    let expected = ratio / (1.0 + ratio);
    let states = sweep(&PRIOR, &shard, 1.0, 20_000);
    let share = states.iter().filter(|labels| labels[0] == labels[1]).count() as f64 / states.len() as f64;
    let bound = 5.0 * (expected * (1.0 - expected) / states.len() as f64).sqrt();
    assert!((share - expected).abs() < bound, "{share} is not {expected} ± {bound}");
}

#[test]
fn short_and_long_waits_are_told_apart() {
    let shard = waits(&[0.01, 100.0], 400);
    let labels = sweep(&PRIOR, &shard, 0.1, 50).pop().expect("there were sweeps");
    let truth: Vec<u32> = (0..400).map(|row| row % 2).collect();
    let agreement = dirigent::internals::metrics::compare(&labels, &truth);
    assert!(agreement.nmi > 0.9, "{agreement:?}");
    let mut components = vec![PRIOR.empty_stats(); labels.iter().max().map_or(0, |&last| last as usize + 1)];
    shard.rows().zip(&labels).for_each(|(row, &label)| PRIOR.add_row(row, &mut components[label as usize]));
    let mut whole = PRIOR.empty_stats();
    components.iter().for_each(|stats| whole.add(stats));
    let [found, one] = [components.as_slice(), &[whole]].map(|parts| log_joint(&PRIOR, parts, 0.1, 0.0));
    assert!(found > one, "{found} is not above {one}, all rows in one component");
}

/// Waits of about a hundredth and of about a hundred, in one column.
fn data(n_rows: usize) -> Data {
    let mut rng = Seed::new(1).stream(Role::Synthetic, 0, 0);
    let means = [0.01, 100.0];
    Data::from_cells(1, (0..n_rows).map(|row| means[row % 2] * rng.exponential()).collect())
        .expect("rows of one column")
}

#[test]
fn a_fit_uses_the_family_on_threads_and_in_simulation() {
    // begin: fit
    let mut options = FitOptions::default();
    options.model.own_family = Some(OwnFamily::new("waiting", PRIOR));
    options.engine.workers = Some(2);
    let fitted = dirigent::fit(&data(400), &options).expect("the fit ends");
    // end: fit
    let truth: Vec<u32> = (0..400).map(|row| row % 2).collect();
    let agreement = dirigent::internals::metrics::compare(fitted.component_labels(), &truth);
    assert!(agreement.nmi > 0.9, "{agreement:?}");
    let again = fitted.predict(&data(400)).expect("rows of the same kind");
    assert_eq!(again, fitted.labels());
    assert!(fitted.save(std::env::temp_dir().join("own")).is_err(), "files cannot hold a family");
    options.engine.name = EngineName::Simulated;
    options.engine.row_cost = Some(1e-6);
    let simulated = dirigent::fit(&data(400), &options).expect("the fit ends");
    assert_eq!(simulated.labels(), fitted.labels());
}

/// The exact sampler draws parameters, which travel, and labels given them.
#[test]
fn slicemr_uses_the_family_too() {
    let mut options = FitOptions::default();
    options.model.own_family = Some(OwnFamily::new("waiting", PRIOR));
    (options.method.name, options.engine.workers) = (MethodName::Slicemr, Some(2));
    options.run.cycles = Some(40);
    let fitted = dirigent::fit(&data(400), &options).expect("the fit ends");
    let truth: Vec<u32> = (0..400).map(|row| row % 2).collect();
    let agreement = dirigent::internals::metrics::compare(fitted.component_labels(), &truth);
    assert!(agreement.nmi > 0.8, "{agreement:?}");
}
