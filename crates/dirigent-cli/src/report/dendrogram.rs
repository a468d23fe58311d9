//! The tree over the components, drawn from left to right: branches join where the clusters at their ends are merged.

use serde_json::{Value, json};

use super::groups::{Groups, Node};
use super::html::Table;
use super::plot::{Plot, plain};
use super::words::{counted, number, percent};
use crate::console::grouped;

/// Branches that have a name beside them; more would cover one another.
const MOST_NAMED: usize = 60;
/// Merges whose support is written into the plot.
const MOST_SUPPORTS: usize = 40;
/// Words in the name of a branch.
const MOST_WORDS: usize = 3;

/// The tree; nothing where there is none. `words` are the telling words of each group, for documents.
pub(crate) fn plot(groups: &Groups, words: &[Vec<String>]) -> Option<Plot> {
    let nodes = &groups.nodes;
    let places = Places::of(groups)?;
    let n_ends = places.ends.len();
    let mut data = vec![branches(nodes, &places), marks(groups, &places, words), layer(groups, &places)];
    if groups.has_support && nodes.len() - n_ends <= MOST_SUPPORTS {
        data.push(supports(nodes, &places));
    }
    let k = groups.n_components() as u64;
    let n_layer = nodes.iter().filter_map(|node| node.layer).max().map_or(1, |last| u64::from(last) + 1);
    let alt = format!("Tree over {}, merged two by two.", counted(k, "component"));
    let mut caption = "Branches join where two clusters are merged, further to the right the less they overlap. \
        Diamonds mark the natural layer, the clusters that are chosen when no number is given."
        .to_owned();
    if groups.has_support {
        caption.push_str(" The support of a merge is the posterior probability that its two sides are apart.");
    }
    let is_cut_off = n_ends < groups.n_components();
    if is_cut_off {
        caption = format!("The last {} of {} merges. {caption}", n_ends - 1, grouped(k - 1));
    } else {
        caption = format!("The natural layer has {}. {caption}", counted(n_layer, "cluster"));
    }
    let is_named = n_ends <= MOST_NAMED;
    let height = 90 + if is_named { 19 * n_ends } else { (8 * n_ends).clamp(19 * MOST_NAMED, 1800) };
    let names: Vec<String> = places.ends.iter().map(|&end| plain(&name(groups, end, words))).collect();
    let ticks = if is_named {
        json!({"tickvals": (0..n_ends).collect::<Vec<_>>(), "ticktext": names, "tickfont": {"size": 11}})
    } else {
        json!({"showticklabels": false})
    };
    let plot = Plot::new(
        "Tree over the components",
        alt,
        data,
        ["height: ln(n/σ)", if words.is_empty() { "component" } else { "" }],
    )
    .caption(caption)
    .table(table(groups))
    .other_cuts("tree", Value::Null)
    .wide(height as u32);
    let margin = 0.03 * (places.last - places.first);
    let range = [places.first - margin / 3.0, places.last + margin];
    let plot = plot.layout(json!({"yaxis": ticks, "xaxis": {"range": range, "zeroline": false}, "hovermode": "closest", "meta": {"tall": true}}));
    Some(plot.layout(json!({"yaxis": {"autorange": false, "range": [n_ends as f64 - 0.4, -0.6], "showgrid": false, "zeroline": false}})))
}

/// Where nodes are drawn.
struct Places {
    /// The nodes at the ends of the branches, from top to bottom.
    ends: Vec<usize>,
    x: Vec<f64>,
    y: Vec<f64>,
    first: f64,
    last: f64,
}

impl Places {
    fn of(groups: &Groups) -> Option<Self> {
        let nodes = &groups.nodes;
        let heights = || nodes.iter().filter(|node| node.sides.is_some()).filter_map(|node| node.height);
        let (low, last) = (heights().fold(f64::INFINITY, f64::min), nodes.first()?.height?);
        // the ends have no height of their own that is comparable with a merge
        let first = low - 0.08 * (last - low).max(1.0);
        let (mut ends, mut open) = (Vec::new(), vec![0]);
        while let Some(place) = open.pop() {
            match nodes[place].sides {
                Some([a, b]) => {
                    let is_smaller = groups.rows(nodes[a].group) < groups.rows(nodes[b].group);
                    // the last one is the next to be looked at
                    open.extend(if is_smaller { [a, b] } else { [b, a] });
                }
                None => ends.push(place),
            }
        }
        let (mut x, mut y) = (vec![first; nodes.len()], vec![0.0; nodes.len()]);
        ends.iter().enumerate().for_each(|(ix, &end)| y[end] = ix as f64);
        for place in (0..nodes.len()).rev() {
            if let Some([a, b]) = nodes[place].sides {
                (x[place], y[place]) = (nodes[place].height.unwrap_or(first), (y[a] + y[b]) / 2.0);
            }
        }
        Some(Self { ends, x, y, first, last })
    }
}

