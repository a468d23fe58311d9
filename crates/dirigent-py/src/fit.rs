//! A fit, watched from Python.
//!
//! The fit has a thread of its own. The thread that called waits, looks for Ctrl-C ten times a second, and calls Python back after every cycle.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use dirigent::interrupt::Interrupt;
use dirigent::trace::CycleInfo;
use dirigent_cli::embed::{self, Watcher};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::engine::PythonEngines;
use crate::errors::exception;
use crate::rows::Rows;

/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// `dirigent fit` with these options. `on_cycle` gets a dictionary after every cycle; the fit ends if it returns True. Returns the run folder, and
/// the exception that ended the fit, if one did: what is in the folder is then of the last cycle that was whole. `engines` are as for the command.
#[pyfunction]
#[pyo3(signature = (options, rows, on_cycle=None, engines=None))]
pub(crate) fn fit(
    py: Python<'_>,
    options: Vec<OsString>,
    rows: &Rows,
    on_cycle: Option<Py<PyAny>>,
    engines: Option<Py<PyDict>>,
) -> PyResult<(PathBuf, Option<PyErr>)> {
    let engines = PythonEngines(engines);
    py.detach(|| {
        thread::scope(|scope| {
            let engines = &engines;
            let (report, reports) = mpsc::channel::<CycleInfo>();
            let (answer, answers) = mpsc::channel::<()>();
            let interrupt = Interrupt::new();
            let raised = interrupt.clone();
            let run = scope.spawn(move || {
                let on_cycle = |info: &CycleInfo| {
                    // the run waits until Python has seen the cycle, and goes on alone if Python does not look any more
                    if report.send(info.clone()).is_ok() {
                        let _ = answers.recv();
                    }
                    Ok(())
                };
                embed::fit(options, rows.source(), Watcher { on_cycle: Box::new(on_cycle), interrupt: raised }, engines)
            });
            let watched = watch(&reports, &answer, on_cycle.as_ref());
            if !matches!(watched, Ok(Watched::UntilTheEnd)) {
                interrupt.raise();
            }
            drop((reports, answer));
            let path = run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(exception)?;
            Ok((path, watched.err()))
        })
    })
}

/// How long Python has looked on.
enum Watched {
    UntilTheEnd,
    UntilItHadEnough,
}

/// Looks on until the run has ended, or until Python raises an exception.
fn watch(reports: &Receiver<CycleInfo>, answer: &Sender<()>, on_cycle: Option<&Py<PyAny>>) -> PyResult<Watched> {
    loop {
        let report = reports.recv_timeout(LOOK);
        if report == Err(RecvTimeoutError::Disconnected) {
            return Ok(Watched::UntilTheEnd);
        }
        let has_enough = Python::attach(|py| {
            py.check_signals()?;
            match (&report, on_cycle) {
                (Ok(info), Some(on_cycle)) => on_cycle.call1(py, (dictionary(py, info)?,))?.is_truthy(py),
                _ => Ok(false),
            }
        })?;
        if has_enough {
            return Ok(Watched::UntilItHadEnough);
        }
        if report.is_ok() {
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
