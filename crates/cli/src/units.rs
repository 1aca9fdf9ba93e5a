//! Parsers for argument values: sizes, times, shares and others.

use bench::metadata::{SizeDistribution, WaitingFactor};
use workload::Churn;

pub use input::{size, time};

/// Parses an offset on a disk: a size, or 0.
pub fn offset(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { size(text) }
}

/// Parses `KEY=VALUE`.
pub fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("must be KEY=VALUE".to_owned()),
    }
}

/// Parses the garbage collection of git: `off`, `auto`, or a number of pulls.
pub fn gc(text: &str) -> Result<workload::git::Gc, String> {
    match text {
        "off" => Ok(workload::git::Gc::Off),
        "auto" => Ok(workload::git::Gc::Auto),
        _ => match text.parse() {
            Ok(pulls) if pulls > 0 => Ok(workload::git::Gc::Every(pulls)),
            _ => Err("must be off, auto, or a number of pulls, as in 100".to_owned()),
        },
    }
}

/// Parses object sizes: a fixed size, a uniform range, or a log-normal distribution.
pub fn sizes(text: &str) -> Result<SizeDistribution, String> {
    // Objects may be empty.
    let bytes = |text: &str| if text == "0" { Ok(0) } else { size(text) };
    let sizes = if let Some(parameters) = text.strip_prefix("lognormal:") {
        let (median, sigma) =
            parameters.split_once(':').ok_or("give a median and a sigma, as in lognormal:4KiB:1.5")?;
        let sigma = sigma.parse().map_err(|_| format!("{sigma:?} is not a number"))?;
        SizeDistribution::Lognormal { median: bytes(median)?, sigma }
    } else if let Some((least, most)) = text.split_once("..") {
        SizeDistribution::Uniform { least: bytes(least)?, most: bytes(most)? }
    } else {
        SizeDistribution::Fixed(bytes(text)?)
    };
    sizes.check().map(|()| sizes)
}

/// Parses the wait after each operation: a multiple of its latency, or `adaptive`.
pub fn waiting(text: &str) -> Result<WaitingFactor, String> {
    match (text, text.parse::<f64>()) {
        ("adaptive", _) => Ok(WaitingFactor::Adaptive),
        (_, Ok(0.0)) => Ok(WaitingFactor::None),
        (_, Ok(factor)) if factor > 0.0 && factor <= 1e6 => Ok(WaitingFactor::Fixed(factor)),
        _ => Err("must be adaptive, or a multiple of the operation's latency".to_owned()),
    }
}

/// Parses a share above 0 and at most 1, or in percent.
pub fn share(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    match share {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("must be a number above 0 and at most 1, or in percent, as in 9.5%".to_owned()),
    }
}

/// Parses overwrites: bytes created over the capacity of the file system.
pub fn overwrites(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(overwrites) if overwrites > 0.0 && overwrites <= workload::MAX_OVERWRITES => Ok(overwrites),
        _ => Err(format!("must be a number above 0 and at most {}", workload::MAX_OVERWRITES)),
    }
}

/// Parses changes within live files: their shares of the operations, as in `overwrite=0.2,punch=0.1`.
pub fn churn(text: &str) -> Result<Churn, String> {
    let mut churn = Churn::default();
    for part in text.split(',') {
        let (kind, value) = assignment(part).map_err(|_| "give shares, as in overwrite=0.2,punch=0.1")?;
        let of_kind = match kind.as_str() {
            "overwrite" => &mut churn.overwrite,
            "punch" => &mut churn.punch,
            _ => return Err(format!("{kind:?} is neither overwrite nor punch")),
        };
        if *of_kind != 0.0 {
            return Err(format!("{kind} is given twice"));
        }
        *of_kind = share(&value)?;
    }
    churn.check().map(|()| churn).map_err(|error| error.to_string())
}

/// Parses a point in time in seconds since 1970, before the year 10000.
pub fn moment(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..2.5e11).contains(&seconds) => Ok(seconds),
        _ => Err("must be a number of seconds since 1970".to_owned()),
    }
}

/// Parses a number of days above 0 and at most one million.
pub fn days(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(days) if days > 0.0 && days <= 1e6 => Ok(days),
        _ => Err("must be a number of days above 0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_within_their_bounds() {
        assert_eq!((share("9.5%"), share("1")), (Ok(0.095), Ok(1.0)));
        for bad in ["", "0", "-1", "0%", "101%", "1.1", "NaN", "%"] {
            assert!(share(bad).is_err(), "{bad}");
        }
        assert_eq!((overwrites("8"), overwrites("0.5"), moment("1e9")), (Ok(8.0), Ok(0.5), Ok(1e9)));
        for bad in ["", "0", "-1", "inf", "-inf", "NaN", "1e7", "1e308", "8x"] {
            assert!(overwrites(bad).is_err(), "{bad}");
        }
        for bad in ["", "-1", "inf", "NaN", "1e12"] {
            assert!(moment(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "\\PC{0,12}") {
            let _ = (sizes(&text), share(&text), offset(&text));
        }
    }
}
