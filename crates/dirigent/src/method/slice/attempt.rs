//! One attempt to split a component or to merge two, in the manner of Jain & Neal, with the rows on
//! any number of workers.
//!
//! It stands between two rounds and acts on the partition alone: weights, parameters and slices are
//! integrated out, and drawn again from the labels afterwards. So it is a step of its own that
//! leaves the posterior of labels and α as it is, whatever the sweeps do.
//!
//! A row i is chosen, of component a; a coin says whether a split or a merge is tried. A split
//! proposes a division of a into (L, R); a merge chooses b by the share w(a→b) and proposes a ∪ b,
//! the reverse of the division (a, b). There are two kinds of proposals, chosen by another coin:
//!
//! - **Launched.** A second row j is chosen, of a or of b. From the two rows alone a few rounds of
//!   a restricted Gibbs sampler on the rows S of a (and b) lead to two sets of parameters; they
//!   depend on S, i and j, never on the present division. Given them each row of S but i and j goes
//!   left or right independently of the others, so the density of a division is a product that
//!   workers compute in parallel. It finds splits where S has two lumps, however many rows there
//!   are. But it can only merge what it would have divided alike, and two components on the same
//!   lump may be divided in any proportion.
//! - **Blind.** A share p is drawn uniformly, and rows go left with probability p: a division has
//!   the density nL! nR! / (n+1)!. That cancels the prior of the division, so that two components
//!   on one lump are merged in whatever proportion they share it, without asking any worker. The
//!   reverse splits of large components are next to never accepted; they are tried because the
//!   merges would not be exact otherwise.
//!
//! In both the ratio for a split, of which that for the merge is the reciprocal, is target × choice
//! / density. The target is 1/ρ(L, R), where the base measure of the rows cancels. The choice is
//! that of the same rows by the reverse move over that by the move itself: w(L→R)·(n−1)/n_R where j
//! was chosen among n−1 or n_R rows, and n_L·w(L→R)/n where only i was.
//!
//! w(L→R) ∝ 1/(1 + best − log ρ(L, R)), over all components but L, `best` being the largest log ρ
//! among them: of a thousand components the near ones are tried, and none never. It depends on the
//! partition alone, not on the names of components.

use crate::consolidate::{ComponentId, MergeRatio, ShardId, WeighedStats};
use crate::family::Conjugate;
use crate::method::slice::move_message::{Anchor, MoveTask, Odds, SliceMove, SliceSettlement};
use crate::rng::Stream;
use crate::special::{log_gamma, log_sum_exp};
use crate::stats::Stats;

use super::census::Census;

/// Rounds of the restricted sampler before the parameters of the proposal are drawn.
const LAUNCH_ROUNDS: u64 = 4;
/// Steps of an attempt, at most: anchors, rounds, the division.
pub(super) const MOST_STEPS: u64 = LAUNCH_ROUNDS + 2;

/// What attempts look at: the partition, as its statistics tell it.
pub(super) struct Partition<'a> {
    pub(super) family: &'a dyn Conjugate,
    pub(super) alpha: f64,
    pub(super) components: &'a [(ComponentId, WeighedStats)],
    pub(super) census: &'a Census,
}

/// An attempt that is under way.
pub(super) struct MoveAttempt {
    /// The last step that was asked.
    step: u64,
    kind: AttemptKind,
    /// A row of each side; `None` where they are not looked at.
    anchors: Option<[Anchor; 2]>,
    /// Rounds of the restricted sampler that are still to be asked for, the last one included that
    /// divides or weighs.
    rounds_left: u64,
}

#[derive(Clone, Copy)]
enum AttemptKind {
    Split(ComponentId),
    Merge {
        into: ComponentId,
        from: ComponentId,
        /// log w of the choice of `from`.
        log_share: f64,
    },
}

/// What is to be done next.
pub(super) enum AttemptStep {
    /// Workers are asked this.
    Ask(SliceMove),
    /// All is known: this is what the move is judged by, and what comes of it.
    Judge(Terms, AttemptVerdict),
    /// There is nothing to judge: the partition stays.
    Nothing,
}

/// What is done if a move is accepted. The name of a new component is given then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptVerdict {
    Split(ComponentId),
    Merge { into: ComponentId, from: ComponentId },
}

