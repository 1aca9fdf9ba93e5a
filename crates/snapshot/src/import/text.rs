//! Parsers shared by the importers.

use sha2::{Digest as _, Sha256};

/// Records terminated by `end`, numbered from 1. All of these programs terminate the last record too, so an
/// unterminated one means a truncated listing, whose missing part would look deleted.
pub fn records(listing: &[u8], end: u8) -> Result<impl Iterator<Item = (usize, &[u8])>, String> {
    let (listing, count) = match listing.strip_suffix(&[end]) {
        Some(listing) => (listing, usize::MAX),
        None if listing.is_empty() => (listing, 0),
        None => return Err("its last line is truncated; list again".to_owned()),
    };
    Ok(listing.split(move |byte| *byte == end).take(count).zip(1..).map(|(record, number)| (number, record)))
}

/// A decimal number.
pub fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Seconds with or without a fraction, in nanoseconds; further digits are dropped.
pub fn seconds(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digit = |byte: u8| byte.is_ascii_digit();
    if !fraction.bytes().all(digit) {
        return None;
    }
    let fraction = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
    let nanoseconds = fraction.fold(0i64, |sum, digit| 10 * sum + i64::from(digit - b'0'));
    whole.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// A date like `2026-11-22`, with the given separator, and a time `01:50:42`, as nanoseconds since 1970.
pub fn date_time(date: &[u8], time: &[u8], separator: u8) -> Option<i64> {
    let mut parts = date.split(|byte| *byte == separator).map(number::<i64>);
    let day = crate::time::days_since_epoch(parts.next()??, parts.next()??, parts.next()??)?;
    let mut of_day = time.split(|byte| *byte == b':').map(number::<i64>);
    let (hour, minute, second) = (of_day.next()??, of_day.next()??, of_day.next()??);
    let sound = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..61).contains(&second);
    let is_all = parts.next().is_none() && of_day.next().is_none();
    (sound && is_all).then(|| (day * 86_400 + hour * 3600 + minute * 60 + second) * 1_000_000_000)
}

/// A byte of three octal digits, at most 377.
pub fn octal(digits: &[u8]) -> Option<u8> {
    match digits {
        [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
            Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
        }
        _ => None,
    }
}

/// An inode number for an entry listed without one, derived from its identifying bytes.
pub fn inode_of(known_by: &[u8]) -> u64 {
    let digest = Sha256::digest(known_by);
    u64::from_le_bytes(digest[..8].try_into().expect("a digest has at least 8 bytes"))
}

/// A record as shown in messages.
pub fn shown(record: &[u8]) -> String {
    const MOST: usize = 100;
    let dots = if record.len() > MOST { "…" } else { "" };
    format!("{:?}{dots}", record[..record.len().min(MOST)].escape_ascii().to_string())
}
