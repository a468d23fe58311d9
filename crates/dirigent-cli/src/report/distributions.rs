//! How each column is distributed within the clusters: small histograms of the sampled rows.

use std::fmt::Write as _;

use dirigent::Row;
use dirigent::internals::run_dir::FittedModel;

use super::colours::colour;
use super::drawing::Drawing;
use super::features::{Features, column_name, level_name};
use super::groups::Groups;
use super::html::escaped;
use super::names::Names;
use super::sample::Sample;
use super::words::{number, percent};

/// Columns, clusters, bars and levels that are drawn.
const MOST_COLUMNS: usize = 12;
const MOST_CLUSTERS: usize = 10;
const N_BARS: usize = 24;
const MOST_LEVELS: usize = 6;

/// A small figure for each of the columns in which clusters differ most; nothing for documents.
pub(crate) fn drawing(
    groups: &Groups,
    fitted: &FittedModel,
    shown: &Features,
    sample: &Sample,
    names: &Names,
) -> Option<Drawing> {
    if sample.as_read.rows().any(|row| matches!(row, Row::Counts(_))) {
        return None;
    }
    let n_columns = sample.as_read.n_columns();
    let k = groups.n_clusters();
    let mut spreads = vec![0.0f64; n_columns];
    for (ix, feature) in shown.features.iter().enumerate() {
        let spread = (0..k).map(|c| shown.weights[c] * feature.distinction(shown.values[c][ix]).powi(2)).sum::<f64>();
        if let Some(place) = spreads.get_mut(feature.column()) {
            *place = place.max(spread);
        }
    }
    let mut order: Vec<usize> = (0..n_columns).collect();
    order.sort_by(|&a, &b| spreads[b].total_cmp(&spreads[a]).then(a.cmp(&b)));
    order.truncate(MOST_COLUMNS);
    let mut body = "<div class=\"strips\">".to_owned();
    for &column in &order {
        let cells: Vec<f64> = sample.as_read.rows().map(|row| cell(row, column)).collect();
        let _ = write!(body, "<div class=\"strip\"><h4>{}</h4>", escaped(&column_name(fitted, column)));
        let levels = fitted.columns.levels.get(column).and_then(Option::as_ref);
        match levels {
            Some(levels) => shares(&mut body, fitted, column, levels.len(), &cells, sample, k, names),
            None => histograms(&mut body, &cells, sample, k, names),
        }
        body.push_str("</div>");
    }
    body.push_str("</div>");
    let mut limits = Vec::new();
    if k > MOST_CLUSTERS {
        limits.push(format!("the {MOST_CLUSTERS} largest clusters"));
    }
    if n_columns > order.len() {
        limits.push(format!("the {} columns in which clusters differ most", order.len()));
    }
    let limits = if limits.is_empty() { String::new() } else { format!(" Shown: {}.", limits.join(" and ")) };
    let caption =
        format!("Sampled rows of each cluster; each line has its own height. Missing cells are left out.{limits}");
    Some(Drawing::new("distributions", "Columns within the clusters", body).caption(caption))
}

fn cell(row: Row<'_>, column: usize) -> f64 {
    match row {
        Row::F32(cells) => f64::from(cells[column]),
        Row::F64(cells) => cells[column],
        Row::Counts(_) => f64::NAN,
    }
}

/// The observed cells of a cluster, or of all rows.
fn of_cluster<'a>(cells: &'a [f64], sample: &'a Sample, cluster: Option<usize>) -> impl Iterator<Item = f64> + 'a {
    let is_meant = move |ix: usize| cluster.is_none_or(|cluster| sample.predictions[ix].label as usize == cluster);
    cells.iter().enumerate().filter(move |(ix, cell)| !cell.is_nan() && is_meant(*ix)).map(|(_, cell)| *cell)
}

