//! What a simulated cluster is like.

use serde::Serialize;

use crate::consolidate::ShardId;
use crate::error::{InputError, Result};

/// A cluster, its network and what goes wrong in it. The default is a faultless data-centre network
/// of 0.2 ms and 10 Gbit/s.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Simulation {
    /// Everything random here is derived from it.
    pub seed: u64,
    /// Seconds that a frame travels.
    pub latency: f64,
    /// Bytes a second, of each node's link, in each direction; may be infinite.
    pub bandwidth: f64,
    /// Workers whose events take that many times as long.
    pub stragglers: Vec<(ShardId, f64)>,
    /// The probability that a frame is held up, by up to ten latencies: later ones may overtake it.
    pub reorder: f64,
    /// The probability that a frame is lost; it is sent again until it gets through.
    pub loss: f64,
    /// The probability that a frame arrives a second time, by up to ten latencies and one `retry`
    /// later.
    pub duplicate: f64,
    /// Seconds after which a lost frame is sent again.
    pub retry: f64,
    /// Workers that die.
    pub crashes: Vec<Crash>,
    /// Workers that send nonsense, and are expelled.
    pub garbage: Vec<Garbage>,
    /// The cycle after whose report the coordinator dies; a new one takes its place at once.
    pub coordinator_crash: Option<u64>,
    /// Workers that join, each after the report of a cycle. Their numbers follow those of the first
    /// workers.
    pub joins: Vec<(u64, ShardId)>,
    /// How long events take.
    pub cost: Cost,
    /// How many workers can compute at once; without it each has a processor of its own. The
    /// coordinator always has one.
    pub cores: Option<usize>,
    /// When workers are asked for a checkpoint.
    pub checkpoints: Checkpoints,
}

impl Default for Simulation {
    fn default() -> Self {
        Self {
            seed: 0,
            latency: 2e-4,
            bandwidth: 1.25e9,
            stragglers: Vec::new(),
            reorder: 0.0,
            loss: 0.0,
            duplicate: 0.0,
            retry: 0.1,
            crashes: Vec::new(),
            garbage: Vec::new(),
            coordinator_crash: None,
            joins: Vec::new(),
            cost: Cost::Measured,
            cores: None,
            checkpoints: Checkpoints::EveryReport,
        }
    }
}

/// The death of a worker, and its return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Crash {
    /// Who dies.
    pub worker: ShardId,
    /// After the report of which cycle.
    pub cycle: u64,
    /// After how many more reports it is made again from its last checkpoint; without it: never.
    pub back_after: Option<u64>,
}

/// A worker whose next word to the coordinator is noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Garbage {
    /// Who sends it.
    pub worker: ShardId,
    /// After the report of which cycle.
    pub cycle: u64,
    /// After how many more reports it is made again from its last checkpoint; without it: never.
    pub back_after: Option<u64>,
}

/// How long an event takes on the virtual clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Cost {
    /// The processor time it takes here, for projections.
    Measured,
    /// Fixed costs, for replays that are equal to the last bit.
    PerRow {
        /// Seconds a swept row.
        worker: f64,
        /// Seconds an event of the coordinator, an idle step included.
        coordinator: f64,
    },
}

/// When workers are asked for a checkpoint. Only those are asked that are going to need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Checkpoints {
    /// After every report; a worker in the middle of an event: after that event. A crash comes
    /// first.
    EveryReport,
    /// Events of a worker between two of these.
    EveryEvents(u64),
}

