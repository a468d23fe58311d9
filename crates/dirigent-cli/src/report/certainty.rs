//! How sure the labels are: `labels.csv`, read as it comes, however long.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde_json::json;

use super::html::Table;
use super::plot::Plot;
use super::words::{counted, percent};
use crate::console::grouped;

/// Bars of the histogram.
const N_BARS: usize = 20;
/// Rows that are listed.
const MOST_LISTED: usize = 12;
/// Rows of each cluster that are kept.
const MOST_EXAMPLES: usize = 30;
/// Below this a label is doubtful.
const DOUBTFUL: f64 = 0.9;

/// What the labels of all rows come to.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    pub(crate) n_rows: u64,
    /// Rows by cluster.
    pub(crate) sizes: BTreeMap<u32, u64>,
    /// Sums of certainties by cluster.
    sums: BTreeMap<u32, f64>,
    /// Some rows of each cluster, the first ones.
    pub(crate) examples: BTreeMap<u32, Vec<usize>>,
    bars: [u64; N_BARS],
    n_doubtful: u64,
    /// (certainty, row, label) of the least certain rows, the least first.
    least: Vec<(f64, u64, u32)>,
}

impl Labels {
    /// Reads `labels.csv`; nothing where it is not there.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let mut lines = BufReader::with_capacity(1 << 16, File::open(path).ok()?).lines();
        lines.next()?.ok()?;
        let mut labels = Self::default();
        for line in lines {
            let line = line.ok()?;
            let mut cells = line.split(',');
            let (row, label) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
            labels.take(row, label, cells.next()?.parse().ok()?);
        }
        (labels.n_rows > 0).then_some(labels)
    }

    fn take(&mut self, row: u64, label: u32, certainty: f64) {
        self.n_rows += 1;
        *self.sizes.entry(label).or_default() += 1;
        *self.sums.entry(label).or_default() += certainty;
        let examples = self.examples.entry(label).or_default();
        if examples.len() < MOST_EXAMPLES {
            examples.push(row as usize);
        }
        let bar = (certainty.clamp(0.0, 1.0) * N_BARS as f64) as usize;
        self.bars[bar.min(N_BARS - 1)] += 1;
        self.n_doubtful += u64::from(certainty < DOUBTFUL);
        let is_listed = self.least.len() < MOST_LISTED || certainty < self.least[MOST_LISTED - 1].0;
        if is_listed && certainty < DOUBTFUL {
            let place = self.least.partition_point(|least| least.0 <= certainty);
            self.least.insert(place, (certainty, row, label));
            self.least.truncate(MOST_LISTED);
        }
    }

    /// The rows of a cluster.
    pub(crate) fn size(&self, cluster: usize) -> u64 {
        u32::try_from(cluster).ok().and_then(|label| self.sizes.get(&label)).copied().unwrap_or(0)
    }

    /// The mean certainty of the rows of a cluster.
    pub(crate) fn certainty_of(&self, cluster: usize) -> Option<f64> {
        let label = u32::try_from(cluster).ok()?;
        Some(self.sums.get(&label)? / *self.sizes.get(&label)? as f64)
    }

    /// The mean certainty of all rows.
    pub(crate) fn mean(&self) -> f64 {
        self.sums.values().sum::<f64>() / self.n_rows as f64
    }

    /// How many rows are doubtful, in words.
    pub(crate) fn doubtful(&self) -> String {
        format!("{} of the rows below 90 %", percent(self.n_doubtful as f64 / self.n_rows as f64))
    }

    /// What is worth a sentence.
    pub(crate) fn sentence(&self) -> String {
        let share = percent(self.n_doubtful as f64 / self.n_rows as f64);
        let doubtful = counted(self.n_doubtful, "row");
        format!("The certainty of a row is the probability of its label. {doubtful} ({share}) are below 90 %.")
    }

    pub(crate) fn histogram(&self) -> Plot {
        let range = |bar: usize| format!("{}–{} %", bar * 100 / N_BARS, (bar + 1) * 100 / N_BARS);
        let first = self.bars.iter().position(|rows| *rows > 0).unwrap_or(0);
        let bars: Vec<usize> = (first..N_BARS).collect();
        let trace = json!({
            "type": "bar", "x": bars.iter().map(|&bar| range(bar)).collect::<Vec<_>>(), "y": bars.iter().map(|&bar| self.bars[bar]).collect::<Vec<_>>(),
            "marker": {"color": "--accent"}, "hovertemplate": "%{x}: %{y:,} rows<extra></extra>",
        });
        let mut table = Table::new("Rows by certainty", &["certainty", "rows"]);
        bars.iter().for_each(|&bar| {
            table.row([range(bar), grouped(self.bars[bar])]);
        });
        let sure = percent(self.bars[N_BARS - 1] as f64 / self.n_rows as f64);
        let alt = format!("Histogram of the certainty of {} rows; {sure} are above 95 %.", grouped(self.n_rows));
        let plot = Plot::new("Certainty of the labels", alt, vec![trace], ["certainty", "rows"]).table(table);
        plot.layout(json!({"bargap": 0.08, "xaxis": {"type": "category"}}))
    }

    /// The least certain rows.
    pub(crate) fn least_certain(&self) -> Option<Table> {
        let mut table = Table::new("The least certain rows (counted from 0)", &["row", "cluster", "certainty"]);
        self.least.iter().for_each(|(certainty, row, label)| {
            table.row([row.to_string(), label.to_string(), percent(*certainty)]);
        });
        (!self.least.is_empty()).then_some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_certain_rows_are_found_among_many() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.csv");
        let lines = (0..1000)
            .map(|row| format!("{row},{},{}\n", row % 3, if row % 100 == 7 { 0.5 + row as f64 * 1e-4 } else { 1.0 }));
        std::fs::write(&path, format!("row,label,certainty\n{}", lines.collect::<String>())).unwrap();
        let labels = Labels::read(&path).unwrap();
        assert_eq!((labels.n_rows, labels.sizes[&0], labels.n_doubtful), (1000, 334, 10));
        let table = labels.least_certain().unwrap();
        assert_eq!((table.rows.len(), &table.rows[0]), (10, &vec!["7".to_owned(), "1".into(), "50.1 %".into()]));
        assert!(labels.sentence().contains("10 rows (1.0 %)"));
        assert_eq!(labels.histogram().data[0]["y"].as_array().unwrap().len(), 10);
        assert!(Labels::read(&folder.path().join("none.csv")).is_none());
    }
}
