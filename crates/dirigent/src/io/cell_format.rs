//! Cells of text that stand for numbers: dates, times, durations, amounts of money.
//!
//! A date is its number of days since 1970-01-01, in UTC where a zone is given; hours are fractions of a day. A duration is a number of days. What a column means
//! follows from all its cells: 03/04/2024 may be two days, 25/04/2024 only one.

use serde::{Deserialize, Serialize};

use super::number::number;

/// How the cells of a column are numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CellFormat {
    /// As they are.
    #[default]
    Number,
    /// Dates such as 2024-01-31, also with a time: days since 1970-01-01.
    YearFirst,
    /// Dates such as 1/31/2024 or Jan 31, 2024.
    MonthFirst,
    /// Dates such as 31.1.2024 or 31 Jan 2024.
    DayFirst,
    /// Times such as 17:30 or 2 days 03:00:00: days.
    Duration,
    /// Amounts such as $1,234.50 or 12 %.
    Amount,
    /// Amounts such as 1.234,50 €.
    AmountWithComma,
}

/// All but plain numbers, the likelier ones first.
const FORMATS: [CellFormat; 6] = [
    CellFormat::YearFirst,
    CellFormat::MonthFirst,
    CellFormat::DayFirst,
    CellFormat::Duration,
    CellFormat::Amount,
    CellFormat::AmountWithComma,
];

impl CellFormat {
    /// The number that a cell without surrounding spaces stands for.
    pub(crate) fn value(self, cell: &str) -> Option<f64> {
        match self {
            Self::Number => number(cell.as_bytes()).filter(|number| number.is_finite()),
            Self::YearFirst | Self::MonthFirst | Self::DayFirst => date_and_time(cell, self),
            Self::Duration => duration(cell),
            Self::Amount => amount(cell, ',', '.'),
            Self::AmountWithComma => amount(cell, '.', ','),
        }
    }

    /// Whether cells are dates.
    pub fn is_date(self) -> bool {
        matches!(self, Self::YearFirst | Self::MonthFirst | Self::DayFirst)
    }

