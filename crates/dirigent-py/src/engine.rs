//! Engines that are written in Python, as the command knows them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dirigent::internals::engine::remote::Delivery;
use dirigent::{
    EngineSettings, Error, InputError, NoEngines, OutsideEngine, OutsideEngines, Result, SharedEngine, Transport,
};
use pyo3::exceptions::{PyImportError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

/// What makes each engine, by its name.
pub(crate) struct PythonEngines(pub(crate) Option<Py<PyDict>>);

impl OutsideEngines for PythonEngines {
    fn make(&self, name: &'static str) -> Result<SharedEngine> {
        Python::attach(|py| {
            let factory = self.0.as_ref().and_then(|engines| engines.bind(py).get_item(name).ok().flatten());
            let Some(factory) = factory else { return NoEngines.make(name) };
            let object = factory.call0().map_err(|error| failed(py, name, &error))?.unbind();
            Ok(Arc::new(Mutex::new(PythonEngine { name, object, shared: None })) as SharedEngine)
        })
    }
}

/// One that was made.
struct PythonEngine {
    name: &'static str,
    object: Py<PyAny>,
    /// What was sent to several workers last, and the same as Python has it: one object for all of them.
    shared: Option<(Arc<[u8]>, Py<PyBytes>)>,
}

impl PythonEngine {
    fn call<T>(&self, work: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>) -> Result<T> {
        Python::attach(|py| work(py, self.object.bind(py)).map_err(|error| failed(py, self.name, &error)))
    }

    fn shared_object(&mut self, py: Python<'_>, shared: &Arc<[u8]>) -> Py<PyBytes> {
        match &self.shared {
            Some((known, object)) if Arc::ptr_eq(known, shared) => object.clone_ref(py),
            _ => {
                let object = PyBytes::new(py, shared).unbind();
                self.shared = Some((Arc::clone(shared), object.clone_ref(py)));
                object
            }
        }
    }
}

impl Transport for PythonEngine {
    fn post(&mut self, worker: u32, request: Vec<u8>, shared: Option<&Arc<[u8]>>) -> Result<()> {
        let shared = shared.map(|shared| Python::attach(|py| self.shared_object(py, shared)));
        self.call(|py, engine| engine.call_method1("post", (worker, PyBytes::new(py, &request), shared)).map(drop))
    }

    fn receive(&mut self, wait: Duration) -> Result<Vec<Delivery>> {
        self.call(|_, engine| {
            let arrived: Vec<(String, u32, PyBackedBytes)> =
                engine.call_method1("receive", (wait.as_secs_f64(),))?.extract()?;
            arrived.into_iter().map(delivery).collect()
        })
    }

    fn interrupt(&mut self) {
        // best effort: a sweep that does not break off ends by itself
        let _ = self.call(|_, engine| engine.call_method0("interrupt").map(drop));
    }
}

impl OutsideEngine for PythonEngine {
    fn n_workers(&mut self) -> Result<Option<u32>> {
        self.call(|_, engine| engine.call_method0("n_workers")?.extract())
    }

    fn start(&mut self, n_workers: u32, settings: &EngineSettings) -> Result<()> {
        self.call(|py, engine| {
            let dictionary = PyDict::new(py);
            dictionary.set_item("address", &settings.address)?;
            dictionary.set_item("rejoin_timeout", settings.rejoin_timeout)?;
            dictionary.set_item("checkpoint_dir", &settings.labels)?;
            engine.call_method1("start", (n_workers, dictionary)).map(drop)
        })
    }

    fn end(&mut self, has_failed: bool) {
        // the run has ended already, and its result or its error is what matters
        let _ = self.call(|_, engine| engine.call_method1("end", (has_failed,)).map(drop));
    }
}

fn delivery((what, worker, bytes): (String, u32, PyBackedBytes)) -> PyResult<Delivery> {
    let text = || String::from_utf8_lossy(&bytes).into_owned();
    match what.as_str() {
        "answer" => Ok(Delivery::Answer(worker, bytes.to_vec())),
        "lost" => Ok(Delivery::Lost(worker, text())),
        "back" => Ok(Delivery::Back(worker, text())),
        other => Err(PyValueError::new_err(format!("received {other:?}, expected answer, lost or back"))),
    }
}

/// Missing or wrong settings are the user's to correct; all else is a failure of the engine.
fn failed(py: Python<'_>, name: &str, error: &PyErr) -> Error {
    if error.is_instance_of::<PyImportError>(py) || error.is_instance_of::<PyValueError>(py) {
        let text = error.value(py).to_string();
        let (problem, hint) =
            text.split_once("\nhint: ").map_or((&*text, None), |(problem, hint)| (problem, Some(hint)));
        let input = InputError::new(format!("`engine` {name}: {problem}"));
        return hint.map_or(input.clone(), |hint| input.hint(hint)).into();
    }
    let kind = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    let problem = format!("{kind}: {}", error.value(py));
    Error::Io { doing: format!("the engine {name}"), source: std::io::Error::other(problem) }
}
