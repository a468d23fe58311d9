//! What a run reports while it is under way.

use std::path::Path;

use crate::checkpoint::RunState;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::model::{Choice, Model, ModelOptions};
use crate::trace::CycleInfo;

/// Watches a run. Every method has a default: nothing, or what the observer behind this one does.
///
/// ```
/// use dirigent::{CycleInfo, Data, FitOptions, Observer, Result};
///
/// /// Counts cycles, and keeps draws in memory.
/// #[derive(Default)]
/// struct Notes {
///     n_cycles: u64,
///     draws: Vec<Vec<u32>>,
/// }
///
/// impl Observer for Notes {
///     fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
///         self.n_cycles = info.cycle;
///         Ok(())
///     }
///
///     fn on_draw(&mut self, state: &[u32]) -> Result<()> {
///         self.draws.push(state.to_vec());
///         Ok(())
///     }
/// }
///
/// let data = Data::from_cells(1, vec![0.0, 0.1, 0.2, 9.0, 9.1])?;
/// let mut options = FitOptions::default();
/// options.method.name = dirigent::MethodName::Cgs;
/// (options.run.cycles, options.run.draws, options.run.thin) = (Some(20), Some(5), Some(2));
/// let mut notes = Notes::default();
/// dirigent::fit_with(&data, &options, &mut notes)?;
/// assert_eq!((notes.n_cycles, notes.draws.len()), (20, 5));
/// # Ok::<(), dirigent::Error>(())
/// ```
pub trait Observer {
    /// The observer behind this one, which hears all that this one does not take for itself.
    #[doc(hidden)]
    fn inner(&mut self) -> Option<&mut dyn Observer> {
        None
    }
    /// After every cycle.
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.on_cycle(info))
    }
    /// For every state that is kept.
    fn on_draw(&mut self, state: &[u32]) -> Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.on_draw(state))
    }
    /// Whether it looks at states in [`Observer::on_state`]: then workers show their labels after
    /// every cycle.
    fn watches_states(&mut self) -> bool {
        self.inner().is_some_and(|inner| inner.watches_states())
    }
    /// After every cycle; the state is made only if it is asked for. Under an asynchronous schedule
    /// it is put together from what the workers showed last.
    fn on_state(&mut self, info: &CycleInfo, state: &dyn Fn() -> Vec<u32>) {
        if let Some(inner) = self.inner() {
            inner.on_state(info, state);
        }
    }
    /// What ends the run when it is raised; asked before the first cycle.
    fn interrupt(&mut self) -> Interrupt {
        self.inner().map_or_else(Interrupt::new, |inner| inner.interrupt())
    }
    /// Once the model is chosen: the model, the options it was chosen by, and what was chosen and
    /// why.
    fn on_model(&mut self, model: &Model, options: &ModelOptions, choices: &[Choice]) {
        if let Some(inner) = self.inner() {
            inner.on_model(model, options, choices);
        }
    }
    /// Once the run folder exists, before the first cycle.
    fn on_folder(&mut self, path: &Path) -> Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.on_folder(path))
    }
    /// Something worth knowing, such as the loss of a worker.
    fn on_notice(&mut self, text: &str) {
        if let Some(inner) = self.inner() {
            inner.on_notice(text);
        }
    }
    /// What the search for a start is doing, before each of its levels.
    fn on_start(&mut self, text: &str) {
        if let Some(inner) = self.inner() {
            inner.on_start(text);
        }
    }
    /// Whether the state is wanted at the end of the cycle that has just been reached, to resume
    /// from it.
    #[doc(hidden)]
    fn wants_checkpoint(&mut self) -> bool {
        self.inner().is_some_and(|inner| inner.wants_checkpoint())
    }
    /// The state at the end of a cycle, because it was wanted, or because the run is interrupted.
    /// All that was reported before belongs to it.
    #[doc(hidden)]
    fn on_checkpoint(&mut self, saved: RunState) -> Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.on_checkpoint(saved))
    }
    /// Whether there is a state to resume from, so that no start need be found.
    #[doc(hidden)]
    fn has_begun(&mut self) -> bool {
        self.inner().is_some_and(|inner| inner.has_begun())
    }
    /// The state to resume from; asked once, before the first cycle.
    #[doc(hidden)]
    fn take_saved(&mut self) -> Option<RunState> {
        self.inner().and_then(|inner| inner.take_saved())
    }
}

/// Watches nothing: only the outcome counts.
impl Observer for () {}
