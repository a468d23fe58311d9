//! The coordinator of AV: it passes clusters on, without looking into them, and owns α.

use std::collections::BTreeMap;
use std::io;

use crate::consolidate::{ComponentId, ShardId};
use crate::error::{Error, InputError, Result};
use crate::message::Stamp;
use crate::message::av::{AvPush, AvReply, AvSwept, Parcel, encode_last, encode_last_reply};
use crate::message::codec::{Message, decode_between, encode};
use crate::message::slice::SliceLast;
use crate::model::Alpha;
use crate::node::rounds::{Gathering, Progress};
use crate::node::{Address, CycleReport, Event, Frame, Node, Outbox, SliceCoordinatorOptions};
use crate::posterior::alpha::resample_alpha;
use crate::rng::{Role, Seed};
use crate::special::log_gamma;
use crate::stats::Stats;

/// The node that passes clusters on.
pub struct AvCoordinator {
    options: SliceCoordinatorOptions,
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
    /// A coordinator that waits for its workers' hellos.
    pub fn new(options: SliceCoordinatorOptions) -> Self {
        let (gathering, progress) = (Gathering::new(options.n_workers), Progress::new(&options));
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
                let pushes = self.gathering.on_push(stamp, is_joining, push, out);
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
                    self.sort(parcels, &mut post)?;
                }
                AvPush::Swept(mut push) => {
                    self.sort(std::mem::take(&mut push.parcels), &mut post)?;
                    swept.push(push);
                }
                AvPush::Totals(of_worker) => totals.extend(of_worker),
            }
        }
        if self.progress.has_closed() {
            return self.say_last(totals, &stamps, out);
        }
        if !swept.is_empty() {
            self.close_cycle(&swept, out);
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

    fn sort(&self, parcels: Vec<(ShardId, Parcel)>, post: &mut Post) -> Result<()> {
        for (receiver, parcel) in parcels {
            if receiver >= self.options.n_workers {
                return Err(InputError::new("a broken frame: a cluster for a worker there is not").into());
            }
            post.entry(receiver).or_default().push(parcel);
        }
        Ok(())
    }

    /// Reports the cycle and draws α.
    fn close_cycle(&mut self, swept: &[AvSwept], out: &mut Outbox) {
        let sum = |of: fn(&AvSwept) -> u64| swept.iter().map(of).sum::<u64>();
        let (k, n_rows) = (sum(|swept| swept.k), sum(|swept| swept.n_rows));
        let expected = self.gathering.plan().map_or(0, |plan| plan.n_rows);
        assert_eq!(n_rows, expected, "rows travel, and none is lost or doubled");
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
    }

    fn say_last(&mut self, totals: Vec<(ComponentId, Stats)>, stamps: &[Stamp], out: &mut Outbox) -> Result<()> {
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
