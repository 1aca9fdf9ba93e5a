//! Messages: mail-like text of a given size; all messages differ.

use crate::random::Random;

/// The least size of a message with headers; shorter ones are text alone.
const WITH_HEADERS_BYTES: u32 = 256;

/// Bytes per line of the body, as for Base64 in mail (RFC 2045, §6.8).
const LINE_BYTES: usize = 76;

/// The size of a message on the wire, where each line ends in two bytes instead of one.
pub(super) fn wire_bytes(size_bytes: u32) -> u32 {
    let head = head(0, size_bytes);
    let body = size_bytes - head.len() as u32;
    size_bytes + head.lines().count() as u32 + body.div_ceil(LINE_BYTES as u32 + 1)
}

/// The headers of a message of this size, of the same length for all messages that have any.
fn head(number: u64, size_bytes: u32) -> String {
    if size_bytes < WITH_HEADERS_BYTES {
        return String::new();
    }
    format!(
        "From: Ada <ada@example.com>\nTo: Charles <charles@example.com>\nDate: Wed, 01 Mar 2017 09:00:00 +0000\n\
         Subject: message {number:020}\nMessage-ID: <{number:020}@example.com>\n\n"
    )
}

/// Writes a message to `text`: the text on disk, but with CRLF line ends.
pub(super) fn write(number: u64, size_bytes: u32, random: &mut Random, text: &mut Vec<u8>) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    text.clear();
    let head = head(number, size_bytes);
    for line in head.lines() {
        text.extend_from_slice(line.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    let mut left = size_bytes as usize - head.len();
    while left > 0 {
        let letters = (left - 1).min(LINE_BYTES);
        text.extend((0..letters).map(|_| LETTERS[random.below(LETTERS.len())]));
        text.extend_from_slice(b"\r\n");
        left -= letters + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_requested_size() {
        let mut random = Random::new(1, 1);
        let mut text = Vec::new();
        for size_bytes in (1..500).chain([1024, 32 << 10]) {
            write(7, size_bytes, &mut random, &mut text);
            let lines = text.iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(text.len() - lines, size_bytes as usize);
            assert_eq!(text.len(), wire_bytes(size_bytes) as usize);
            assert!(text.ends_with(b"\r\n"));
        }
    }
}
