//! Clusters by features: how far each stands from all rows, as a table of shades.

use dirigent::Model;

use super::colours::colour;
use super::drawing::Drawing;
use super::features::{Features, Kind};
use super::groups::Groups;
use super::heat::{HeatCell, HeatTable};
use super::names::Names;
use super::words::{number, percent};

/// Clusters and features of the table.
const MOST_CLUSTERS: usize = 24;
const MOST_FEATURES: usize = 24;

/// The table; nothing where there is one cluster.
pub(crate) fn drawing(groups: &Groups, shown: &Features, names: &Names) -> Option<Drawing> {
    let k = groups.n_clusters();
    if k < 2 {
        return None;
    }
    let n_rows = k.min(MOST_CLUSTERS);
    let is_text = matches!(groups.fitted.model, Model::Multinomial(_));
    let score = |cluster: usize, ix: usize| shown.features[ix].distinction(shown.values[cluster][ix]);
    let chosen = if is_text { words_in_turn(n_rows, shown.features.len(), &score) } else { widest(shown, k, &score) };
    let largest = |cluster: usize| chosen.iter().map(|&ix| score(cluster, ix)).fold(f64::MIN_POSITIVE, f64::max);
    let row = |cluster: usize| {
        let cells = chosen.iter().map(|&ix| {
            let (feature, value) = (&shown.features[ix], shown.values[cluster][ix]);
            let text = match feature.kind {
                Kind::Word if value < 5e-4 => String::new(),
                Kind::Ones | Kind::Level(_) | Kind::Word => percent(value),
                Kind::Number | Kind::Count => number(value),
            };
            let shade = if is_text { score(cluster, ix).max(0.0) / largest(cluster) } else { score(cluster, ix) / 2.0 };
            HeatCell { text, shade }
        });
        (names.short(cluster), colour(cluster), cells.collect())
    };
    let caption = if is_text { "Share of words by cluster" } else { "Means and shares by cluster" };
    let table = HeatTable {
        caption: caption.to_owned(),
        corner: "cluster".to_owned(),
        columns: chosen.iter().map(|&ix| shown.features[ix].name.clone()).collect(),
        rows: (0..n_rows).map(row).collect(),
        is_dense: false,
    };
    let reading = if is_text {
        "A cell is the share of a word in the words of a cluster; the darker, the more it sets the cluster apart."
    } else {
        "A cell is the mean of a column, or the share of a level. Orange is above the mean of all rows, blue below; the darkest shade is two standard deviations or more."
    };
    let mut limits = Vec::new();
    if k > n_rows {
        limits.push(format!("the {n_rows} largest clusters"));
    }
    if shown.features.len() > chosen.len() {
        limits.push(format!("the {} features in which clusters differ most", chosen.len()));
    }
    let limits = if limits.is_empty() { String::new() } else { format!(" Shown: {}.", limits.join(" and ")) };
    let title = if is_text { "Words by cluster" } else { "Columns by cluster" };
    Some(table.drawing(title).caption(format!("{reading}{limits}")))
}

/// The features in which clusters differ most, in their own order.
fn widest(shown: &Features, k: usize, score: &dyn Fn(usize, usize) -> f64) -> Vec<usize> {
    let spread = |ix: usize| (0..k).map(|cluster| shown.weights[cluster] * score(cluster, ix).powi(2)).sum::<f64>();
    let mut order: Vec<(usize, f64)> = (0..shown.features.len()).map(|ix| (ix, spread(ix))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut chosen: Vec<usize> = order.iter().take(MOST_FEATURES).map(|(ix, _)| *ix).collect();
    chosen.sort_unstable();
    chosen
}

/// The most distinctive word of each cluster, then the second of each, and so on.
fn words_in_turn(n_clusters: usize, n_words: usize, score: &dyn Fn(usize, usize) -> f64) -> Vec<usize> {
    let best = |cluster: usize| {
        let mut order: Vec<usize> = (0..n_words).filter(|&ix| score(cluster, ix) > 0.0).collect();
        order.sort_by(|&a, &b| score(cluster, b).total_cmp(&score(cluster, a)).then(a.cmp(&b)));
        order.truncate(MOST_FEATURES);
        order
    };
    let orders: Vec<Vec<usize>> = (0..n_clusters).map(best).collect();
    let mut chosen = Vec::new();
    for place in 0..MOST_FEATURES {
        for &word in orders.iter().filter_map(|order| order.get(place)) {
            if chosen.len() < MOST_FEATURES && !chosen.contains(&word) {
                chosen.push(word);
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cluster_has_its_first_word_before_any_has_its_second() {
        let scores = [[3.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.5]];
        assert_eq!(words_in_turn(2, 4, &|cluster, ix| scores[cluster][ix]), [0, 2, 1, 3]);
    }
}
