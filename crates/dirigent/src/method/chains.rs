//! Several independent chains of one method, one after another, and whether they agree.
//!
//! Chains differ in their random streams alone ([`crate::rng::Seed`]). Labels and model are those
//! of the chain whose last state has the best log-joint; draws and trace hold all chains. A time
//! limit is for all together: each chain may use its share of what is left.

use serde::{Deserialize, Serialize};

use super::cgs::{Draws, Outcome};
use super::{MethodSetup, run as run_one};
use crate::checkpoint::RunState;
use crate::engine::RunTotals;
use crate::error::{InputError, Result};
use crate::model::Model;
use crate::observer::Observer;
use crate::posterior::diagnostics::Mixing;
use crate::posterior::horizon::StoppedBecause;
use crate::rows::Shard;
use crate::trace::CycleInfo;

/// What all chains leave behind.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainsOutcome {
    /// The outcome of the best chain.
    pub best: Outcome,
    /// What all chains did together.
    pub totals: Option<RunTotals>,
    /// States that were kept, of all chains.
    pub n_draws: usize,
    /// Whether the chains agree: where there are several, or states were kept.
    pub diagnostics: Option<Diagnostics>,
}

/// How well the chains mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// Cycles that are compared.
    pub over: Over,
    /// Number of values per chain; the last ones if a chain has fewer.
    pub n_values: usize,
    /// Diagnostics of the number of components.
    pub k: Mixing,
    /// Of the log-joint.
    pub log_joint: Mixing,
    /// End of each chain.
    pub chains: Vec<ChainEnd>,
}

/// Cycles that diagnostics are taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// Those whose states were kept.
    Draws,
    /// The second half of all, because none was kept.
    SecondHalf,
}

/// How a chain ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChainEnd {
    /// Number of the chain, from 1.
    pub chain: u16,
    /// The components of its last state.
    pub k: usize,
    /// The log-joint of its last state.
    pub log_joint: f64,
    /// Cycles run.
    pub cycles: u64,
    /// Why it ended.
    pub stopped_because: StoppedBecause,
}

/// What chains have done and reported so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Earlier {
    /// The chain that runs, from 0.
    pub chain: u16,
    /// The best outcome.
    best: Option<Outcome>,
    totals: Option<RunTotals>,
    /// That chains which have ended took.
    seconds: f64,
    ends: Vec<ChainEnd>,
    /// States that were kept.
    n_draws: usize,
    /// Of each chain, the one that runs included.
    heard: Vec<Vec<Heard>>,
}

impl Earlier {
    /// The best outcome of the chains that have ended.
    pub fn best(&self) -> Option<&Outcome> {
        self.best.as_ref()
    }
}

/// Runs `n_chains` chains, at least one, over all rows.
pub fn run(
    rows: &Shard,
    model: &Model,
    options: &MethodSetup,
    n_chains: u16,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<ChainsOutcome> {
    let n_chains = n_chains.max(1);
    let mut saved = observer.take_saved();
    let earlier = saved.as_mut().map(|saved| std::mem::take(&mut saved.earlier)).unwrap_or_default();
    if earlier.chain >= n_chains {
        return Err(InputError::new("the checkpoint is of a run with more chains").into());
    }
    let mut listener = Listener { observer, draws: options.draws(), seconds: 0.0, earlier, saved };
    for chain in listener.earlier.chain..n_chains {
        listener.begin(chain);
        let share = |limit: f64| (limit - listener.earlier.seconds).max(0.0) / f64::from(n_chains - chain);
        let options = options.for_chain(chain, options.time_limit().map(share));
        let (outcome, totals) = run_one(rows, model, &options, truth, &mut listener)?;
        listener.end(outcome, totals);
    }
    let Listener { earlier, draws, .. } = listener;
    let has_diagnostics = n_chains > 1 || draws.is_some();
    Ok(ChainsOutcome {
        best: earlier.best.expect("there is a chain"),
        totals: earlier.totals,
        n_draws: earlier.n_draws,
        diagnostics: has_diagnostics.then(|| diagnose(&earlier.heard, draws.is_some(), earlier.ends)),
    })
}

/// A cycle, as far as diagnostics need it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Heard {
    k: f64,
    log_joint: f64,
    is_kept: bool,
}

/// Hands on what chains report, and remembers what diagnostics need.
struct Listener<'a> {
    observer: &'a mut dyn Observer,
    draws: Option<Draws>,
    /// Of the current chain, on the clock that its time limit is measured with.
    seconds: f64,
    earlier: Earlier,
    /// What the first chain resumes from.
    saved: Option<RunState>,
}

impl Listener<'_> {
    fn begin(&mut self, chain: u16) {
        self.earlier.chain = chain;
        // a chain that goes on has been heard before
        self.earlier.heard.resize(usize::from(chain) + 1, Vec::new());
    }

    fn end(&mut self, outcome: Outcome, totals: Option<RunTotals>) {
        let earlier = &mut self.earlier;
        earlier.seconds += self.seconds;
        earlier.totals = match (earlier.totals.take(), totals) {
            (Some(all), Some(one)) => Some(all.and(&one)),
            (all, one) => all.or(one),
        };
        let Outcome { k, log_joint, cycles, stopped_because, .. } = outcome;
        earlier.ends.push(ChainEnd { chain: earlier.chain + 1, k, log_joint, cycles, stopped_because });
        if earlier.best.as_ref().is_none_or(|best| outcome.log_joint > best.log_joint) {
            earlier.best = Some(outcome);
        }
    }
}

impl Observer for Listener<'_> {
    fn inner(&mut self) -> Option<&mut dyn Observer> {
        Some(&mut *self.observer)
    }

    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.seconds = info.virtual_seconds.unwrap_or(info.seconds);
        let is_kept = self.draws.is_some_and(|draws| draws.keeps(info.cycle, info.ending));
        let heard = Heard { k: info.k as f64, log_joint: info.log_joint, is_kept };
        self.earlier.heard.last_mut().expect("a chain runs").push(heard);
        self.observer.on_cycle(info)
    }

    fn on_draw(&mut self, state: &[u32]) -> Result<()> {
        self.earlier.n_draws += 1;
        self.observer.on_draw(state)
    }

    fn on_checkpoint(&mut self, saved: RunState) -> Result<()> {
        self.observer.on_checkpoint(RunState { earlier: self.earlier.clone(), ..saved })
    }

    fn has_begun(&mut self) -> bool {
        self.saved.as_ref().is_some_and(RunState::has_begun)
    }

    fn take_saved(&mut self) -> Option<RunState> {
        self.saved.take()
    }
}

fn diagnose(chains: &[Vec<Heard>], has_draws: bool, ends: Vec<ChainEnd>) -> Diagnostics {
    let chosen: Vec<Vec<Heard>> = chains
        .iter()
        .map(|chain| match has_draws {
            true => chain.iter().filter(|heard| heard.is_kept).copied().collect(),
            false => chain[chain.len().div_ceil(2)..].to_vec(),
        })
        .collect();
    let n_values = chosen.iter().map(Vec::len).min().unwrap_or(0);
    let of = |value: fn(&Heard) -> f64| -> Mixing {
        let last = |chain: &Vec<Heard>| chain[chain.len() - n_values..].iter().map(value).collect();
        Mixing::of(&chosen.iter().map(last).collect::<Vec<_>>())
    };
    Diagnostics {
        over: if has_draws { Over::Draws } else { Over::SecondHalf },
        n_values,
        k: of(|heard| heard.k),
        log_joint: of(|heard| heard.log_joint),
        chains: ends,
    }
}
