//! Numbers and run records, in words.

use serde_json::Value;

use crate::console::grouped;

/// A number for people: four digits that count.
pub(crate) fn number(x: f64) -> String {
    digits(x, 4)
}

/// A number that is only compared with others: two or three digits.
pub(crate) fn rough(x: f64) -> String {
    digits(x, if (1.0..100.0).contains(&x.abs()) { 2 } else { 3 })
}

fn digits(x: f64, n_digits: usize) -> String {
    let size = x.abs();
    match size {
        _ if !x.is_finite() => "–".to_owned(),
        _ if size == 0.0 => "0".to_owned(),
        _ if !(1e-4..1e7).contains(&size) => format!("{x:.2e}"),
        _ if size >= 1000.0 => {
            let whole = grouped(size.round() as u64);
            if x < 0.0 { format!("\u{2212}{whole}") } else { whole }
        }
        _ => {
            let borders = [1000.0, 100.0, 10.0, 1.0, 0.1, 0.01, 0.001];
            let n_whole = borders.iter().position(|border| size >= *border).unwrap_or(7);
            let decimals = (n_digits + n_whole).saturating_sub(4);
            let text = format!("{size:.decimals$}");
            let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
            if x < 0.0 { format!("\u{2212}{short}") } else { short.to_owned() }
        }
    }
}

/// A share from 0 to 1.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        _ if percent >= 99.95 || percent == 0.0 => format!("{percent:.0} %"),
        _ if percent < 0.1 => "< 0.1 %".to_owned(),
        _ => format!("{percent:.1} %"),
    }
}

/// A count of things: "1 row", "1,200 rows".
pub(crate) fn counted(n: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// Seconds, for people.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        _ if seconds < 9.95 => format!("{seconds:.1} s"),
        _ if seconds < 100.0 => format!("{seconds:.0} s"),
        _ if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// A text of a record; nothing where it is not there.
pub(crate) fn text<'a>(record: &'a Value, pointer: &str) -> Option<&'a str> {
    record.pointer(pointer)?.as_str()
}

/// A number of a record.
pub(crate) fn float(record: &Value, pointer: &str) -> Option<f64> {
    record.pointer(pointer)?.as_f64()
}

/// A whole number of a record.
pub(crate) fn whole(record: &Value, pointer: &str) -> Option<u64> {
    record.pointer(pointer)?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 1.0, -12.345, 0.000_123_4, 4.999_96, 123.456, 98_765.4, -1e9, f64::NAN].map(number);
        let expected = ["0", "1", "\u{2212}12.35", "0.0001234", "5", "123.5", "98,765", "-1.00e9", "–"];
        assert_eq!(texts, expected);
        assert_eq!([7.319, 42.19, 0.03791, 123.4].map(rough), ["7.3", "42", "0.0379", "123"]);
        assert_eq!([0.0, 0.0002, 0.123, 1.0].map(percent), ["0 %", "< 0.1 %", "12.3 %", "100 %"]);
        assert_eq!((counted(1, "row"), counted(2000, "row")), ("1 row".into(), "2,000 rows".into()));
        assert_eq!([0.25, 12.2, 600.0, 9000.0].map(seconds), ["0.2 s", "12 s", "10 min", "2.5 h"]);
    }
}
