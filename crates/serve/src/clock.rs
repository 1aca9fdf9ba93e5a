//! Formats times and numbers.

/// Formats seconds since 1970 like the store, `2026-01-31T12:00:00Z`.
pub fn stamp(since_1970_s: f64) -> String {
    let seconds = since_1970_s as i64;
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days of the civil calendar, in years that begin in March (Hinnant, chrono-compatible low-level date
    // algorithms).
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
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

/// Groups digits by three, separated by thin spaces.
fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("−", digits));
    let threes: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|three| std::str::from_utf8(three).expect("digits")).collect();
    format!("{sign}{}", threes.join("\u{202f}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_match_calendar() {
        assert_eq!(stamp(0.0), "1970-01-01T00:00:00Z");
        assert_eq!(stamp(951_827_401.9), "2000-02-29T12:30:01Z");
        assert_eq!(stamp(2_147_483_647.0), "2038-01-19T03:14:07Z");
        assert_eq!(time("2038-01-19T03:14:07Z"), "2038-01-19 03:14:07 UTC");
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
