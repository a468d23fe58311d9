//! The values of settings as they are typed: numbers, lists, times and speeds.

use serde::Serialize;
use serde_json::{Value, json};

use super::units::{bandwidth, seconds};

/// What can be given for a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// A number.
    Number,
    /// One number, or one per column.
    Numbers,
    /// A number or `learn`.
    NumberOrLearn,
    /// A whole number.
    Count,
    /// On or off.
    Switch,
    /// One of several words.
    Choice(&'static [&'static str]),
    /// A time.
    Seconds,
    /// A speed.
    Bandwidth,
    /// Workers and factors.
    WorkerFactors,
    /// Workers and cycles.
    WorkerCycles,
    /// Any text.
    Text,
}

impl ValueKind {
    /// Whether one key takes several values.
    pub(super) fn takes_many(self) -> bool {
        self == Self::Numbers || self.repeats()
    }

    /// Whether a key can be given several times.
    pub(super) fn repeats(self) -> bool {
        matches!(self, Self::WorkerFactors | Self::WorkerCycles)
    }

    /// What is expected, for messages.
    pub fn expected(self) -> String {
        match self {
            Self::Number => "a number".to_owned(),
            Self::Numbers => "a finite number, or one per column".to_owned(),
            Self::NumberOrLearn => "learn or a number".to_owned(),
            Self::Count => "a whole number".to_owned(),
            Self::Switch => "on or off".to_owned(),
            Self::Choice(words) => words.join("|"),
            Self::Seconds => "seconds, or a time with us, ms, s, min or h".to_owned(),
            Self::Bandwidth => "bytes per second, or a speed such as 1Gbit/s or 125MB/s".to_owned(),
            Self::WorkerFactors => "WORKER:FACTOR".to_owned(),
            Self::WorkerCycles => "WORKER@CYCLE".to_owned(),
            Self::Text => "text".to_owned(),
        }
    }

    /// A value of this kind.
    pub fn example(self) -> &'static str {
        match self {
            Self::Number | Self::NumberOrLearn => "0.5",
            Self::Numbers => "0",
            Self::Count => "2",
            Self::Switch => "on",
            Self::Choice(words) => words[words.len() - 1],
            Self::Seconds => "1ms",
            Self::Bandwidth => "1Gbit/s",
            Self::WorkerFactors => "3:5",
            Self::WorkerCycles => "7@10",
            Self::Text => "auto",
        }
    }

    /// The values as JSON; `None` if they are not of this kind.
    pub(super) fn read(self, words: &[&str]) -> Option<Value> {
        let word = *words.first()?;
        let number = |word: &str| word.parse::<f64>().ok().filter(|number| number.is_finite());
        match self {
            Self::Number => number(word).map(Value::from),
            Self::Numbers => {
                let numbers = words.iter().map(|word| number(word)).collect::<Option<Vec<_>>>()?;
                Some(if let [number] = *numbers { json!(number) } else { json!(numbers) })
            }
            Self::NumberOrLearn if word == "learn" => Some(json!("learn")),
            Self::NumberOrLearn => number(word).map(Value::from),
            Self::Count => word.parse::<u32>().ok().map(Value::from),
            Self::Switch => match word {
                "on" | "true" => Some(json!(true)),
                "off" | "false" => Some(json!(false)),
                _ => None,
            },
            Self::Choice(choices) => choices.contains(&word).then(|| json!(word)),
            Self::Seconds => seconds(word).map(Value::from),
            Self::Bandwidth => bandwidth(word).map(Value::from),
            Self::WorkerFactors => pairs::<f64>(words, ':'),
            Self::WorkerCycles => pairs::<u64>(words, '@'),
            Self::Text => (!word.is_empty()).then(|| json!(words.join(","))),
        }
    }
}

fn pairs<T: std::str::FromStr + Serialize>(words: &[&str], between: char) -> Option<Value> {
    let pair = |word: &&str| {
        let (worker, value) = word.split_once(between)?;
        Some((worker.parse::<u32>().ok()?, value.parse::<T>().ok()?))
    };
    let pairs = json!(words.iter().map(pair).collect::<Option<Vec<_>>>()?);
    // a number that is not finite is none in JSON
    let is_whole = pairs.as_array().is_some_and(|pairs| pairs.iter().all(|pair| !pair[1].is_null()));
    is_whole.then_some(pairs)
}

/// The name that a misspelt one probably means.
pub fn nearest<'a>(typed: &str, names: &[&'a str]) -> Option<&'a str> {
    let by_distance = names.iter().map(|name| (distance(typed, name), *name));
    let (distance, name) = by_distance.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + name.len() / 4).then_some(name)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into another.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.to_lowercase().chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(row[j - 1] + 1).min(rows[i - 1][j] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(rows[i - 2][j - 2] + 1);
            }
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_are_recognised() {
        let names = ["sigma", "sigma0", "gamma", "prior_documents", "tau"];
        assert_eq!(nearest("sgima", &names), Some("sigma"));
        assert_eq!(nearest("prior-documents", &names), Some("prior_documents"));
        assert_eq!(nearest("epsilon", &names), None);
    }
}