/// For each node the way to its parent, four points and a gap: the page's script gives each the colour of its cluster.
fn branches(nodes: &[Node], places: &Places) -> Value {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for (place, node) in nodes.iter().enumerate() {
        let (from_x, from_y) = (rounded(places.x[place]), rounded(places.y[place]));
        let (to_x, to_y) = node.parent.map_or((from_x, from_y), |up| (rounded(places.x[up]), rounded(places.y[up])));
        x.extend([Some(from_x), Some(to_x), Some(to_x), None]);
        y.extend([Some(from_y), Some(from_y), Some(to_y), None]);
    }
    json!({"type": "scatter", "mode": "lines", "x": x, "y": y, "hoverinfo": "skip", "line": {"color": "--soft", "width": 1.6}})
}

fn marks(groups: &Groups, places: &Places, words: &[Vec<String>]) -> Value {
    let text = |place: usize| {
        let node = &groups.nodes[place];
        let rows = groups.rows(node.group);
        let share = percent(rows as f64 / groups.n_rows() as f64);
        let mut lines = vec![format!("{}: {} ({share})", members(groups, place), counted(rows, "row"))];
        lines.extend(words.get(node.group).map(|words| plain(&words.join(", "))));
        lines.extend(node.height.filter(|_| node.sides.is_some()).map(|height| format!("height {}", number(height))));
        lines.extend(node.support.map(|support| format!("sides apart with {}", percent(support))));
        lines.join("<br>")
    };
    let of = |numbers: &[f64]| numbers.iter().map(|x| rounded(*x)).collect::<Vec<_>>();
    json!({
        "type": "scatter", "mode": "markers", "x": of(&places.x), "y": of(&places.y), "marker": {"color": "--soft", "size": 5},
        "text": (0..groups.nodes.len()).map(text).collect::<Vec<_>>(), "hovertemplate": "%{text}<extra></extra>",
    })
}

/// The largest node of each cluster of the natural layer.
fn layer(groups: &Groups, places: &Places) -> Value {
    let nodes = &groups.nodes;
    let mut tops: Vec<(u32, usize)> = Vec::new();
    for (place, node) in nodes.iter().enumerate() {
        let Some(cluster) = node.layer else { continue };
        let is_top = node.parent.is_none_or(|parent| nodes[parent].layer.is_none());
        let rows = |place: usize| groups.rows(nodes[place].group);
        match tops.iter_mut().find(|(known, _)| *known == cluster) {
            Some((_, top)) if is_top && rows(place) > rows(*top) => *top = place,
            None if is_top => tops.push((cluster, place)),
            _ => {}
        }
    }
    json!({
        "type": "scatter", "mode": "markers", "hoverinfo": "skip", "name": "natural layer",
        "x": tops.iter().map(|(_, top)| rounded(places.x[*top])).collect::<Vec<_>>(), "y": tops.iter().map(|(_, top)| rounded(places.y[*top])).collect::<Vec<_>>(),
        "marker": {"color": "--ink", "size": 10, "symbol": "diamond-open", "line": {"color": "--ink", "width": 1.6}},
    })
}

fn supports(nodes: &[Node], places: &Places) -> Value {
    let known = || nodes.iter().enumerate().filter_map(|(place, node)| Some((place, node.support?)));
    json!({
        "type": "scatter", "mode": "text", "hoverinfo": "skip", "textposition": "top right", "textfont": {"color": "--soft", "size": 10},
        "x": known().map(|(place, _)| rounded(places.x[place])).collect::<Vec<_>>(), "y": known().map(|(place, _)| rounded(places.y[place])).collect::<Vec<_>>(),
        "text": known().map(|(_, support)| percent(support)).collect::<Vec<_>>(),
    })
}

