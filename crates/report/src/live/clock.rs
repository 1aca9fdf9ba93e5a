//! Formats times and numbers.

use std::time::{Duration, UNIX_EPOCH};

/// Formats seconds since 1970 like the store, `2026-01-31T12:00:00Z`.
pub fn stamp(since_1970_s: f64) -> String {
    // The last second that RFC 3339 can express; a store may hold any number.
    const LAST_S: f64 = 253_402_300_799.0;
    let since = Duration::from_secs(since_1970_s.clamp(0.0, LAST_S) as u64);
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

/// Formats a stamp for display.
pub fn time(stamp: &str) -> String {
    stamp.replacen('T', " ", 1).replacen('Z', " UTC", 1)
}

/// Formats a duration.
pub fn stretch(seconds: f64) -> String {
    let s = seconds.max(0.0).round() as u64;
    match s {
        0..=89 => format!("{s} s"),
        90..=5399 => format!("{} min", (s + 30) / 60),
        5400..=172_799 => format!("{} h {} min", s / 3600, s / 60 % 60),
        _ => format!("{} days", s / 86_400),
    }
}

/// Formats a number with a useful number of digits.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 || (value.fract() == 0.0 && magnitude < 1e15) {
        return grouped(&format!("{value:.0}"));
    }
    match magnitude {
        1e15.. => format!("{value:.3e}"),
        1000.0.. => grouped(&format!("{value:.0}")),
        m if m < 1e-3 => format!("{value:.3e}"),
        m => format!("{value:.*}", (3 - m.log10().floor() as i64).max(0) as usize),
    }
}

/// Formats a value in human units: bytes and rates of bytes with their unit, other numbers without.
pub fn value(value: f64, unit: &str) -> String {
    let bytes = || input::bytes(value.max(0.0) as u64);
    match unit {
        "B" => bytes(),
        "B/s" => format!("{}/s", bytes()),
        _ => number(value),
    }
}

/// The unit that [`value`] does not write.
pub fn remaining_unit(unit: &str) -> &str {
    if matches!(unit, "B" | "B/s") { "" } else { unit }
}

/// Groups digits by three, separated by thin spaces.
fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("−", digits));
    format!("{sign}{}", input::grouped(digits, "\u{202f}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_match_calendar() {
        assert_eq!(stamp(0.0), "1970-01-01T00:00:00Z");
        assert_eq!(stamp(951_827_401.9), "2000-02-29T12:30:01Z");
        assert_eq!(stamp(2_147_483_647.0), "2038-01-19T03:14:07Z");
        assert_eq!(stamp(f64::MAX), "9999-12-31T23:59:59Z");
        assert_eq!([stamp(-1.0), stamp(f64::NAN)], ["1970-01-01T00:00:00Z"; 2]);
        assert_eq!(time("2038-01-19T03:14:07Z"), "2038-01-19 03:14:07 UTC");
    }

    #[test]
    fn bytes_are_in_human_units() {
        let written = |unit| (value(1_048_576.0, unit), remaining_unit(unit));
        assert_eq!(written("B"), ("1 MiB".to_owned(), ""));
        assert_eq!(written("B/s"), ("1 MiB/s".to_owned(), ""));
        assert_eq!(written("files"), ("1\u{202f}048\u{202f}576".to_owned(), "files"));
    }

    #[test]
    fn numbers_are_short() {
        for (value, words) in [
            (0.0, "0"),
            (12.0, "12"),
            (1_234_567.0, "1\u{202f}234\u{202f}567"),
            (0.123_456, "0.1235"),
            (12.345_6, "12.35"),
            (123_456.7, "123\u{202f}457"),
            (0.000_012_3, "1.230e-5"),
            (-1234.5, "−1\u{202f}234"),
        ] {
            assert_eq!(number(value), words);
        }
        for (seconds, words) in
            [(0.2, "0 s"), (89.0, "89 s"), (100.0, "2 min"), (7300.0, "2 h 1 min"), (1e6, "11 days")]
        {
            assert_eq!(stretch(seconds), words);
        }
    }
}
