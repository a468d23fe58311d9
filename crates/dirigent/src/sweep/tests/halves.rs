//! Halves in the fast scorers against the slow twin, and against the labels after a sweep.

use proptest::prelude::*;

use super::{BatchSampler, Scorer, State, gaussian_state, kernels, multinomial_state, vmf_state};
use crate::family::{Conjugate, Family, GaussianFixed, Multinomial, OwnedRow, VonMisesFisher, table_of_rows};
use crate::halves::{Half, HalfCut};
use crate::rng::{Role, Seed, Stream};
use crate::rows::{Shard, Table};
use crate::stats::Stats;
use crate::sweep::gaussian_narrow::GaussianNarrowScorer;
use crate::sweep::gaussian_wide::GaussianWideScorer;
use crate::sweep::halves::side;
use crate::sweep::multinomial::MultinomialScorer;
use crate::sweep::reference::{half_contributions, log_half_weight};
use crate::sweep::vmf::VmfScorer;
use crate::sweep::{Kernel, LocalHalves, Sampler, UNASSIGNED};

/// Halves are weighed in double precision.
pub(super) const HALF_BOUND: f64 = 1e-6;
const ALPHA: f64 = 1.3;

fn with_row<F: Family>(family: &F, shard: &Shard, stats: &Stats) -> Stats {
    let mut stats = stats.clone();
    family.add_row(shard.row(0), &mut stats);
    stats
}

impl<F: Family + Clone> State<F> {
    /// The largest total variation of a row's half between fast and slow, every component with its
    /// next as halves, the row in the left one, in the right one, or in none.
    pub(super) fn half_distance<S: Scorer<Family = F>>(&self, scorer: impl Fn() -> S, kernel: Kernel) -> f64 {
        let shard = Shard::of_table(table_of_rows(self.n_columns, std::slice::from_ref(&self.row)));
        let n = self.components.len();
        let halves = |slot: usize| [self.components[slot].clone(), self.components[(slot + 1) % n].clone()];
        let mut largest = 0.0f64;
        for own in 0..n.min(6) {
            for taken_out in [None, Some(Half::Left), Some(Half::Right)] {
                let mut slots: Vec<[Stats; 2]> = (0..n).map(halves).collect();
                if let Some(half) = taken_out {
                    slots[own][half.ix()] = with_row(&self.family, &shard, &slots[own][half.ix()]);
                }
                let totals: Vec<Stats> = slots.iter().map(|[left, right]| left.union(right)).collect();
                let mut sampler = BatchSampler::new(scorer(), shard.clone(), kernel);
                sampler.load(&totals);
                sampler.set_labels(vec![if taken_out.is_some() { own as u32 } else { UNASSIGNED }]);
                sampler.load_halves(slots.into_iter().map(LocalHalves::Known).collect());
                sampler.set_halves(vec![taken_out]);
                let (fast, _) = sampler.half_conditional(0, own, taken_out, ALPHA);
                let [left, right] = halves(own).map(|stats| log_half_weight(&self.family, shard.row(0), &stats, ALPHA));
                largest = largest.max((fast - 1.0 / (1.0 + libm::exp(right - left))).abs());
            }
        }
        largest
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, rng_seed: proptest::test_runner::RngSeed::Fixed(2), ..ProptestConfig::default() })]

    #[test]
    fn halves_of_narrow_gaussians_equal_their_twin(d in 1usize..=8, k in 1usize..=20, spread in 0.3f64..12.0, seed: u64) {
        let state = gaussian_state(d, k, spread, seed);
        for kernel in kernels() {
            let distance = match d {
                1 => state.half_distance(|| GaussianNarrowScorer::<1>::new(state.family.clone()), kernel),
                2 => state.half_distance(|| GaussianNarrowScorer::<2>::new(state.family.clone()), kernel),
                3 => state.half_distance(|| GaussianNarrowScorer::<3>::new(state.family.clone()), kernel),
                4 => state.half_distance(|| GaussianNarrowScorer::<4>::new(state.family.clone()), kernel),
                _ => state.half_distance(|| GaussianNarrowScorer::<8>::new(state.family.clone()), kernel),
            };
            prop_assert!(distance < HALF_BOUND, "{kernel}: {distance}");
        }
    }

    #[test]
    fn halves_of_wide_gaussians_equal_their_twin(d in 1usize..=300, k in 1usize..=20, spread in 0.3f64..4.0, seed: u64) {
        let state = gaussian_state(d, k, spread, seed);
        for kernel in kernels() {
            let distance = state.half_distance(|| GaussianWideScorer::new(state.family.clone()), kernel);
            prop_assert!(distance < HALF_BOUND, "{kernel}: {distance}");
        }
    }

    #[test]
    fn halves_of_multinomials_equal_their_twin(v in prop_oneof![2usize..=30, 2usize..=400], k in 1usize..=20, log_smoothing in -7.0f64..2.0, seed: u64) {
        let state = multinomial_state(v, k, libm::exp(log_smoothing), seed);
        for kernel in kernels() {
            let distance = state.half_distance(|| MultinomialScorer::new(state.family.clone()), kernel);
            prop_assert!(distance < HALF_BOUND, "{kernel}: {distance}");
        }
    }

    #[test]
    fn halves_of_directions_equal_their_twin(d in 2usize..=300, k in 1usize..=20, log_tau in -3.0f64..9.0, seed: u64) {
        let state = vmf_state(d, k, libm::exp(log_tau), seed);
        for kernel in kernels() {
            let distance = state.half_distance(|| VmfScorer::new(state.family.clone()), kernel);
            prop_assert!(distance < HALF_BOUND, "{kernel}: {distance}");
        }
    }
}