    /// What cells are, in the plural.
    pub fn what(self) -> &'static str {
        match self {
            Self::Number => "numbers",
            Self::YearFirst | Self::MonthFirst | Self::DayFirst => "dates",
            Self::Duration => "durations",
            Self::Amount | Self::AmountWithComma => "amounts",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Formats that all cells of a column so far have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormatSet(u8);

impl FormatSet {
    /// None.
    pub(crate) const NONE: Self = Self(0);

    /// Those of amounts.
    pub(crate) fn amounts() -> Self {
        Self(CellFormat::Amount.bit() | CellFormat::AmountWithComma.bit())
    }

    /// Those of a cell, other than a plain number.
    pub(crate) fn of(cell: &str) -> Self {
        // nearly all texts are no numbers, and can be told by what they hold
        let is_possible = cell.len() <= LONGEST && cell.bytes().any(|byte| byte.is_ascii_digit());
        let has = |format: &CellFormat| is_possible && format.value(cell).is_some();
        Self(FORMATS.iter().filter(|format| has(format)).fold(0, |set, format| set | format.bit()))
    }

    /// Those of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether there is none.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The likeliest; plain numbers where there is none.
    pub(crate) fn first(self) -> CellFormat {
        FORMATS.into_iter().find(|format| self.0 & format.bit() != 0).unwrap_or_default()
    }

    /// All of them.
    pub(crate) fn iter(self) -> impl Iterator<Item = CellFormat> {
        FORMATS.into_iter().filter(move |format| self.0 & format.bit() != 0)
    }
}

/// No date and no amount is longer.
const LONGEST: usize = 48;

/// Days since 1970-01-01 of a date, perhaps with a time.
fn date_and_time(cell: &str, format: CellFormat) -> Option<f64> {
    let (days, rest) = date(cell, format).or_else(|| date_with_name(cell, format))?;
    let rest = rest.strip_prefix('T').unwrap_or(rest).trim_start();
    if rest.is_empty() {
        return Some(days as f64);
    }
    let (time, offset) = without_zone(rest)?;
    Some(days as f64 + (clock(time, 23)? - offset) / DAY)
}

const DAY: f64 = 86_400.0;

/// A date of three numbers, and what comes after it.
fn date(cell: &str, format: CellFormat) -> Option<(i64, &str)> {
    let (first, rest) = digits(cell)?;
    let separator = rest.chars().next().filter(|c| matches!(c, '-' | '/' | '.'))?;
    let (second, rest) = digits(&rest[1..])?;
    let (third, rest) = digits(rest.strip_prefix(separator)?)?;
    let is_apart = rest.is_empty() || rest.starts_with([' ', 'T']);
    let (year, month, day) = match format {
        CellFormat::YearFirst => (first, second, third),
        CellFormat::MonthFirst => (third, first, second),
        _ => (third, second, first),
    };
    let year = match year.len() {
        4 => year.parse().ok()?,
        // as most software reads two digits
        2 if format != CellFormat::YearFirst && separator == '/' => {
            year.parse::<i64>().map(|year| year + if year < 69 { 2000 } else { 1900 }).ok()?
        }
        _ => return None,
    };
    let days = days_since_1970(year, part(month)?, part(day)?)?;
    is_apart.then_some((days, rest))
}

/// A date such as 31 Jan 2024 or January 31, 2024, and what comes after it.
fn date_with_name(cell: &str, format: CellFormat) -> Option<(i64, &str)> {
    if format == CellFormat::YearFirst {
        return None;
    }
    let separators = [' ', '-', '/', ',', '.'];
    let mut words = [""; 3];
    let mut rest = cell;
    for word in &mut words {
        rest = rest.trim_start_matches(separators);
        let end = rest.find(separators).unwrap_or(rest.len());
        (*word, rest) = rest.split_at(end);
    }
    let (month, day) = match (month_of(words[0]), month_of(words[1])) {
        (Some(month), None) => (month, words[1]),
        (None, Some(month)) => (month, words[0]),
        _ => return None,
    };
    let day = day.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let year = (words[2].len() == 4).then(|| part(words[2]))??;
    Some((days_since_1970(year, month, part(day)?)?, rest))
}

fn month_of(word: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let word = word.to_ascii_lowercase();
    let is_month =
        |month: &&str| word.len() >= 3 && month.starts_with(&word) || word == "sept" && month.starts_with("sept");
    MONTHS.iter().position(is_month).map(|ix| ix as i64 + 1)
}

/// The digits at the beginning, at least one, and the rest.
fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// A number of at most four digits.
fn part(digits: &str) -> Option<i64> {
    let is_number = !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// Days of the Gregorian calendar; nothing for a day that it does not have.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap),
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // years begin in March, so that the leap day is the last
    let year = year - i64::from(month <= 2);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let (era, in_era) = (year.div_euclid(400), year.rem_euclid(400));
    Some(era * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + of_year - 719_468)
}

/// A time of day without its zone, and how many seconds the zone is ahead of UTC.
fn without_zone(time: &str) -> Option<(&str, f64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']).or_else(|| time.strip_suffix("UTC")) {
        return Some((time.trim_end(), 0.0));
    }
    let Some(at) = time.rfind(['+', '-']) else { return Some((time, 0.0)) };
    let (time, zone) = time.split_at(at);
    let (sign, zone) = (if zone.starts_with('-') { -1.0 } else { 1.0 }, &zone[1..]);
    let (hours, minutes) = match (zone.len(), zone.split_once(':')) {
        (_, Some((hours, minutes))) => (hours, minutes),
        (4, None) => zone.split_at_checked(2)?,
        _ => (zone, "0"),
    };
    let (hours, minutes) = (part(hours).filter(|hours| *hours <= 23)?, part(minutes).filter(|minutes| *minutes <= 59)?);
    Some((time.trim_end(), sign * (hours * 3600 + minutes * 60) as f64))
}

/// Seconds of hours, minutes and perhaps seconds.
fn clock(time: &str, most_hours: i64) -> Option<f64> {
    let half_day =
        |suffixes: [&str; 2]| suffixes.iter().find_map(|suffix| time.strip_suffix(suffix)).map(str::trim_end);
    if let Some(time) = half_day([" AM", " am"]) {
        return clock(time, 12).map(|seconds| if seconds >= 43_200.0 { seconds - 43_200.0 } else { seconds });
    }
    if let Some(time) = half_day([" PM", " pm"]) {
        return clock(time, 12).map(|seconds| if seconds >= 43_200.0 { seconds } else { seconds + 43_200.0 });
    }
    let mut parts = time.split(':');
    let hours = part(parts.next()?)?;
    let minutes = parts.next().filter(|minutes| minutes.len() == 2).and_then(part)?;
    let seconds = match parts.next() {
        None => 0.0,
        Some(seconds) if seconds.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => seconds.parse().ok()?,
        Some(_) => return None,
    };
    let is_time = hours <= most_hours && minutes <= 59 && seconds < 61.0 && parts.next().is_none();
    is_time.then(|| (hours * 3600 + minutes * 60) as f64 + seconds)
}

/// Days of `[-][D day[s][,]] [H:MM[:SS]]`.
fn duration(cell: &str) -> Option<f64> {
    let (sign, text) = match cell.strip_prefix('-') {
        Some(text) => (-1.0, text),
        None => (1.0, cell),
    };
    let Some((days, rest)) = text.split_once(" day") else {
        return Some(sign * clock(text, 9999)? / DAY);
    };
    let days: f64 = digits(days).filter(|(_, rest)| rest.is_empty()).and_then(|(days, _)| days.parse().ok())?;
    let rest = rest.strip_prefix('s').unwrap_or(rest);
    let rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    // pandas writes -1 days +23:00:00, which is minus one hour
    let (clock_sign, rest) = match rest.strip_prefix('+') {
        Some(rest) => (1.0, rest),
        None => (sign, rest),
    };
    let seconds = if rest.is_empty() { 0.0 } else { clock(rest, 23)? };
    Some((sign * days * DAY + clock_sign * seconds) / DAY)
}

/// A number with a currency or a percent sign, thousands apart.
fn amount(cell: &str, thousands: char, point: char) -> Option<f64> {
    let inside = cell.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let mut text = inside.unwrap_or(cell);
    let mut is_negative = inside.is_some();
    for _ in 0..2 {
        if let Some(rest) = text.strip_prefix(['-', '\u{2212}']) {
            (text, is_negative) = (rest, !is_negative);
        }
        text = without_unit(text).trim();
    }
    let (whole, decimals) = text.split_once(point).unwrap_or((text, ""));
    let mut groups = whole.split(thousands);
    let first = groups.next()?;
    let has_groups = whole.contains(thousands);
    let is_grouped = !has_groups || (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3);
    let plain: String = whole.chars().filter(|c| *c != thousands).collect();
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_grouped || plain.is_empty() || !are_digits(&plain) || !are_digits(decimals) {
        return None;
    }
    let number: f64 = format!("{plain}.{decimals}0").parse().ok()?;
    Some(if is_negative { -number } else { number })
}

fn without_unit(text: &str) -> &str {
    const UNITS: [&str; 16] =
        ["$", "€", "£", "¥", "₹", "%", "US$", "USD", "EUR", "GBP", "JPY", "CHF", "INR", "CAD", "AUD", "kr"];
    let strip = |unit: &&str| text.strip_prefix(*unit).or_else(|| text.strip_suffix(*unit));
    UNITS.iter().find_map(strip).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_days_since_1970() {
        let year_first = |cell: &str| CellFormat::YearFirst.value(cell);
        assert_eq!(year_first("1970-01-01"), Some(0.0));
        assert_eq!(year_first("2000-03-01"), Some(11_017.0));
        assert_eq!(year_first("1969-12-31"), Some(-1.0));
        assert_eq!(year_first("1970/1/2"), Some(1.0));
        assert_eq!(year_first("1970-01-02T06:00:00Z"), Some(1.25));
        assert_eq!(year_first("1970-01-02 06:00+06:00"), Some(1.0));
        assert_eq!(year_first("1970-01-01 18:00:00.000-0600"), Some(1.0));
        assert_eq!(year_first("1970-01-01 12:00 AM"), Some(0.0));
        for cell in ["2023-02-29", "2024-13-01", "2024-01", "2024-01-01x", "24-01-01", "2024-01/01", "2024-01-01 25:00"]
        {
            assert_eq!(year_first(cell), None, "{cell}");
        }
        assert_eq!(CellFormat::DayFirst.value("2.1.1970"), Some(1.0));
        assert_eq!(CellFormat::MonthFirst.value("1/2/1970 6:00 PM"), Some(1.75));
        assert_eq!(CellFormat::MonthFirst.value("Jan 2, 1970"), Some(1.0));
        assert_eq!(CellFormat::DayFirst.value("02-Jan-1970"), Some(1.0));
        assert_eq!(CellFormat::DayFirst.value("2nd January 1970 06:00"), Some(1.25));
        assert_eq!(CellFormat::MonthFirst.value("1/2/70"), Some(1.0));
    }

    #[test]
    fn durations_are_days_and_amounts_numbers() {
        assert_eq!(CellFormat::Duration.value("18:00"), Some(0.75));
        assert_eq!(CellFormat::Duration.value("2 days 06:00:00"), Some(2.25));
        assert_eq!(CellFormat::Duration.value("-1 days +23:00:00"), Some(-1.0 / 24.0));
        let amount = |cell: &str| CellFormat::Amount.value(cell);
        assert_eq!(amount("$1,234.50"), Some(1234.5));
        assert_eq!(amount("-$5"), Some(-5.0));
        assert_eq!(amount("(12.25)"), Some(-12.25));
        assert_eq!(amount("12 %"), Some(12.0));
        assert_eq!(amount("EUR 1,000"), Some(1000.0));
        assert_eq!(CellFormat::AmountWithComma.value("1.234,50 €"), Some(1234.5));
        for cell in ["1,23", "$", "1,2345", "abc", "1 2", "--5x", ""] {
            assert_eq!(amount(cell), None, "{cell}");
        }
    }

    #[test]
    fn a_set_holds_the_formats_of_all_cells() {
        let both = FormatSet::of("03/04/2024");
        assert_eq!(both.iter().collect::<Vec<_>>(), [CellFormat::MonthFirst, CellFormat::DayFirst]);
        assert_eq!(both.and(FormatSet::of("25/04/2024")).first(), CellFormat::DayFirst);
        assert!(FormatSet::of("red").is_empty() && FormatSet::of("A-17").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(cell in "\\PC{0,40}") {
            let _ = FormatSet::of(&cell);
        }

        #[test]
        fn what_looks_like_a_date_is_read_without_panic(cell in "[-+0-9:/., TZ$€%APMjandys]{0,30}") {
            let set = FormatSet::of(&cell);
            prop_assert!(set.iter().all(|format| format.value(&cell).is_some_and(f64::is_finite)));
        }
    }
}
