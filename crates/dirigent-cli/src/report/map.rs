//! The map: sampled rows in the plane, coloured by cluster, with the components' ellipses; of documents, the clusters themselves.

use dirigent::{Model, Row, Stats};
use serde_json::{Value, json};

use super::colours::colour;
use super::drawing::Drawing;
use super::features::{Features, Kind};
use super::groups::Groups;
use super::html::{Table, escaped};
use super::names::Names;
use super::projection::Plane;
use super::sample::{Lineage, Sample};
use super::words::{counted, number, percent};
use crate::console::grouped;

/// Clusters with a colour in the legend; all others are one entry.
pub(crate) const NAMED: usize = 24;
/// Rows that are drawn, evenly chosen from the sample: more would cover one another.
const MOST_POINTS: usize = 3000;
/// Components up to which all have an ellipse; of more, only the largest: hundreds would cover the rows.
const MOST_ELLIPSES: usize = 100;
/// An ellipse holds nine rows of ten.
const RADIUS: f64 = 2.146;
/// Clusters with a colour of their own.
const MOST_COLOURS: usize = 3000;
/// How far the spreads of two columns may differ to be drawn to one scale: beyond, the narrow one would be a line.
const MOST_UNEQUAL: f64 = 8.0;

/// Where rows and clusters lie on the map.
struct Layout {
    /// Of every group.
    centres: Vec<[f64; 2]>,
    /// Of every sampled row; NaN where a cell is missing.
    rows: Vec<[f64; 2]>,
    /// In the space of the model's columns, what a step along the map's axes is.
    directions: [Vec<f64>; 2],
    axes: [String; 2],
    /// Whether a step is as long on both axes.
    is_equal: bool,
    caption: String,
}

/// The map. Without a sample it shows the clusters alone. `words` are the telling words of each group, for documents.
pub(crate) fn drawing(
    groups: &Groups,
    features: &Features,
    sample: Option<&Sample>,
    words: &[String],
    names: &Names,
) -> Drawing {
    let is_text = matches!(groups.fitted.model, Model::Multinomial(_));
    let is_plain = features.features.len() <= 2 && features.features.iter().all(|feature| feature.kind == Kind::Number);
    let layout = match () {
        () if is_text => Layout::of_plane(groups, features, None),
        () if is_plain => Layout::of_columns(groups, features, sample),
        () => Layout::of_plane(groups, features, sample),
    };
    let k = groups.n_clusters();
    let rows: Vec<usize> = match sample {
        Some(sample) if !is_text => drawn(sample).filter(|&ix| layout.rows[ix].iter().all(|x| x.is_finite())).collect(),
        _ => Vec::new(),
    };
    let what = |clusters: &str| {
        if is_text { clusters.to_owned() } else { format!("{} rows in {clusters}", grouped(rows.len() as u64)) }
    };
    let alt =
        |clusters: &str| format!("Scatter plot of {}, {} against {}.", what(clusters), layout.axes[1], layout.axes[0]);
    let body = format!(
        "<div class=\"legend\" role=\"group\" aria-label=\"Clusters shown\"></div>\
         <div class=\"zoom\" role=\"group\" aria-label=\"Zoom\"><button type=\"button\" value=\"1\" aria-label=\"Zoom in\">+</button>\
         <button type=\"button\" value=\"-1\" aria-label=\"Zoom out\">\u{2212}</button><button type=\"button\" value=\"0\">all</button></div>\
         <canvas role=\"img\" aria-label=\"{}\"></canvas><div class=\"tip\" hidden></div>",
        escaped(&alt(&counted(k as u64, "cluster")))
    );
    let first = if is_text {
        "Each bubble is a cluster; its area grows with the number of documents. Clusters with similar words are close. "
    } else {
        ""
    };
    let legend = if k > NAMED { format!("The legend lists the {NAMED} largest clusters. ") } else { String::new() };
    let caption = format!(
        "{first}{} {legend}Click a legend entry to hide a cluster, double-click to show it alone. Drag on the map to zoom in, double-click to zoom out.",
        layout.caption
    );
    let title = if is_text { "Map of the clusters" } else { "Map of a sample of rows" };
    let mut data = json!({
        "is_text": is_text, "is_line": layout.directions[0].is_empty(), "equal": layout.is_equal, "axes": layout.axes,
        "named": NAMED, "radius": RADIUS, "n_clusters": k, "alt": alt("{}"),
        "colours": (0..k.max(groups.most_clusters()).min(MOST_COLOURS)).map(colour).collect::<Vec<_>>(),
        "names": names.list(),
        "centres": layout.centres[..k].iter().map(|centre| centre.map(|x| rounded(x, 4))).collect::<Vec<_>>(),
        "rows": (0..k).map(|cluster| groups.rows(cluster)).collect::<Vec<_>>(),
        "x": rows.iter().map(|&ix| rounded(layout.rows[ix][0], 5)).collect::<Vec<_>>(),
        "y": rows.iter().map(|&ix| rounded(layout.rows[ix][1], 5)).collect::<Vec<_>>(),
        "ellipses": ellipses(&layout, groups, features),
    });
    if is_text {
        data["words"] = words[..k].iter().map(String::as_str).collect();
    }
    if let Some(sample) = sample {
        let number_of = |number: &dyn Fn(usize) -> Value| rows.iter().map(|&ix| number(ix)).collect::<Value>();
        data["row"] = number_of(&|ix| sample.numbers[ix].into());
        data["cluster"] = number_of(&|ix| sample.predictions[ix].label.into());
        data["certainty"] =
            number_of(&|ix| ((100.0 * f64::from(sample.predictions[ix].certainty)).round() as u64).into());
    }
    if groups.most_clusters() > 1 {
        let lineage = Lineage::of(groups);
        let number_of = |number: &dyn Fn(&Sample, usize) -> Value| {
            rows.iter().map(|&ix| number(sample.expect("there are rows"), ix)).collect::<Value>()
        };
        data["leaf"] = number_of(&|sample, ix| lineage.leaves[sample.components[ix] as usize].into());
        data["certainties"] = number_of(&|sample, ix| match sample.certainties[ix].as_slice() {
            [] => json!(0),
            certainties => json!(certainties),
        });
        let centre = |place: usize| json!(layout.centres[groups.nodes[place].group].map(|x| rounded(x, 4)));
        data["nodes"] = groups.cut_nodes().into_iter().map(|place| (place.to_string(), centre(place))).collect();
    }
    Drawing::new("map", title, body).caption(caption).table(table(&layout, features, k, names)).data(data)
}

