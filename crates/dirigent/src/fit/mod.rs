//! A fit is a value: data and options in, a fitted model out.
//!
//! | file | step |
//! |---|---|
//! | [`options`] | what can be asked for; one type for the command, Python, `run.json` and resuming |
//! | `check` | what cannot be combined |
//! | `settings` | the table of priors and of details of methods and engines (`setting_values`, `units`) |
//! | `data` | rows from files or memory |
//! | `prepare` | rows transformed, model chosen, method set up (`lower`) |
//! | `run` | chains, point partition, run folder (`recorder`, `keeper`, `point`) |
//! | `stored` | a run folder to resume from |
//! | `update`, `merge` | further batches of rows, and models that were fitted apart |
//! | `fitted` | labels, prediction, saving and loading |

pub(crate) mod auto_or;
mod check;
mod data;
mod fitted;
mod json;
mod keeper;
mod lower;
mod merge;
pub mod options;
mod outside;
mod point;
mod prepare;
mod recorder;
mod run;
mod setting_values;
mod settings;
mod stored;
mod units;
mod update;

pub use data::Data;
pub use fitted::Fitted;
#[doc(hidden)]
pub use fitted::{read_clusters, read_component_labels};
pub use options::{
    DataOptions, EngineName, EngineOptions, FitOptions, MethodName, MethodOptions, RunOptions, StartName,
};
pub use outside::{EngineSettings, NoEngines, OutsideEngine, OutsideEngines, SharedEngine};
#[doc(hidden)]
pub use prepare::{Input, PreparedFit, grouped};
#[doc(hidden)]
pub use run::fit_read_into;
pub use run::{RunFolder, fit_into, resume};
#[doc(hidden)]
pub use setting_values::{ValueKind, nearest};
pub(crate) use settings::listed;
#[doc(hidden)]
pub use settings::{GivenSetting, SETTINGS, Setting, SettingList};
pub use stored::{GivenOption, StoredRun};
#[doc(hidden)]
pub use stored::{describe_resume, option_value};
#[doc(hidden)]
pub use units::seconds;

use crate::error::Result;
use crate::observer::Observer;

/// Fits a mixture to the rows, in memory.
///
/// ```
/// use dirigent::{Data, FitOptions};
///
/// let data = Data::from_cells(2, vec![0.0, 0.1, 0.2, 0.0, 0.1, 0.2, 9.0, 9.1, 9.2, 9.0, 9.1, 9.2])?;
/// let fitted = dirigent::fit(&data, &FitOptions::default())?;
/// assert_eq!((fitted.n_clusters(), fitted.labels().len()), (2, 6));
/// # Ok::<(), dirigent::Error>(())
/// ```
pub fn fit(data: &Data, options: &FitOptions) -> Result<Fitted> {
    fit_with(data, options, &mut ())
}

/// The same with an observer, which sees every cycle and can interrupt the fit. An interrupted fit
/// ends with its last whole cycle.
pub fn fit_with(data: &Data, options: &FitOptions, observer: &mut dyn Observer) -> Result<Fitted> {
    run::fit_in_memory(data, options, observer)
}
