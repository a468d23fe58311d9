//! A host of workers, for engines that are written in Python: bytes in, bytes out.

use dirigent::internals::engine::remote;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Where workers live. `handle` takes one request at a time and lets other Python threads run; `interrupt` may come from one of them.
#[pyclass(frozen, module = "dirigent._core")]
pub(crate) struct Host(remote::Host);

#[pymethods]
impl Host {
    /// A host without workers; messages call it by its place.
    #[new]
    fn new(place: String) -> Self {
        Self(remote::Host::new(place))
    }

    /// Does what a request asks; whatever goes wrong is in the answer.
    #[pyo3(signature = (request, shared=None))]
    fn handle<'py>(&self, py: Python<'py>, request: &[u8], shared: Option<&[u8]>) -> Bound<'py, PyBytes> {
        let answer = py.detach(|| self.0.handle(request, shared));
        PyBytes::new(py, &answer)
    }

    /// The sweep that is going on breaks off; the host is of no more use afterwards.
    fn interrupt(&self) {
        self.0.interrupt();
    }
}
