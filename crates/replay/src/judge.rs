//! Tells contents that a replay has written from contents that something else has spoilt.
//!
//! A file's bytes need not all be those of its name: after a rename the old name's are there, and what is appended
//! then is the new one's. But each word of contents tells the number it was made for ([`owner`]), and almost no spoilt
//! word tells a number that a trace could have.

use trace::FileId;

use crate::contents::{contents, owner};

/// Numbers of files are below this: spoilt words pass for ours once in 2²⁴.
const NUMBERS: u64 = 1 << 40;

/// Where bytes come from.
#[derive(Clone, Copy)]
enum Origin {
    /// Contents of this file.
    File(FileId),
    /// Nobody wrote them: a part of a block behind the end, or around what was cut out.
    Zeros,
}

/// Says which of `bytes`, which stand at `offset` (a multiple of 8) in the file called `file`, is the first wrong one.
/// Fewer than 8 bytes in all pass: they may be any file's.
pub(crate) fn first_wrong(seed: u64, file: FileId, offset: u64, bytes: &[u8]) -> Option<usize> {
    let judge = Judge { seed, first: offset / 8, bytes };
    let mut before = Origin::File(file);
    for index in 0..bytes.len().div_ceil(8) {
        match judge.origin(index) {
            Some(origin) => before = origin,
            None if bytes.len() < 8 || judge.is_seam(index, before, file) => {}
            None => return Some(index * 8),
        }
    }
    None
}

struct Judge<'b> {
    seed: u64,
    /// Which word of the file the first one is.
    first: u64,
    bytes: &'b [u8],
}

impl Judge<'_> {
    /// Where a whole word comes from, if from one origin.
    fn origin(&self, index: usize) -> Option<Origin> {
        let word = u64::from_le_bytes(self.bytes.get(index * 8..index * 8 + 8)?.try_into().ok()?);
        let file = owner(self.seed, self.first + index as u64, word);
        match word {
            0 => Some(Origin::Zeros),
            _ => (file.0 < NUMBERS).then_some(Origin::File(file)),
        }
    }

    /// Whether each byte of a word comes from what is before it, from what is behind it, is the file's own or zero.
    fn is_seam(&self, index: usize, before: Origin, file: FileId) -> bool {
        let behind = self.origin(index + 1).unwrap_or(before);
        let made = [before, behind, Origin::File(file), Origin::Zeros].map(|origin| {
            let mut made = [0; 8];
            if let Origin::File(file) = origin {
                contents(self.seed, file, (self.first + index as u64) * 8, &mut made);
            }
            made
        });
        let word = &self.bytes[index * 8..self.bytes.len().min(index * 8 + 8)];
        word.iter().enumerate().all(|(at, byte)| made.iter().any(|made| made[at] == *byte))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Contents as appends under changing names leave them.
    fn appended(seed: u64, parts: &[(u64, usize)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &(file, len) in parts {
            let start = bytes.len();
            bytes.resize(start + len, 0);
            contents(seed, FileId(file), start as u64, &mut bytes[start..]);
        }
        bytes
    }

    proptest! {
        #[test]
        fn appends_under_changing_names_pass(
            seed: u64,
            parts in prop::collection::vec((0u64..1 << 40, 15usize..100), 0..8),
        ) {
            let bytes = appended(seed, &parts);
            let name = parts.last().map_or(0, |last| last.0);
            prop_assert_eq!(first_wrong(seed, FileId(name), 0, &bytes), None);
        }

        #[test]
        fn a_spoilt_byte_is_found(
            seed: u64, file in 0u64..1 << 40, len in 8usize..100, at: prop::sample::Index, spoil in 1u8..,
        ) {
            let mut bytes = appended(seed, &[(file, len)]);
            let at = at.index(len);
            bytes[at] ^= spoil;
            // Zeros may be what was left over between two pieces.
            let found = first_wrong(seed, FileId(file), 0, &bytes);
            prop_assert!(found == Some(at / 8 * 8) || bytes[at] == 0, "byte {} of {}: {:?}", at, len, found);
        }
    }

    #[test]
    fn zeros_around_contents_pass() {
        let mut bytes = appended(1, &[(2, 64)]);
        bytes[..13].fill(0);
        bytes[51..].fill(0);
        assert_eq!(first_wrong(1, FileId(2), 0, &bytes), None);
    }
}
