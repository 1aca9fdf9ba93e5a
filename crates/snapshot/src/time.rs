//! Calendar times.

/// Days of the 400 years after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;

/// A time in nanoseconds since 1970 as date and time in UTC, to the second.
pub fn utc(ns: i64) -> String {
    let seconds = ns.div_euclid(1_000_000_000);
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, date) = date(day);
    format!("{year:04}-{month:02}-{date:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// The date of the day with this number since 1970, in the Gregorian calendar, by the method of Howard
/// Hinnant (chrono-Compatible Low-Level Date Algorithms): years begin in March, so that a leap day is the
/// last day of its year.
fn date(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(ERA_DAYS), day.rem_euclid(ERA_DAYS));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / (ERA_DAYS - 1)) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, date)
}

/// The number of days from 1970 to a date; `None` for an invalid date.
pub fn days_since_epoch(year: i64, month: i64, date_of_month: i64) -> Option<i64> {
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&date_of_month) {
        return None;
    }
    let from_march = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (from_march.div_euclid(400), from_march.rem_euclid(400));
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + date_of_month - 1;
    let day = era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    (date(day) == (year, month, date_of_month)).then_some(day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_match_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds * 1_000_000_000), text);
        }
        assert_eq!(
            (days_since_epoch(2023, 2, 29), days_since_epoch(2024, 2, 29), days_since_epoch(1970, 1, 1)),
            (None, Some(19_782), Some(0))
        );
    }

    proptest! {
        #[test]
        fn days_round_trip(number in -700_000i64..2_900_000) {
            let (year, month, date) = date(number);
            prop_assert_eq!(days_since_epoch(year, month, date), Some(number));
        }
    }
}
