//! A fit, watched from Python.
//!
//! The fit has a thread of its own. The thread that called waits, looks for Ctrl-C ten times a second, and calls Python back after every cycle.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use dirigent::InputError;
use dirigent::trace::CycleInfo;
use dirigent_cli::embed;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::exception;
use crate::rows::Rows;

/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// `dirigent fit` with these options. `on_cycle` gets a dictionary after every cycle. Returns the run folder.
#[pyfunction]
#[pyo3(signature = (options, rows, on_cycle=None))]
pub(crate) fn fit(
    py: Python<'_>,
    options: Vec<OsString>,
    rows: &Rows,
    on_cycle: Option<Py<PyAny>>,
) -> PyResult<PathBuf> {
    let is_over = AtomicBool::new(false);
    py.detach(|| {
        thread::scope(|scope| {
            let (report, reports) = mpsc::channel();
            let (answer, answers) = mpsc::channel();
            let is_over = &is_over;
            let run = scope.spawn(move || {
                embed::fit(options, rows.source(), &mut |info| {
                    // the run waits until Python has seen the cycle, and goes on alone if Python does not look any more
                    let _ = report.send(info.clone()).and_then(|()| Ok(answers.recv()));
                    match is_over.load(Ordering::Relaxed) {
                        true => Err(InputError::new("interrupted").into()),
                        false => Ok(()),
                    }
                })
            });
            let watched = watch(&reports, &answer, on_cycle.as_ref());
            is_over.store(watched.is_err(), Ordering::Relaxed);
            drop((reports, answer));
            let path = run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            watched.and_then(|()| path.map_err(exception))
        })
    })
}

/// Looks on until the run has ended, or until Python raises an exception.
fn watch(reports: &Receiver<CycleInfo>, answer: &Sender<()>, on_cycle: Option<&Py<PyAny>>) -> PyResult<()> {
    loop {
        let report = reports.recv_timeout(LOOK);
        if report == Err(RecvTimeoutError::Disconnected) {
            return Ok(());
        }
        Python::attach(|py| {
            py.check_signals()?;
            if let (Ok(info), Some(on_cycle)) = (&report, on_cycle) {
                on_cycle.call1(py, (dictionary(py, info)?,))?;
            }
            PyResult::Ok(())
        })?;
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
