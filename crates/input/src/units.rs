//! Sizes and times as users write them.

use bytesize::ByteSize;
use std::time::Duration;

/// The longest time, 30 years with some to spare.
const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// Parses a size in bytes: a number, optionally followed by KiB, MiB, GiB or TiB (or K, M, G, T with the same meaning), or by kB, MB, GB or
/// TB, which are powers of 1000. A fraction of a byte is dropped.
///
/// # Errors
/// If the text is not a size, or the size is less than 1 byte or not less than 8 EiB.
pub fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    // For bytesize, units without "i" are powers of 1000, and a number with a point needs a unit.
    let complete = match split(text).1 {
        "" => Some(format!("{text}B")),
        "K" | "k" | "M" | "G" | "T" => Some(format!("{text}iB")),
        "B" | "KiB" | "MiB" | "GiB" | "TiB" | "kB" | "KB" | "MB" | "GB" | "TB" => Some(text.to_owned()),
        _ => None,
    };
    match complete.and_then(|text| text.parse().ok()) {
        Some(ByteSize(bytes)) if (1..1 << 63).contains(&bytes) => Ok(bytes),
        Some(_) => Err("a size is at least 1 byte and less than 8 EiB".to_owned()),
        None => Err(format!(
            "{text:?} is not a size; use a number with KiB, MiB, GiB or TiB, as in 64KiB, or with kB, MB, GB or TB"
        )),
    }
}

/// Parses a time: numbers, each followed by a unit of [`humantime`], as in `90s`, `0.5h` or `1h 30min`.
///
/// # Errors
/// If the text is not a time, or the time is 0 or longer than 30 years.
pub fn time(text: &str) -> Result<Duration, String> {
    let (mut seconds, mut rest) = (0.0, text.trim());
    loop {
        let (number, after) = split(rest);
        let (unit, after) = after.split_at(after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len()));
        // Only the unit: humantime refuses decimals that are no whole second, such as 0.333h, and panics if seconds overflow.
        let (Ok(number), Ok(one)) = (number.parse::<f64>(), humantime::parse_duration(&format!("1{unit}")))
        else {
            return Err(format!("{text:?} is not a time; use s, min or h, as in 90s, 0.5h or 1h 30min"));
        };
        seconds += number * one.as_secs_f64();
        rest = after.trim_start();
        if rest.is_empty() {
            break;
        }
    }
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() && time <= LONGEST => Ok(time),
        _ => Err("a time is more than 0 and at most 30 years".to_owned()),
    }
}

/// Splits a text behind the number at its start.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// Formats a number of bytes in the largest binary unit with a value of at least 1; with one decimal unless the value is whole.
pub fn bytes(n: u64) -> String {
    let unit = n.max(1).ilog2() / 10;
    let decimals = usize::from(n.trailing_zeros() < 10 * unit);
    format!("{:.decimals$}", ByteSize(n).display().iec())
}

/// Groups the digits of a whole number by three.
pub fn grouped(digits: &str, separator: &str) -> String {
    let threes: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|three| std::str::from_utf8(three).expect("digits")).collect();
    threes.join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_parse_to_bytes() {
        for (text, bytes) in [
            ("4096", 4096),
            ("7B", 7),
            ("1.5", 1),
            ("1K", 1024),
            (" 3k ", 3072),
            ("1.5 KiB", 1536),
            ("0.5M", 1 << 19),
            ("2GiB", 1 << 31),
            ("1TiB", 1 << 40),
            ("1G", 1 << 30),
            ("1GB", 1_000_000_000),
            ("1.5 kB", 1500),
            ("16KB", 16_000),
            ("2TB", 2_000_000_000_000),
            ("9007199254740993", 9_007_199_254_740_993),
            ("8388607T", 8_388_607 << 40),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        let not_a_size = [
            "", "-1", "+1", "GiB", ".", "1.2.3", "5 apples", "1e3", "16kb", "1mb", "1gib", "1 000", "1KiBiB",
            "nan",
        ];
        for (bad, why) in not_a_size.map(|bad| (bad, "KiB, MiB, GiB or TiB")).into_iter().chain(
            ["0", "0.1B", "8388608TiB", "9999999TiB", "99999999999999999999"]
                .map(|bad| (bad, "at least 1 byte")),
        ) {
            let found = size(bad).expect_err(bad);
            assert!(found.contains(why), "{bad}: {found}");
        }
    }

    #[test]
    fn times_parse_to_durations() {
        for (text, milliseconds) in [
            ("90s", 90_000),
            ("2min", 120_000),
            ("0.5h", 1_800_000),
            ("1.5 min", 90_000),
            ("0.333h", 1_198_800),
            ("500ms", 500),
            ("1h 30min", 5_400_000),
            (" 1h30min2s ", 5_402_000),
            ("2 hours 1 minute", 7_260_000),
            ("30y", 946_728_000_000),
        ] {
            assert_eq!(time(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        let not_a_time = [
            "", "0", "90", "-1", "-1s", "2h -1s", "GiB", "1.2.3", "1.2.3s", "5 apples", "1e3", "1e3s",
            "0.1B", "inf s",
        ];
        for (bad, why) in not_a_time.map(|bad| (bad, "s, min or h")).into_iter().chain(
            ["0s", "0.0000000001s", "40y", "18446744073709551615s 1000ms"]
                .map(|bad| (bad, "at most 30 years")),
        ) {
            let found = time(bad).expect_err(bad);
            assert!(found.contains(why), "{bad}: {found}");
        }
    }

    #[test]
    fn bytes_have_one_decimal_unless_whole() {
        for (n, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1025, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (5 << 20, "5 MiB"),
            ((1 << 30) - 1, "1024.0 MiB"),
            (1 << 40, "1 TiB"),
            (3 << 59, "1.5 EiB"),
        ] {
            assert_eq!(bytes(n), text);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "\\PC{0,12}", like in "([0-9.]{1,20} ?(s|h|ms|y|KiB|T|µs)? ?){0,4}") {
            for text in [text, like] {
                let _ = (size(&text), time(&text));
            }
        }

        #[test]
        fn whole_units_round_trip(number in 1_u64..1024, unit in 0_u32..5) {
            let n = number << (10 * unit);
            prop_assert_eq!(size(&bytes(n)), Ok(n));
        }
    }
}
