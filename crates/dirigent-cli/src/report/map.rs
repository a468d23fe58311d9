//! The map: sampled rows in the plane, coloured by cluster, with the clusters' ellipses; of documents, the clusters themselves.

use dirigent::internals::run_dir::FittedModel;
use dirigent::{Model, Row};
use serde_json::{Value, json};

use super::colours::colour;
use super::features::{Features, Kind};
use super::html::Table;
use super::plot::{Plot, plain};
use super::projection::Plane;
use super::sample::Sample;
use super::words::{number, percent};
use crate::console::grouped;

/// Clusters with a colour in the legend; all others are one entry.
pub(crate) const NAMED: usize = 24;
/// Rows that are drawn, evenly chosen from the sample: a browser draws each as a shape of its own.
const MOST_POINTS: usize = 3000;
/// Clusters with an ellipse.
const MOST_ELLIPSES: usize = 300;
/// An ellipse holds nine rows of ten.
const RADIUS: f64 = 2.146;

/// Where rows and clusters lie on the map.
struct Layout {
    /// Of every cluster.
    centres: Vec<[f64; 2]>,
    /// Of every sampled row; NaN where a cell is missing.
    rows: Vec<[f64; 2]>,
    /// In the space of the model's columns, what a step along the map's axes is.
    directions: [Vec<f64>; 2],
    axes: [String; 2],
    caption: String,
}

/// The map. Without a sample it shows the clusters alone. `words` are the telling words of each, for documents.
pub(crate) fn plot(fitted: &FittedModel, features: &Features, sample: Option<&Sample>, words: &[String]) -> Plot {
    let layout = match &fitted.model {
        Model::Multinomial(_) => Layout::of_plane(features, None),
        _ if features.features.len() <= 2 && features.features.iter().all(|feature| feature.kind == Kind::Number) => {
            Layout::of_columns(features, sample)
        }
        _ => Layout::of_plane(features, sample),
    };
    let is_text = matches!(fitted.model, Model::Multinomial(_));
    let mut data = Vec::new();
    if is_text {
        data.extend(bubbles(&layout, features, words));
    } else {
        if let Some(sample) = sample {
            data.extend(points(&layout, sample, features.values.len()));
        }
        data.extend(ellipses(&layout, fitted, features));
        data.push(numbers(&layout));
    }
    let (k, n_rows) = (features.values.len(), sample.map_or(0, |sample| drawn(sample).count()));
    let what =
        if is_text { format!("{k} clusters") } else { format!("{} rows in {k} clusters", grouped(n_rows as u64)) };
    let alt = format!("Scatter plot of {what}, {} against {}.", layout.axes[1], layout.axes[0]);
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
    let plot = Plot::new(title, alt, data, [&x, &y]).caption(caption).table(table(&layout, features)).wide(560);
    let legend = json!({"itemsizing": "constant", "title": {"text": "cluster"}});
    plot.layout(json!({"showlegend": !is_text && k > 1, "hovermode": "closest", "legend": legend}))
}

