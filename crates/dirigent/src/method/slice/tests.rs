//! Splits and merges alone, without a sweep: from exact draws of the posterior they lead to exact
//! draws of the posterior, on any number of workers; and the judge finds out whoever leaves out a
//! factor of the ratio.

use super::attempt::{AttemptStep, AttemptVerdict, MoveAttempt, Partition, Terms};
use super::census::Census;
use super::sides::SideRows;
use crate::consolidate::{ComponentId, ShardId, WeighedStats};
use crate::family::{
    Column, ColumnLaw, Columns, ColumnsKind, GaussianFixed, GaussianFull, Multinomial, OwnedRow, VonMisesFisher,
    table_of_rows,
};
use crate::method::cgs::log_joint_of_labels;
use crate::model::Model;
use crate::rng::{Role, Seed};
use crate::rows::{Shard, worker_rows};
use crate::special::log_sum_exp;
use crate::sweep::Kernel;
use crate::sweep::slice::{SliceSampler, slice_sampler};

/// Draws of the posterior to begin with, and moves from each of them: enough for a wrong ratio to
/// lead elsewhere.
const TRIALS: u64 = 10_000;
const MOVES: u64 = 12;

/// No share of a partition may be farther from its probability than this many standard errors: with
/// some 50 partitions that are probable enough to be judged by, a false alarm in 3000 a set, were
/// the streams not seeded. Measured: 1.8 to 2.6; with a factor left out: 20 to 152.
const BOUND: f64 = 4.5;

/// What may be left out of the ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slip {
    None,
    Density,
    Choice,
    Alpha,
    Target,
}

struct Bench {
    model: Model,
    alpha: f64,
    rows: Shard,
    samplers: Vec<Box<dyn SliceSampler>>,
    slip: Slip,
    n_accepted: [u64; 2],
}

impl Bench {
    fn new((model, rows): (Model, Shard), n_workers: usize, slip: Slip) -> Self {
        let shard = |worker| rows.part(worker_rows(worker, n_workers, rows.n_rows()));
        let samplers = (0..n_workers).map(|worker| slice_sampler(&model, shard(worker), Kernel::Portable)).collect();
        Self { model, alpha: 0.6, rows, samplers, slip, n_accepted: [0; 2] }
    }

    /// One attempt, from labels without gaps.
    fn try_one(&mut self, labels: &mut [u32], number: u64) {
        let seed = Seed::new(5);
        let mut rng = seed.stream(Role::SliceMoves, 0, number);
        let n_components = labels.iter().max().map_or(0, |largest| *largest as usize + 1);
        let ids: Vec<ComponentId> = (1..=n_components as u64).map(|number| ComponentId { epoch: 0, number }).collect();
        let mut rest = labels.to_vec();
        for sampler in &mut self.samplers {
            let after = rest.split_off(sampler.labels().len());
            sampler.set_labels(std::mem::replace(&mut rest, after));
        }
        let family = self.model.conjugate();
        let contributions: Vec<_> = self.samplers.iter().map(|sampler| sampler.contributions(n_components)).collect();
        let total = |ix: usize| {
            let of_workers = contributions.iter().map(|stats| stats[ix].clone());
            WeighedStats::new(family, of_workers.reduce(|all, stats| all.union(&stats)).unwrap())
        };
        let components: Vec<_> = ids.iter().enumerate().map(|(ix, id)| (*id, total(ix))).collect();
        let count = |(shard, stats): (usize, &Vec<crate::stats::Stats>)| {
            let of_ids = ids.iter().zip(stats).filter(|(_, stats)| stats.count > 0);
            of_ids.map(|(id, stats)| (shard as ShardId, *id, stats.count as u64)).collect::<Vec<_>>()
        };
        let census = Census::new(contributions.iter().enumerate().flat_map(count));
        let partition = Partition { family, alpha: self.alpha, components: &components, census: &census };
        let (mut attempt, mut next) = MoveAttempt::begin(&partition, 64 * number, &mut rng);
        let mut right: Vec<Vec<usize>> = Vec::new();
        loop {
            match next {
                AttemptStep::Nothing => return,
                AttemptStep::Judge(terms, verdict) => {
                    if libm::log(rng.uniform_positive()) <= slipped(terms, self.slip, self.alpha) {
                        self.n_accepted[usize::from(terms.is_split)] += 1;
                        self.settle(labels, verdict, &right);
                    }
                    return;
                }
                AttemptStep::Ask(step) => {
                    let (mut sides, mut log_probability) = ([family.empty_stats(), family.empty_stats()], 0.0);
                    right.clear();
                    for (shard, sampler) in self.samplers.iter().enumerate() {
                        let shard_id = shard as ShardId;
                        let (parameters_len, has_counts) = (family.parameters_len(), family.has_counts());
                        let rows =
                            SideRows { shard_id, sampler: sampler.as_ref(), ids: &ids, parameters_len, has_counts };
                        let mut rng = seed.stream(Role::SliceSides, shard_id, step.step);
                        let answer = rows.answer(&step, &mut rng).unwrap();
                        sides.iter_mut().zip(&answer.said.sides).for_each(|(all, stats)| all.add(stats));
                        log_probability += answer.said.log_probability;
                        right.push(answer.right);
                    }
                    next = attempt.hear(&partition, sides, log_probability, &mut rng);
                }
            }
        }
    }

