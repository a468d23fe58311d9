//! The ledger of AV: α, and clusters that are passed on without looking into them.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use super::Av;
use super::message::{AvPush, AvReply, AvSwept, Parcel};
use crate::consolidate::{ComponentId, ShardId, fits};
use crate::error::{Error, Result};
use crate::family::Conjugate;
use crate::model::Alpha;
use crate::posterior::alpha::resample_alpha;
use crate::protocol::codec::{encode_reply, encode_shared};
use crate::protocol::message::Stamp;
use crate::protocol::{
    CoordinatorOptions, CycleReport, Decoded, FinalComponents, Ledger, PushContext, Round, check_count, check_ids,
    check_stats, require,
};
use crate::rng::{Role, Seed};
use crate::special::log_gamma;
use crate::stats::Stats;

/// What is known of all rows.
#[derive(Serialize, Deserialize)]
pub struct AvLedger {
    /// Σ log h(x) over all rows.
    sum_log_base: f64,
    /// Whether the last cycle is complete.
    has_closed: bool,
    /// The final state, once workers have received it.
    last: Vec<(ComponentId, Stats)>,
}

/// Parcels by receiver, in the order of their senders.
type Post = BTreeMap<ShardId, Vec<Parcel>>;

impl Ledger<Av> for AvLedger {
    fn new(_options: &CoordinatorOptions, _n_restarts: u32) -> Self {
        Self { sum_log_base: 0.0, has_closed: false, last: Vec::new() }
    }

    fn restore(&mut self, _options: &CoordinatorOptions, family: &dyn Conjugate) -> bool {
        self.last.iter().all(|(_, stats)| fits(stats, family))
    }

    fn check(&self, stamp: Stamp, push: &AvPush, context: &PushContext<'_>) -> Decoded<()> {
        let check_parcels = |parcels: &[(ShardId, Parcel)]| {
            let is_known = |(receiver, _): &(ShardId, Parcel)| *receiver < context.n_workers;
            require(parcels.iter().all(is_known), "a cluster for a worker there is not")
        };
        match push {
            AvPush::Join { sum_log_base, parcels } => {
                let is_given = stamp.sequence == 1 && stamp.incarnation <= context.n_incarnations;
                require(is_given, "a life that nobody gave")?;
                require(!sum_log_base.is_nan(), "a base measure that is none")?;
                check_parcels(parcels)
            }
            AvPush::Swept(swept) => {
                require(!self.has_closed, "a sweep that nobody asked for")?;
                let AvSwept { moved, births, merges, n_rows, k, log_density, .. } = *swept;
                [moved, births, merges, n_rows, k].into_iter().try_for_each(check_count)?;
                require(k <= n_rows && !log_density.is_nan(), "a sweep that no rows have")?;
                check_parcels(&swept.parcels)
            }
            AvPush::Totals(totals) => {
                require(self.has_closed, "totals that nobody asked for")?;
                check_ids(totals.iter().map(|(id, _)| id), u32::MAX, u64::MAX)?;
                check_stats(totals.iter().map(|(_, stats)| stats), context.family)
            }
        }
    }

    fn recall(&mut self, _pushes: &[(Stamp, AvPush)], _round: &mut Round<'_, Av>) {
        unreachable!("rows that travel are lost with the coordinator: none takes its place")
    }

    fn absorb(&mut self, pushes: Vec<(Stamp, AvPush)>, round: &mut Round<'_, Av>) -> Result<()> {
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
        if self.has_closed {
            return self.say_last(totals, &stamps, round);
        }
        if !swept.is_empty() {
            self.close_cycle(&swept, round)?;
        }
        let (cycle, alpha) = (round.progress.cycle, round.progress.alpha);
        for stamp in stamps {
            let parcels = post.remove(&stamp.shard).unwrap_or_default();
            let reply =
                if self.has_closed { AvReply::Sum { parcels } } else { AvReply::Sweep { cycle, alpha, parcels } };
            round.gathering.answer(stamp, encode_reply(stamp, &reply, None), false, round.out);
        }
        Ok(())
    }

    fn lose(&mut self, _shard: ShardId, _round: &mut Round<'_, Av>) {
        unreachable!("the run ends with a worker that is lost")
    }

    fn components(&self, _family: &dyn Conjugate) -> Vec<(ComponentId, Stats)> {
        self.last.clone()
    }
}

impl AvLedger {
    /// Reports the cycle and draws α.
    fn close_cycle(&mut self, swept: &[AvSwept], round: &mut Round<'_, Av>) -> Result<()> {
        let sum = |of: fn(&AvSwept) -> u64| swept.iter().map(of).sum::<u64>();
        let (k, n_rows) = (sum(|swept| swept.k), sum(|swept| swept.n_rows));
        check_rows(n_rows, round)?;
        let alpha = round.progress.alpha;
        let log_density: f64 = swept.iter().map(|swept| swept.log_density).sum();
        let log_joint = k as f64 * libm::log(alpha) + log_gamma(alpha) - log_gamma(alpha + n_rows as f64)
            + log_density
            + self.sum_log_base;
        let report = round.progress.close_cycle(log_joint, n_rows, k as usize);
        self.has_closed = round.progress.has_closed();
        round.out.reports.push(CycleReport {
            moved: sum(|swept| swept.moved),
            births: sum(|swept| swept.births),
            merges: sum(|swept| swept.merges),
            ..report
        });
        if round.options.alpha == Alpha::Auto {
            let seed = Seed { seed: round.options.seed, chain: round.options.chain };
            let mut rng = seed.stream(Role::Coordinator, 0, round.progress.cycle);
            round.progress.alpha = resample_alpha(alpha, k, n_rows, &mut rng);
        }
        Ok(())
    }

    fn say_last(
        &mut self,
        totals: Vec<(ComponentId, Stats)>,
        stamps: &[Stamp],
        round: &mut Round<'_, Av>,
    ) -> Result<()> {
        check_rows(totals.iter().map(|(_, stats)| stats.count as u64).sum(), round)?;
        let last = FinalComponents { cycle: round.progress.cycle, components: totals };
        let shared = encode_shared(&last);
        for &stamp in stamps {
            round.gathering.answer(stamp, encode_reply(stamp, &AvReply::Last, Some(&shared)), true, round.out);
        }
        self.last = last.components;
        Ok(())
    }
}

/// Rows travel, and none is lost or doubled. Clusters are passed on unread, so the sender is not
/// known.
fn check_rows(n_rows: u64, round: &Round<'_, Av>) -> Result<()> {
    let expected = round.gathering.plan().map_or(0, |plan| plan.n_rows);
    if n_rows == expected {
        return Ok(());
    }
    let problem = format!("workers have {n_rows} rows, expected {expected}: some were lost or doubled on their way");
    Err(Error::Io { doing: "the run".to_owned(), source: io::Error::other(problem) })
}

/// Puts parcels to those for the same receiver.
fn sort(parcels: Vec<(ShardId, Parcel)>, post: &mut Post) {
    parcels.into_iter().for_each(|(receiver, parcel)| post.entry(receiver).or_default().push(parcel));
}