/// All rows first, then the largest clusters: label and colour.
fn lines(k: usize, names: &Names) -> Vec<(Option<usize>, String, String)> {
    let all = (None, "all rows".to_owned(), "var(--soft)".to_owned());
    let of = |cluster: usize| (Some(cluster), names.short(cluster), colour(cluster));
    std::iter::once(all).chain((0..k.min(MOST_CLUSTERS)).filter(|_| k > 1).map(of)).collect()
}

fn histograms(body: &mut String, cells: &[f64], sample: &Sample, k: usize, names: &Names) {
    let mut sorted: Vec<f64> = of_cluster(cells, sample, None).collect();
    if sorted.is_empty() {
        body.push_str("<p>No sampled row has a value.</p>");
        return;
    }
    sorted.sort_by(f64::total_cmp);
    // a few far cells must not flatten all others
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    let (low, high) = (at(0.005), at(0.995));
    let width = (high - low).max(f64::MIN_POSITIVE);
    for (cluster, name, tone) in lines(k, names) {
        let mut bars = [0u32; N_BARS];
        let (mut sum, mut n) = (0.0, 0u32);
        for cell in of_cluster(cells, sample, cluster) {
            let bar = ((cell - low) / width * N_BARS as f64).clamp(0.0, (N_BARS - 1) as f64) as usize;
            bars[bar] += 1;
            (sum, n) = (sum + cell, n + 1);
        }
        let top = bars.iter().copied().max().unwrap_or(0).max(1);
        let mut path = "M0 20".to_owned();
        for (ix, bar) in bars.iter().enumerate() {
            let y = 20.0 - 19.0 * f64::from(*bar) / f64::from(top);
            let _ = write!(path, "V{y:.1}H{}", 10 * (ix + 1));
        }
        path.push_str("V20Z");
        let mean = if n > 0 { format!("mean {}", number(sum / f64::from(n))) } else { "no sampled row".to_owned() };
        let _ = write!(
            body,
            "<div class=\"line\" style=\"--tone:{tone}\"><span>{}</span><svg viewBox=\"0 0 {} 20\" preserveAspectRatio=\"none\" role=\"img\" \
             aria-label=\"{mean}\"><title>{mean}</title><path d=\"{path}\"/></svg></div>",
            escaped(&name),
            10 * N_BARS
        );
    }
    let _ = write!(body, "<div class=\"ends\"><span>{}</span><span>{}</span></div>", number(low), number(high));
}

#[allow(clippy::too_many_arguments)]
fn shares(
    body: &mut String,
    fitted: &FittedModel,
    column: usize,
    n_levels: usize,
    cells: &[f64],
    sample: &Sample,
    k: usize,
    names: &Names,
) {
    let count = |cluster: Option<usize>| {
        let mut counts = vec![0u32; n_levels];
        of_cluster(cells, sample, cluster).for_each(|cell| {
            if let Some(count) = counts.get_mut(cell as usize) {
                *count += 1;
            }
        });
        counts
    };
    let all = count(None);
    let mut order: Vec<usize> = (0..n_levels).collect();
    order.sort_by(|&a, &b| all[b].cmp(&all[a]).then(a.cmp(&b)));
    order.truncate(MOST_LEVELS);
    for (cluster, name, tone) in lines(k, names) {
        let counts = count(cluster);
        let total = f64::from(counts.iter().sum::<u32>().max(1));
        let _ = write!(
            body,
            "<div class=\"line\" style=\"--tone:{tone}\"><span>{}</span><div class=\"stack\">",
            escaped(&name)
        );
        for (place, &level) in order.iter().enumerate() {
            let share = f64::from(counts[level]) / total;
            let text = escaped(&format!("{}: {}", level_name(fitted, column, level), percent(share)));
            let label = if share > 0.18 { escaped(&level_name(fitted, column, level)) } else { String::new() };
            let _ = write!(
                body,
                "<i title=\"{text}\" style=\"width:{:.1}%;--part:{}%\">{label}</i>",
                100.0 * share,
                85 - 12 * place
            );
        }
        body.push_str("</div></div>");
    }
}
