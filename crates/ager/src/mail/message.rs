//! Messages: text that looks like mail, of a given size, no two alike.

/// The least size of a message, which leaves room for its headers.
pub(super) const LEAST_BYTES: u32 = 256;

/// Bytes of a line of the body, as Base64 in mail has them (RFC 2045, §6.8).
const LINE_BYTES: usize = 76;

/// How many bytes a message of this size takes on the wire, where each line ends in two bytes instead of one.
pub(super) fn wire_bytes(size_bytes: u32) -> u32 {
    let head = head(0).len() as u32;
    let body = size_bytes - head;
    size_bytes + head_lines() + body.div_ceil(LINE_BYTES as u32 + 1)
}

/// The headers; all messages have as many bytes of them.
fn head(number: u64) -> String {
    format!(
        "From: Ada <ada@example.com>\nTo: Charles <charles@example.com>\nDate: Wed, 01 Mar 2017 09:00:00 +0000\n\
         Subject: message {number:020}\nMessage-ID: <{number:020}@example.com>\n\n"
    )
}

fn head_lines() -> u32 {
    6
}
