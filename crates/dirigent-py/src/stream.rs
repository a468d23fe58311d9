//! Runs that grow: further batches of rows, and runs that were fitted apart.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use dirigent::{Fitted, Forget, Interrupt, Observer};
use pyo3::prelude::*;

use crate::errors::exception;
use crate::rows::Rows;

/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// How earlier batches are forgotten: ("batches", B) or ("half_life", H).
type Forgetting = Option<(String, f64)>;

struct Interrupted(Interrupt);

impl Observer for Interrupted {
    fn interrupt(&mut self) -> Interrupt {
        self.0.clone()
    }
}

/// Adds a batch of rows to the run in a folder and writes the updated run to another one, or in its place.
#[pyfunction]
#[pyo3(signature = (folder, rows, out=None, forget=None))]
pub(crate) fn update(
    py: Python<'_>,
    folder: PathBuf,
    rows: &Rows,
    out: Option<PathBuf>,
    forget: Forgetting,
) -> PyResult<()> {
    let forget = forget.map(|(name, number)| match name.as_str() {
        "batches" => Forget::Batches(number as u64),
        _ => Forget::HalfLife(number),
    });
    let interrupt = Interrupt::new();
    let run = |interrupt: Interrupt| -> dirigent::Result<()> {
        let fitted = Fitted::load(&folder)?;
        let read = rows.with_columns(fitted.columns())?;
        let updated = fitted.update_with(read, None, forget, &mut Interrupted(interrupt))?;
        match &out {
            Some(out) => updated.save(out),
            None => updated.save_over(&folder),
        }
    };
    py.detach(|| {
        thread::scope(|scope| {
            let raised = interrupt.clone();
            let update = scope.spawn(move || run(raised));
            let mut signal = None;
            while !update.is_finished() {
                thread::sleep(LOOK);
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    interrupt.raise();
                    signal = Some(error);
                }
            }
            let done = update.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            signal.map_or_else(|| done.map_err(exception), Err)
        })
    })
}

/// Merges the runs in some folders and writes the merged run to another one.
#[pyfunction]
pub(crate) fn merge(py: Python<'_>, folders: Vec<PathBuf>, out: PathBuf) -> PyResult<()> {
    let merge = || {
        let models: Vec<Fitted> = folders.iter().map(Fitted::load).collect::<dirigent::Result<_>>()?;
        Fitted::merge(&models)?.save(&out)
    };
    py.detach(merge).map_err(exception)
}
