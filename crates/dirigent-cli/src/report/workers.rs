//! What each worker had, did and sent.

use serde_json::json;

use super::html::Table;
use super::plot::Plot;
use super::run::NumberTable;
use super::words::number;
use crate::console::bytes;

/// The plot of `workers.csv`; nothing where no worker sent anything.
pub(crate) fn plot(workers: &NumberTable) -> Option<Plot> {
    let sent = workers.column("bytes");
    if sent.iter().sum::<f64>() <= 0.0 {
        return None;
    }
    let (names, rows, seconds) = (workers.column("worker"), workers.column("rows"), workers.column("seconds"));
    let mut table =
        Table::new("Workers", &["worker", "rows", "swept rows", "sent and received", "seconds", "restarts"]);
    for ix in 0..workers.n_rows {
        let cell = |column: &str| number(workers.column(column)[ix]);
        let sent = bytes(sent[ix].max(0.0) as u64);
        table.row([cell("worker"), cell("rows"), cell("swept_rows"), sent, cell("seconds"), cell("restarts")]);
    }
    let of_worker = |ix: usize| json!([rows[ix], seconds[ix], bytes(sent[ix].max(0.0) as u64)]);
    let trace = json!({
        "type": "bar", "x": names, "y": sent, "customdata": (0..workers.n_rows).map(of_worker).collect::<Vec<_>>(),
        "marker": {"color": "--accent"},
        "hovertemplate": "worker %{x}: %{customdata[2]}<br>%{customdata[0]:,} rows, %{customdata[1]:.3~g} s of work<extra></extra>",
    });
    let total = bytes(sent.iter().sum::<f64>() as u64);
    let alt = format!("{} workers sent and received {total} in all.", workers.n_rows);
    let plot = Plot::new("What each worker sent and received", alt.clone(), vec![trace], ["worker", "bytes"]);
    Some(plot.caption(alt).table(table.cut(200)).layout(json!({"bargap": 0.15, "yaxis": {"tickformat": ".2~s"}, "xaxis": {"dtick": if workers.n_rows <= 20 { json!(1) } else { json!(null) }}})))
}

/// What was sent in each cycle.
pub(crate) fn over_cycles(trace: &NumberTable) -> Option<Plot> {
    let sent = trace.column("bytes");
    if sent.iter().sum::<f64>() <= 0.0 {
        return None;
    }
    let mut table = Table::new("Bytes sent in each cycle", &["cycle", "bytes"]);
    trace.column("cycle").iter().zip(sent).for_each(|(cycle, sent)| {
        table.row([number(*cycle), number(*sent)]);
    });
    let line = json!({
        "type": "bar", "x": trace.column("cycle"), "y": sent, "marker": {"color": "--accent"},
        "hovertemplate": "cycle %{x}: %{y:.3~s}B<extra></extra>",
    });
    let alt = format!("Bytes sent in each of {} cycles.", trace.n_rows);
    let plot = Plot::new("What was sent in each cycle", alt, vec![line], ["cycle", "bytes"]).table(table.cut(300));
    Some(plot.layout(json!({"yaxis": {"tickformat": ".2~s"}, "bargap": 0.05})))
}
