//! The coordinator of AV: it passes clusters on, without looking into them, and owns α.

use std::collections::BTreeMap;
use std::io;

use crate::consolidate::{ComponentId, ShardId};
use crate::error::{Error, Result};
use crate::message::av::{AvPush, AvReply, AvSwept, Parcel, encode_last, encode_last_reply};
use crate::message::codec::{Message, decode_between, encode};
use crate::message::slice::SliceLast;
use crate::message::{Decoded, Stamp, require};
use crate::model::{Alpha, Model};
use crate::node::checks::{check_count, check_ids, check_stats};
use crate::node::rounds::{Gathering, Heard, Progress};
use crate::node::{Address, CycleReport, Event, Frame, Node, Outbox, RoundsCoordinatorOptions};
use crate::posterior::alpha::resample_alpha;
use crate::rng::{Role, Seed};
use crate::special::log_gamma;
use crate::stats::Stats;

/// The node that passes clusters on.
pub struct AvCoordinator {
    options: RoundsCoordinatorOptions,
    gathering: Gathering<AvPush>,
    progress: Progress,
    /// Σ log h(x) over all rows.
    sum_log_base: f64,
    /// The final state, once it has been told.
    last: Vec<(ComponentId, Stats)>,
}

/// Parcels by receiver, in the order of their senders.
type Post = BTreeMap<ShardId, Vec<Parcel>>;

impl AvCoordinator {
    /// A coordinator of this model that waits for its workers' hellos.
    pub fn new(options: RoundsCoordinatorOptions, model: Model) -> Self {
        let (gathering, progress) = (Gathering::new(options.n_workers, model), Progress::new(&options));
        Self { options, gathering, progress, sum_log_base: 0.0, last: Vec::new() }
    }

    /// The components of the final state and their statistics.
    pub fn components(&self) -> &[(ComponentId, Stats)] {
        &self.last
    }

    /// A node is gone, and rows with it.
    pub fn lost(who: &str) -> Error {
        let problem = format!("{who} was lost, and rows with it that nobody else has: method av cannot go on");
        Error::Io { doing: "the run".to_owned(), source: io::Error::other(problem) }
    }

    fn on_frame(&mut self, from: Address, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let (stamp, message) = decode_between(frame, from, Address::Coordinator, self.gathering.stats_len())?;
        match message {
            Message::Hello(hello) => self.gathering.on_hello(stamp, hello, &self.options, out),
            Message::AvPush(push) => {
                let is_joining = matches!(push, AvPush::Join { .. });
                let phase = Phase { n_workers: self.options.n_workers, has_closed: self.progress.has_closed() };
                let check = |push: &AvPush, heard: &Heard<'_>| check_push(stamp, push, heard, phase);
                let pushes = self.gathering.on_push(stamp, is_joining, push, check, out)?;
                pushes.map_or(Ok(()), |pushes| self.close_round(pushes, out))
            }
            _ => Ok(()),
        }
    }

    fn close_round(&mut self, pushes: Vec<(Stamp, AvPush)>, out: &mut Outbox) -> Result<()> {
        let stamps: Vec<Stamp> = pushes.iter().map(|(stamp, _)| *stamp).collect();
        let (mut post, mut swept, mut totals) = (Post::new(), Vec::new(), Vec::new());
        for (_, push) in pushes {
            match push {
                AvPush::Join { sum_log_base, parcels } => {
                    self.sum_log_base += sum_log_base;
                    sort(parcels, &mut post);
                }
                AvPush::Swept(mut push) => {
                    sort(std::mem::take(&mut push.parcels), &mut post);
                    swept.push(push);
                }
                AvPush::Totals(of_worker) => totals.extend(of_worker),
            }
        }
        if self.progress.has_closed() {
            return self.say_last(totals, &stamps, out);
        }
        if !swept.is_empty() {
            self.close_cycle(&swept, out)?;
        }
        for stamp in stamps {
            let parcels = post.remove(&stamp.shard).unwrap_or_default();
            let Progress { cycle, alpha, .. } = self.progress;
            let reply = if self.progress.has_closed() {
                AvReply::Sum { parcels }
            } else {
                AvReply::Sweep { cycle, alpha, parcels }
            };
            self.gathering.answer(stamp, encode(stamp, &Message::AvReply(reply)), false, out);
        }
        Ok(())
    }

