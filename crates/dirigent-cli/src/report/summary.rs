//! A run in a sentence, in headline numbers and in settings.

use dirigent::internals::run_dir::FittedModel;
use serde_json::Value;

use super::certainty::Labels;
use super::html::Table;
use super::page::Fact;
use super::run::Run;
use super::words::{counted, float, number, percent, seconds, text, whole};
use crate::console::{bytes, grouped};

/// What was fitted, in a sentence or two.
pub(crate) fn sentence(run: &Run) -> String {
    let record = &run.record;
    let n_rows = counted(whole(record, "/data/n_rows").unwrap_or(0), "row");
    let is_text = text(record, "/model/family") == Some("multinomial");
    let n_columns = whole(record, "/data/n_columns").unwrap_or(0);
    let columns =
        if is_text { format!("a vocabulary of {}", counted(n_columns, "word")) } else { counted(n_columns, "column") };
    let found = match (text(record, "/status"), whole(record, "/summary/k")) {
        (Some("finished"), Some(k)) => match run.clusters_of_components() {
            Some((n, k)) => format!("{} of {} found in", counted(n, "cluster"), counted(k, "component")),
            None => format!("{} found in", counted(whole(record, "/summary/n_clusters").unwrap_or(k), "cluster")),
        },
        (Some("failed"), _) => "A failed fit of".to_owned(),
        _ => "A running fit of".to_owned(),
    };
    let family = run.model.as_ref().map_or_else(
        || text(record, "/model/family").unwrap_or("?").replace('_', " "),
        |fitted| fitted.model.described().name().to_owned(),
    );
    format!(
        "{found} {n_rows} of {} ({columns}). A Dirichlet-process mixture, family {family}; method {}.",
        run.data_name(),
        method(record)
    )
}

/// The method with its workers.
fn method(record: &Value) -> String {
    let method = text(record, "/options/method/name").unwrap_or("?");
    match whole(record, "/options/engine/workers") {
        Some(workers) if workers > 1 => format!("{method} with {workers} workers"),
        _ => method.to_owned(),
    }
}

/// The headline numbers.
pub(crate) fn facts(run: &Run, labels: Option<&Labels>) -> Vec<Fact> {
    let record = &run.record;
    let last = |column: &str| run.trace.column(column).last().copied().filter(|value| value.is_finite());
    let summary = |name: &str| float(record, &format!("/summary/{name}"));
    let mut facts = Vec::new();
    if let Some(k) = summary("k").or_else(|| last("k")) {
        let interval = ["0", "1"].map(|ix| whole(record, &format!("/posterior/k/interval_90/{ix}")));
        let mut notes = Vec::new();
        if let Some((_, k)) = run.clusters_of_components() {
            notes.push(format!("of {}", counted(k, "component")));
        }
        if let [Some(low), Some(high)] = interval {
            notes.push(format!("{low} to {high} with 90 % probability"));
        }
        let n = summary("n_clusters").unwrap_or(k);
        facts.push(Fact::new("clusters", grouped(n as u64), notes.join(", ")));
    }
    if let Some(labels) = labels {
        let sizes = || labels.sizes.values().copied();
        let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        let range = if least == most { grouped(most) } else { format!("{}–{}", grouped(least), grouped(most)) };
        facts.push(Fact::new("cluster sizes", range, "rows, smallest and largest"));
        facts.push(Fact::new("mean certainty", percent(labels.mean()), labels.doubtful()));
    }
    let rows = whole(record, "/data/n_rows").map(grouped).unwrap_or_default();
    facts.push(Fact::new("rows", rows, counted(whole(record, "/data/n_columns").unwrap_or(0), "column")));
    if let Some(log_joint) = summary("log_joint").or_else(|| last("log_joint")) {
        let above = summary("log_joint_truth").map(|truth| log_joint - truth);
        let note = above.map(|above| match above {
            _ if above.abs() < 0.05 => "that of the true labels".to_owned(),
            _ if above < 0.0 => format!("{} below the true labels", number(-above)),
            _ => format!("{} above the true labels", number(above)),
        });
        facts.push(Fact::new("log-joint", number(log_joint), note.unwrap_or_default()));
    }
    if let Some(nmi) = summary("nmi_labels") {
        let vi = summary("vi_labels").map(|vi| {
            format!("VI {} nats, ARI {}", number(vi), summary("ari_labels").map_or_else(String::new, number))
        });
        facts.push(Fact::new("NMI with the truth", number(nmi), vi.unwrap_or_default()));
    }
    if let Some(cycles) = summary("cycles").or_else(|| last("cycle")) {
        let because = text(record, "/summary/stopped_because").map(ended).unwrap_or_default();
        facts.push(Fact::new("cycles", grouped(cycles as u64), because));
    }
    if let Some(time) = summary("seconds").or_else(|| last("seconds")) {
        let sent = whole(record, "/summary/bytes").filter(|sent| *sent > 0).map(|sent| format!("{} sent", bytes(sent)));
        facts.push(Fact::new("time", seconds(time), sent.unwrap_or_default()));
    }
    if let Some(alpha) = summary("alpha").or_else(|| last("alpha")) {
        let is_learnt = text(record, "/options/model/alpha") == Some("auto");
        facts.push(Fact::new("concentration α", number(alpha), if is_learnt { "learned" } else { "given" }));
    }
    facts
}