impl Simulation {
    /// Whether the options make sense for this many workers at the start.
    pub fn check(&self, n_workers: usize) -> Result<()> {
        let n_joined = n_workers + self.joins.len();
        let number = |field: &str, value: f64, is_valid: bool, wants: &str| {
            require(is_valid, || format!("`{field}` must be {wants}, got {value}"))
        };
        let is_time = |value: f64| value >= 0.0 && value.is_finite();
        number("latency", self.latency, is_time(self.latency), "at least 0")?;
        number("bandwidth", self.bandwidth, self.bandwidth > 0.0, "positive")?;
        number("retry", self.retry, is_time(self.retry), "at least 0")?;
        number("loss", self.loss, (0.0..1.0).contains(&self.loss), "at least 0 and below 1")?;
        for (field, value) in [("reorder", self.reorder), ("duplicate", self.duplicate)] {
            number(field, value, (0.0..=1.0).contains(&value), "between 0 and 1")?;
        }
        require(self.reorder == 0.0 || self.latency > 0.0, || {
            "`reorder` needs a `latency` above 0: frames are held up by multiples of it".to_owned()
        })?;
        require(self.cores != Some(0), || "`cores` must be at least 1, got 0".to_owned())?;
        require(self.checkpoints != Checkpoints::EveryEvents(0), || {
            "`checkpoints` must be at least 1 event apart, got 0".to_owned()
        })?;
        if let Cost::PerRow { worker, coordinator } = self.cost {
            number("row-cost", worker, is_time(worker), "at least 0")?;
            number("cost per event", coordinator, is_time(coordinator), "at least 0")?;
        }
        let known = |field: &str, shard: ShardId| {
            require((shard as usize) < n_joined, || {
                format!("`{field}` names worker {shard}, but the workers are 0 to {}", n_joined.saturating_sub(1))
            })
        };
        for (shard, factor) in &self.stragglers {
            known("straggler", *shard)?;
            number("straggler", *factor, *factor > 0.0 && factor.is_finite(), "a positive factor")?;
        }
        self.crashes.iter().try_for_each(|crash| known("crash", crash.worker))?;
        self.garbage.iter().try_for_each(|garbage| known("garbage", garbage.worker))?;
        let mut joining: Vec<usize> = self.joins.iter().map(|(_, shard)| *shard as usize).collect();
        joining.sort_unstable();
        require(joining.into_iter().eq(n_workers..n_joined), || {
            format!("the workers that join must be numbered {n_workers}, {}, …, each once", n_workers + 1)
        })
    }

    /// How many times as long this worker takes.
    pub(super) fn slowness(&self, shard: ShardId) -> f64 {
        self.stragglers.iter().filter(|(straggler, _)| *straggler == shard).map(|(_, factor)| factor).product()
    }
}

fn require(is_valid: bool, problem: impl FnOnce() -> String) -> Result<()> {
    if is_valid { Ok(()) } else { Err(InputError::new(problem()).into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(simulation: Simulation) -> String {
        simulation.check(2).unwrap_err().to_string()
    }

    #[test]
    fn wrong_options_are_named_with_their_value() {
        let base = Simulation::default();
        assert!(base.check(2).is_ok());
        assert!(Simulation { bandwidth: f64::INFINITY, joins: vec![(3, 2)], ..base.clone() }.check(2).is_ok());
        let loss = complaint(Simulation { loss: 1.0, ..base.clone() });
        assert_eq!(loss, "`loss` must be at least 0 and below 1, got 1");
        let straggler = complaint(Simulation { stragglers: vec![(2, 5.0)], ..base.clone() });
        assert_eq!(straggler, "`straggler` names worker 2, but the workers are 0 to 1");
        let crash = Crash { worker: 9, cycle: 1, back_after: None };
        assert!(complaint(Simulation { crashes: vec![crash], ..base.clone() }).contains("worker 9"));
        let garbage = Garbage { worker: 9, cycle: 1, back_after: None };
        assert!(complaint(Simulation { garbage: vec![garbage], ..base.clone() }).contains("worker 9"));
        assert!(complaint(Simulation { joins: vec![(1, 1)], ..base.clone() }).contains("numbered 2"));
        assert!(complaint(Simulation { latency: f64::NAN, ..base.clone() }).contains("latency"));
        assert!(complaint(Simulation { latency: 0.0, reorder: 0.5, ..base }).contains("latency"));
    }
}
