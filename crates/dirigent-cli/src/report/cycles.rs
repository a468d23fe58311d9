//! How a run went: log-joint, K, α, VI and what was sent, over cycles or over seconds.

use serde_json::{Value, json};

use super::colours::colour;
use super::html::Table;
use super::plot::{OtherX, Plot};
use super::run::NumberTable;
use super::words::number;

/// Cycles that a table lists.
const MOST_LINES: usize = 300;
/// Points of a line; longer ones are thinned.
const MOST_POINTS: usize = 1000;

/// A line of a plot: a run, or one chain of it.
pub(crate) struct Line<'a> {
    pub(crate) name: String,
    pub(crate) trace: &'a NumberTable,
    /// Which chain of the trace.
    pub(crate) chain: f64,
    pub(crate) colour: String,
}

/// The chains of a trace, one line each.
pub(crate) fn lines(trace: &NumberTable) -> Vec<Line<'_>> {
    let mut chains: Vec<f64> = trace.column("chain").to_vec();
    chains.sort_by(f64::total_cmp);
    chains.dedup();
    let line = |(ix, chain): (usize, f64)| Line { name: format!("chain {chain}"), trace, chain, colour: colour(ix) };
    chains.into_iter().enumerate().map(line).collect()
}

/// What is drawn: the column, its name, what it means.
const DRAWN: [(&str, &str, &str); 5] = [
    (
        "log_joint",
        "Log-joint",
        "The logarithm of the joint density of rows and labels: it climbs until the chain has settled.",
    ),
    ("k", "Clusters (K)", "The number of clusters of the state."),
    (
        "vi",
        "Distance to the truth (VI, nats)",
        "Variation of information between the state and the true labels: 0 is perfect.",
    ),
    ("alpha", "Concentration (α)", "Learned as the chain runs: larger means more clusters."),
    ("moved", "Rows that moved", "Rows that changed their cluster in the cycle."),
];

