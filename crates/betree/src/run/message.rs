//! Messages: their effect on a value, and the composition of two of them.

use crate::codec::{get_u32, put_u32};

/// The effect of a message on its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Sets the value.
    Insert = 1,
    /// Deletes the value.
    Delete = 2,
    /// Writes bytes at offsets into the value, with zeros between its end and an offset beyond.
    Patch = 3,
}

impl Kind {
    pub fn of(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Insert),
            2 => Some(Self::Delete),
            3 => Some(Self::Patch),
            _ => None,
        }
    }
}

/// The bytes that a delete frees, according to its payload.
pub(crate) fn freed(payload: &[u8]) -> usize {
    if payload.len() < 4 { 0 } else { get_u32(payload, 0) as usize }
}

/// The pieces of a patch, each an offset and its bytes.
fn pieces(payload: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        (at < payload.len()).then(|| {
            let (offset, len) = (get_u32(payload, at) as usize, get_u32(payload, at + 4) as usize);
            at += 8 + len;
            (offset, &payload[at - len..at])
        })
    })
}

/// Whether `payload` is a valid patch: complete pieces, in order, that do not touch.
pub(crate) fn is_patch(payload: &[u8]) -> bool {
    let (mut at, mut free) = (0usize, 0u64);
    while at < payload.len() {
        if payload.len() - at < 8 {
            return false;
        }
        let (offset, len) = (u64::from(get_u32(payload, at)), u64::from(get_u32(payload, at + 4)));
        if len > (payload.len() - at - 8) as u64 || offset < free || offset + len > 1 << 20 {
            return false;
        }
        free = offset + len + 1;
        at += 8 + len as usize;
    }
    at > 0
}

/// The patch that writes `bytes` at `offset`.
pub(crate) fn single_patch(offset: u32, bytes: &[u8]) -> Vec<u8> {
    let mut payload = Vec::with_capacity(8 + bytes.len());
    push_piece(&mut payload, offset as usize, bytes);
    payload
}

fn push_piece(out: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    put_u32(out, offset as u32);
    put_u32(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}

/// Applies a patch to a value.
pub(crate) fn patch(value: &mut Vec<u8>, payload: &[u8]) {
    for (offset, bytes) in pieces(payload) {
        if value.len() < offset + bytes.len() {
            value.resize(offset + bytes.len(), 0);
        }
        value[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
}

/// Applies a patch to a value; a missing value counts as empty.
pub(crate) fn patched(base: Option<&[u8]>, payload: &[u8]) -> Vec<u8> {
    let mut value = base.unwrap_or_default().to_vec();
    patch(&mut value, payload);
    value
}

/// The patch with the effect of `older` followed by `newer`.
pub(crate) fn join_patches(newer: &[u8], older: &[u8]) -> Vec<u8> {
    // Merges the pieces of the newer patch with the visible pieces of the older one, in order.
    let mut all: Vec<(usize, &[u8])> = pieces(newer).collect();
    let news = all.clone();
    for (mut offset, mut bytes) in pieces(older) {
        let first = news.partition_point(|(at, new)| at + new.len() <= offset);
        for (at, new) in &news[first..] {
            if *at >= offset + bytes.len() {
                break;
            }
            if *at > offset {
                all.push((offset, &bytes[..at - offset]));
            }
            let gone = (at + new.len() - offset).min(bytes.len());
            (offset, bytes) = (offset + gone, &bytes[gone..]);
        }
        if !bytes.is_empty() {
            all.push((offset, bytes));
        }
    }
    all.sort_unstable_by_key(|(at, _)| *at);
    let mut out = Vec::with_capacity(newer.len() + older.len());
    let (mut head, mut end) = (0, None);
    for (offset, bytes) in all {
        if end == Some(offset) {
            // The piece touches the one before: merge them.
            let len = get_u32(&out, head + 4) + bytes.len() as u32;
            out[head + 4..head + 8].copy_from_slice(&len.to_le_bytes());
            out.extend_from_slice(bytes);
        } else {
            head = out.len();
            push_piece(&mut out, offset, bytes);
        }
        end = Some(offset + bytes.len());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn joined_patch_equals_both_patches_in_sequence(
            writes in prop::collection::vec((0u32..60, prop::collection::vec(any::<u8>(), 1..20)), 1..12),
            base in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            let mut value = base.clone();
            let mut joined: Option<Vec<u8>> = None;
            for (offset, bytes) in &writes {
                let next = single_patch(*offset, bytes);
                patch(&mut value, &next);
                joined = Some(joined.map_or(next.clone(), |older| join_patches(&next, &older)));
            }
            let joined = joined.unwrap();
            prop_assert!(is_patch(&joined));
            prop_assert_eq!(patched(Some(&base), &joined), value);
        }
    }
}
