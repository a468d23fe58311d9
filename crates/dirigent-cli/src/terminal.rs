//! Shows a fit on the terminal while it runs, and lets signals interrupt it.

use std::path::{Path, PathBuf};

use dirigent::internals::posterior::horizon::Cycles;
use dirigent::{Choice, CycleInfo, FitOptions, Interrupt, Model, ModelOptions, Observer, Result};

use crate::args::OutputArgs;
use crate::console::Console;
use crate::progress::Progress;
use crate::signals;
use crate::watch::Watch;
use crate::words::as_typed;

/// Choices that every fit reports; `--explain-prior` adds the others.
const WORTH_SAYING: [&str; 3] = ["family", "covariance", "start"];

pub(crate) struct Terminal<'a> {
    output: &'a OutputArgs,
    explains_prior: bool,
    progress: Progress,
    watch: Option<Watch>,
    /// The run folder, once there is one.
    pub(crate) path: Option<PathBuf>,
}

impl<'a> Terminal<'a> {
    pub(crate) fn new(output: &'a OutputArgs, options: &FitOptions, explains_prior: bool) -> Self {
        let cycles = options.run.cycles.map_or_else(Cycles::default, Cycles::Fixed);
        let progress = Progress::new(output.console(), cycles, options.run.chains);
        Self { output, explains_prior, progress, watch: None, path: None }
    }

    /// The cycles are over: the bar makes way for what comes next.
    pub(crate) fn finish(&self) {
        self.progress.finish();
    }

    /// Serves the report until the user ends it, if `--watch` was given.
    pub(crate) fn serve(self) {
        if let Some(watch) = self.watch {
            watch.finish();
        }
    }

    fn console(&self) -> Console {
        self.output.console()
    }
}

impl Observer for Terminal<'_> {
    fn on_model(&mut self, model: &Model, asked: &ModelOptions, choices: &[Choice]) {
        let console = self.console();
        self.progress.say(&describe_model(model, asked));
        for Choice { name, value, why } in choices.iter().filter(|choice| WORTH_SAYING.contains(&&*choice.name)) {
            self.progress.say(&as_typed(&format!("{name}: {value} ({why})")));
        }
        if self.explains_prior && !console.is_quiet() {
            let others = choices.iter().filter(|choice| !WORTH_SAYING.contains(&&*choice.name));
            others.for_each(|Choice { name, value, why }| {
                self.progress.say(&as_typed(&format!("  {name}: {value} ({why})")));
            });
        }
    }

    fn on_folder(&mut self, path: &Path) -> Result<()> {
        self.path = Some(path.to_path_buf());
        self.watch = self.output.watch.as_ref().map(|address| Watch::start(address, path)).transpose()?;
        if let Some(watch) = &self.watch {
            self.console().say(format_args!("watch: {}", watch.url()));
        }
        Ok(())
    }

    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.progress.on_cycle(info);
        Ok(())
    }

    fn on_start(&mut self, text: &str) {
        self.progress.on_start(text);
    }

    fn on_notice(&mut self, text: &str) {
        self.progress.say(&as_typed(text));
    }

    /// From here on signals interrupt the fit instead of ending the process: the rows have been read.
    fn interrupt(&mut self) -> Interrupt {
        signals::watch()
    }
}

/// The family and its priors in words; what the user left out is marked as chosen.
fn describe_model(model: &Model, options: &ModelOptions) -> String {
    let names = ["sigma", "sigma0", "nu0", "psi0", "a0", "b0", "tau"];
    let is_said =
        options.family.is_some() || options.covariance.is_some() || names.iter().any(|name| options.gives(name));
    let family = if is_said { "" } else { " (chosen)" };
    let mut text = format!("model: {}{family}", model.described().name());
    for (name, value) in model.described().priors() {
        let chosen = if options.gives(name) { "" } else { " (from the data)" };
        text += &format!(", {name} {value:.4}{chosen}");
    }
    text
}
