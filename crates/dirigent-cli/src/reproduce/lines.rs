//! The figures over cycles and time, as plots: for each method the mean over its seeds, a band from the least to the greatest, and each seed by itself
//! for those who ask.

use serde_json::{Value, json};

use super::curves::{Curve, Point};
use super::results::{Cycle, Run};
use super::spread::Spread;
use crate::report::colours::colour;
use crate::report::html::Table;
use crate::report::plot::{OtherX, Plot};
use crate::report::words::number;

/// What is drawn.
#[derive(Clone, Copy)]
pub(crate) struct Quantity<'a> {
    pub(crate) title: &'a str,
    pub(crate) axis: &'a str,
    pub(crate) of_point: &'a dyn Fn(&Point) -> Option<Spread>,
    pub(crate) of_cycle: &'a dyn Fn(&Cycle) -> Option<f64>,
}

/// Against cycles.
pub(crate) fn over_cycles(curves: &[Curve<'_>], quantity: Quantity<'_>) -> Plot {
    let lines = Lines::new(curves, quantity, |point| point.cycle as f64, |cycle| Some(cycle.cycle as f64));
    lines.plot("cycles", "cycle", json!({"xaxis": {"type": "log"}}))
}

/// Against the time of the cluster, or, to choose, the real one.
pub(crate) fn over_time(curves: &[Curve<'_>], quantity: Quantity<'_>) -> Plot {
    let lines = Lines::new(curves, quantity, |point| point.cluster_seconds, |cycle| cycle.cluster_seconds);
    let real = Lines::new(curves, quantity, |point| point.real_seconds, |cycle| Some(cycle.real_seconds));
    let mut plot = lines.plot("time", "seconds of the simulated cluster", json!({"xaxis": {"type": "log"}}));
    let (usual, title) = ("seconds of the simulated cluster", "real seconds, all workers one after another");
    plot.other_x = Some(OtherX { usual, title, values: real.xs });
    plot
}

/// What a plot is made of.
struct Lines<'a> {
    curves: &'a [Curve<'a>],
    quantity: Quantity<'a>,
    traces: Vec<Value>,
    /// Of each trace.
    xs: Vec<Vec<f64>>,
    /// The means, for the range of the picture: (cycle, value).
    means: Vec<(u64, f64)>,
}

