//! What a driver collects of a run: cycles with what is only looked at of them, labels for VI and
//! draws, and the result.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::cgs::{Draws, Outcome};
use crate::checkpoint::{NodesState, Stage};
use crate::consolidate::{ComponentId, ShardId};
use crate::engine::{Driver, RunTotals};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::metrics;
use crate::observer::Observer;
use crate::posterior::horizon::{Ending, StoppedBecause};
use crate::protocol::codec::decode_shown;
use crate::protocol::message::ShownLabels;
use crate::protocol::{Address, Frame};
use crate::protocol::{Decoded, require};
use crate::rows::Shard;
use crate::sweep::UNASSIGNED;
use crate::trace::CycleInfo;

/// What a collector holds for each row.
pub(super) const BYTES_A_ROW: usize = size_of::<Option<ComponentId>>() + size_of::<Option<(ComponentId, f32)>>();

/// What a collector is to look at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watching {
    pub(super) chain: u16,
    pub(super) draws: Option<Draws>,
    pub(super) time_limit: Option<f64>,
    /// Whether workers show their labels after every cycle.
    pub(super) shows_labels: bool,
}

/// Collects what is only looked at.
pub(super) struct Collector<'a> {
    /// The first row of each shard.
    pub(super) first_rows: Vec<usize>,
    chain: u16,
    draws: Option<Draws>,
    time_limit: Option<f64>,
    /// As it was first foreseen, whichever coordinator did.
    pub(super) ending: Rc<Cell<Option<Ending>>>,
    truth: Option<&'a [u32]>,
    observer: &'a mut dyn Observer,
    /// The component of each row, as last shown.
    state: Vec<Option<ComponentId>>,
    /// The most probable component of each row and its probability, as last shown.
    assigned: Vec<Option<(ComponentId, f32)>>,
    shows_labels: bool,
    /// The cycle that was reported last: its labels are still to come.
    pending: Option<CycleInfo>,
    /// Whether it was passed on all the same, because no labels will come.
    is_passed_on: bool,
    last: Option<CycleInfo>,
    interrupt: Interrupt,
    /// What was counted before, where the run resumes from a checkpoint, until the engine asks.
    totals_before: Option<RunTotals>,
    goes_on: bool,
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        shards: &[Shard],
        watching: Watching,
        truth: Option<&'a [u32]>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let interrupt = observer.interrupt();
        let mut n_rows = 0;
        let first_rows = shards
            .iter()
            .map(|shard| {
                let first = n_rows;
                n_rows += shard.n_rows();
                first
            })
            .collect();
        Self {
            first_rows,
            chain: watching.chain,
            draws: watching.draws,
            time_limit: watching.time_limit,
            ending: Rc::default(),
            truth,
            observer,
            state: vec![None; n_rows],
            assigned: vec![None; n_rows],
            shows_labels: watching.shows_labels,
            pending: None,
            is_passed_on: false,
            last: None,
            interrupt,
            totals_before: None,
            goes_on: false,
        }
    }

    /// Goes on from a border; the workers' states are left over.
    pub(super) fn resume(&mut self, saved: NodesState) -> Vec<Vec<u8>> {
        // a checkpoint is taken after what could be passed on was
        (self.pending, self.is_passed_on) = (saved.pending, !self.shows_labels);
        (self.totals_before, self.goes_on) = (Some(saved.totals), true);
        saved.workers
    }

    /// Passes on the cycle whose labels have come by now, unless it was.
    fn close_pending(&mut self) -> Result<()> {
        let Some(info) = self.pending.take() else { return Ok(()) };
        let info = if std::mem::take(&mut self.is_passed_on) { info } else { self.pass_on(info)? };
        self.last = Some(info);
        Ok(())
    }

    fn pass_on(&mut self, mut info: CycleInfo) -> Result<CycleInfo> {
        // rows of workers that are away, or have not yet swept, count as one group of their own
        let is_kept = self.draws.is_some_and(|draws| draws.keeps(info.cycle, info.ending));
        if self.truth.is_some() || is_kept {
            let state = numbered_by_size(&self.state);
            info.vi = self.truth.map(|truth| metrics::compare(&state, truth).vi);
            if is_kept {
                self.observer.on_draw(&state)?;
            }
        }
        self.observer.on_cycle(&info)?;
        let state = &self.state;
        self.observer.on_state(&info, &|| numbered_by_size(state));
        Ok(info)
    }

    fn rows_of(&self, shard: ShardId) -> Range<usize> {
        let [first, next] = [0, 1].map(|further| self.first_rows.get(shard as usize + further).copied());
        first.unwrap_or(self.state.len())..next.unwrap_or(self.state.len())
    }

    /// Takes in the labels of these rows.
    fn take_in(&mut self, rows: impl IntoIterator<Item = usize> + Clone, shown: &ShownLabels) {
        let id_of = |label: &u32| shown.components.get(*label as usize).copied();
        for (row_ix, label) in rows.clone().into_iter().zip(&shown.labels) {
            self.state[row_ix] = id_of(label);
        }
        let Some((labels, certainty)) = &shown.assignments else { return };
        for ((row_ix, label), certainty) in rows.into_iter().zip(labels).zip(certainty) {
            self.assigned[row_ix] = id_of(label).map(|id| (id, *certainty));
        }
    }

    /// Rows that took part in the last cycle.
    pub(super) fn n_rows_in_last_cycle(&self) -> u64 {
        self.pending.as_ref().or(self.last.as_ref()).map_or(0, |info| info.n_rows)
    }

    /// What came out but for the components' statistics, and the ids of the components in the order
    /// of their numbers.
    pub(super) fn finish(mut self) -> Result<(Outcome, Vec<ComponentId>)> {
        self.close_pending()?;
        let missing = self.assigned.iter().filter(|assigned| assigned.is_none()).count();
        if missing > 0 {
            let problem = format!("{missing} rows have no label: their workers were lost and did not return");
            return Err(Error::Io { doing: "the run".to_owned(), source: std::io::Error::other(problem) });
        }
        let last = self.last.unwrap_or_default();
        // a row whose worker joined at the very end has not been swept: its state is its most
        // probable component
        let assigned: Vec<(ComponentId, f32)> = self.assigned.into_iter().flatten().collect();
        let swept = self.state.iter().zip(&assigned).map(|(state, (id, _))| Some(state.unwrap_or(*id)));
        let state_ids: Vec<Option<ComponentId>> = swept.collect();
        let state = numbered_by_size(&state_ids);
        let numbers: HashMap<Option<ComponentId>, u32> = state_ids.into_iter().zip(state.iter().copied()).collect();
        let k = numbers.len();
        // every component of the last snapshot has rows, so it has a number, unless a worker has
        // shown another
        let labels: Option<Vec<u32>> = assigned.iter().map(|(id, _)| numbers.get(&Some(*id)).copied()).collect();
        let Some(labels) = labels else {
            let problem = "a worker has shown a component in which there are no rows";
            return Err(Error::Io { doing: "the run".to_owned(), source: std::io::Error::other(problem) });
        };
        let mut ids: Vec<(u32, ComponentId)> =
            numbers.iter().filter_map(|(id, number)| Some((*number, (*id)?))).collect();
        ids.sort_unstable();
        let outcome = Outcome {
            labels,
            certainty: assigned.iter().map(|(_, certainty)| *certainty).collect(),
            state,
            k,
            components: Vec::new(),
            log_joint: last.log_joint,
            alpha: last.alpha,
            cycles: last.cycle,
            stopped_because: match last.ending {
                Some(ending) if ending.last_cycle <= last.cycle => ending.because,
                _ => StoppedBecause::TimeLimit,
            },
        };
        Ok((outcome, ids.into_iter().map(|(_, id)| id).collect()))
    }
}