    fn settle(&self, labels: &mut [u32], verdict: AttemptVerdict, right: &[Vec<usize>]) {
        let mut first_row = 0;
        let new = labels.iter().max().unwrap() + 1;
        for (sampler, right) in self.samplers.iter().zip(right) {
            right
                .iter()
                .filter(|_| matches!(verdict, AttemptVerdict::Split(_)))
                .for_each(|row| labels[first_row + row] = new);
            first_row += sampler.labels().len();
        }
        if let AttemptVerdict::Merge { into, from } = verdict {
            let [into, from] = [into, from].map(|id| id.number as u32 - 1);
            labels.iter_mut().filter(|label| **label == from).for_each(|label| *label = into);
        }
        labels.copy_from_slice(&by_appearance(labels));
    }

    /// The largest error of a partition's share after the moves, in standard errors.
    fn largest_error(&mut self) -> f64 {
        let partitions = partitions_of(self.rows.n_rows());
        let log_joint = |labels: &Vec<u32>| log_joint_of_labels(&self.rows, &self.model, self.alpha, labels);
        let logs: Vec<f64> = partitions.iter().map(log_joint).collect();
        let total = log_sum_exp(&logs);
        let mut n_after = vec![0u64; partitions.len()];
        for trial in 0..TRIALS {
            let start = Seed::new(9).stream(Role::Observer, 0, trial).categorical(&logs);
            let mut labels = partitions[start].clone();
            (0..MOVES).for_each(|number| self.try_one(&mut labels, trial * MOVES + number));
            n_after[partitions.iter().position(|other| *other == labels).unwrap()] += 1;
        }
        let error = |(n, log): (&u64, &f64)| {
            let p = libm::exp(log - total);
            let expected = p * TRIALS as f64;
            if expected < 30.0 { 0.0 } else { (*n as f64 - expected).abs() / (expected * (1.0 - p)).sqrt() }
        };
        n_after.iter().zip(&logs).map(error).fold(0.0, f64::max)
    }
}

fn slipped(terms: Terms, slip: Slip, alpha: f64) -> f64 {
    let Terms { log_target, log_choice, log_density, .. } = terms;
    match slip {
        Slip::None => terms,
        Slip::Density => Terms { log_density: 0.0, ..terms },
        Slip::Choice => Terms { log_choice: 0.0, ..terms },
        Slip::Alpha => Terms { log_target: log_target - libm::log(alpha), ..terms },
        Slip::Target => Terms { log_target: 0.0, log_choice, log_density, ..terms },
    }
    .log_ratio()
}

fn by_appearance(labels: &[u32]) -> Vec<u32> {
    let mut seen: Vec<u32> = Vec::new();
    let number = |label: &u32| {
        let known = seen.iter().position(|other| other == label);
        known.unwrap_or_else(|| {
            seen.push(*label);
            seen.len() - 1
        }) as u32
    };
    labels.iter().map(number).collect()
}

