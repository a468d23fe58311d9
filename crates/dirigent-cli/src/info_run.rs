//! `dirigent info RUN`: what a run folder says of its run.

use std::fs;
use std::path::Path;

use dirigent::internals::fit::describe_resume;
use dirigent::{InputError, Model, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::console::Console;

pub(crate) fn run(path: &Path, json: bool) -> Result<()> {
    let mut record = read(&path.join("run.json"))?;
    let resume = describe_resume(path, &record);
    let console = Console::default();
    if json {
        // as it stands, and what only the folder knows
        if let Some(way) = resume {
            record["resume"] = way.into();
        }
        return console.print_json(&record);
    }
    console.print(describe(&record) + &resume.map(|way| format!("\n{:16} {way}", "to resume")).unwrap_or_default())
}

/// As it stands, whatever version wrote it.
pub(crate) fn read(path: &Path) -> Result<Value> {
    let unreadable = |error: &dyn std::fmt::Display| {
        InputError::in_file(path, format!("cannot be read as the record of a run: {error}"))
            .hint("name a folder that `dirigent fit` wrote")
    };
    let text = fs::read_to_string(path).map_err(|error| unreadable(&error))?;
    Ok(serde_json::from_str(&text).map_err(|error| unreadable(&error))?)
}

/// What is printed, in this order, and where it is in the record.
const TOLD: [(&str, &str); 27] = [
    ("error", "/error"),
    ("version", "/version"),
    ("data", "/data/name"),
    ("rows", "/data/n_rows"),
    ("columns", "/data/n_columns"),
    ("PCA components", "/data/transform/pca"),
    ("variance kept", "/data/transform/variance_kept"),
    ("family", "/model/family"),
    ("method", "/options/method/name"),
    ("splits", "/options/method/splits"),
    ("workers", "/options/engine/workers"),
    ("engine", "/options/engine/name"),
    ("seed", "/options/run/seed"),
    ("K", "/summary/k"),
    ("K of draws", "/posterior/k/mean"),
    ("labels are", "/options/run/point"),
    ("clusters", "/summary/n_clusters"),
    ("log-joint", "/summary/log_joint"),
    ("of the truth", "/summary/log_joint_truth"),
    ("VI", "/summary/vi"),
    ("VI of labels", "/summary/vi_labels"),
    ("ARI of labels", "/summary/ari_labels"),
    ("NMI of labels", "/summary/nmi_labels"),
    ("alpha", "/summary/alpha"),
    ("cycles", "/summary/cycles"),
    ("stopped because", "/summary/stopped_because"),
    ("seconds", "/summary/seconds"),
];

fn describe(record: &Value) -> String {
    let status = match record["status"].as_str() {
        Some("running") => "running, or killed",
        Some(status) => status,
        None => "unknown",
    };
    let told = TOLD.iter().filter_map(|(name, pointer)| {
        let value = if *name == "family" { family(&record["model"]) } else { None };
        Some((*name, value.or_else(|| plain(record.pointer(pointer)?))?))
    });
    let warnings = record["warnings"].as_array().into_iter().flatten().filter_map(plain).map(|text| ("warning", text));
    let lines = std::iter::once(("status", status.to_owned())).chain(told).chain(warnings);
    lines.map(|(name, value)| format!("{name:16} {value}")).collect::<Vec<_>>().join("\n")
}

/// The family as `fit` calls it; nothing for a model of another version.
fn family(model: &Value) -> Option<String> {
    Some(Model::deserialize(model).ok()?.described().name().to_owned())
}

/// A value without quotes; nothing for null.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_told_in_lines_and_what_is_missing_is_left_out() {
        let record = serde_json::json!({
            "status": "finished", "error": null, "data": {"name": "iris", "n_rows": 150},
            "summary": {"k": 3, "vi": null, "stopped_because": "cycles"}, "warnings": ["all rows are one"],
        });
        let text = describe(&record);
        let lines: Vec<_> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            ["status finished", "data iris", "rows 150", "K 3", "stopped because cycles", "warning all rows are one"]
        );
    }
}