/// What a node holds.
fn members(groups: &Groups, place: usize) -> String {
    match groups.members[groups.nodes[place].group].as_slice() {
        [component] => format!("component {component}"),
        many => counted(many.len() as u64, "component"),
    }
}

/// The name of an end of a branch.
fn name(groups: &Groups, place: usize, words: &[Vec<String>]) -> String {
    let group = groups.nodes[place].group;
    let rows = counted(groups.rows(group), "row");
    match words.get(group) {
        Some(words) if !words.is_empty() => {
            let words: Vec<&str> = words.iter().take(MOST_WORDS).map(String::as_str).collect();
            let words: String = words.join(", ").chars().take(32).collect();
            format!("{words}: {rows}")
        }
        _ => match groups.members[group].as_slice() {
            [component] => format!("{component}: {rows}"),
            _ => format!("{}: {rows}", members(groups, place)),
        },
    }
}

/// The merges, the last one first.
fn table(groups: &Groups) -> Table {
    let mut table =
        Table::new("Merges, the last one first", &["clusters before it", "rows of the sides", "components", "height"]);
    if groups.has_support {
        table.columns.push("support".to_owned());
    }
    for node in groups.nodes.iter().filter(|node| node.height.is_some()) {
        let Some(sides) = node.sides else { continue };
        let of_sides = |cell: &dyn Fn(usize) -> String| sides.map(|side| cell(groups.nodes[side].group)).join(" + ");
        let rows = of_sides(&|group| grouped(groups.rows(group)));
        let components = of_sides(&|group| grouped(groups.members[group].len() as u64));
        let cells = [(node.cuts[1] + 1).to_string(), rows, components, node.height.map_or_else(String::new, number)];
        let support = groups.has_support.then(|| node.support.map_or_else(String::new, percent));
        table.row(cells.into_iter().chain(support));
    }
    table.cut(100)
}

fn rounded(x: f64) -> f64 {
    (x * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::groups::tests::{groups_of, run_of_heaps};
    use dirigent::Clusters;

    #[test]
    fn every_node_has_its_branch_and_branches_do_not_cross() {
        let groups = groups_of(&run_of_heaps(8, Clusters::Auto));
        let plot = plot(&groups, &[]).unwrap();
        let (n, branches) = (groups.nodes.len(), &plot.data[0]);
        assert_eq!(branches["x"].as_array().unwrap().len(), 4 * n);
        let places = Places::of(&groups).unwrap();
        let mut ends = places.ends.clone();
        ends.sort_unstable();
        assert_eq!(ends, (0..n).filter(|&place| groups.nodes[place].sides.is_none()).collect::<Vec<_>>());
        // the ends below a node are next to one another
        for node in &groups.nodes {
            let members = &groups.members[node.group];
            let is_below = |end: &usize| members.contains(&groups.members[groups.nodes[*end].group][0]);
            let flags: Vec<bool> = places.ends.iter().map(is_below).collect();
            assert!(flags.chunk_by(|a, b| a == b).filter(|run| run[0]).count() == 1);
        }
        let names = plot.layout["yaxis"]["ticktext"].as_array().unwrap();
        assert!(names.len() == groups.n_components() && names[0].as_str().unwrap().ends_with(" rows"), "{names:?}");
        let n_layer = plot.data[2]["x"].as_array().unwrap().len();
        assert!(plot.caption.starts_with(&format!("The natural layer has {}", counted(n_layer as u64, "cluster"))));
    }

    #[test]
    fn names_are_telling_words_and_support_is_told_if_there_are_draws() {
        let mut groups = groups_of(&run_of_heaps(4, Clusters::Auto));
        let words: Vec<Vec<String>> =
            groups.members.iter().map(|_| ["<oil>", "gas", "opec", "bpd"].map(str::to_owned).to_vec()).collect();
        let names = plot(&groups, &words).unwrap().layout["yaxis"]["ticktext"][0].to_string();
        assert!(names.starts_with("\"&lt;oil&gt;, gas, opec: "), "{names}");
        (groups.has_support, groups.nodes[0].support) = (true, Some(0.75));
        let plot = plot(&groups, &[]).unwrap();
        assert!(plot.data[1]["text"][0].as_str().unwrap().ends_with("sides apart with 75.0 %"));
        assert_eq!(plot.data[3]["text"], json!(["75.0 %"]));
        assert_eq!(plot.table.unwrap().rows[0].last().unwrap(), "75.0 %");
    }
}
