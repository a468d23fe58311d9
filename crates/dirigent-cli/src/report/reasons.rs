//! Why the run has its family and its prior, in a sentence each.

use serde_json::Value;

use super::words::text;

/// The two sentences.
pub(crate) fn sentences(record: &Value) -> Vec<String> {
    let choices: Vec<(&str, &str, &str)> = record
        .get("choices")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|choice| Some((text(choice, "/name")?, text(choice, "/value")?, text(choice, "/why")?)))
        .collect();
    let chosen = |name: &str| choices.iter().find(|choice| choice.0 == name);
    let Some(asked) = text(record, "/family") else { return Vec::new() };
    let mut family = match chosen("family") {
        Some((_, value, why)) => format!("Family: {value}, because {why}"),
        None => format!("Family: {asked}, as given"),
    };
    match (chosen("covariance"), text(record, "/covariance")) {
        (Some((_, value, why)), _) => family.push_str(&format!("; covariance {value} ({why})")),
        (None, Some(value)) => family.push_str(&format!("; covariance {value}, as given")),
        _ => {}
    }
    // priors with one reason are listed together
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, value, why) in &choices {
        if ["family", "covariance", "columns", "start"].contains(name) {
            continue;
        }
        let part = format!("{name} {value}");
        match by_reason.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, parts)) => parts.push(part),
            None => by_reason.push((*why, vec![part])),
        }
    }
    let prior = if by_reason.is_empty() {
        "Prior: all values as given".to_owned()
    } else {
        let parts: Vec<String> = by_reason.iter().map(|(why, parts)| format!("{} ({why})", parts.join(", "))).collect();
        format!("Prior: {}", parts.join("; "))
    };
    [family, prior].into_iter().map(|sentence| format!("{}.", sentence.replace('`', ""))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn family_and_prior_have_their_reasons() {
        let choice = |name: &str, value: &str, why: &str| json!({"name": name, "value": value, "why": why});
        let choices = json!([
            choice("family", "gaussian", "columns hold numbers"),
            choice("sigma", "1.0", "the most probable"),
            choice("sigma0", "9.0", "the most probable"),
            choice("start", "3 components", "x"),
        ]);
        let record = json!({"family": "gaussian", "covariance": "full", "choices": choices});
        let expected = [
            "Family: gaussian, because columns hold numbers; covariance full, as given.",
            "Prior: sigma 1.0, sigma0 9.0 (the most probable).",
        ];
        assert_eq!(sentences(&record), expected);
        let given = json!({"family": "mixed", "covariance": null, "choices": []});
        assert_eq!(sentences(&given), ["Family: mixed, as given.", "Prior: all values as given."]);
    }
}
