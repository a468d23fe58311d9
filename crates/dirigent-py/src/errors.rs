//! Errors as Python knows them: the user's mistakes are a `ValueError`, the world's an `OSError`.

use dirigent::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};

/// The same message as the command's, the way out on a line of its own.
pub(crate) fn exception(error: Error) -> PyErr {
    let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    match error {
        Error::Input(_) => PyValueError::new_err(as_parameters(format!("{error}{hint}"))),
        Error::Interrupted => PyKeyboardInterrupt::new_err("the fit was interrupted before its first cycle had ended"),
        _ => PyOSError::new_err(format!("{error}{hint}")),
    }
}

/// Options that the estimator calls otherwise.
const PARAMETERS: [(&str, &str); 6] = [
    ("`clusters`", "`n_clusters`"),
    ("`covariance`", "`covariance_type`"),
    ("`max_cycles`", "`max_iter`"),
    ("`workers`", "`n_workers`"),
    ("`threads`", "`n_jobs`"),
    ("`seed`", "`random_state`"),
];

fn as_parameters(text: String) -> String {
    PARAMETERS.iter().fold(text, |text, (option, parameter)| text.replace(option, parameter))
}