/// Rows of four close components, some of them this shard's and some another worker's.
fn rows_of<F: Family>(family: &F, like: &OwnedRow, n_rows: usize, rng: &mut Stream) -> Vec<OwnedRow> {
    let params: Vec<Vec<f64>> = (0..4).map(|_| family.sample_parameters(&family.empty_stats(), rng)).collect();
    let like = table_of_rows(family.n_columns(), std::slice::from_ref(like));
    (0..n_rows).map(|row| family.sample_row(&params[row % 4], like.row(0), rng)).collect()
}

/// Known halves, with another worker's rows, in slots 0 and 3, fresh ones in slot 1, none in slot
/// 2: after two sweeps the scorer's halves are those of the labels.
pub(super) fn check_conservation<F: Family + Clone, S: Scorer<Family = F>>(
    family: &F,
    like: &OwnedRow,
    scorer: impl Fn() -> S,
    kernel: Kernel,
) {
    let mut rng = Seed::new(8).stream(Role::Observer, 0, 0);
    let rows = rows_of(family, like, 300, &mut rng);
    let table = |rows: &[OwnedRow]| Shard::of_table(table_of_rows(family.n_columns(), rows));
    let (shard, others) = (table(&rows[..200]), table(&rows[200..]));
    let random_labels = |n: usize, rng: &mut Stream| -> (Vec<u32>, Vec<Option<Half>>) {
        let labels: Vec<u32> = (0..n).map(|_| rng.below(4) as u32).collect();
        let half = |&label: &u32| (label == 0 || label == 3).then(|| Half::BOTH[rng.below(2)]);
        let halves = labels.iter().map(half).collect();
        (labels, halves)
    };
    let (mut labels, mut halves) = random_labels(200, &mut rng);
    // some rows are new, and some were in none
    labels[..10].fill(UNASSIGNED);
    halves[..10].fill(None);
    let (their_labels, their_halves) = random_labels(100, &mut rng);
    let theirs = half_contributions(family, &others, &their_labels, &their_halves, 4);
    let local = |own: &[[Stats; 2]]| -> (Vec<Stats>, Vec<[Stats; 2]>) {
        let sum = |(own, theirs): (&[Stats; 2], &[Stats; 2])| [own[0].union(&theirs[0]), own[1].union(&theirs[1])];
        let halves: Vec<[Stats; 2]> = own.iter().zip(&theirs).map(sum).collect();
        (halves.iter().map(|[left, right]| left.union(right)).collect(), halves)
    };
    let (totals, known) = local(&half_contributions(family, &shard, &labels, &halves, 4));
    let cut = family.cut(&totals[1], &mut rng);
    let told = |known: &[[Stats; 2]]| {
        vec![
            LocalHalves::Known(known[0].clone()),
            LocalHalves::Fresh(cut.clone()),
            LocalHalves::None,
            LocalHalves::Known(known[3].clone()),
        ]
    };
    let mut sampler = BatchSampler::new(scorer(), shard.clone(), kernel);
    sampler.load(&totals);
    sampler.set_labels(labels.clone());
    sampler.load_halves(told(&known));
    sampler.set_halves(halves);
    let moved: u64 = (0..2).map(|_| sampler.sweep(1.0, &mut rng).moved).sum();
    assert!(moved > 20, "{moved} moved");

    let mut n_in_half = [0; 2];
    for (row, (label, half)) in sampler.labels().iter().zip(sampler.halves()).enumerate() {
        match label {
            0 | 3 => n_in_half[half.expect("a row is drawn into a half").ix()] += 1,
            1 => {
                let expected = family.side(shard.row(row), &cut);
                assert!(half.is_some() && (expected.is_none() || *half == expected), "row {row} is on its side");
            }
            _ => assert_eq!(*half, None, "row {row} of {label}"),
        }
    }
    assert!(n_in_half.iter().all(|n| *n > 5), "{n_in_half:?}");

    let own = half_contributions(family, &shard, sampler.labels(), sampler.halves(), sampler.contributions().len());
    let (mut totals, known) = local(&own[..4]);
    totals.extend(own[4..].iter().map(|[left, right]| left.union(right)));
    let mut again = BatchSampler::new(scorer(), shard.clone(), kernel);
    again.load(&totals);
    again.set_labels(sampler.labels().to_vec());
    let mut told = told(&known);
    told.resize(totals.len(), LocalHalves::None);
    again.load_halves(told);
    for slot in [0, 3] {
        for row in 0..200 {
            let own_half = (sampler.labels()[row] == slot).then(|| sampler.halves()[row]).flatten();
            let held = sampler.half_conditional(row, slot as usize, own_half, 1.0);
            let recomputed = again.half_conditional(row, slot as usize, own_half, 1.0);
            assert_eq!(held.1, recomputed.1, "{kernel}, counts of slot {slot}");
            assert!((held.0 - recomputed.0).abs() < HALF_BOUND, "{kernel}, slot {slot}: {held:?}, {recomputed:?}");
        }
    }
}

