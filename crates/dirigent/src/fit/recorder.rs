//! What a run reports while it runs: written to its folder or kept in memory, and passed on to the
//! observer.

use std::time::{Duration, Instant};

use super::keeper::Keeper;
use super::prepare::PreparedFit;
use crate::checkpoint::RunState;
use crate::checkpoint::folder::Files;
use crate::error::Result;
use crate::io::FileWatch;
use crate::method::best::BestState;
use crate::method::cgs::Draws;
use crate::method::last_state::LastState;
use crate::observer::Observer;
use crate::run_dir::{NpyWriter, Point, RunDir};
use crate::trace::{CycleInfo, TraceWriter};

/// How often the files of the data are checked for changes: there may be many.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

pub(super) struct Recorder<'a> {
    fit: &'a PreparedFit<'a>,
    observer: &'a mut dyn Observer,
    trace_file: Option<TraceWriter>,
    pub(super) trace: Vec<CycleInfo>,
    pub(super) draws_file: Option<NpyWriter<i32>>,
    /// Draws one after another, if there is no folder.
    pub(super) draws: Vec<u32>,
    n_rows: usize,
    pub(super) n_draws: usize,
    pub(super) best: Option<BestState>,
    pub(super) keeper: &'a mut Keeper,
    /// Whether an interrupted run ends with its last state instead of a checkpoint.
    concludes: bool,
    /// The last state, if the run ends with it when it is interrupted.
    pub(super) last: Option<LastState>,
    /// Whether it must be looked at after every cycle, because the method does not offer it when
    /// interrupted.
    keeps_last: bool,
    began: Instant,
    /// The files of the data, if any, and when they were checked.
    files: Option<FileWatch<'a>>,
    last_look: Instant,
    seconds_before: f64,
}

impl<'a> Recorder<'a> {
    /// Begins the files of a run, or continues them.
    pub(super) fn new(
        fit: &'a PreparedFit<'a>,
        run_dir: Option<&RunDir>,
        concludes: bool,
        keeper: &'a mut Keeper,
        files: Option<FileWatch<'a>>,
        observer: &'a mut dyn Observer,
    ) -> Result<Self> {
        let n_rows = fit.shard.n_rows();
        let n_draws = |draws: Draws| draws.n_draws * usize::from(fit.asked().run.chains);
        let all_draws = fit.setup.draws().map(n_draws);
        let (trace_file, draws_file, stood) = match (run_dir, keeper.files()) {
            (Some(run_dir), Some(stood)) => {
                let draws = all_draws.map(|n_draws| run_dir.draws_again(n_draws, n_rows, stood.n_draws)).transpose()?;
                (Some(run_dir.trace_again(stood.trace_bytes)?), draws, stood.clone())
            }
            (Some(run_dir), None) => {
                let draws = all_draws.map(|n_draws| run_dir.draws(n_draws, n_rows)).transpose()?;
                (Some(run_dir.trace()?), draws, Files::default())
            }
            (None, _) => (None, None, Files::default()),
        };
        let best = (fit.asked().run.point == Point::Best).then(|| BestState::new(&fit.setup, n_rows));
        Ok(Self {
            fit,
            observer,
            keeps_last: concludes && !fit.setup.offers_last_state(),
            concludes,
            trace_file,
            trace: Vec::new(),
            draws_file,
            draws: Vec::new(),
            n_rows,
            n_draws: stood.n_draws,
            best: stood.best.or(best),
            keeper,
            last: None,
            began: Instant::now(),
            files,
            last_look: Instant::now(),
            seconds_before: stood.seconds,
        })
    }

    pub(super) fn seconds(&self) -> f64 {
        self.seconds_before + self.began.elapsed().as_secs_f64()
    }

    /// The data must stay as it was.
    pub(super) fn check_data(&mut self) -> Result<()> {
        self.files.as_mut().map_or(Ok(()), FileWatch::check)
    }
}

impl Observer for Recorder<'_> {
    fn inner(&mut self) -> Option<&mut dyn Observer> {
        Some(&mut *self.observer)
    }

    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        if self.last_look.elapsed() >= BETWEEN_LOOKS {
            self.check_data()?;
            self.last_look = Instant::now();
        }
        self.trace_file.as_mut().map_or(Ok(()), |trace| trace.write(info))?;
        self.trace.push(info.clone());
        self.observer.on_cycle(info)
    }

    fn on_draw(&mut self, state: &[u32]) -> Result<()> {
        self.n_draws += 1;
        match &mut self.draws_file {
            Some(draws) => draws.write_labels(state)?,
            None => self.draws.extend_from_slice(state),
        }
        self.observer.on_draw(state)
    }

    fn watches_states(&mut self) -> bool {
        self.best.is_some() || self.keeps_last || self.observer.watches_states()
    }

    fn on_state(&mut self, info: &CycleInfo, state: &dyn Fn() -> Vec<u32>) {
        if let Some(best) = &mut self.best {
            best.look(info, state);
        }
        // in the first cycles only a sample of the rows may have labels
        if self.keeps_last && info.n_rows == self.n_rows as u64 {
            self.last = Some(LastState { labels: state(), alpha: info.alpha, cycle: info.cycle });
        }
        self.observer.on_state(info, state);
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.keeper.is_due()
    }

    fn on_checkpoint(&mut self, saved: RunState) -> Result<()> {
        // keeps no checkpoints, so this is where it was interrupted
        if self.concludes && !self.keeps_last {
            self.last = LastState::of(&self.fit.shard, &self.fit.setup, &saved)?;
            return Ok(());
        }
        self.draws_file.as_mut().map_or(Ok(()), NpyWriter::sync)?;
        let trace_bytes = self.trace_file.as_mut().map_or(Ok(0), TraceWriter::sync)?;
        let files = Files { trace_bytes, n_draws: self.n_draws, best: self.best.clone(), seconds: self.seconds() };
        self.keeper.keep(saved, files)
    }

    fn take_saved(&mut self) -> Option<RunState> {
        self.keeper.take_saved()
    }
}