impl Driver for Collector<'_> {
    fn on_report(&mut self, info: CycleInfo) -> Result<()> {
        self.close_pending()?;
        self.ending.set(self.ending.get().or(info.ending));
        let mut info = CycleInfo { chain: self.chain + 1, ending: self.ending.get(), ..info };
        if !self.shows_labels {
            info = self.pass_on(info)?;
            self.is_passed_on = true;
        }
        self.pending = Some(info);
        Ok(())
    }

    fn wants_stop(&mut self, seconds: f64) -> bool {
        self.time_limit.is_some_and(|limit| seconds >= limit)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.is_raised()
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.observer.wants_checkpoint()
    }

    fn on_checkpoint(&mut self, nodes: Option<NodesState>) -> Result<()> {
        let stage = match nodes {
            Some(nodes) => Stage::Nodes(NodesState { pending: self.pending.clone(), ..nodes }),
            // what it went on from is where it still is
            None if self.goes_on => return Ok(()),
            None => Stage::Start,
        };
        self.observer.on_checkpoint(stage.into())
    }

    fn on_notice(&mut self, text: &str) {
        self.observer.on_notice(text);
    }

    fn totals_before(&mut self) -> Option<RunTotals> {
        self.totals_before.take()
    }

    fn on_frame(&mut self, from: ShardId, frame: Frame) -> Result<()> {
        let sender = Address::Worker(from);
        let Some(shown) = decode_shown(&frame, sender)? else { return Ok(()) };
        match &shown.places {
            None => {
                let rows = self.rows_of(from);
                check_shown(&shown, rows.len()).map_err(|rejection| rejection.of(sender))?;
                self.take_in(rows, &shown);
            }
            Some(places) => {
                let are_rows = places.iter().all(|row_ix| *row_ix < self.state.len() as u64);
                let checked = require(are_rows, "rows that there are not");
                checked.and_then(|()| check_shown(&shown, places.len())).map_err(|why| why.of(sender))?;
                self.take_in(places.iter().map(|row_ix| *row_ix as usize), &shown);
            }
        }
        Ok(())
    }
}