/// The logarithms of the factors by which a move is accepted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) is_split: bool,
    /// The division more probable than the whole.
    pub(super) log_target: f64,
    /// The choices of the reverse move, over those of this one.
    pub(super) log_choice: f64,
    /// The density of the division.
    pub(super) log_density: f64,
}

impl Terms {
    /// The logarithm of the ratio by which the move is accepted.
    pub(super) fn log_ratio(&self) -> f64 {
        let log_split = self.log_target + self.log_choice - self.log_density;
        if self.is_split { log_split } else { -log_split }
    }
}

impl AttemptVerdict {
    /// What workers receive; a split takes a new name.
    pub(super) fn settlement(self, mint: impl FnOnce() -> ComponentId) -> SliceSettlement {
        match self {
            Self::Split(component) => SliceSettlement::Split { component, right: mint() },
            Self::Merge { into, from } => SliceSettlement::Merge { into, from },
        }
    }
}

impl MoveAttempt {
    /// Chooses what is tried. Steps are counted from `step`.
    pub(super) fn begin(partition: &Partition<'_>, step: u64, rng: &mut Stream) -> (Self, AttemptStep) {
        let (is_split, is_launched) = (rng.uniform() < 0.5, rng.uniform() < 0.5);
        let nothing = |kind| (Self { step, kind, anchors: None, rounds_left: 0 }, AttemptStep::Nothing);
        let row = partition.census.any(rng).expect("there are rows");
        let kind =
            if is_split { Some(AttemptKind::Split(row.component)) } else { partition.partner(row.component, rng) };
        let Some(kind) = kind else { return nothing(AttemptKind::Split(row.component)) };
        if !is_launched {
            return Self { step, kind, anchors: None, rounds_left: 1 }.begin_blind(partition, rng);
        }
        let (other, but) = match kind {
            AttemptKind::Split(component) => (component, Some(row)),
            AttemptKind::Merge { from, .. } => (from, None),
        };
        let Some(other) = partition.census.any_of(other, but, rng) else { return nothing(kind) };
        let attempt = Self { step, kind, anchors: Some([row, other]), rounds_left: LAUNCH_ROUNDS + 1 };
        let ask = attempt.ask(MoveTask::Anchors);
        (attempt, ask)
    }

    fn begin_blind(self, partition: &Partition<'_>, rng: &mut Stream) -> (Self, AttemptStep) {
        let next = match self.kind {
            AttemptKind::Split(_) => {
                let share = rng.uniform_positive();
                let log_prior_odds = libm::log(share) - libm::log1p(-share);
                self.ask(MoveTask::Divide(Odds { log_prior_odds, parameters: Vec::new() }))
            }
            AttemptKind::Merge { .. } => self.judge(partition, None, 0.0),
        };
        (Self { rounds_left: 0, ..self }, next)
    }

    /// How many rows of a worker are on either side of its answer; `None` if it is asked for the
    /// anchors alone.
    pub(super) fn n_rows_asked(&self, census: &Census, shard: ShardId) -> Option<u64> {
        match self.rounds_left {
            rounds if rounds > LAUNCH_ROUNDS => None,
            0 if matches!(self.kind, AttemptKind::Merge { .. }) => Some(0),
            _ => Some(census.of_worker(shard, &self.components())),
        }
    }

    /// Whose rows are looked at.
    fn components(&self) -> Vec<ComponentId> {
        match self.kind {
            AttemptKind::Split(component) => vec![component],
            AttemptKind::Merge { into, from, .. } => vec![into, from],
        }
    }

    fn ask(&self, task: MoveTask) -> AttemptStep {
        AttemptStep::Ask(SliceMove { step: self.step, components: self.components(), anchors: self.anchors, task })
    }

    /// Goes on with what all workers have said together.
    pub(super) fn hear(
        &mut self,
        partition: &Partition<'_>,
        sides: [Stats; 2],
        log_probability: f64,
        rng: &mut Stream,
    ) -> AttemptStep {
        if self.rounds_left == 0 {
            return self.judge(partition, Some(sides), log_probability);
        }
        self.rounds_left -= 1;
        self.step += 1;
        let [left, right] = &sides;
        let log_prior_odds = rng.log_gamma(left.count as f64) - rng.log_gamma(right.count as f64);
        let parameters = sides.iter().flat_map(|stats| partition.family.sample_parameters(stats, rng)).collect();
        let odds = Odds { log_prior_odds, parameters };
        let is_weighed = self.rounds_left == 0 && matches!(self.kind, AttemptKind::Merge { .. });
        self.ask(if is_weighed { MoveTask::Weigh(odds) } else { MoveTask::Divide(odds) })
    }