    /// Reports the cycle and draws α.
    fn close_cycle(&mut self, swept: &[AvSwept], out: &mut Outbox) -> Result<()> {
        let sum = |of: fn(&AvSwept) -> u64| swept.iter().map(of).sum::<u64>();
        let (k, n_rows) = (sum(|swept| swept.k), sum(|swept| swept.n_rows));
        self.check_rows(n_rows)?;
        let alpha = self.progress.alpha;
        let log_density: f64 = swept.iter().map(|swept| swept.log_density).sum();
        let log_joint = k as f64 * libm::log(alpha) + log_gamma(alpha) - log_gamma(alpha + n_rows as f64)
            + log_density
            + self.sum_log_base;
        let report = self.progress.close_cycle(log_joint, n_rows, k as usize);
        out.reports.push(CycleReport {
            moved: sum(|swept| swept.moved),
            births: sum(|swept| swept.births),
            merges: sum(|swept| swept.merges),
            ..report
        });
        if self.options.alpha == Alpha::Auto {
            let seed = Seed { seed: self.options.seed, chain: self.options.chain };
            let mut rng = seed.stream(Role::Coordinator, 0, self.progress.cycle);
            self.progress.alpha = resample_alpha(alpha, k, n_rows, &mut rng);
        }
        Ok(())
    }

    /// Rows travel, and none is lost or doubled. Clusters are passed on unread, so nobody can tell who did it.
    fn check_rows(&self, n_rows: u64) -> Result<()> {
        let expected = self.gathering.plan().map_or(0, |plan| plan.n_rows);
        if n_rows == expected {
            return Ok(());
        }
        let problem =
            format!("workers have {n_rows} rows, expected {expected}: some were lost or doubled on their way");
        Err(Error::Io { doing: "the run".to_owned(), source: io::Error::other(problem) })
    }

    fn say_last(&mut self, totals: Vec<(ComponentId, Stats)>, stamps: &[Stamp], out: &mut Outbox) -> Result<()> {
        self.check_rows(totals.iter().map(|(_, stats)| stats.count as u64).sum())?;
        let last = SliceLast { cycle: self.progress.cycle, components: totals };
        let shared = encode_last(&last);
        for &stamp in stamps {
            self.gathering.answer(stamp, encode_last_reply(stamp, &shared), true, out);
        }
        self.last = last.components;
        out.is_done = true;
        Ok(())
    }
}

/// Where a run is.
#[derive(Clone, Copy)]
struct Phase {
    n_workers: u32,
    /// Whether the last cycle is complete.
    has_closed: bool,
}

/// Puts parcels to those for the same receiver.
fn sort(parcels: Vec<(ShardId, Parcel)>, post: &mut Post) {
    parcels.into_iter().for_each(|(receiver, parcel)| post.entry(receiver).or_default().push(parcel));
}

/// What a push may say.
fn check_push(stamp: Stamp, push: &AvPush, heard: &Heard<'_>, phase: Phase) -> Decoded<()> {
    let check_parcels = |parcels: &[(ShardId, Parcel)]| {
        require(parcels.iter().all(|(receiver, _)| *receiver < phase.n_workers), "a cluster for a worker there is not")
    };
    match push {
        AvPush::Join { sum_log_base, parcels } => {
            require(stamp.sequence == 1 && stamp.incarnation <= heard.n_incarnations, "a life that nobody gave")?;
            require(!sum_log_base.is_nan(), "a base measure that is none")?;
            check_parcels(parcels)
        }
        AvPush::Swept(swept) => {
            require(!phase.has_closed, "a sweep that nobody asked for")?;
            let AvSwept { moved, births, merges, n_rows, k, log_density, .. } = *swept;
            [moved, births, merges, n_rows, k].into_iter().try_for_each(check_count)?;
            require(k <= n_rows && !log_density.is_nan(), "a sweep that no rows have")?;
            check_parcels(&swept.parcels)
        }
        AvPush::Totals(totals) => {
            require(phase.has_closed, "totals that nobody asked for")?;
            check_ids(totals.iter().map(|(id, _)| id), u32::MAX, u64::MAX)?;
            check_stats(totals.iter().map(|(_, stats)| stats), heard.family)
        }
    }
}

impl Node for AvCoordinator {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start => Ok(()),
            Event::Frame { from, frame } => self.on_frame(from, &frame, out),
            // what it had to say is said
            Event::Lost(_) if !self.last.is_empty() => Ok(()),
            Event::Lost(shard) => Err(Self::lost(&format!("worker {shard}"))),
            Event::Stop => {
                self.progress.stop();
                Ok(())
            }
        }
    }

    fn checkpoint(&self) -> Vec<u8> {
        // nobody could go on from it: rows are under way
        Vec::new()
    }
}
