//! What draws say of K, and whether chains agree.

use serde_json::{Value, json};

use super::html::Table;
use super::plot::Plot;
use super::words::{float, number, percent, text, whole};

/// The posterior of K over the draws; nothing without draws.
pub(crate) fn k_plot(record: &Value) -> Option<Plot> {
    let shares = record.pointer("/posterior/k/shares")?.as_object()?;
    let mut bars: Vec<(u64, f64)> =
        shares.iter().filter_map(|(k, share)| Some((k.parse().ok()?, share.as_f64()?))).collect();
    bars.sort_by_key(|(k, _)| *k);
    let trace = json!({
        "type": "bar", "x": bars.iter().map(|(k, _)| k).collect::<Vec<_>>(), "y": bars.iter().map(|(_, share)| share).collect::<Vec<_>>(),
        "marker": {"color": "--accent"}, "hovertemplate": "K = %{x}: %{y:.1%} of the draws<extra></extra>",
    });
    let mut table = Table::new("Share of the draws by K", &["K", "share"]);
    bars.iter().for_each(|(k, share)| {
        table.row([k.to_string(), percent(*share)]);
    });
    let sentence = k_sentence(record).unwrap_or_default();
    let plot = Plot::new("Posterior of K", sentence.clone(), vec![trace], ["K", "share of the draws"]);
    Some(plot.caption(sentence).table(table).layout(json!({"yaxis": {"tickformat": ".0%"}, "bargap": 0.15})))
}

/// What the draws say, in a sentence.
pub(crate) fn k_sentence(record: &Value) -> Option<String> {
    let (draws, mean) = (whole(record, "/posterior/n_draws")?, float(record, "/posterior/k/mean")?);
    let (low, high) = (whole(record, "/posterior/k/interval_90/0")?, whole(record, "/posterior/k/interval_90/1")?);
    Some(format!(
        "{draws} draws: K is {} on average, and between {low} and {high} with a probability of 90 %.",
        number(mean)
    ))
}

/// R-hat and effective sample sizes; nothing without diagnostics.
pub(crate) fn mixing(record: &Value) -> Option<Table> {
    let diagnostics = record.get("diagnostics").filter(|value| value.is_object())?;
    let mut table = Table::new("Whether the chains agree", &["of", "R-hat", "effective sample size"]);
    for (name, key) in [("K", "k"), ("log-joint", "log_joint")] {
        let cell = |field: &str| float(diagnostics, &format!("/{key}/{field}")).map_or_else(|| "–".to_owned(), number);
        table.row([name.to_owned(), cell("r_hat"), cell("ess_bulk")]);
    }
    Some(table)
}

/// How each chain ended, where there are several.
pub(crate) fn chains(record: &Value) -> Option<Table> {
    let chains = record.pointer("/diagnostics/chains")?.as_array().filter(|chains| chains.len() > 1)?;
    let mut table = Table::new("How each chain ended", &["chain", "K", "log-joint", "cycles", "stopped because"]);
    for chain in chains {
        let cell = |pointer: &str| float(chain, pointer).map_or_else(|| "–".to_owned(), number);
        let because = text(chain, "/stopped_because").unwrap_or("–").replace('_', " ");
        table.row([cell("/chain"), cell("/k"), cell("/log_joint"), cell("/cycles"), because]);
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_and_chains_are_told_and_their_absence_is_no_error() {
        let record = json!({
            "posterior": {"n_draws": 40, "k": {"mean": 3.25, "mode": 3, "interval_90": [3, 4], "shares": {"10": 0.25, "3": 0.75}}},
            "diagnostics": {"k": {"r_hat": 1.01, "ess_bulk": null}, "log_joint": {"r_hat": 1.2, "ess_bulk": 33.0},
                "chains": [{"chain": 1, "k": 3, "log_joint": -5.0, "cycles": 10, "stopped_because": "max_cycles"}, {"chain": 2}]},
        });
        let plot = k_plot(&record).unwrap();
        assert_eq!(plot.data[0]["x"], json!([3, 10]));
        assert!(plot.alt.contains("between 3 and 4"));
        assert_eq!(mixing(&record).unwrap().rows[0], ["K", "1.01", "–"]);
        assert_eq!(chains(&record).unwrap().rows[0], ["1", "3", "\u{2212}5", "10", "max cycles"]);
        let nothing = json!({"posterior": null, "diagnostics": null});
        assert!(k_plot(&nothing).is_none() && mixing(&nothing).is_none() && chains(&nothing).is_none());
    }
}