impl Layout {
    /// One column or two, as they are.
    fn of_columns(groups: &Groups, features: &Features, sample: Option<&Sample>) -> Self {
        let is_plane = features.features.len() == 2;
        let place = |ix: usize, values: &[f64]| match values {
            [x, y] => [*x, *y],
            // one column: rows are spread over the height so that they do not cover one another
            _ => [values[0], (ix as f64 * 0.618_034) % 1.0],
        };
        let cells = |row: Row<'_>| match row {
            Row::F32(cells) => cells.iter().map(|cell| f64::from(*cell)).collect(),
            Row::F64(cells) => cells.to_vec(),
            Row::Counts(_) => vec![f64::NAN; features.features.len()],
        };
        let rows = sample.map_or_else(Vec::new, |sample| {
            sample.fitted.rows().enumerate().map(|(ix, row)| place(ix, &cells(row))).collect()
        });
        let name = |ix: usize| features.features[ix].name.clone();
        let centres = features.values.iter().map(|values| if is_plane { place(0, values) } else { [values[0], 0.5] });
        let is_equal = is_plane && {
            let sds = [features.features[0].sd, features.features[1].sd];
            sds[0].max(sds[1]) <= MOST_UNEQUAL * sds[0].min(sds[1])
        };
        Self {
            centres: centres.collect(),
            rows,
            directions: if is_plane { [vec![1.0, 0.0], vec![0.0, 1.0]] } else { [Vec::new(), Vec::new()] },
            axes: if is_plane { [name(0), name(1)] } else { [name(0), "no meaning".to_owned()] },
            is_equal,
            caption: if is_plane {
                let whom = if groups.cut.is_of_single_components() { "cluster" } else { "component" };
                let axes = if is_equal { "drawn to one scale" } else { "each on its own scale" };
                format!("The two columns of the data, {axes}. An ellipse holds 90 % of the rows of a {whom}.")
            } else {
                "One column; the height only keeps dots apart.".to_owned()
            },
        }
    }

    /// The plane in which components differ most.
    fn of_plane(groups: &Groups, features: &Features, sample: Option<&Sample>) -> Self {
        let points = features.points();
        let components: Vec<Vec<f64>> = groups.components.iter().map(|&group| points[group].clone()).collect();
        let weights: Vec<f64> = groups.components.iter().map(|&group| features.weights[group]).collect();
        let whom = if groups.cut.is_of_single_components() { "clusters" } else { "components" };
        let rows: Vec<Vec<f64>> =
            sample.map_or_else(Vec::new, |sample| sample.fitted.rows().map(|row| features.point_of(row)).collect());
        let plane = Plane::of(&components, &weights, &rows);
        let direction = |axis: &Vec<f64>| {
            let scaled = |(x, sd): (&f64, f64)| if sd > 0.0 { x / sd } else { 0.0 };
            axis.iter().zip(features.features.iter().map(|feature| feature.sd)).map(scaled).collect()
        };
        let axis = |ix: usize| format!("axis {} ({})", ix + 1, percent(plane.shares[ix]));
        let along = |ix: usize| format!("Along axis {}: {}.", ix + 1, loadings(features, &plane.axes[ix]));
        Self {
            centres: points.iter().map(|point| plane.place(point)).collect(),
            rows: rows.iter().map(|row| plane.place(row)).collect(),
            directions: [direction(&plane.axes[0]), direction(&plane.axes[1])],
            axes: [axis(0), axis(1)],
            is_equal: true,
            caption: format!(
                "The plane in which {whom} differ most; per cent give each axis's share of their differences. {} {}",
                along(0),
                along(1)
            ),
        }
    }
}