#[test]
fn after_sweeps_the_halves_are_those_of_the_labels() {
    let gaussian = |n_columns: usize| GaussianFixed {
        noise_sd: 1.0,
        mean_sd: 1.0,
        prior_mean: vec![0.5; n_columns],
        offset: vec![0.25; n_columns],
    };
    let text = Multinomial { smoothing: 0.5, n_words: 30 };
    let few_words = Multinomial { smoothing: 0.5, n_words: 6 };
    for kernel in kernels() {
        let (narrow, wide) = (gaussian(2), gaussian(11));
        let like = OwnedRow::Numbers(vec![0.0; 2]);
        check_conservation(&narrow, &like, || GaussianNarrowScorer::<2>::new(narrow.clone()), kernel);
        let like = OwnedRow::Numbers(vec![0.0; 11]);
        check_conservation(&wide, &like, || GaussianWideScorer::new(wide.clone()), kernel);
        let like = OwnedRow::Counts(vec![(0, 6)]);
        check_conservation(&text, &like, || MultinomialScorer::new(text.clone()), kernel);
        let like = OwnedRow::Counts(vec![(0, 12)]);
        check_conservation(&few_words, &like, || MultinomialScorer::new(few_words.clone()), kernel);
        for (n_columns, concentration) in [(2, 2.0), (40, 15.0)] {
            let prior_direction = vec![1.0 / (n_columns as f64).sqrt(); n_columns];
            let directions = VonMisesFisher { concentration, prior_direction, prior_strength: 5.0 };
            let like = OwnedRow::Numbers(vec![0.0; n_columns]);
            check_conservation(&directions, &like, || VmfScorer::new(directions.clone()), kernel);
        }
    }
}

/// Where nobody moves: 400 cuts of 2000 rows. That the share of cuts through the middle is off by
/// 4.5 standard errors has a chance below 1e-5; that one of about 200 such cuts is, below 2e-3. The
/// seed is fixed.
#[test]
fn all_workers_cut_alike_and_every_other_cut_is_through_the_middle() {
    let family = GaussianFixed { noise_sd: 2.0, mean_sd: 9.0, prior_mean: vec![5.0; 3], offset: vec![3.0; 3] };
    let mut rng = Seed::new(5).stream(Role::Observer, 0, 0);
    let centre = [11.0, -4.0, 0.5];
    let cells = (0..2000).flat_map(|_| centre).map(|x| x + family.noise_sd * rng.normal()).collect();
    let shard = Shard::of_table(Table::from_f64(3, cells));
    let mut stats = family.empty_stats();
    shard.rows().for_each(|row| family.add_row(row, &mut stats));
    let mut n_centred = 0;
    for generation in 0..400 {
        let stream = || Seed::new(7).halves(1, 2, generation);
        let cut = family.cut(&stats, &mut stream());
        assert_eq!(cut, family.cut(&stats, &mut stream()), "the same for whoever cuts");
        assert_ne!(cut, family.cut(&stats, &mut Seed::new(7).halves(1, 3, generation)), "another component");
        assert_ne!(cut, family.cut(&stats, &mut Seed::new(7).halves(1, 2, generation + 1)), "another generation");
        let n_right = shard.rows().filter(|row| side(&family, *row, &cut, &mut rng) == Half::Right).count();
        let share = n_right as f64 / 2000.0;
        let HalfCut::Plane { direction, threshold } = cut else { panic!("a Gaussian is cut by a plane") };
        let through_mean: f64 = direction
            .iter()
            .zip(centre.iter().zip(&family.offset))
            .map(|(along, (x, offset))| along * (x - offset))
            .sum();
        let length = direction.iter().map(|along| along * along).sum::<f64>().sqrt();
        let off_centre = (threshold - through_mean) / (family.noise_sd * length);
        // the mean of the rows is known to 1/√2000 of σ, and the prior draws it a little
        if off_centre.abs() < 0.1 {
            n_centred += 1;
            assert!((share - 0.5).abs() < 0.1, "generation {generation}: {share}");
        } else {
            assert!((0.0..2.1).contains(&off_centre) && share < 0.5, "generation {generation}: {share}");
        }
    }
    // half of them, and a twentieth of the others
    let (expected, sd) = (400.0 * 0.525, (400.0f64 * 0.25).sqrt());
    assert!((f64::from(n_centred) - expected).abs() < 4.5 * sd, "{n_centred} of 400 through the middle");
    let text = Multinomial { smoothing: 1.0, n_words: 4 };
    assert_eq!(text.cut(&text.empty_stats(), &mut rng), HalfCut::Coin);
}
