//! `dirigent._core`: what the Python package needs of the library and of the command, and nothing more.
//!
//! A fit is the command's: options in, a run folder out. What Python shows of it, it reads from that folder. Every call that may take long
//! lets other Python threads run.

mod cut;
mod engine;
mod errors;
mod fit;
mod host;
mod model;
mod rows;
mod stream;

use pyo3::pymodule;

/// The Rust part of the package. Not for users: see `dirigent`.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::cut::cut;
    #[pymodule_export]
    use crate::fit::fit;
    #[pymodule_export]
    use crate::host::Host;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::rows::Rows;
    #[pymodule_export]
    use crate::stream::{merge, update};

    /// The `dirigent` command with these arguments, the first of which is the program's name, and what makes further engines, by their names. Returns
    /// the exit code.
    #[pyfunction]
    #[pyo3(signature = (argv, engines=None))]
    fn run_cli(py: Python<'_>, argv: Vec<std::ffi::OsString>, engines: Option<Py<pyo3::types::PyDict>>) -> u8 {
        let engines = crate::engine::PythonEngines(engines);
        py.detach(|| dirigent_cli::run(argv, &engines))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