/// Which features an axis is made of, in words.
fn loadings(features: &Features, axis: &[f64]) -> String {
    let mut order: Vec<usize> = (0..axis.len()).collect();
    order.sort_by(|&a, &b| axis[b].abs().total_cmp(&axis[a].abs()).then(a.cmp(&b)));
    order.truncate(4);
    let of_sign = |word: &str, is_meant: fn(f64) -> bool| {
        let names: Vec<&str> =
            order.iter().filter(|&&ix| is_meant(axis[ix])).map(|&ix| features.features[ix].name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{word} {}", names.join(", ")))
    };
    let parts = [of_sign("more", |x| x > 0.05), of_sign("less", |x| x < -0.05)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "a little of everything".to_owned() } else { parts.join("; ") }
}

/// The rows of the sample that are drawn.
fn drawn(sample: &Sample) -> impl Iterator<Item = usize> {
    let n_rows = sample.numbers.len();
    (0..n_rows).step_by(n_rows.div_ceil(MOST_POINTS).max(1))
}

/// How wide the largest components are on the map: the triangular factors of their covariances, which turn a circle into an ellipse. Empty if they have none.
fn shapes(layout: &Layout, groups: &Groups, features: &Features) -> Vec<[f64; 3]> {
    let is_gaussian = features.features.iter().all(|feature| feature.kind == Kind::Number) && !features.sds.is_empty();
    if !is_gaussian || layout.directions[0].is_empty() {
        return Vec::new();
    }
    let n_components = groups.n_components();
    let chosen = &groups.components[..if n_components > MOST_ELLIPSES { NAMED } else { n_components }];
    let stats: Vec<Stats> = chosen.iter().map(|&group| groups.fitted.components[group].clone()).collect();
    let arrays = groups.fitted.model.described().arrays(&stats);
    let covariances = arrays.iter().find(|array| array.name == "covariances");
    let n = features.features.len();
    let product = |ix: usize, a: &[f64], b: &[f64]| -> f64 {
        match covariances {
            Some(array) => {
                let matrix = &array.numbers[ix * n * n..(ix + 1) * n * n];
                let row = |row: &[f64]| row.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
                matrix.chunks_exact(n).zip(a).map(|(cells, x)| x * row(cells)).sum()
            }
            None => a.iter().zip(b).zip(&features.sds[chosen[ix]]).map(|((x, y), sd)| x * y * sd * sd).sum(),
        }
    };
    let [along, across] = &layout.directions;
    let shape = |ix: usize| {
        let (a, b, c) = (product(ix, along, along), product(ix, along, across), product(ix, across, across));
        let first = a.max(0.0).sqrt();
        let second = if first > 0.0 { b / first } else { 0.0 };
        [first, second, (c - second * second).max(0.0).sqrt()]
    };
    (0..chosen.len()).map(shape).collect()
}

/// The ellipses of the components: their cluster, their node at the finest cut, centre and shape.
fn ellipses(layout: &Layout, groups: &Groups, features: &Features) -> Vec<Value> {
    let lineage = Lineage::of(groups);
    let ellipse = |(component, shape): (usize, [f64; 3])| {
        let [x, y] = layout.centres[groups.components[component]].map(|x| rounded(x, 4));
        let [first, second, third] = shape.map(|x| rounded(x, 4));
        json!([groups.cut.clusters()[component], lineage.leaves.get(component), x, y, first, second, third])
    };
    shapes(layout, groups, features).into_iter().enumerate().map(ellipse).collect()
}

fn table(layout: &Layout, features: &Features, k: usize, names: &Names) -> Table {
    let mut table = Table::new(
        "Centres of the clusters on the map",
        &["cluster", "share of rows", &layout.axes[0], &layout.axes[1]],
    );
    for (cluster, (centre, weight)) in layout.centres.iter().zip(&features.weights).enumerate().take(k) {
        table.row([names.short(cluster), percent(*weight), number(centre[0]), number(centre[1])]);
    }
    table.cut(200)
}

/// Rounds to some digits after the first: a page needs no more.
fn rounded(x: f64, digits: usize) -> f64 {
    if digits < 4 {
        format!("{x:.digits$}").parse().unwrap_or(x)
    } else {
        format!("{x:.digits$e}").parse().unwrap_or(x)
    }
}
