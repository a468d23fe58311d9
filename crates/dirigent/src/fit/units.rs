//! Times and speeds as people write them: `1ms`, `60s`, `1Gbit/s`, `125MB/s`. Plain numbers are
//! seconds and bytes per second.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const TIMES: [(&str, f64); 8] =
    [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("min", 60.0), ("h", 3600.0), ("s", 1.0), ("", 1.0)];
const PREFIXES: [(&str, f64); 5] = [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];

/// Seconds; `None` if it is no time from 0 on.
pub fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    let (_, seconds) = TIMES.iter().find(|(name, _)| *name == unit)?;
    Some(number * seconds)
}

/// Bytes per second; `None` if it is no speed.
pub(super) fn bandwidth(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    if unit.is_empty() {
        return Some(number);
    }
    let per_second = unit.strip_suffix("/s")?;
    let (prefix, bytes) = match (per_second.strip_suffix("bit"), per_second.strip_suffix('B')) {
        (Some(prefix), _) => (prefix, 1.0 / 8.0),
        (_, Some(prefix)) => (prefix, 1.0),
        _ => return None,
    };
    let is_prefix = |(name, _): &&(&str, f64)| *name == prefix || (*name == "k" && prefix == "K");
    PREFIXES.iter().find(is_prefix).map(|(_, times)| number * times * bytes)
}

/// A number from 0 on, and what follows it.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    // the longest beginning that is a number: an e may belong to it
    let ends = text.char_indices().map(|(ix, _)| ix).chain([text.len()]).rev();
    let (number, end) = ends.filter_map(|end| Some((text[..end].parse::<f64>().ok()?, end))).next()?;
    (number >= 0.0 && number.is_finite()).then(|| (number, text[end..].trim()))
}

fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
    parse: fn(&str) -> Option<f64>,
    expected: &str,
) -> Result<Option<f64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum WrittenTime {
        Number(f64),
        Text(String),
        Nothing(()),
    }
    match WrittenTime::deserialize(deserializer) {
        Ok(WrittenTime::Number(number)) => Ok(Some(number)),
        Ok(WrittenTime::Nothing(())) => Ok(None),
        Ok(WrittenTime::Text(text)) => {
            parse(&text).map(Some).ok_or_else(|| D::Error::custom(format!("expected {expected}, got {text:?}")))
        }
        Err(_) => Err(D::Error::custom(format!("expected {expected}"))),
    }
}

/// Times in options.
pub(super) mod time {
    use super::*;

    pub(in crate::fit) fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub(in crate::fit) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        read(deserializer, seconds, "seconds, or a time such as 1ms or 2min")
    }
}

/// Speeds in options.
pub(super) mod speed {
    use super::*;

    pub(in crate::fit) fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub(in crate::fit) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        read(deserializer, bandwidth, "bytes per second, or a speed such as 1Gbit/s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_speeds_have_units() {
        assert_eq!(
            ["60", "60s", "1ms", "1e-3", "2us", "1.5min"].map(seconds).map(Option::unwrap),
            [60.0, 60.0, 1e-3, 1e-3, 2e-6, 90.0]
        );
        assert_eq!(
            ["1.25e9", "10Gbit/s", "125MB/s", "8kbit/s"].map(bandwidth).map(Option::unwrap),
            [1.25e9, 1.25e9, 1.25e8, 1e3]
        );
        assert!(["", "s", "-1", "1 parsec", "nan", "inf"].iter().all(|text| seconds(text).is_none()));
        assert!(["1Gbit", "1G", "1Xbit/s", "-1"].iter().all(|text| bandwidth(text).is_none()));
    }
}