fn partitions_of(n_rows: usize) -> Vec<Vec<u32>> {
    let with_one_more = |labels: &Vec<u32>| {
        let next = labels.iter().max().map_or(0, |largest| largest + 1);
        (0..=next).map(|label| [labels.as_slice(), &[label]].concat()).collect::<Vec<_>>()
    };
    (0..n_rows).fold(vec![Vec::new()], |partitions, _| partitions.iter().flat_map(with_one_more).collect())
}

fn gaussian() -> (Model, Shard) {
    let rows = [-1.8, -1.2, 0.1, 0.6, 2.0].map(|x| OwnedRow::Numbers(vec![x]));
    let family = GaussianFixed { noise_sd: 1.0, mean_sd: 2.0, prior_mean: vec![0.0], offset: vec![0.5] };
    (Model::GaussianFixed(family), Shard::of_table(table_of_rows(1, &rows)))
}

/// With two documents that are the same, so that components can be equally near.
fn documents() -> (Model, Shard) {
    let documents: [&[(u32, u32)]; 5] = [&[(0, 2)], &[(0, 1), (1, 1)], &[(0, 2)], &[(1, 1), (2, 2)], &[(2, 1)]];
    let rows = documents.map(|entries| OwnedRow::Counts(entries.to_vec()));
    (Model::Multinomial(Multinomial { smoothing: 0.7, n_words: 3 }), Shard::of_table(table_of_rows(3, &rows)))
}

/// Two columns, numbers and levels, with missing cells.
fn mixed() -> (Model, Shard) {
    let cells = [[-1.8, 0.0], [f64::NAN, 0.0], [0.1, f64::NAN], [0.6, 1.0], [2.0, 1.0]];
    let normal = ColumnLaw::Normal { offset: 0.5, scale: 2.0, prior_mean: 0.3, prior_rows: 0.3, shape: 2.0, rate: 0.5 };
    let laws = [normal, ColumnLaw::Categorical { smoothing: 0.4, n_levels: 2 }];
    let columns = laws.map(|law| Column { law, has_missing: true }).to_vec();
    let rows = cells.map(|row| OwnedRow::Numbers(row.to_vec()));
    (Model::Columns(Columns { kind: ColumnsKind::Mixed, columns }), Shard::of_table(table_of_rows(2, &rows)))
}

fn full() -> (Model, Shard) {
    let points = [[-1.8, -0.5], [-1.2, 0.3], [0.1, 0.2], [0.6, -0.4], [2.0, 1.0]];
    let rows = points.map(|row| OwnedRow::Numbers(row.to_vec()));
    let family = GaussianFull {
        offset: vec![0.5; 2],
        scale: vec![2.0; 2],
        prior_mean: vec![0.0; 2],
        prior_rows: 0.3,
        degrees: 4.0,
        prior_scale: vec![0.2, 0.0, 0.2],
    };
    (Model::GaussianFull(family), Shard::of_table(table_of_rows(2, &rows)))
}

fn directions() -> (Model, Shard) {
    let rows = [0.0f64, 0.4, 1.1, 1.9, 2.5].map(|angle| OwnedRow::Numbers(vec![libm::cos(angle), libm::sin(angle)]));
    let family = VonMisesFisher { concentration: 4.0, prior_direction: vec![1.0, 0.0], prior_strength: 1.0 };
    (Model::VonMisesFisher(family), Shard::of_table(table_of_rows(2, &rows)))
}

#[test]
fn moves_alone_leave_the_posterior_as_it_is_on_any_number_of_workers() {
    let both = [(gaussian(), 1), (gaussian(), 3), (documents(), 1), (documents(), 2)];
    for (data, n_workers) in both.into_iter().chain([(mixed(), 2), (full(), 2), (directions(), 2)]) {
        let mut bench = Bench::new(data, n_workers, Slip::None);
        let error = bench.largest_error();
        assert!(error < BOUND, "{n_workers} workers: {error}");
        assert!(bench.n_accepted.iter().all(|&n| n > TRIALS / 4), "{:?}", bench.n_accepted);
    }
}

#[test]
fn whoever_leaves_out_a_factor_of_the_ratio_is_found_out() {
    for data in [gaussian(), documents()] {
        for slip in [Slip::Density, Slip::Choice, Slip::Alpha, Slip::Target] {
            let error = Bench::new(data.clone(), 2, slip).largest_error();
            assert!(error > 1.5 * BOUND, "{slip:?}: {error}");
        }
    }
}