    /// A split is judged with the sides that were drawn.
    fn judge(&self, partition: &Partition<'_>, sides: Option<[Stats; 2]>, log_probability: f64) -> AttemptStep {
        let (left, right, log_share, verdict) = match (self.kind, sides) {
            (AttemptKind::Merge { into, from, log_share }, _) => {
                let [left, right] = [into, from].map(|id| partition.get(id).clone());
                (left, right, log_share, AttemptVerdict::Merge { into, from })
            }
            (AttemptKind::Split(component), Some(sides)) => {
                if sides.iter().any(|stats| stats.count == 0) {
                    return AttemptStep::Nothing;
                }
                let [left, right] = sides.map(|stats| WeighedStats::new(partition.family, stats));
                let log_share = partition.log_share(component, &left, &right);
                (left, right, log_share, AttemptVerdict::Split(component))
            }
            (AttemptKind::Split(_), None) => return AttemptStep::Nothing,
        };
        let [n_left, n_right] = [&left, &right].map(|side| side.stats.count as f64);
        let n = n_left + n_right;
        let (log_choice, log_density) = match self.anchors {
            Some(_) => (log_share + libm::log((n - 1.0) / n_right), log_probability),
            None => (log_share + libm::log(n_left / n), log_blind_density(n_left, n_right)),
        };
        let log_target = -partition.ratios().log(&left, &right);
        let is_split = matches!(verdict, AttemptVerdict::Split(_));
        AttemptStep::Judge(Terms { is_split, log_target, log_choice, log_density }, verdict)
    }
}

/// nL! nR! / (n+1)!: the density of a division with a share that is uniform.
fn log_blind_density(n_left: f64, n_right: f64) -> f64 {
    log_gamma(n_left + 1.0) + log_gamma(n_right + 1.0) - log_gamma(n_left + n_right + 2.0)
}

impl Partition<'_> {
    fn ratios(&self) -> MergeRatio<'_> {
        MergeRatio::new(self.family, self.alpha)
    }

    fn get(&self, component: ComponentId) -> &WeighedStats {
        let found = self.components.iter().find(|(id, _)| *id == component);
        &found.expect("rows are in components that there are").1
    }

    /// A component to merge with, if there is another.
    fn partner(&self, into: ComponentId, rng: &mut Stream) -> Option<AttemptKind> {
        let others: Vec<&(ComponentId, WeighedStats)> = self.components.iter().filter(|(id, _)| *id != into).collect();
        if others.is_empty() {
            return None;
        }
        let log_shares = self.log_shares(self.get(into), others.iter().map(|(_, weighed)| weighed));
        let chosen = rng.categorical(&log_shares);
        Some(AttemptKind::Merge { into, from: others[chosen].0, log_share: log_shares[chosen] })
    }

    /// log w(L→R), were the component divided into L and R.
    fn log_share(&self, divided: ComponentId, left: &WeighedStats, right: &WeighedStats) -> f64 {
        let others = self.components.iter().filter(|(id, _)| *id != divided).map(|(_, weighed)| weighed);
        self.log_shares(left, std::iter::once(right).chain(others))[0]
    }

    /// Logarithms of the shares by which one of the others is chosen.
    fn log_shares<'w>(&self, left: &WeighedStats, others: impl Iterator<Item = &'w WeighedStats>) -> Vec<f64> {
        let (ratios, left) = (self.ratios(), self.ratios().spread(left).into_owned());
        let log_ratios: Vec<f64> = others.map(|other| ratios.log(&left, other)).collect();
        let best = log_ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // where no row could have such statistics a ratio may be no number: then it is as far as
        // can be
        let log_weight = |gap: f64| -libm::log1p(if gap.is_finite() { gap } else { f64::MAX });
        let log_weights: Vec<f64> = log_ratios.iter().map(|log_ratio| log_weight(best - log_ratio)).collect();
        let log_total = log_sum_exp(&log_weights);
        log_weights.iter().map(|log_weight| log_weight - log_total).collect()
    }
}
