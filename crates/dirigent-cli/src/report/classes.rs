//! Clusters and known classes: `classes.csv`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::colours::colour;
use super::drawing::Drawing;
use super::heat::{HeatCell, HeatTable};
use super::names::Names;
use super::words::percent;
use crate::console::grouped;

/// Clusters and classes of the table, the largest first.
const MOST: usize = 24;

/// The table of rows by cluster and class; nothing where classes are not known.
pub(crate) fn drawing(run: &Path, names: &Names) -> Option<Drawing> {
    let counts = read(&run.join("classes.csv"))?;
    let mut of_class: BTreeMap<&str, u64> = BTreeMap::new();
    let mut of_cluster: BTreeMap<usize, BTreeMap<&str, u64>> = BTreeMap::new();
    for (cluster, rows, class) in &counts {
        *of_class.entry(class).or_default() += rows;
        *of_cluster.entry(*cluster).or_default().entry(class).or_default() += rows;
    }
    let mut classes: Vec<(&str, u64)> = of_class.into_iter().collect();
    classes.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let (n_classes, n_clusters) = (classes.len(), of_cluster.len());
    let (total, in_largest) = of_cluster.values().fold((0, 0), |(total, largest), classes| {
        (total + classes.values().sum::<u64>(), largest + classes.values().max().copied().unwrap_or(0))
    });
    let has_rest = n_classes > MOST;
    classes.truncate(MOST);
    let row = |(cluster, of_class): (&usize, &BTreeMap<&str, u64>)| {
        let rows: u64 = of_class.values().sum();
        let cell = |n: u64| HeatCell {
            text: if n == 0 { String::new() } else { grouped(n) },
            shade: n as f64 / rows.max(1) as f64,
        };
        let shown: Vec<u64> = classes.iter().map(|(class, _)| of_class.get(class).copied().unwrap_or(0)).collect();
        let rest = has_rest.then(|| cell(rows - shown.iter().sum::<u64>()));
        (names.short(*cluster), colour(*cluster), shown.into_iter().map(cell).chain(rest).collect())
    };
    let table = HeatTable {
        caption: "Rows by cluster and known class".to_owned(),
        corner: "cluster".to_owned(),
        columns: classes
            .iter()
            .map(|(class, _)| (*class).to_owned())
            .chain(has_rest.then(|| "other classes".to_owned()))
            .collect(),
        rows: of_cluster.iter().take(MOST).map(row).collect(),
        is_dense: false,
    };
    let mut caption = format!(
        "{} of the rows are in the most frequent class of their cluster. The shade is the share of the class in the cluster.",
        percent(in_largest as f64 / total.max(1) as f64)
    );
    if n_clusters > MOST || has_rest {
        caption.push_str(&format!(
            " The table shows at most {MOST} clusters and classes; classes.csv has all {n_clusters} clusters and {n_classes} classes."
        ));
    }
    Some(table.drawing("Clusters and known classes").caption(caption))
}

/// Cluster, rows and class of each line.
fn read(path: &Path) -> Option<Vec<(usize, u64, String)>> {
    let text = fs::read_to_string(path).ok()?;
    let line = |line: &str| {
        let (cluster, rest) = line.split_once(',')?;
        let (rows, class) = rest.split_once(',')?;
        let class = class.strip_prefix('"')?.strip_suffix('"')?.replace("\"\"", "\"");
        Some((cluster.parse().ok()?, rows.parse().ok()?, class))
    };
    Some(text.lines().skip(1).filter_map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_by_cluster_and_class() {
        let folder = tempfile::tempdir().unwrap();
        assert!(drawing(folder.path(), &Names::default()).is_none());
        let text = "cluster,rows,class\n0,30,\"a \"\"<b>\"\", c\"\n0,10,\"d\"\n1,60,\"d\"\n";
        fs::write(folder.path().join("classes.csv"), text).unwrap();
        let html = drawing(folder.path(), &Names::default()).unwrap().html();
        assert!(html.contains("a &quot;&lt;b&gt;&quot;, c") && html.contains("90.0 % of the rows"), "{html}");
    }
}
