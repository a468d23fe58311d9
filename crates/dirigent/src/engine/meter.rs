//! The one place where bytes, messages and compute times are counted, for the trace and for the
//! totals.

use std::time::Instant;

use super::{RunTotals, WorkerTotals};
use crate::protocol::{Address, CycleReport, Frame, Outbox};
use crate::trace::CycleInfo;

/// Counts what every engine reports.
#[derive(Debug)]
pub(super) struct Meter {
    began: Instant,
    /// Wall time of what the run did before, where it goes on.
    seconds_before: f64,
    totals: RunTotals,
    since_report: Window,
}

/// What has happened since the last report.
#[derive(Debug, Default)]
struct Window {
    bytes: u64,
    messages: u64,
    observed_bytes: u64,
    coordinator_seconds: f64,
    /// By worker; shorter than their number where the last ones did nothing.
    worker_seconds: Vec<f64>,
}

impl Meter {
    pub(super) fn new(n_workers: usize) -> Self {
        let totals = RunTotals { workers: vec![WorkerTotals::default(); n_workers], ..RunTotals::default() };
        Self { began: Instant::now(), seconds_before: 0.0, totals, since_report: Window::default() }
    }

    /// For a run that resumes from a border.
    pub(super) fn going_on(totals: RunTotals) -> Self {
        Self { seconds_before: totals.seconds, totals, ..Self::new(0) }
    }

    /// What was counted so far.
    pub(super) fn so_far(&self) -> RunTotals {
        RunTotals { seconds: self.seconds(), ..self.totals.clone() }
    }

    /// What a node did in one event: the time it took, the rows it swept, the frames it sent.
    pub(super) fn count(&mut self, who: Address, out: &Outbox, seconds: f64) {
        match who {
            Address::Worker(shard) => {
                let worker = self.worker(shard);
                worker.seconds += seconds;
                worker.swept_rows += out.swept_rows;
                *entry(&mut self.since_report.worker_seconds, shard) += seconds;
            }
            Address::Coordinator | Address::Driver => {
                self.totals.coordinator_seconds += seconds;
                self.since_report.coordinator_seconds += seconds;
            }
        }
        out.frames.iter().for_each(|(to, frame)| self.count_frame(who, *to, frame));
    }

    fn count_frame(&mut self, from: Address, to: Address, frame: &Frame) {
        let n_bytes = frame.n_bytes();
        let is_observed = to == Address::Driver;
        if is_observed {
            self.totals.observed_bytes += n_bytes;
            self.since_report.observed_bytes += n_bytes;
        } else {
            self.totals.bytes += n_bytes;
            self.totals.messages += 1;
            self.since_report.bytes += n_bytes;
            self.since_report.messages += 1;
        }
        for end in [from, to] {
            if let Address::Worker(shard) = end {
                let worker = self.worker(shard);
                *(if is_observed { &mut worker.observed_bytes } else { &mut worker.bytes }) += n_bytes;
            }
        }
    }

    /// A worker was made again.
    pub(super) fn restarted(&mut self, shard: u32) {
        self.worker(shard).restarts += 1;
    }

    /// A simulated network lost a frame, which goes out again.
    pub(super) fn resent(&mut self) {
        self.totals.resent += 1;
    }

    /// A simulated network doubled a frame.
    pub(super) fn doubled(&mut self) {
        self.totals.doubled += 1;
    }

    /// Completes a report with what was counted since the last one.
    pub(super) fn report(&mut self, report: &CycleReport, virtual_seconds: Option<f64>) -> CycleInfo {
        let window = std::mem::take(&mut self.since_report);
        CycleInfo {
            cycle: report.cycle,
            seconds: self.seconds(),
            virtual_seconds,
            sweep_seconds: window.worker_seconds.iter().copied().fold(0.0, f64::max),
            coordinator_seconds: window.coordinator_seconds,
            log_joint: report.log_joint,
            log_evidence: report.log_evidence,
            k: report.k,
            alpha: report.alpha,
            vi: None,
            moved: report.moved,
            births: report.births,
            merges: report.merges,
            splits: report.splits,
            attempts: report.attempts,
            bytes: window.bytes,
            messages: window.messages,
            observed_bytes: window.observed_bytes,
            n_rows: report.n_rows,
            chain: 0,
            ending: report.ending,
        }
    }

    /// Wall time so far.
    pub(super) fn seconds(&self) -> f64 {
        self.seconds_before + self.began.elapsed().as_secs_f64()
    }

    /// The totals, at the end of the run.
    pub(super) fn totals(self, virtual_seconds: Option<f64>) -> RunTotals {
        RunTotals { seconds: self.seconds(), virtual_seconds, ..self.totals }
    }

    fn worker(&mut self, shard: u32) -> &mut WorkerTotals {
        entry(&mut self.totals.workers, shard)
    }
}

/// The entry of a worker, who may be newer than the list.
fn entry<T: Default>(list: &mut Vec<T>, shard: u32) -> &mut T {
    let ix = shard as usize;
    if list.len() <= ix {
        list.resize_with(ix + 1, T::default);
    }
    &mut list[ix]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(own: usize, shared: Option<usize>) -> Frame {
        Frame { own: vec![0; own].into(), shared: shared.map(|len| vec![0; len].into()) }
    }

    #[test]
    fn a_shared_part_counts_once_per_receiver_and_the_window_closes_with_the_report() {
        let mut meter = Meter::new(2);
        let mut out = Outbox::default();
        out.send(Address::Worker(0), frame(3, Some(100)));
        out.send(Address::Worker(1), frame(5, Some(100)));
        meter.count(Address::Coordinator, &out, 0.5);
        let mut out = Outbox { swept_rows: 7, ..Outbox::default() };
        out.send(Address::Coordinator, frame(11, None));
        out.send(Address::Driver, frame(1000, None));
        meter.count(Address::Worker(1), &out, 2.0);
        let info = meter.report(&CycleReport { cycle: 4, k: 9, ..CycleReport::default() }, Some(3.0));
        assert_eq!((info.bytes, info.messages, info.observed_bytes), (219, 3, 1000));
        assert_eq!((info.sweep_seconds, info.coordinator_seconds, info.virtual_seconds), (2.0, 0.5, Some(3.0)));
        assert_eq!((info.cycle, info.k, info.vi), (4, 9, None));
        let next = meter.report(&CycleReport::default(), None);
        assert_eq!((next.bytes, next.messages, next.observed_bytes, next.sweep_seconds), (0, 0, 0, 0.0));
        let totals = meter.totals(None);
        assert_eq!((totals.bytes, totals.messages, totals.observed_bytes), (219, 3, 1000));
        assert_eq!((totals.workers[0].bytes, totals.workers[1].bytes), (103, 116));
        assert_eq!((totals.workers[1].observed_bytes, totals.workers[1].swept_rows), (1000, 7));
    }

    #[test]
    fn sweep_seconds_are_those_of_the_worker_that_computed_longest() {
        let mut meter = Meter::new(2);
        for (shard, seconds) in [(0, 1.0), (1, 1.5), (0, 1.0)] {
            meter.count(Address::Worker(shard), &Outbox::default(), seconds);
        }
        assert_eq!(meter.report(&CycleReport::default(), None).sweep_seconds, 2.0);
    }
}
