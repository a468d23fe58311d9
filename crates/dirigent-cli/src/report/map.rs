//! The map: sampled rows in the plane, coloured by cluster, with the components' ellipses; of documents, the clusters themselves.

use dirigent::{Model, Row, Stats};
use serde_json::{Value, json};

use super::colours::colour;
use super::features::{Features, Kind};
use super::groups::Groups;
use super::html::Table;
use super::plot::{Plot, plain};
use super::projection::Plane;
use super::sample::{Lineage, Sample};
use super::words::{counted, number, percent};
use crate::console::grouped;

/// Clusters with a colour in the legend; all others are one entry.
pub(crate) const NAMED: usize = 24;
/// Rows that are drawn, evenly chosen from the sample: a browser draws each as a shape of its own.
const MOST_POINTS: usize = 3000;
/// Components with an ellipse.
const MOST_ELLIPSES: usize = 300;
/// An ellipse holds nine rows of ten.
const RADIUS: f64 = 2.146;

/// Where rows and clusters lie on the map.
struct Layout {
    /// Of every group.
    centres: Vec<[f64; 2]>,
    /// Of every sampled row; NaN where a cell is missing.
    rows: Vec<[f64; 2]>,
    /// In the space of the model's columns, what a step along the map's axes is.
    directions: [Vec<f64>; 2],
    axes: [String; 2],
    caption: String,
}

/// The map. Without a sample it shows the clusters alone. `words` are the telling words of each group, for documents.
pub(crate) fn plot(groups: &Groups, features: &Features, sample: Option<&Sample>, words: &[String]) -> Plot {
    let is_text = matches!(groups.fitted.model, Model::Multinomial(_));
    let is_plain = features.features.len() <= 2 && features.features.iter().all(|feature| feature.kind == Kind::Number);
    let layout = match () {
        () if is_text => Layout::of_plane(groups, features, None),
        () if is_plain => Layout::of_columns(groups, features, sample),
        () => Layout::of_plane(groups, features, sample),
    };
    let k = groups.n_clusters();
    let mut data = Vec::new();
    let mut rows = Vec::new();
    if is_text {
        data.extend(bubbles(&layout, groups, features, words));
    } else {
        if let Some(sample) = sample {
            rows = rows_of_traces(&layout, sample, k);
            data.extend(rows.iter().map(|(cluster, rows)| points(&layout, sample, *cluster, rows)));
        }
        data.extend(ellipses(&layout, groups, features));
        data.push(numbers(&layout, k));
    }
    let n_rows = sample.map_or(0, |sample| drawn(sample).count());
    let what = |clusters: &str| {
        if is_text { clusters.to_owned() } else { format!("{} rows in {clusters}", grouped(n_rows as u64)) }
    };
    let alt =
        |clusters: &str| format!("Scatter plot of {}, {} against {}.", what(clusters), layout.axes[1], layout.axes[0]);
    let title = if is_text { "Map of the clusters" } else { "Map of a sample of rows" };
    let caption = if is_text {
        format!(
            "A bubble is a cluster, as large as its share of the rows; near ones use similar words. {}",
            layout.caption
        )
    } else if k > NAMED {
        format!(
            "{} The {NAMED} largest clusters are in the legend: a click hides one, a double click shows it alone.",
            layout.caption
        )
    } else {
        format!("{} A click on the legend hides a cluster, a double click shows it alone.", layout.caption)
    };
    let (x, y) = (layout.axes[0].clone(), layout.axes[1].clone());
    let mut plot = Plot::new(title, alt(&counted(k as u64, "cluster")), data, [&x, &y])
        .caption(caption)
        .table(table(&layout, features, k))
        .wide(560);
    if groups.most_clusters() > 1 {
        plot = plot.other_cuts("map", other_cuts(&layout, groups, features, sample, &rows, &alt("{}")));
    }
    let legend = json!({"itemsizing": "constant", "title": {"text": "cluster"}});
    plot.layout(json!({"showlegend": !is_text && k > 1, "hovermode": "closest", "legend": legend}))
}

