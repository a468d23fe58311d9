//! What a run reports of each cycle, and the `trace.csv` it is written to.
//!
//! A [`CycleInfo`] is only reported: no method ever reads one back.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::posterior::horizon::Ending;

/// The first line of `trace.csv`.
pub const HEADER: &str = "cycle,seconds,virtual_seconds,sweep_seconds,coordinator_seconds,log_joint,log_evidence,k,alpha,vi,\
                          moved,births,merges,splits,attempts,bytes,messages,observed_bytes,rows,chain";

/// One cycle, as it is reported.
///
/// ```
/// use dirigent::CycleInfo;
///
/// // what an observer may make of the cycles it sees
/// let cycles = [(1, -900.0, 12), (2, -700.0, 5)];
/// let cycles = cycles.map(|(cycle, log_joint, k)| CycleInfo { cycle, log_joint, k, ..CycleInfo::default() });
/// let best = cycles.iter().max_by(|a, b| a.log_joint.total_cmp(&b.log_joint)).unwrap();
/// assert_eq!((best.cycle, best.k), (2, 5));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CycleInfo {
    /// The number of the cycle, from 1.
    pub cycle: u64,
    /// Wall time since the chain began, at the end of the cycle.
    pub seconds: f64,
    /// The same on the clock of a simulated cluster.
    pub virtual_seconds: Option<f64>,
    /// Time of the cycle's sweeps: processor time on one thread (CGS, a simulation), wall time on
    /// several.
    pub sweep_seconds: f64,
    /// Wall time of the cycle's consolidation.
    pub coordinator_seconds: f64,
    /// The logarithm of the joint density of rows and labels.
    pub log_joint: f64,
    /// The log-joint plus the entropy of the labels: an estimate of the evidence, where the method
    /// counts it.
    pub log_evidence: Option<f64>,
    /// The number of components.
    pub k: usize,
    /// The concentration α.
    pub alpha: f64,
    /// Variation of information between state and truth, in nats, where the truth is known.
    pub vi: Option<f64>,
    /// Rows that changed their component.
    pub moved: u64,
    /// Components that were born.
    pub births: u64,
    /// Components that were merged away.
    pub merges: u64,
    /// Components that were split.
    pub splits: u64,
    /// Splits and merges that were judged by a Metropolis-Hastings ratio, accepted or not.
    pub attempts: u64,
    /// Bytes that the algorithm sent in the cycle.
    pub bytes: u64,
    /// Messages that the algorithm sent in the cycle.
    pub messages: u64,
    /// Bytes that were sent only to be looked at: VI, draws, labels, samples.
    pub observed_bytes: u64,
    /// Rows that take part: all of them, or a sample in the first cycles.
    pub n_rows: u64,
    /// Which of several chains, from 1.
    pub chain: u16,
    /// The end of the run, once it is foreseen.
    pub ending: Option<Ending>,
}

/// Writes `trace.csv`, a line a cycle, so that the file is valid while the run goes on.
#[derive(Debug)]
pub struct TraceWriter {
    path: PathBuf,
    file: File,
    n_bytes: u64,
}

impl TraceWriter {
    /// Creates the file and writes its header.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|source| Error::io("cannot create", path, source))?;
        let mut trace = Self { path: path.to_path_buf(), file, n_bytes: 0 };
        trace.write_line(HEADER)?;
        Ok(trace)
    }

    /// Goes on with a file behind its first bytes: what was written after them is cut off.
    pub fn reopen(path: &Path, n_bytes: u64) -> Result<Self> {
        let cut = || {
            let mut file = OpenOptions::new().read(true).write(true).open(path)?;
            let found = file.metadata()?.len();
            if found < n_bytes {
                return Err(io::Error::other(format!("it has {found} bytes, at least {n_bytes} are needed")));
            }
            file.set_len(n_bytes)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let file = cut().map_err(|source| Error::io("cannot go on with", path, source))?;
        Ok(Self { path: path.to_path_buf(), file, n_bytes })
    }

    /// Bytes written so far, which are made to survive whatever happens.
    pub fn sync(&mut self) -> Result<u64> {
        self.file.sync_data().map_err(|source| Error::io("cannot write to", &self.path, source))?;
        Ok(self.n_bytes)
    }

    /// Appends a cycle.
    pub fn write(&mut self, info: &CycleInfo) -> Result<()> {
        self.write_line(&line(info))
    }

    /// One unbuffered write: whoever reads along sees whole lines.
    fn write_line(&mut self, line: &str) -> Result<()> {
        let line = format!("{line}\n");
        self.n_bytes += line.len() as u64;
        self.file.write_all(line.as_bytes()).map_err(|source| Error::io("cannot write to", &self.path, source))
    }
}

fn line(info: &CycleInfo) -> String {
    let optional = |cell: Option<f64>| cell.map(|value| value.to_string()).unwrap_or_default();
    let mut line = format!("{},{:.6},{}", info.cycle, info.seconds, optional(info.virtual_seconds));
    let CycleInfo { sweep_seconds, coordinator_seconds, log_joint, k, alpha, .. } = info;
    let (evidence, vi) = (optional(info.log_evidence), optional(info.vi));
    let _ = write!(line, ",{sweep_seconds:.6},{coordinator_seconds:.6},{log_joint},{evidence},{k},{alpha},{vi}");
    let CycleInfo { moved, births, merges, splits, attempts, bytes, messages, observed_bytes, n_rows, .. } = info;
    for count in [moved, births, merges, splits, attempts, bytes, messages, observed_bytes, n_rows] {
        let _ = write!(line, ",{count}");
    }
    let _ = write!(line, ",{}", info.chain);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_whole_after_every_cycle() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.csv");
        let mut trace = TraceWriter::create(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}\n"));
        let info =
            CycleInfo { cycle: 1, seconds: 0.5, log_joint: -1.25, k: 3, alpha: 2.0, chain: 1, ..CycleInfo::default() };
        trace.write(&info).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().last(), Some("1,0.500000,,0.000000,0.000000,-1.25,,3,2,,0,0,0,0,0,0,0,0,0,1"));
        assert!(text.ends_with('\n'));
    }

    #[test]
    fn every_line_has_the_columns_of_the_header() {
        let info = CycleInfo { virtual_seconds: Some(2.5), vi: Some(0.25), moved: 7, ..CycleInfo::default() };
        let line = line(&info);
        let cell = |name: &str| {
            let column = HEADER.split(',').position(|column| column == name).unwrap();
            line.split(',').nth(column).unwrap().to_owned()
        };
        assert_eq!(line.split(',').count(), HEADER.split(',').count());
        assert_eq!(["virtual_seconds", "vi", "moved"].map(cell), ["2.5", "0.25", "7"]);
    }
}
