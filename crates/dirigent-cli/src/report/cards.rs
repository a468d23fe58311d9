//! A card for each of the largest clusters: its size, what sets it apart, its neighbours, some of its rows.

use dirigent::internals::run_dir::FittedModel;
use dirigent::{Model, Row};

use super::card::{Bar, Card, Link};
use super::colours::colour;
use super::features::{Feature, Features, Kind, column_name, level_name, words_of};
use super::groups::Groups;
use super::names::Names;
use super::sample::Sample;
use super::words::{counted, number, percent, rough};

/// Clusters that get a card.
pub(crate) const MOST_CARDS: usize = 50;
/// Features on a card.
const MOST_BARS: usize = 8;
/// Columns of an example row.
const MOST_CELLS: usize = 6;
/// Components that are named on a card.
const MOST_COMPONENTS: usize = 12;
/// Features that describe a cluster in one line.
const MOST_MARKS: usize = 4;
/// Words of an example document.
const MOST_WORDS: usize = 8;

/// The cards of the largest clusters of the run.
pub(crate) fn cards(
    groups: &Groups,
    features: &Features,
    shown: &Features,
    sample: Option<&Sample>,
    names: &Names,
) -> Vec<Card> {
    let n_cards = groups.n_clusters().min(MOST_CARDS);
    let clusters: Vec<usize> = (0..groups.n_clusters()).collect();
    let points = features.points();
    let card = |cluster: usize| {
        let links = nearest(&points, &clusters, cluster);
        let id = |other: usize| (other < n_cards).then(|| format!("cluster-{other}"));
        let links = links.into_iter().map(|other| Link { text: names.short(other), id: id(other) }).collect();
        let mut card = card(groups, shown, sample, cluster, links, names);
        (card.id, card.colour) = (Some(format!("cluster-{cluster}")), Some(colour(cluster)));
        card
    };
    (0..n_cards).map(card).collect()
}

/// The cards of clusters of other cuts, which the page's script shows and numbers.
pub(crate) fn cards_of_other_cuts(groups: &Groups, shown: &Features, sample: Option<&Sample>) -> Vec<Card> {
    let n_cards = groups.n_clusters().min(MOST_CARDS);
    let others =
        groups.cut_nodes().into_iter().map(|place| groups.nodes[place].group).filter(|group| *group >= n_cards);
    others.map(|group| card(groups, shown, sample, group, Vec::new(), &Names::default())).collect()
}

fn card(
    groups: &Groups,
    shown: &Features,
    sample: Option<&Sample>,
    group: usize,
    links: Vec<Link>,
    names: &Names,
) -> Card {
    let (fitted, members) = (&groups.fitted, &groups.members[group]);
    let mut size = format!("{} ({})", counted(groups.rows(group), "row"), percent(shown.weights[group]));
    if members.len() > 1 {
        size = format!("{size}, {}", components(members));
    }
    let mut card = Card::new(names.title(group), size);
    card.group = Some(group);
    let heading = if is_text(fitted) { "Distinctive words" } else { "What sets it apart" };
    card.bars(heading, bars(fitted, shown, group));
    if groups.most_clusters() > 1 && links.is_empty() {
        card.room_for_links("Nearest clusters");
    } else {
        card.links("Nearest clusters", links);
    }
    if let Some(sample) = sample {
        let rows = sample.typical(groups, group);
        let line = |&ix: &usize| format!("row {}: {}", sample.numbers[ix], example(fitted, sample.as_read.row(ix)));
        card.lines("Typical rows", rows.iter().take(3).map(line).collect());
    }
    card
}

/// The components of a cluster, in words.
fn components(members: &[u32]) -> String {
    let shown: Vec<String> = members.iter().take(MOST_COMPONENTS).map(u32::to_string).collect();
    match members.len() - shown.len() {
        0 => format!("components {}", shown.join(", ")),
        _ => format!("{}: {}, …", counted(members.len() as u64, "component"), shown.join(", ")),
    }
}

fn is_text(fitted: &FittedModel) -> bool {
    matches!(fitted.model, Model::Multinomial(_))
}

fn bars(fitted: &FittedModel, shown: &Features, cluster: usize) -> Vec<Bar> {
    if is_text(fitted) {
        return telling_words(fitted, shown, cluster)
            .into_iter()
            .map(|(name, share, lift, score)| Bar {
                name,
                value: format!("{} (× {lift})", percent(share)),
                share: score,
            })
            .collect();
    }
    let values = &shown.values[cluster];
    let mut order: Vec<usize> = (0..values.len()).collect();
    let score = |ix: usize| shown.features[ix].distinction(values[ix]).abs();
    order.sort_by(|&a, &b| score(b).total_cmp(&score(a)).then(a.cmp(&b)));
    order.truncate(MOST_BARS);
    let largest = order.first().map_or(1.0, |&ix| score(ix)).max(1.0);
    let sd = |ix: usize| shown.sds.get(cluster).map(|sds| sds[ix]);
    let bar = |&ix: &usize| {
        let feature = &shown.features[ix];
        Bar { name: feature.name.clone(), value: value_of(feature, values[ix], sd(ix)), share: score(ix) / largest }
    };
    order.iter().map(bar).collect()
}

