//! The data set, as far as the plane shows it.

use dirigent::Row;
use dirigent::internals::rows::Shard;
use serde_json::json;

use crate::console::grouped;
use crate::report::colours::colour;
use crate::report::plot::Plot;

/// More dots make a page slow and a picture no clearer.
const MOST_DOTS: usize = 6000;

/// Every n-th row, in its first two columns; nothing of word counts or of a single column.
pub(crate) fn plot(rows: &Shard, truth: Option<&[u32]>) -> Option<Plot> {
    let n_rows = rows.n_rows();
    let step = n_rows.div_ceil(MOST_DOTS).max(1);
    let (mut xs, mut ys, mut colours) = (Vec::new(), Vec::new(), Vec::new());
    for row_ix in (0..n_rows).step_by(step) {
        let [x, y] = first_two(rows.row(row_ix))?;
        xs.push(x);
        ys.push(y);
        colours.push(truth.map_or_else(|| colour(0), |truth| colour(truth[row_ix] as usize)));
    }
    let dots = json!({"type": "scatter", "mode": "markers", "x": xs, "y": ys, "hoverinfo": "skip", "marker": {"size": 3, "opacity": 0.6, "color": colours}});
    let shown = grouped(xs.len() as u64);
    let coloured = if truth.is_some() { ", coloured by their true cluster" } else { "" };
    let alt = format!("{shown} of {} rows as dots{coloured}.", grouped(n_rows as u64));
    let plot = Plot::new("The data set", alt.clone(), vec![dots], ["first column", "second column"]);
    Some(plot.layout(json!({"yaxis": {"scaleanchor": "x"}})).wide(480).caption(alt))
}

fn first_two(row: Row<'_>) -> Option<[f64; 2]> {
    match row {
        Row::F32(cells) => Some([f64::from(*cells.first()?), f64::from(*cells.get(1)?)]),
        Row::F64(cells) => Some([*cells.first()?, *cells.get(1)?]),
        Row::Counts(_) => None,
    }
}