impl Layout {
    /// One column or two, as they are.
    fn of_columns(features: &Features, sample: Option<&Sample>) -> Self {
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
                "The two columns; ellipses hold nine rows of ten of their cluster.".to_owned()
            } else {
                String::new()
            },
        }
    }

    /// The plane in which clusters differ most.
    fn of_plane(features: &Features, sample: Option<&Sample>) -> Self {
        let points = features.points();
        let rows: Vec<Vec<f64>> =
            sample.map_or_else(Vec::new, |sample| sample.fitted.rows().map(|row| features.point_of(row)).collect());
        let plane = Plane::of(&points, &features.weights, &rows);
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
                "The plane in which clusters differ most; in brackets the share of what sets them apart. {} {}",
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

fn points(layout: &Layout, sample: &Sample, k: usize) -> Vec<Value> {
    let mut of_trace: Vec<Vec<usize>> = vec![Vec::new(); k.min(NAMED) + 1];
    for ix in drawn(sample) {
        let prediction = &sample.predictions[ix];
        if layout.rows[ix].iter().all(|x| x.is_finite()) {
            of_trace[(prediction.label as usize).min(NAMED.min(k))].push(ix);
        }
    }
    let trace = |(trace_ix, rows): (usize, &Vec<usize>)| {
        if rows.is_empty() {
            return None;
        }
        let is_rest = trace_ix == NAMED.min(k);
        let cluster = |ix: usize| sample.predictions[ix].label;
        let color: Value = if is_rest {
            rows.iter().map(|&ix| colour(cluster(ix) as usize)).collect()
        } else {
            colour(trace_ix).into()
        };
        let opacity = |ix: usize| rounded(0.25 + 0.6 * f64::from(sample.predictions[ix].certainty), 2);
        Some(json!({
            "type": "scatter", "mode": "markers", "name": if is_rest { "others".to_owned() } else { trace_ix.to_string() },
            "legendgroup": format!("c{trace_ix}"),
            "x": rows.iter().map(|&ix| rounded(layout.rows[ix][0], 5)).collect::<Vec<_>>(),
            "y": rows.iter().map(|&ix| rounded(layout.rows[ix][1], 5)).collect::<Vec<_>>(),
            "customdata": rows.iter().map(|&ix| json!([sample.numbers[ix], cluster(ix), rounded(f64::from(sample.predictions[ix].certainty), 3)])).collect::<Vec<_>>(),
            "marker": {"color": color, "size": 5, "opacity": rows.iter().map(|&ix| opacity(ix)).collect::<Vec<_>>()},
            "hovertemplate": "row %{customdata[0]:,}, cluster %{customdata[1]}<br>certainty %{customdata[2]:.0%}<br>%{x:.4~g}, %{y:.4~g}<extra></extra>",
        }))
    };
    of_trace.iter().enumerate().filter_map(trace).collect()
}

fn ellipses(layout: &Layout, fitted: &FittedModel, features: &Features) -> Vec<Value> {
    let is_gaussian = features.features.iter().all(|feature| feature.kind == Kind::Number) && !features.sds.is_empty();
    if !is_gaussian || layout.directions[0].is_empty() {
        return Vec::new();
    }
    let arrays = fitted.model.described().arrays(&fitted.components[..fitted.components.len().min(MOST_ELLIPSES)]);
    let covariances = arrays.iter().find(|array| array.name == "covariances");
    let n = features.features.len();
    let product = |cluster: usize, a: &[f64], b: &[f64]| -> f64 {
        match covariances {
            Some(array) => {
                let matrix = &array.numbers[cluster * n * n..(cluster + 1) * n * n];
                let row = |row: &[f64]| row.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
                matrix.chunks_exact(n).zip(a).map(|(cells, x)| x * row(cells)).sum()
            }
            None => a.iter().zip(b).zip(&features.sds[cluster]).map(|((x, y), sd)| x * y * sd * sd).sum(),
        }
    };
    let [along, across] = &layout.directions;
    let outline = |cluster: usize| {
        let (a, b, c) =
            (product(cluster, along, along), product(cluster, along, across), product(cluster, across, across));
        // the triangular factor of the covariance turns a circle into the ellipse
        let first = a.max(0.0).sqrt();
        let second = if first > 0.0 { b / first } else { 0.0 };
        let third = (c - second * second).max(0.0).sqrt();
        let [x, y] = layout.centres[cluster];
        let at = move |step: usize| {
            let angle = std::f64::consts::TAU * step as f64 / 36.0;
            let (cos, sin) = (RADIUS * libm::cos(angle), RADIUS * libm::sin(angle));
            [rounded(x + first * cos, 5), rounded(y + second * cos + third * sin, 5)]
        };
        (0..=36).map(at).collect::<Vec<_>>()
    };
    let k = features.values.len();
    let trace = |points: &[Option<[f64; 2]>], color: &str, group: usize| {
        json!({
            "type": "scatter", "mode": "lines", "showlegend": false, "legendgroup": format!("c{group}"), "hoverinfo": "skip",
            "x": points.iter().map(|point| point.map(|point| point[0])).collect::<Vec<_>>(),
            "y": points.iter().map(|point| point.map(|point| point[1])).collect::<Vec<_>>(),
            "line": {"color": color, "width": 1.4},
        })
    };
    let mut traces: Vec<Value> = (0..k.min(NAMED))
        .map(|cluster| trace(&outline(cluster).into_iter().map(Some).collect::<Vec<_>>(), &colour(cluster), cluster))
        .collect();
    if k > NAMED {
        let with_gap = |cluster: usize| outline(cluster).into_iter().map(Some).chain([None]).collect::<Vec<_>>();
        let points: Vec<Option<[f64; 2]>> = (NAMED..k.min(MOST_ELLIPSES)).flat_map(with_gap).collect();
        traces.push(trace(&points, "--soft", NAMED));
    }
    traces
}

/// The numbers of the largest clusters, at their centres.
fn numbers(layout: &Layout) -> Value {
    let named = &layout.centres[..layout.centres.len().min(NAMED)];
    json!({
        "type": "scatter", "mode": "text", "showlegend": false, "hoverinfo": "skip",
        "x": named.iter().map(|centre| rounded(centre[0], 5)).collect::<Vec<_>>(), "y": named.iter().map(|centre| rounded(centre[1], 5)).collect::<Vec<_>>(),
        "text": (0..named.len()).map(|cluster| format!("<b>{cluster}</b>")).collect::<Vec<_>>(),
        "textfont": {"color": "--ink", "size": 13, "shadow": "auto"},
    })
}

/// Clusters of documents.
fn bubbles(layout: &Layout, features: &Features, words: &[String]) -> Vec<Value> {
    let largest = features.weights.iter().copied().fold(0.0, f64::max);
    let size = |weight: &f64| rounded(8.0 + 40.0 * (weight / largest).sqrt(), 1);
    let text = |cluster: usize| plain(words.get(cluster).map_or("", String::as_str));
    let k = layout.centres.len();
    vec![json!({
        "type": "scatter", "mode": "markers+text", "name": "clusters",
        "x": layout.centres.iter().map(|centre| rounded(centre[0], 5)).collect::<Vec<_>>(), "y": layout.centres.iter().map(|centre| rounded(centre[1], 5)).collect::<Vec<_>>(),
        "text": (0..k).map(|cluster| if cluster < NAMED { cluster.to_string() } else { String::new() }).collect::<Vec<_>>(),
        "textfont": {"color": "--ink", "size": 11},
        "customdata": (0..k).map(|cluster| json!([cluster, percent(features.weights[cluster]), text(cluster)])).collect::<Vec<_>>(),
        "marker": {"color": (0..k).map(colour).collect::<Vec<_>>(), "size": features.weights.iter().map(size).collect::<Vec<_>>(), "opacity": 0.65},
        "hovertemplate": "cluster %{customdata[0]}: %{customdata[1]} of the rows<br>%{customdata[2]}<extra></extra>",
    })]
}

fn table(layout: &Layout, features: &Features) -> Table {
    let mut table = Table::new(
        "Centres of the clusters on the map",
        &["cluster", "share of rows", &layout.axes[0], &layout.axes[1]],
    );
    for (cluster, (centre, weight)) in layout.centres.iter().zip(&features.weights).enumerate() {
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
