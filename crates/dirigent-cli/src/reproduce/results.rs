//! What finished runs say, read from their folders.

use std::fs;
use std::path::Path;

use dirigent::{Error, InputError, Result};
use serde::Deserialize;

use super::plan::Trial;

/// A finished run.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) trial: Trial,
    pub(crate) summary: Summary,
    pub(crate) cycles: Vec<Cycle>,
}

/// The end of a run.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Summary {
    pub(crate) k: usize,
    pub(crate) log_joint: f64,
    pub(crate) log_joint_truth: Option<f64>,
    pub(crate) vi: Option<f64>,
    pub(crate) vi_labels: Option<f64>,
    pub(crate) nmi_labels: Option<f64>,
    pub(crate) seconds: f64,
}

/// A cycle of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cycle {
    pub(crate) cycle: u64,
    /// Since the run began, on the clock of this machine.
    pub(crate) real_seconds: f64,
    /// The same on a cluster where every worker has a processor of its own; none for runs on threads.
    pub(crate) cluster_seconds: Option<f64>,
    pub(crate) log_joint: f64,
    pub(crate) k: u64,
    pub(crate) vi: Option<f64>,
    pub(crate) bytes: u64,
    pub(crate) messages: u64,
    /// Rows that took part.
    pub(crate) rows: u64,
}

impl Run {
    /// Reads `run.json` and `trace.csv`.
    pub(crate) fn read(trial: Trial, folder: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct Record {
            summary: Summary,
        }
        let path = folder.join("run.json");
        let bytes = fs::read(&path).map_err(|source| Error::io("cannot read", &path, source))?;
        let record: Record = serde_json::from_slice(&bytes)
            .map_err(|error| broken(&path, &format!("is not the record of a finished run: {error}")))?;
        let path = folder.join("trace.csv");
        let text = fs::read_to_string(&path).map_err(|source| Error::io("cannot read", &path, source))?;
        let cycles = cycles(&text, trial.method.is_serial()).map_err(|problem| broken(&path, &problem))?;
        Ok(Self { trial, summary: record.summary, cycles })
    }

    /// The cycles in which all rows took part: log-joints of a sample cannot be compared.
    pub(crate) fn whole_cycles(&self) -> impl Iterator<Item = &Cycle> {
        let rows = self.cycles.last().map_or(0, |cycle| cycle.rows);
        self.cycles.iter().filter(move |cycle| cycle.rows == rows)
    }
}

fn broken(path: &Path, problem: &str) -> Error {
    InputError::in_file(path, problem).hint("remove this run folder and give the command again").into()
}

/// The lines of `trace.csv`. A serial run takes as long on a cluster as its sweeps take here.
fn cycles(text: &str, is_serial: bool) -> Result<Vec<Cycle>, String> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column =
        |name: &str| header.iter().position(|column| *column == name).ok_or_else(|| format!("no column {name}"));
    let names =
        ["cycle", "seconds", "virtual_seconds", "sweep_seconds", "log_joint", "k", "vi", "bytes", "messages", "rows"];
    let columns = names.iter().map(|name| column(name)).collect::<Result<Vec<_>, _>>()?;
    let (mut cycles, mut swept) = (Vec::new(), 0.0);
    for (ix, line) in lines.enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |ix: usize| cells.get(columns[ix]).copied().unwrap_or_default();
        let wrong = |name: usize| format!("line {}: {:?} is no {}", ix + 2, cell(name), names[name]);
        let number = |name: usize| cell(name).parse::<f64>().map_err(|_| wrong(name));
        let optional = |name: usize| if cell(name).is_empty() { Ok(None) } else { number(name).map(Some) };
        let count = |name: usize| cell(name).parse::<u64>().map_err(|_| wrong(name));
        swept += number(3)?;
        cycles.push(Cycle {
            cycle: count(0)?,
            real_seconds: number(1)?,
            cluster_seconds: if is_serial { Some(swept) } else { optional(2)? },
            log_joint: number(4)?,
            k: count(5)?,
            vi: optional(6)?,
            bytes: count(7)?,
            messages: count(8)?,
            rows: count(9)?,
        });
    }
    if cycles.is_empty() { Err("has no cycle".to_owned()) } else { Ok(cycles) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "cycle,seconds,virtual_seconds,sweep_seconds,coordinator_seconds,log_joint,k,alpha,vi,moved,births,merges,splits,attempts,bytes,messages,observed_bytes,rows,chain
1,0.5,0.25,0.125,0,-10.5,3,1,0.75,0,0,0,0,0,100,2,0,30,1
2,1.5,0.75,0.25,0,-9,4,1,,0,0,0,0,0,50,2,0,60,1
";

    #[test]
    fn a_trace_is_read_by_the_names_of_its_columns() {
        let cycles = cycles(TRACE, false).unwrap();
        let (first, last) = (cycles[0], cycles[1]);
        assert_eq!((first.real_seconds, first.cluster_seconds, first.vi), (0.5, Some(0.25), Some(0.75)));
        assert_eq!((last.log_joint, last.k, last.vi, last.bytes, last.messages, last.rows), (-9.0, 4, None, 50, 2, 60));
    }

    #[test]
    fn a_serial_run_takes_as_long_as_its_sweeps() {
        let seconds: Vec<_> = cycles(TRACE, true).unwrap().iter().map(|cycle| cycle.cluster_seconds).collect();
        assert_eq!(seconds, [Some(0.125), Some(0.375)]);
    }

    #[test]
    fn a_broken_trace_is_told_by_its_line() {
        assert_eq!(cycles(&TRACE.replace("-9", "x"), false).unwrap_err(), "line 3: \"x\" is no log_joint");
        assert_eq!(cycles(&TRACE.replace("vi,", "iv,"), false).unwrap_err(), "no column vi");
        assert_eq!(cycles(TRACE.lines().next().unwrap(), false).unwrap_err(), "has no cycle");
    }
}