fn ended(because: &str) -> String {
    match because {
        "cycles" => "as requested",
        "stationary" => "then it had settled",
        "max_cycles" => "it had not settled",
        "time_limit" => "until the time limit",
        other => other,
    }
    .to_owned()
}

/// What is worth a warning.
pub(crate) fn warnings(run: &Run) -> Vec<String> {
    let texts = run.record.get("warnings").and_then(Value::as_array);
    let mut warnings: Vec<String> =
        texts.into_iter().flatten().filter_map(|warning| Some(warning.as_str()?.to_owned())).collect();
    if let Some(error) = text(&run.record, "/error") {
        warnings.push(format!("the run failed: {error}"));
    }
    warnings
}

/// What to know of labels that are no groups of components.
pub(crate) fn other_partition(record: &Value, is_shown: bool) -> String {
    let point = text(record, "/options/run/point").unwrap_or("argmax");
    if is_shown {
        format!(
            "The labels are those of --point {point}, not groups of components: the page describes their clusters by the sampled rows and has no tree."
        )
    } else {
        format!(
            "The labels are those of --point {point}. Without sampled rows (--sample-rows) the page shows the components of the model instead."
        )
    }
}

/// Settings as used, every prior resolved.
pub(crate) fn settings(run: &Run) -> Table {
    let record = &run.record;
    let mut table = Table::new("Settings as used", &["setting", "value"]);
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            table.row([name.to_owned(), value]);
        }
    };
    if let Some(FittedModel { model, .. }) = &run.model {
        put("family", Some(model.described().name().to_owned()));
        model.described().priors().into_iter().for_each(|(name, value)| put(name, Some(number(value))));
    }
    let plain = |pointer: &str| match record.pointer(pointer)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    const SETTINGS: [(&str, &str); 17] = [
        ("method", "/options/method/name"),
        ("consolidation", "/options/method/consolidation"),
        ("schedule", "/options/method/schedule"),
        ("splits", "/options/method/splits"),
        ("joins", "/options/method/joins"),
        ("alpha of the first cycle", "/options/method/first_alpha"),
        ("workers", "/options/engine/workers"),
        ("engine", "/options/engine/name"),
        ("alpha", "/options/model/alpha"),
        ("cycles", "/options/run/cycles"),
        ("chains", "/options/run/chains"),
        ("seed", "/options/run/seed"),
        ("labels are", "/options/run/point"),
        ("clusters", "/options/run/clusters"),
        ("kernel", "/kernel"),
        ("fingerprint of the data", "/data/fingerprint"),
        ("version", "/version"),
    ];
    SETTINGS.iter().for_each(|(name, pointer)| put(name, plain(pointer)));
    table
}

/// The command line that repeats the run, where it is known.
pub(crate) fn command(record: &Value) -> Option<String> {
    let words = record.get("command")?.as_array()?;
    let words: Vec<String> = words.iter().filter_map(|word| Some(quoted(word.as_str()?))).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=,:+@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_can_be_copied_into_a_shell() {
        let record = json!({"command": ["dirigent", "fit", "it's <a> file.csv", "--alpha", "1"]});
        assert_eq!(command(&record).unwrap(), "dirigent fit 'it'\\''s <a> file.csv' --alpha 1");
        assert_eq!(command(&json!({})), None);
    }
}