/// A plot for each thing that there is to see.
pub(crate) fn plots(lines: &[Line<'_>]) -> Vec<Plot> {
    DRAWN.iter().filter_map(|(column, title, caption)| plot(lines, column, title, caption)).collect()
}

fn plot(lines: &[Line<'_>], column: &str, title: &str, caption: &str) -> Option<Plot> {
    let mut table = Table::new(title, &["cycle", "seconds", "value"]);
    if lines.len() > 1 {
        table.columns.insert(0, "line".to_owned());
    }
    let (mut traces, mut seconds_of): (Vec<Value>, Vec<Vec<f64>>) = Default::default();
    let (mut is_constant, mut late, mut highest) = (true, Vec::new(), f64::NEG_INFINITY);
    for line in lines {
        let points = line.points(column);
        is_constant &= points.iter().all(|point| point[2] == points[0][2]);
        for [cycle, seconds, value] in &points {
            let cells = [format!("{cycle}"), number(*seconds), number(*value)];
            let name = (lines.len() > 1).then(|| line.name.clone());
            table.row(name.into_iter().chain(cells));
        }
        let thinned = thinned(&points);
        traces.push(json!({
            "type": "scatter", "mode": if thinned.len() > 1 { "lines" } else { "markers" }, "name": super::plot::plain(&line.name),
            "x": thinned.iter().map(|point| point[0]).collect::<Vec<_>>(), "y": thinned.iter().map(|point| point[2]).collect::<Vec<_>>(),
            "line": {"color": line.colour, "width": 1.8, "shape": if column == "k" { "hv" } else { "linear" }}, "marker": {"color": line.colour},
            "hovertemplate": format!("%{{y:{}}}", if column == "k" || column == "moved" { ",.0f" } else { ",.5~g" }),
        }));
        seconds_of.push(thinned.iter().map(|point| point[1]).collect());
        // where the first cycles are far below, they are left out of sight
        late.extend(points.iter().skip(points.len() / 10).map(|point| point[2]));
        highest = points.iter().fold(highest, |highest, point| highest.max(point[2]));
    }
    // an α that was given is no curve
    if late.is_empty() || column == "alpha" && is_constant {
        return None;
    }
    let last = lines.iter().filter_map(|line| line.points(column).last().map(|point| number(point[2])));
    let alt = format!("{title} over the cycles of the run; it ends at {}.", last.collect::<Vec<_>>().join(", "));
    let mut plot = Plot::new(title, alt, traces, ["cycle", ""]).caption(caption).table(table.cut(MOST_LINES));
    plot.other_x = Some(OtherX { usual: "cycles", title: "seconds", values: seconds_of });
    plot = plot.layout(
        json!({"hovermode": "x unified", "showlegend": lines.len() > 1, "legend": {"orientation": "h", "y": -0.25}}),
    );
    if column == "log_joint" {
        let low = late.iter().copied().fold(highest, f64::min);
        let space = 0.06 * (highest - low).max(1e-9 * highest.abs()).max(1e-9);
        plot = plot.layout(json!({"yaxis": {"range": [low - space, highest + space]}}));
        plot.caption += " The first tenth of the cycles may lie below the picture: a double click shows it.";
    } else {
        plot = plot.layout(json!({"yaxis": {"rangemode": "tozero"}}));
    }
    Some(plot)
}

impl Line<'_> {
    /// (cycle, seconds, value) wherever there is a value. A log-joint of a sample of rows cannot be compared with that of all.
    fn points(&self, column: &str) -> Vec<[f64; 3]> {
        let trace = self.trace;
        let (cycles, seconds, virtual_seconds) =
            (trace.column("cycle"), trace.column("seconds"), trace.column("virtual_seconds"));
        let (chains, rows, values) = (trace.column("chain"), trace.column("rows"), trace.column(column));
        let all_rows = rows.iter().copied().fold(0.0, f64::max);
        let is_meant = |ix: &usize| {
            chains[*ix] == self.chain && values[*ix].is_finite() && (rows[*ix] == all_rows || column == "k")
        };
        let clock = |ix: usize| if virtual_seconds[ix].is_finite() { virtual_seconds[ix] } else { seconds[ix] };
        (0..values.len()).filter(is_meant).map(|ix| [cycles[ix], clock(ix), values[ix]]).collect()
    }
}

fn thinned(points: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let step = points.len().div_ceil(MOST_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    points.iter().enumerate().filter(|(ix, _)| ix % step == 0 || *ix == last).map(|(_, point)| *point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(text: &str) -> NumberTable {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.csv");
        std::fs::write(&path, format!("cycle,seconds,virtual_seconds,log_joint,k,alpha,vi,moved,rows,chain\n{text}"))
            .unwrap();
        NumberTable::read(&path)
    }

    #[test]
    fn a_line_leaves_out_the_log_joint_of_a_sample_of_rows() {
        let trace = trace("1,0.1,,-5,3,1,,9,10,1\n2,0.2,,-90,4,1,,9,100,1\n3,0.3,,-80,4,1,,9,100,1\n");
        let lines = lines(&trace);
        assert_eq!(lines[0].points("log_joint"), [[2.0, 0.2, -90.0], [3.0, 0.3, -80.0]]);
        assert_eq!(lines[0].points("k").len(), 3);
        let titles: Vec<_> = plots(&lines).into_iter().map(|plot| plot.title).collect();
        // no truth, and an α that stays as it was given
        assert_eq!(titles, ["Log-joint", "Clusters (K)", "Rows that moved"]);
    }

    #[test]
    fn chains_are_lines_of_their_own_and_long_ones_are_thinned() {
        let cycles = |chain: u32| (1..=2500).map(move |ix| format!("{ix},{ix},,-1,3,{ix},,0,10,{chain}\n"));
        let trace = trace(&cycles(1).chain(cycles(2)).collect::<String>());
        let plots = plots(&lines(&trace));
        assert_eq!(plots[0].data.len(), 2);
        let xs = plots[0].data[1]["x"].as_array().unwrap();
        assert!(xs.len() <= MOST_POINTS && xs.last() == Some(&json!(2500.0)), "{}", xs.len());
        assert_eq!(plots[0].other_x.as_ref().unwrap().values[1].len(), xs.len());
    }
}
