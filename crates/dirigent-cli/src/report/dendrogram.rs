//! The tree over the components, drawn from left to right: branches join where the clusters at their ends are merged.

use std::fmt::Write as _;

use super::drawing::Drawing;
use super::groups::Groups;
use super::html::{Table, escaped};
use super::words::{counted, number, percent};
use crate::console::grouped;

/// Branches with a name next to them; more would cover one another.
const MOST_NAMED: usize = 60;
/// Merges whose support is written into the plot.
const MOST_SUPPORTS: usize = 40;
/// Words in the name of a branch.
const MOST_WORDS: usize = 3;

/// The tree; nothing where there is none. `words` are the telling words of each group, for documents.
pub(crate) fn drawing(groups: &Groups, words: &[Vec<String>]) -> Option<Drawing> {
    let places = Places::of(groups)?;
    let n_ends = places.ends.len();
    let k = groups.n_components() as u64;
    let n_layer = groups.nodes.iter().filter_map(|node| node.layer).max().map_or(1, |last| u64::from(last) + 1);
    let mut caption = "Two branches join where two clusters merge: further right means less overlap. \
        Diamonds mark the natural layer, the clusters chosen when you give no number."
        .to_owned();
    if groups.has_support {
        caption.push_str(" The support of a merge is the posterior probability that its two sides are separate.");
    }
    if n_ends < groups.n_components() {
        caption = format!("The last {} of {} merges. {caption}", n_ends - 1, grouped(k - 1));
    } else {
        caption = format!("The natural layer has {}. {caption}", counted(n_layer, "cluster"));
    }
    let alt = format!("Tree over {}, merged two by two.", counted(k, "component"));
    let body = svg(groups, &places, words, &alt);
    Some(Drawing::new("tree", "Tree over the components", body).caption(caption).table(table(groups)))
}

/// Names to the left, branches to the right; the page's script colours them and writes the clusters' numbers.
fn svg(groups: &Groups, places: &Places, words: &[Vec<String>], alt: &str) -> String {
    let (nodes, n_ends) = (&groups.nodes, places.ends.len());
    let step = if n_ends <= MOST_NAMED { 19 } else { 8 };
    let height = step * n_ends + 8;
    let mut html = format!("<div class=\"dendrogram\" style=\"--step:{step}px\">");
    if n_ends <= MOST_NAMED {
        html.push_str("<ol aria-hidden=\"true\">");
        places.ends.iter().for_each(|&end| {
            let name = escaped(&name(groups, end, words));
            let _ = write!(html, "<li title=\"{name}\">{name}</li>");
        });
        html.push_str("</ol>");
    }
    let _ = write!(html, "<svg role=\"img\" aria-label=\"{}\" height=\"{height}\">", escaped(alt));
    let x = |place: usize| 92.0 * (places.x[place] - places.first) / (places.last - places.first).max(1e-9);
    let y = |place: usize| step as f64 * (places.y[place] + 0.5);
    for (place, node) in nodes.iter().enumerate() {
        let (from_x, from_y) = (x(place), y(place));
        let _ = write!(html, "<g data-node=\"{place}\" data-x=\"{from_x:.2}\" data-y=\"{from_y:.1}\">");
        if let Some(parent) = node.parent {
            let (to_x, to_y) = (x(parent), y(parent));
            let _ = write!(
                html,
                "<line x1=\"{from_x:.2}%\" y1=\"{from_y:.1}\" x2=\"{to_x:.2}%\" y2=\"{from_y:.1}\"/>\
                 <line x1=\"{to_x:.2}%\" y1=\"{from_y:.1}\" x2=\"{to_x:.2}%\" y2=\"{to_y:.1}\"/>"
            );
        }
        let title = escaped(&told(groups, place, words));
        let _ =
            write!(html, "<circle cx=\"{from_x:.2}%\" cy=\"{from_y:.1}\" r=\"3\"><title>{title}</title></circle></g>");
    }
    for top in layer_tops(groups) {
        // a nested drawing, for a diamond cannot have a place in per cent
        let _ = write!(
            html,
            "<svg x=\"{:.2}%\" y=\"{:.1}\" overflow=\"visible\" class=\"layer\"><path d=\"M-6 0L0-6L6 0L0 6Z\"/></svg>",
            x(top),
            y(top)
        );
    }
    if groups.has_support && nodes.len() - n_ends <= MOST_SUPPORTS {
        for (place, support) in nodes.iter().enumerate().filter_map(|(place, node)| Some((place, node.support?))) {
            let _ = write!(
                html,
                "<text class=\"support\" x=\"{:.2}%\" y=\"{:.1}\" dx=\"4\" dy=\"11\">{}</text>",
                x(place),
                y(place),
                percent(support)
            );
        }
    }
    html.push_str("<g class=\"tops\"></g></svg></div>");
    html
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

/// A node in words.
fn told(groups: &Groups, place: usize, words: &[Vec<String>]) -> String {
    let node = &groups.nodes[place];
    let rows = groups.rows(node.group);
    let share = percent(rows as f64 / groups.n_rows() as f64);
    let mut lines = vec![format!("{}: {} ({share})", members(groups, place), counted(rows, "row"))];
    lines.extend(words.get(node.group).map(|words| words.join(", ")));
    lines.extend(node.height.filter(|_| node.sides.is_some()).map(|height| format!("height {}", number(height))));
    lines.extend(node.support.map(|support| format!("sides separate with probability {}", percent(support))));
    lines.join("\n")
}

/// The largest node of each cluster of the natural layer.
fn layer_tops(groups: &Groups) -> Vec<usize> {
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
    tops.into_iter().map(|(_, top)| top).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::groups::tests::{groups_of, run_of_heaps};
    use dirigent::Clusters;

    #[test]
    fn every_node_has_its_branch_and_branches_do_not_cross() {
        let groups = groups_of(&run_of_heaps(8, Clusters::Auto));
        let html = drawing(&groups, &[]).unwrap().html();
        let n = groups.nodes.len();
        assert_eq!((html.matches("<g data-node").count(), html.matches("<line").count()), (n, 2 * (n - 1)));
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
        assert_eq!(html.matches(" rows</li>").count(), groups.n_components());
        let n_layer = layer_tops(&groups).len();
        assert!(html.contains(&format!("The natural layer has {}", counted(n_layer as u64, "cluster"))));
    }

    #[test]
    fn names_are_telling_words_and_support_is_told_if_there_are_draws() {
        let mut groups = groups_of(&run_of_heaps(4, Clusters::Auto));
        let words: Vec<Vec<String>> =
            groups.members.iter().map(|_| ["<oil>", "gas", "opec", "bpd"].map(str::to_owned).to_vec()).collect();
        let html = drawing(&groups, &words).unwrap().html();
        assert!(html.contains("&lt;oil&gt;, gas, opec: ") && !html.contains("<oil>"), "{html}");
        (groups.has_support, groups.nodes[0].support) = (true, Some(0.75));
        let html = drawing(&groups, &[]).unwrap().html();
        assert!(html.contains("sides separate with probability 75.0 %") && html.contains(">75.0 %</text>"));
    }
}