/// What the page's script draws the map of another cut from: where nodes are, how wide the
/// components are, and which node each component and each row is in at the finest cut.
fn other_cuts(
    layout: &Layout,
    groups: &Groups,
    features: &Features,
    sample: Option<&Sample>,
    rows: &[(usize, Vec<usize>)],
    alt: &str,
) -> Value {
    let lineage = Lineage::of(groups);
    let mut centres = serde_json::Map::new();
    for place in groups.cut_nodes() {
        let centre = layout.centres[groups.nodes[place].group];
        centres.insert(place.to_string(), centre.iter().map(|x| rounded(*x, 4)).collect());
    }
    let components = shapes(layout, groups, features).into_iter().enumerate().map(|(component, shape)| {
        let centre = layout.centres[groups.components[component]];
        let numbers: Vec<f64> = centre.iter().chain(&shape).map(|x| rounded(*x, 4)).collect();
        json!([lineage.leaves[component], numbers])
    });
    let components: Vec<Value> = components.collect();
    let of_traces = rows.iter().map(|(_, rows)| {
        let sample = sample.expect("there are rows");
        let leaves = rows.iter().map(|&ix| lineage.leaves[sample.components[ix] as usize]).collect::<Vec<_>>();
        let certainties = rows.iter().map(|&ix| match sample.certainties[ix].as_slice() {
            [] => json!(0),
            certainties => json!(certainties),
        });
        json!([leaves, certainties.collect::<Vec<_>>()])
    });
    let rows: Vec<Value> = of_traces.collect();
    json!({"alt": alt, "named": NAMED, "radius": RADIUS, "centres": centres, "components": components, "rows": rows})
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
        Self {
            centres: centres.collect(),
            rows,
            directions: if is_plane { [vec![1.0, 0.0], vec![0.0, 1.0]] } else { [Vec::new(), Vec::new()] },
            axes: if is_plane { [name(0), name(1)] } else { [name(0), "spread for the eye only".to_owned()] },
            caption: if is_plane {
                let whom = if groups.cut.is_of_single_components() { "cluster" } else { "component" };
                format!("The two columns; ellipses hold nine rows of ten of their {whom}.")
            } else {
                String::new()
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
            caption: format!(
                "The plane in which {whom} differ most; in brackets the share of what sets them apart. {} {}",
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

/// The rows of each trace: of the largest clusters, and of all others. Those with a missing cell are left out.
fn rows_of_traces(layout: &Layout, sample: &Sample, k: usize) -> Vec<(usize, Vec<usize>)> {
    let mut of_trace: Vec<(usize, Vec<usize>)> = (0..=k.min(NAMED)).map(|trace| (trace, Vec::new())).collect();
    for ix in drawn(sample) {
        if layout.rows[ix].iter().all(|x| x.is_finite()) {
            of_trace[(sample.predictions[ix].label as usize).min(NAMED.min(k))].1.push(ix);
        }
    }
    of_trace.retain(|(_, rows)| !rows.is_empty());
    of_trace
}

fn points(layout: &Layout, sample: &Sample, trace_ix: usize, rows: &[usize]) -> Value {
    let is_rest = trace_ix == NAMED;
    let cluster = |ix: usize| sample.predictions[ix].label;
    let color: Value =
        if is_rest { rows.iter().map(|&ix| colour(cluster(ix) as usize)).collect() } else { colour(trace_ix).into() };
    let opacity = |ix: usize| rounded(0.25 + 0.6 * f64::from(sample.predictions[ix].certainty), 2);
    json!({
        "type": "scatter", "mode": "markers", "name": if is_rest { "others".to_owned() } else { trace_ix.to_string() },
        "legendgroup": format!("c{trace_ix}"),
        "x": rows.iter().map(|&ix| rounded(layout.rows[ix][0], 5)).collect::<Vec<_>>(),
        "y": rows.iter().map(|&ix| rounded(layout.rows[ix][1], 5)).collect::<Vec<_>>(),
        "customdata": rows.iter().map(|&ix| json!([sample.numbers[ix], cluster(ix), rounded(f64::from(sample.predictions[ix].certainty), 3)])).collect::<Vec<_>>(),
        "marker": {"color": color, "size": 5, "opacity": rows.iter().map(|&ix| opacity(ix)).collect::<Vec<_>>()},
        "hovertemplate": "row %{customdata[0]:,}, cluster %{customdata[1]}<br>certainty %{customdata[2]:.0%}<br>%{x:.4~g}, %{y:.4~g}<extra></extra>",
    })
}

/// How wide the largest components are on the map: the triangular factors of their covariances, which turn a circle into an ellipse. Empty if they have none.
fn shapes(layout: &Layout, groups: &Groups, features: &Features) -> Vec<[f64; 3]> {
    let is_gaussian = features.features.iter().all(|feature| feature.kind == Kind::Number) && !features.sds.is_empty();
    if !is_gaussian || layout.directions[0].is_empty() {
        return Vec::new();
    }
    let chosen = &groups.components[..groups.n_components().min(MOST_ELLIPSES)];
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

/// The ellipses of the components, in the colours of their clusters.
fn ellipses(layout: &Layout, groups: &Groups, features: &Features) -> Vec<Value> {
    let shapes = shapes(layout, groups, features);
    let outline = |component: usize| {
        let ([first, second, third], [x, y]) = (shapes[component], layout.centres[groups.components[component]]);
        let at = move |step: usize| {
            let angle = std::f64::consts::TAU * step as f64 / 36.0;
            let (cos, sin) = (RADIUS * libm::cos(angle), RADIUS * libm::sin(angle));
            [rounded(x + first * cos, 5), rounded(y + second * cos + third * sin, 5)]
        };
        (0..=36).map(at).map(Some).chain([None]).collect::<Vec<_>>()
    };
    let mut of_trace: Vec<Vec<Option<[f64; 2]>>> = vec![Vec::new(); NAMED + 1];
    for component in 0..shapes.len() {
        of_trace[(groups.cut.clusters()[component] as usize).min(NAMED)].extend(outline(component));
    }
    let trace = |(group, points): (usize, &Vec<Option<[f64; 2]>>)| {
        // without the last gap
        let points = points.split_last()?.1;
        Some(json!({
            "type": "scatter", "mode": "lines", "showlegend": false, "legendgroup": format!("c{group}"), "hoverinfo": "skip",
            "x": points.iter().map(|point| point.map(|point| point[0])).collect::<Vec<_>>(),
            "y": points.iter().map(|point| point.map(|point| point[1])).collect::<Vec<_>>(),
            "line": {"color": if group < NAMED { colour(group) } else { "--soft".to_owned() }, "width": 1.4},
        }))
    };
    of_trace.iter().enumerate().filter_map(trace).collect()
}

/// The numbers of the largest clusters, at their centres.
fn numbers(layout: &Layout, k: usize) -> Value {
    let named = &layout.centres[..k.min(NAMED)];
    json!({
        "type": "scatter", "mode": "text", "showlegend": false, "hoverinfo": "skip",
        "x": named.iter().map(|centre| rounded(centre[0], 5)).collect::<Vec<_>>(), "y": named.iter().map(|centre| rounded(centre[1], 5)).collect::<Vec<_>>(),
        "text": (0..named.len()).map(|cluster| format!("<b>{cluster}</b>")).collect::<Vec<_>>(),
        "textfont": {"color": "--ink", "size": 13, "shadow": "auto"},
    })
}

/// Clusters of documents.
fn bubbles(layout: &Layout, groups: &Groups, features: &Features, words: &[String]) -> Vec<Value> {
    let k = groups.n_clusters();
    let (centres, weights) = (&layout.centres[..k], &features.weights[..k]);
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let size = |weight: &f64| rounded(8.0 + 40.0 * (weight / largest).sqrt(), 1);
    let text = |cluster: usize| plain(words.get(cluster).map_or("", String::as_str));
    vec![json!({
        "type": "scatter", "mode": "markers+text", "name": "clusters",
        "x": centres.iter().map(|centre| rounded(centre[0], 5)).collect::<Vec<_>>(), "y": centres.iter().map(|centre| rounded(centre[1], 5)).collect::<Vec<_>>(),
        "text": (0..k).map(|cluster| if cluster < NAMED { cluster.to_string() } else { String::new() }).collect::<Vec<_>>(),
        "textfont": {"color": "--ink", "size": 11},
        "customdata": (0..k).map(|cluster| json!([cluster, percent(weights[cluster]), text(cluster)])).collect::<Vec<_>>(),
        "marker": {"color": (0..k).map(colour).collect::<Vec<_>>(), "size": weights.iter().map(size).collect::<Vec<_>>(), "opacity": 0.65},
        "hovertemplate": "cluster %{customdata[0]}: %{customdata[1]} of the rows<br>%{customdata[2]}<extra></extra>",
    })]
}

fn table(layout: &Layout, features: &Features, k: usize) -> Table {
    let mut table = Table::new(
        "Centres of the clusters on the map",
        &["cluster", "share of rows", &layout.axes[0], &layout.axes[1]],
    );
    for (cluster, (centre, weight)) in layout.centres.iter().zip(&features.weights).enumerate().take(k) {
        table.row([cluster.to_string(), percent(*weight), number(centre[0]), number(centre[1])]);
    }
    table.cut(200)
}

/// To so many digits behind the first: a page needs no more.
fn rounded(x: f64, digits: usize) -> f64 {
    if digits < 4 {
        format!("{x:.digits$}").parse().unwrap_or(x)
    } else {
        format!("{x:.digits$e}").parse().unwrap_or(x)
    }
}