impl<'a> Lines<'a> {
    fn new(
        curves: &'a [Curve<'a>],
        quantity: Quantity<'a>,
        x_of_point: impl Fn(&Point) -> f64,
        x_of_cycle: impl Fn(&Cycle) -> Option<f64>,
    ) -> Self {
        let mut lines = Self { curves, quantity, traces: Vec::new(), xs: Vec::new(), means: Vec::new() };
        for (ix, curve) in curves.iter().enumerate() {
            let spreads: Vec<(f64, u64, Spread)> = curve
                .points
                .iter()
                .filter_map(|point| Some((x_of_point(point), point.cycle, (quantity.of_point)(point)?)))
                .collect();
            lines.add_band(ix, curve, &spreads);
            lines.add_mean(ix, curve, &spreads);
        }
        // last, because the legend has the order of the lines
        curves.iter().enumerate().for_each(|(ix, curve)| lines.add_seeds(ix, curve, &x_of_cycle));
        lines
    }

    fn add_band(&mut self, ix: usize, curve: &Curve<'_>, spreads: &[(f64, u64, Spread)]) {
        let forth = spreads.iter().map(|(x, _, spread)| (*x, spread.high));
        let back = spreads.iter().rev().map(|(x, _, spread)| (*x, spread.low));
        let trace = json!({
            "mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": colour(ix), "opacity": 0.15,
            "hoverinfo": "skip", "showlegend": false, "legendgroup": curve.method.name,
        });
        self.add(forth.chain(back), trace);
    }

    fn add_mean(&mut self, ix: usize, curve: &Curve<'_>, spreads: &[(f64, u64, Spread)]) {
        self.means.extend(spreads.iter().map(|(_, cycle, spread)| (*cycle, spread.mean)));
        let trace = json!({
            "mode": "lines", "line": {"color": colour(ix), "width": 2}, "name": curve.method.title,
            "legendgroup": curve.method.name,
        });
        self.add(spreads.iter().map(|(x, _, spread)| (*x, spread.mean)), trace);
    }

    /// All seeds in one line with gaps, hidden until it is chosen.
    fn add_seeds(&mut self, ix: usize, curve: &Curve<'_>, x_of_cycle: &impl Fn(&Cycle) -> Option<f64>) {
        let of_run = |run: &&Run| {
            let point = |cycle: &Cycle| Some((x_of_cycle(cycle)?, (self.quantity.of_cycle)(cycle)?));
            run.whole_cycles().filter_map(point).chain([(f64::NAN, f64::NAN)]).collect::<Vec<_>>()
        };
        let points: Vec<(f64, f64)> = curve.runs.iter().flat_map(of_run).collect();
        let trace = json!({
            "mode": "lines", "line": {"color": colour(ix), "width": 0.8}, "name": format!("{}, each seed", curve.method.title),
            "visible": "legendonly", "connectgaps": false,
        });
        self.add(points.into_iter(), trace);
    }

    fn add(&mut self, points: impl Iterator<Item = (f64, f64)>, mut trace: Value) {
        let (xs, ys): (Vec<f64>, Vec<f64>) = points.map(|(x, y)| (short(x), short(y))).unzip();
        (trace["type"], trace["x"], trace["y"]) = ("scatter".into(), json!(xs), json!(ys));
        self.traces.push(trace);
        self.xs.push(xs);
    }

    fn plot(&self, against: &str, x_axis: &str, layout: Value) -> Plot {
        let title = format!("{} against {against}", self.quantity.title);
        let end = |curve: &Curve<'_>| {
            let last = (self.quantity.of_point)(curve.points.last()?)?;
            Some(format!("{} ends at {}", curve.method.title, number(last.mean)))
        };
        let ends: Vec<String> = self.curves.iter().filter_map(end).collect();
        let alt = format!("{title}, a line for each method: {}.", ends.join(", "));
        let mut plot = Plot::new(title, alt, self.traces.clone(), [x_axis, self.quantity.axis]);
        plot = plot.layout(layout).layout(json!({"showlegend": true})).wide(420).table(self.table());
        if let Some([low, high]) = self.range() {
            plot = plot.layout(json!({"yaxis": {"range": [low, high]}}));
            plot.caption =
                "First cycles, and methods that are far off, may lie outside the picture: a double click shows all."
                    .to_owned();
        }
        plot
    }

    /// The means, the first tenth of the cycles left out, as far as they are within three times the middle half of them all: one method that is far off
    /// would make the rest of the picture flat.
    fn range(&self) -> Option<[f64; 2]> {
        let last = self.means.iter().map(|(cycle, _)| *cycle).max()?;
        let mut shown: Vec<f64> =
            self.means.iter().filter(|(cycle, _)| 10 * cycle >= last).map(|(_, mean)| *mean).collect();
        shown.sort_by(f64::total_cmp);
        let (low, high) = (*shown.first()?, *shown.last()?);
        let quartiles = [shown[shown.len() / 4], shown[3 * shown.len() / 4]];
        let reach = 3.0 * (quartiles[1] - quartiles[0]);
        let (low, high) = (low.max(quartiles[0] - reach), high.min(quartiles[1] + reach));
        let space = 0.06 * (high - low).max(1e-9 * high.abs()).max(1e-9);
        Some([low - space, high + space])
    }

    /// A line a cycle that is a power of two, or the last.
    fn table(&self) -> Table {
        let titles: Vec<&str> =
            ["cycle"].into_iter().chain(self.curves.iter().map(|curve| curve.method.title)).collect();
        let mut table = Table::new(format!("{}, means over seeds", self.quantity.title), &titles);
        let last = self.means.iter().map(|(cycle, _)| *cycle).max().unwrap_or(0);
        let cycles = (0..63).map(|power| 1u64 << power).take_while(|cycle| *cycle < last).chain([last]);
        for cycle in cycles {
            let cell = |curve: &Curve<'_>| {
                let point = curve.points.iter().find(|point| point.cycle == cycle)?;
                Some(number((self.quantity.of_point)(point)?.mean))
            };
            table.row(
                [cycle.to_string()].into_iter().chain(self.curves.iter().map(|curve| cell(curve).unwrap_or_default())),
            );
        }
        table
    }
}

/// A number of seven digits: more would only make the page longer.
fn short(number: f64) -> f64 {
    format!("{number:.6e}").parse().unwrap_or(number)
}
