//! Co-clustering: how often rows of two clusters are together in the draws.

use std::path::Path;

use dirigent::Result;
use dirigent::internals::io::read_draws;

use super::certainty::Labels;
use super::colours::colour;
use super::drawing::Drawing;
use super::heat::{HeatCell, HeatTable};
use super::names::Names;
use super::words::percent;

/// Clusters of the table.
const MOST: usize = 40;
/// Rows per cluster that are compared.
const MOST_ROWS: usize = 30;

/// The table; nothing without draws.
pub(crate) fn drawing(run: &Path, labels: &Labels, names: &Names) -> Result<Option<Drawing>> {
    let path = run.join("draws.npy");
    let n = labels.examples.len().min(MOST);
    if !path.exists() || n < 2 {
        return Ok(None);
    }
    let draws = read_draws(&path)?;
    if draws.n_draws() == 0 || labels.n_rows as usize != draws.n_rows() {
        return Ok(None);
    }
    let rows: Vec<&[usize]> = labels.examples.values().take(n).map(|rows| &rows[..rows.len().min(MOST_ROWS)]).collect();
    let mut together = vec![vec![0.0; n]; n];
    for draw in draws.draws() {
        for (a, of_a) in rows.iter().enumerate() {
            for (b, of_b) in rows.iter().enumerate().skip(a) {
                let equal = of_a.iter().flat_map(|&x| of_b.iter().map(move |&y| (x, y)));
                let equal = equal.filter(|&(x, y)| (a != b || x != y) && draw[x] == draw[y]).count();
                let pairs = of_a.len() * of_b.len() - if a == b { of_a.len() } else { 0 };
                together[a][b] += if pairs == 0 { 1.0 } else { equal as f64 / pairs as f64 };
            }
        }
    }
    let share = |a: usize, b: usize| together[a.min(b)][a.max(b)] / draws.n_draws() as f64;
    let numbers: Vec<usize> = labels.examples.keys().take(n).map(|&label| label as usize).collect();
    let cell = |a: usize, b: usize| HeatCell {
        text: format!("clusters {} and {}: {}", numbers[a], numbers[b], percent(share(a, b))),
        shade: share(a, b),
    };
    let table = HeatTable {
        caption: "Probability that two rows are in one cluster, by the clusters of their labels".to_owned(),
        corner: "cluster".to_owned(),
        columns: numbers.iter().map(usize::to_string).collect(),
        rows: (0..n)
            .map(|a| (names.short(numbers[a]), colour(numbers[a]), (0..n).map(|b| cell(a, b)).collect()))
            .collect(),
        is_dense: true,
    };
    let mut caption = format!(
        "How often a row of one cluster and a row of another share a cluster in the {} draws. A dark diagonal on light ground means clear clusters; point at a cell for its number.",
        draws.n_draws()
    );
    if labels.examples.len() > n {
        caption.push_str(&format!(" Shown: the first {n} clusters."));
    }
    Ok(Some(table.drawing("Co-clustering in the draws").caption(caption)))
}
