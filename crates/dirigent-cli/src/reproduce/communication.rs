//! The communication table, next to the paper's.

use super::curves::Curve;
use super::methods::Column;
use super::spread::mean;

/// Bytes and messages of a cycle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Traffic {
    pub(crate) bytes: f64,
    pub(crate) messages: f64,
}

/// The mean over seeds and cycles; the first cycle, in which rows are seated, is left out.
pub(crate) fn measured(curve: &Curve<'_>) -> Option<Traffic> {
    let cycles = || curve.runs.iter().flat_map(|run| run.cycles.iter().skip(1));
    let bytes = mean(cycles().map(|cycle| cycle.bytes as f64))?;
    let messages = mean(cycles().map(|cycle| cycle.messages as f64))?;
    (messages > 0.0).then_some(Traffic { bytes, messages })
}

/// Table 1 of the paper, which has 20 workers: bytes as 1000 to the kilobyte.
pub(crate) fn published(set: Option<&str>, column: Option<Column>) -> Option<Traffic> {
    let (kilobytes, messages) = match (set?, column?) {
        ("synthetic", Column::Ours) => (50.7, 40.0),
        ("synthetic", Column::SliceMr) => (40.9, 40.0),
        ("synthetic", Column::Av) => (4819.7, 114.6),
        ("synthetic", Column::SubC) => (2320.4, 40.0),
        ("imagenet", Column::Ours) => (6010.0, 40.0),
        ("imagenet", Column::SliceMr) => (4890.0, 40.0),
        ("imagenet", Column::Av) => (49_900.0, 114.0),
        ("imagenet", Column::SubC) => (26_200.0, 40.0),
        _ => return None,
    };
    Some(Traffic { bytes: 1e3 * kilobytes, messages })
}
