//! What a run reports while it goes on, put on disk and on the terminal.

use std::time::{Duration, Instant};

use dirigent::Result;
use dirigent::checkpoint::Saved;
use dirigent::checkpoint::folder::Files;
use dirigent::interrupt::Interrupt;
use dirigent::io::FileWatch;
use dirigent::method::best::BestState;
use dirigent::method::cgs::{Draws, Observer};
use dirigent::method::last_state::LastState;
use dirigent::run_dir::{NpyWriter, Point, RunDir};
use dirigent::trace::{CycleInfo, TraceWriter};

use crate::args::OutputArgs;
use crate::embed::Watcher;
use crate::job::Job;
use crate::keep::Keeper;
use crate::progress::Progress;

/// How often it is looked whether somebody has changed the data: there may be many files.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// Puts on disk and on the terminal what the chain reports.
pub(crate) struct Recorder<'a> {
    job: &'a Job<'a>,
    trace: TraceWriter,
    pub(crate) draws: Option<NpyWriter<i32>>,
    n_rows: usize,
    pub(crate) n_draws: usize,
    pub(crate) best: Option<BestState>,
    pub(crate) progress: Progress,
    pub(crate) keeper: &'a mut Keeper,
    watcher: Option<Watcher<'a>>,
    /// The last state, where somebody watches: what is left when the run is interrupted.
    pub(crate) last: Option<LastState>,
    /// Whether it must be looked at after every cycle, because the method cannot tell it when it is interrupted.
    keeps_last: bool,
    began: Instant,
    /// The files of the data, if any, and when they were looked at.
    files: Option<FileWatch<'a>>,
    last_look: Instant,
    seconds_before: f64,
}

impl<'a> Recorder<'a> {
    /// Begins the files of a run, or goes on with them.
    pub(crate) fn new(
        job: &'a Job<'a>,
        run_dir: &RunDir,
        output: &OutputArgs,
        keeper: &'a mut Keeper,
        files: Option<FileWatch<'a>>,
        watcher: Option<Watcher<'a>>,
    ) -> Result<Self> {
        let n_rows = job.shard.n_rows();
        let n_draws = |draws: Draws| draws.n_draws * usize::from(job.n_chains);
        let all_draws = job.options.draws().map(n_draws);
        let progress = Progress::new(output.console(), job.options.cycles(), job.n_chains);
        let (trace, draws, stood) = match keeper.files() {
            Some(stood) => {
                let draws = all_draws.map(|n_draws| run_dir.draws_again(n_draws, n_rows, stood.n_draws)).transpose()?;
                (run_dir.trace_again(stood.trace_bytes)?, draws, stood.clone())
            }
            None => {
                let draws = all_draws.map(|n_draws| run_dir.draws(n_draws, n_rows)).transpose()?;
                (run_dir.trace()?, draws, Files::default())
            }
        };
        let best = (job.point == Point::Best).then(|| BestState::new(job.options, n_rows));
        Ok(Self {
            job,
            keeps_last: watcher.is_some() && !job.options.offers_last_state(),
            trace,
            draws,
            n_rows,
            n_draws: stood.n_draws,
            best: stood.best.or(best),
            progress,
            keeper,
            watcher,
            last: None,
            began: Instant::now(),
            files,
            last_look: Instant::now(),
            seconds_before: stood.seconds,
        })
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.seconds_before + self.began.elapsed().as_secs_f64()
    }

    /// What is fitted must stay what it was.
    pub(crate) fn check_data(&mut self) -> Result<()> {
        self.files.as_mut().map_or(Ok(()), FileWatch::check)
    }
}

impl Observer for Recorder<'_> {
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        if self.last_look.elapsed() >= BETWEEN_LOOKS {
            self.check_data()?;
            self.last_look = Instant::now();
        }
        self.progress.on_cycle(info);
        self.trace.write(info)?;
        self.watcher.as_mut().map_or(Ok(()), |watcher| (watcher.on_cycle)(info))
    }

    fn on_draw(&mut self, state: &[u32]) -> Result<()> {
        self.n_draws += 1;
        self.draws.as_mut().map_or(Ok(()), |draws| draws.write_labels(state))
    }

    fn watches_states(&self) -> bool {
        self.best.is_some() || self.keeps_last
    }

    fn on_state(&mut self, info: &CycleInfo, state: &dyn Fn() -> Vec<u32>) {
        if let Some(best) = &mut self.best {
            best.look(info, state);
        }
        // in the first cycles only a sample of the rows may have labels
        if self.keeps_last && info.n_rows == self.n_rows as u64 {
            self.last = Some(LastState { labels: state(), alpha: info.alpha, cycle: info.cycle });
        }
    }

    fn interrupt(&self) -> Interrupt {
        self.watcher.as_ref().map_or_else(|| self.keeper.interrupt(), |watcher| watcher.interrupt.clone())
    }

    fn on_notice(&mut self, text: &str) {
        self.progress.say(text);
    }

    fn on_start(&mut self, text: &str) {
        self.progress.on_start(text);
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.keeper.is_due()
    }

    fn on_checkpoint(&mut self, saved: Saved) -> Result<()> {
        // keeps no checkpoints, so this is where it was interrupted
        if self.watcher.is_some() && !self.keeps_last {
            self.last = LastState::of(self.job.shard, self.job.options, &saved)?;
            return Ok(());
        }
        self.draws.as_mut().map_or(Ok(()), NpyWriter::sync)?;
        let trace_bytes = self.trace.sync()?;
        let files = Files { trace_bytes, n_draws: self.n_draws, best: self.best.clone(), seconds: self.seconds() };
        self.keeper.keep(saved, files)
    }

    fn take_saved(&mut self) -> Option<Saved> {
        self.keeper.take_saved()
    }
}