/// Labels of this many rows, each of a component that is named; a row may be in none until the end.
fn check_shown(shown: &ShownLabels, n_rows: usize) -> Decoded<()> {
    let is_named = |label: &u32| (*label as usize) < shown.components.len();
    require(shown.labels.len() == n_rows, "labels of other rows")?;
    require(shown.labels.iter().all(|label| *label == UNASSIGNED || is_named(label)), "a label of nothing")?;
    let Some((labels, certainty)) = &shown.assignments else { return Ok(()) };
    require(labels.len() == n_rows && certainty.len() == n_rows, "labels of other rows")?;
    require(labels.iter().all(is_named), "a label of nothing")
}

/// Components numbered by falling size, ties by id.
pub(super) fn numbered_by_size(state: &[Option<ComponentId>]) -> Vec<u32> {
    let mut sizes = HashMap::new();
    for id in state {
        *sizes.entry(*id).or_insert(0u64) += 1;
    }
    let mut ids: Vec<_> = sizes.iter().map(|(id, size)| (std::cmp::Reverse(*size), *id)).collect();
    ids.sort_unstable();
    let numbers: HashMap<_, _> = ids.iter().enumerate().map(|(number, (_, id))| (*id, number as u32)).collect();
    state.iter().map(|id| numbers[id]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::av::Av;
    use crate::protocol::codec::{Message, encode};
    use crate::protocol::message::Stamp;
    use crate::rows::Table;

    #[test]
    fn labels_that_a_worker_cannot_show_are_refused_and_change_nothing() {
        let shard = |n_rows: usize| Shard::of_table(Table::from_f64(1, vec![0.0; n_rows]));
        let watching = Watching { chain: 0, draws: None, time_limit: None, shows_labels: true };
        let nobody = &mut ();
        let mut collector = Collector::new(&[shard(2), shard(3)], watching, None, nobody);
        let id = ComponentId { epoch: 0, number: 1 };
        let shown = |labels: &[u32], assignments: Option<(&[u32], &[f32])>| ShownLabels {
            cycle: 1,
            components: vec![id],
            labels: labels.to_vec(),
            places: None,
            assignments: assignments.map(|(labels, certainty)| (labels.to_vec(), certainty.to_vec())),
        };
        let mut show = |shown: &ShownLabels| {
            let message = Message::ShownLabels(shown.clone());
            let result = collector.on_frame(1, encode::<Av>(Stamp { shard: 1, incarnation: 1, sequence: 1 }, &message));
            (result.is_ok(), collector.state.clone())
        };
        let as_before = (false, vec![None; 5]);
        for wrong in [
            shown(&[0; 2], None),
            shown(&[0; 4], None),
            shown(&[0, 1, 0], None),
            shown(&[0; 3], Some((&[0; 2], &[1.0; 3]))),
            shown(&[0; 3], Some((&[0; 3], &[1.0; 4]))),
            shown(&[0; 3], Some((&[0, 0, UNASSIGNED], &[1.0; 3]))),
        ] {
            assert_eq!(show(&wrong), as_before, "{wrong:?}");
        }
        for rows in [vec![1, 5, 2], vec![1, 2]] {
            let shown = ShownLabels { places: Some(rows), ..shown(&[0; 3], None) };
            assert_eq!(show(&shown), as_before, "{shown:?}");
        }
        let sound = shown(&[0, UNASSIGNED, 0], None);
        assert_eq!(show(&sound), (true, vec![None, None, Some(id), None, Some(id)]));
    }
}