/// A cluster's value next to that of all rows.
fn value_of(feature: &Feature, value: f64, sd: Option<f64>) -> String {
    match feature.kind {
        Kind::Ones | Kind::Level(_) | Kind::Word => format!("{} (all: {})", percent(value), percent(feature.overall)),
        Kind::Number | Kind::Count => match sd {
            Some(sd) => format!("{} ± {} (all: {})", number(value), rough(sd), number(feature.overall)),
            None => format!("{} (all: {})", number(value), number(feature.overall)),
        },
    }
}

/// Name, share, lift and score (the largest 1) of the words that tell a cluster from the others.
fn telling_words(fitted: &FittedModel, shown: &Features, cluster: usize) -> Vec<(String, f64, String, f64)> {
    let mut order: Vec<(usize, f64)> = shown
        .features
        .iter()
        .enumerate()
        .map(|(ix, feature)| (ix, feature.distinction(shown.values[cluster][ix])))
        .collect();
    order.retain(|(_, score)| *score > 0.0);
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order.truncate(MOST_BARS);
    let largest = order.first().map_or(1.0, |(_, score)| *score);
    if order.is_empty() {
        return frequent_words(fitted, cluster);
    }
    let word = |&(ix, score): &(usize, f64)| {
        let (feature, share) = (&shown.features[ix], shown.values[cluster][ix]);
        (feature.name.clone(), share, rough(share / feature.overall), score / largest)
    };
    order.iter().map(word).collect()
}

/// The words of the only cluster.
fn frequent_words(fitted: &FittedModel, cluster: usize) -> Vec<(String, f64, String, f64)> {
    let (mut entries, total) = words_of(&fitted.components[cluster], fitted.model.n_columns());
    entries.sort_by_key(|(word, count)| (-count, *word));
    entries.truncate(MOST_BARS);
    let largest = entries.first().map_or(1.0, |(_, count)| *count as f64);
    let word = |(word, count): &(u32, i64)| {
        (column_name(fitted, *word as usize), *count as f64 / total, "1".to_owned(), *count as f64 / largest)
    };
    entries.iter().map(word).collect()
}

/// What sets a group apart, in a line: its most telling words, or the columns in which it stands apart most.
pub(crate) fn mark(fitted: &FittedModel, shown: &Features, group: usize) -> String {
    if is_text(fitted) {
        return words_of_group(fitted, shown, group).join(", ");
    }
    let values = &shown.values[group];
    let score = |ix: usize| shown.features[ix].distinction(values[ix]);
    let mut order: Vec<usize> = (0..values.len()).filter(|&ix| score(ix).abs() > 0.3).collect();
    order.sort_by(|&a, &b| score(b).abs().total_cmp(&score(a).abs()).then(a.cmp(&b)));
    let text = |&ix: &usize| {
        let (feature, value) = (&shown.features[ix], values[ix]);
        match feature.kind {
            Kind::Ones | Kind::Level(_) | Kind::Word => format!("{} {}", feature.name, percent(value)),
            Kind::Number | Kind::Count => {
                format!("{} {}", if score(ix) > 0.0 { "high" } else { "low" }, feature.name)
            }
        }
    };
    order.iter().take(MOST_MARKS).map(text).collect::<Vec<_>>().join(", ")
}

/// The most telling words of a group in a line; empty where there are no words.
pub(crate) fn words_of_group(fitted: &FittedModel, shown: &Features, group: usize) -> Vec<String> {
    if !is_text(fitted) {
        return Vec::new();
    }
    telling_words(fitted, shown, group).into_iter().map(|word| word.0).collect()
}

/// The three groups nearest to one, among some.
pub(crate) fn nearest(points: &[Vec<f64>], among: &[usize], group: usize) -> Vec<usize> {
    let distance = |other: usize| points[group].iter().zip(&points[other]).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let mut others: Vec<(usize, f64)> =
        among.iter().filter(|other| **other != group).map(|&other| (other, distance(other))).collect();
    others.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    others.iter().take(3).map(|&(other, _)| other).collect()
}

/// A row in a line.
pub(crate) fn example(fitted: &FittedModel, row: Row<'_>) -> String {
    let cells: Vec<f64> = match row {
        Row::Counts(row) => {
            let mut entries: Vec<(u32, u32)> = row.iter().collect();
            entries.sort_by_key(|(word, count)| (std::cmp::Reverse(*count), *word));
            let word = |(word, count): &(u32, u32)| {
                let name = column_name(fitted, *word as usize);
                if *count > 1 { format!("{name} × {count}") } else { name }
            };
            let words: Vec<String> = entries.iter().take(MOST_WORDS).map(word).collect();
            let more = if entries.len() > words.len() { ", …" } else { "" };
            return if words.is_empty() { "no words".to_owned() } else { words.join(", ") + more };
        }
        Row::F32(cells) => cells.iter().map(|cell| f64::from(*cell)).collect(),
        Row::F64(cells) => cells.to_vec(),
    };
    let has_levels = |ix: usize| fitted.columns.levels.get(ix).is_some_and(Option::is_some);
    let cell = |(ix, cell): (usize, &f64)| {
        let value = match cell {
            cell if cell.is_nan() => "–".to_owned(),
            cell if has_levels(ix) => level_name(fitted, ix, *cell as usize),
            cell => number(*cell),
        };
        if fitted.columns.names.is_some() { format!("{} {value}", column_name(fitted, ix)) } else { value }
    };
    let texts: Vec<String> = cells.iter().enumerate().take(MOST_CELLS).map(cell).collect();
    let more = if cells.len() > MOST_CELLS { ", …" } else { "" };
    texts.join(", ") + more
}
