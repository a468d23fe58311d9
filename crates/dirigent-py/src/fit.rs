//! A fit, watched from Python.
//!
//! The fit has a thread of its own. The thread that called waits, looks for Ctrl-C ten times a second, and calls Python back at every step of the start and after every cycle.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use dirigent::{CycleInfo, DataOptions, FitOptions, Interrupt, Observer, RunFolder, fit_into};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::engine::PythonEngines;
use crate::errors::exception;
use crate::rows::Rows;

/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// Where the run is written: the folder, and whether an earlier run in it is replaced.
type Folder = (PathBuf, bool);

/// Labels that come with the rows, one per row.
type Labels<'py> = Option<PyReadonlyArray1<'py, u32>>;

/// Fits the rows. `options` and `data` are JSON: the fields of `FitOptions` and `DataOptions`. `on_cycle` gets a dictionary after every cycle; the
/// fit ends if it returns True. `on_start` gets a text at every step of the search for a start. Returns the exception that ended the fit, if one did: the folder then holds the last whole cycle.
#[pyfunction]
#[pyo3(signature = (options, data, rows, folder, start=None, truth=None, on_cycle=None, engines=None, on_start=None))]
#[expect(clippy::too_many_arguments, reason = "each is one argument of the Python function")]
pub(crate) fn fit(
    py: Python<'_>,
    options: &str,
    data: &str,
    rows: &Rows,
    folder: Folder,
    start: Labels<'_>,
    truth: Labels<'_>,
    on_cycle: Option<Py<PyAny>>,
    engines: Option<Py<PyDict>>,
    on_start: Option<Py<PyAny>>,
) -> PyResult<Option<PyErr>> {
    let engines = PythonEngines(engines);
    let labels = |labels: Labels<'_>| labels.map(|labels| labels.as_slice().map(<[u32]>::to_vec)).transpose();
    let (start, truth) = (labels(start)?, labels(truth)?);
    let options = FitOptions::from_json(options).map_err(exception)?;
    let data = DataOptions::from_json(data).map_err(exception)?;
    let folder = RunFolder { path: Some(folder.0), force: folder.1, has_checkpoints: false, ..RunFolder::default() };
    py.detach(|| {
        thread::scope(|scope| {
            let engines = &engines;
            let (report, reports) = mpsc::channel::<Report>();
            let (answer, answers) = mpsc::channel::<()>();
            let interrupt = Interrupt::new();
            let mut python = PythonObserver { report, answers, interrupt: interrupt.clone() };
            let run = scope.spawn(move || {
                options.check()?;
                folder.check()?;
                let mut data = rows.data(&data)?;
                if let Some(start) = start {
                    data = data.with_start(start)?;
                }
                if let Some(truth) = truth {
                    data = data.with_truth(truth)?;
                }
                fit_into(&folder, &data, &options, engines, &mut python)
            });
            let watched = watch(&reports, &answer, on_cycle.as_ref(), on_start.as_ref());
            if !matches!(watched, Ok(Watched::UntilTheEnd)) {
                interrupt.raise();
            }
            drop((reports, answer));
            run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(exception)?;
            Ok(watched.err())
        })
    })
}

/// What the thread that called hears of a run.
#[derive(Debug, Clone, PartialEq)]
enum Report {
    /// A step of the search for a start.
    Start(String),
    Cycle(Box<CycleInfo>),
}

/// Passes steps of the start and cycles on to the thread that called.
struct PythonObserver {
    report: Sender<Report>,
    answers: Receiver<()>,
    interrupt: Interrupt,
}

impl Observer for PythonObserver {
    fn on_cycle(&mut self, info: &CycleInfo) -> dirigent::Result<()> {
        // the run waits until Python has seen the cycle, and continues alone if Python does not look any more
        if self.report.send(Report::Cycle(Box::new(info.clone()))).is_ok() {
            let _ = self.answers.recv();
        }
        Ok(())
    }

    fn on_start(&mut self, text: &str) {
        // the search does not wait, and continues alone if Python does not look any more
        let _ = self.report.send(Report::Start(text.to_owned()));
    }

    fn interrupt(&mut self) -> Interrupt {
        self.interrupt.clone()
    }
}

/// How long Python has looked on.
enum Watched {
    UntilTheEnd,
    UntilItHadEnough,
}

/// Looks on until the run has ended, or until Python raises an exception.
fn watch(
    reports: &Receiver<Report>,
    answer: &Sender<()>,
    on_cycle: Option<&Py<PyAny>>,
    on_start: Option<&Py<PyAny>>,
) -> PyResult<Watched> {
    loop {
        let report = reports.recv_timeout(LOOK);
        if report == Err(RecvTimeoutError::Disconnected) {
            return Ok(Watched::UntilTheEnd);
        }
        let has_enough = Python::attach(|py| {
            py.check_signals()?;
            match (&report, on_cycle, on_start) {
                (Ok(Report::Cycle(info)), Some(on_cycle), _) => {
                    on_cycle.call1(py, (dictionary(py, info)?,))?.is_truthy(py)
                }
                (Ok(Report::Start(text)), _, Some(on_start)) => on_start.call1(py, (text,)).map(|_| false),
                _ => Ok(false),
            }
        })?;
        if has_enough {
            return Ok(Watched::UntilItHadEnough);
        }
        if matches!(report, Ok(Report::Cycle(_))) {
            let _ = answer.send(());
        }
    }
}

/// A cycle, as `trace.csv` has it, and the last one where it is foreseen.
fn dictionary<'py>(py: Python<'py>, info: &CycleInfo) -> PyResult<Bound<'py, PyDict>> {
    let cycle = PyDict::new(py);
    cycle.set_item("cycle", info.cycle)?;
    cycle.set_item("seconds", info.seconds)?;
    cycle.set_item("log_joint", info.log_joint)?;
    cycle.set_item("k", info.k)?;
    cycle.set_item("alpha", info.alpha)?;
    cycle.set_item("vi", info.vi)?;
    cycle.set_item("moved", info.moved)?;
    cycle.set_item("births", info.births)?;
    cycle.set_item("merges", info.merges)?;
    cycle.set_item("splits", info.splits)?;
    cycle.set_item("rows", info.n_rows)?;
    cycle.set_item("chain", info.chain)?;
    cycle.set_item("last_cycle", info.ending.map(|ending| ending.last_cycle))?;
    Ok(cycle)
}
