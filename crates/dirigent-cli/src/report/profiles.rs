//! `dirigent report --profiles`: a CSV file with a line per cluster.

use std::io::Write as _;
use std::path::Path;

use dirigent::internals::run_dir::write_file;
use dirigent::{Model, Result};

use super::cards::words_of_group;
use super::certainty::Labels;
use super::features::{Features, Kind};
use super::groups::Groups;
use super::names::{Names, quoted};

/// Writes the profiles: size, share, mean certainty, then the mean of each column (share of ones, most frequent level), or the distinctive words.
pub(crate) fn write(
    path: &Path,
    groups: &Groups,
    shown: &Features,
    labels: Option<&Labels>,
    names: &Names,
) -> Result<()> {
    let is_text = matches!(groups.fitted.model, Model::Multinomial(_));
    let columns = columns(shown);
    let n_rows = groups.n_rows() as f64;
    write_file(path, |file| {
        write!(file, "cluster,name,size,share,certainty")?;
        if is_text {
            write!(file, ",words")?;
        } else {
            columns.iter().try_for_each(|(name, _)| write!(file, ",{}", quoted(name)))?;
        }
        writeln!(file)?;
        for cluster in 0..groups.n_clusters() {
            let rows = labels.map_or_else(|| groups.rows(cluster), |labels| labels.size(cluster));
            let certainty = labels.and_then(|labels| labels.certainty_of(cluster));
            let certainty = certainty.map_or_else(String::new, |mean| format!("{mean:.6}"));
            let name = quoted(names.get(cluster).unwrap_or_default());
            write!(file, "{cluster},{name},{rows},{:.6},{certainty}", rows as f64 / n_rows)?;
            if is_text {
                write!(file, ",{}", quoted(&words_of_group(&groups.fitted, shown, cluster).join(" ")))?;
            } else {
                columns.iter().try_for_each(|(_, column)| write!(file, ",{}", column.cell(shown, cluster)))?;
            }
            writeln!(file)?;
        }
        Ok(())
    })
}

enum Column {
    /// A feature whose number is listed.
    Number(usize),
    /// The features of the levels of a column, of which the most frequent is listed.
    Levels(Vec<usize>),
}

/// The columns by name.
fn columns(shown: &Features) -> Vec<(String, Column)> {
    let mut columns: Vec<(String, Column)> = Vec::new();
    let mut last = None;
    for (ix, feature) in shown.features.iter().enumerate() {
        match feature.kind {
            Kind::Level(_) => {
                let name = feature.name.split_once(" = ").map_or(feature.name.as_str(), |(name, _)| name);
                match columns.last_mut() {
                    Some((_, Column::Levels(levels))) if last == Some(feature.column()) => levels.push(ix),
                    _ => columns.push((name.to_owned(), Column::Levels(vec![ix]))),
                }
            }
            _ => columns.push((feature.name.clone(), Column::Number(ix))),
        }
        last = Some(feature.column());
    }
    columns
}

impl Column {
    fn cell(&self, shown: &Features, cluster: usize) -> String {
        let values = &shown.values[cluster];
        match self {
            Self::Number(ix) => format!("{}", values[*ix] as f32),
            Self::Levels(levels) => {
                let best = levels.iter().copied().reduce(|a, b| if values[b] > values[a] { b } else { a });
                let name = best.map_or("", |ix| shown.features[ix].name.as_str());
                quoted(name.split_once(" = ").map_or(name, |(_, level)| level))
            }
        }
    }
}
