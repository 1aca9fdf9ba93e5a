//! Distinguishes contents written by a replay from corrupted contents.
//!
//! The bytes of a file need not all belong to its name: after a rename it still has the contents of the old name, and later appends have
//! those of the new one. But each word of contents yields the file number it was generated for ([`owner`]), and almost no corrupted
//! word yields a number that a trace could have.

use trace::FileId;

use crate::contents::{contents, owner};

/// File numbers are below this; one in 2²⁴ corrupted words passes as valid.
const NUMBERS: u64 = 1 << 40;

/// The origin of bytes.
#[derive(Clone, Copy)]
enum Origin {
    /// Contents of this file.
    File(FileId),
    /// Not written: the part of a block behind the end of the file, or around a punched hole.
    Zeros,
}

/// The index of the first wrong byte in `bytes`, which are at `offset` (a multiple of 8) in the file named `file`.
/// Fewer than 8 bytes in total always pass, because they could be contents of any file.
pub(crate) fn first_mismatch(seed: u64, file: FileId, offset: u64, bytes: &[u8]) -> Option<usize> {
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
    /// The word index of `bytes` in the file.
    first: u64,
    bytes: &'b [u8],
}

impl Judge<'_> {
    /// The origin of a whole word, if it has only one.
    fn origin(&self, index: usize) -> Option<Origin> {
        let word = u64::from_le_bytes(self.bytes.get(index * 8..index * 8 + 8)?.try_into().ok()?);
        let file = owner(self.seed, self.first + index as u64, word);
        match word {
            0 => Some(Origin::Zeros),
            _ => (file.0 < NUMBERS).then_some(Origin::File(file)),
        }
    }

    /// Whether each byte of a word continues the origin before it or behind it, belongs to the file itself, or is zero.
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

    /// Contents after appends under changing names.
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
            prop_assert_eq!(first_mismatch(seed, FileId(name), 0, &bytes), None);
        }

        #[test]
        fn corrupted_byte_is_found(
            seed: u64, file in 0u64..1 << 40, len in 8usize..100, at: prop::sample::Index, spoil in 1u8..,
        ) {
            let mut bytes = appended(seed, &[(file, len)]);
            let at = at.index(len);
            bytes[at] ^= spoil;
            // A zero may be a gap between two pieces.
            let found = first_mismatch(seed, FileId(file), 0, &bytes);
            prop_assert!(found == Some(at / 8 * 8) || bytes[at] == 0, "byte {} of {}: {:?}", at, len, found);
        }
    }

    #[test]
    fn zeros_around_contents_pass() {
        let mut bytes = appended(1, &[(2, 64)]);
        bytes[..13].fill(0);
        bytes[51..].fill(0);
        assert_eq!(first_mismatch(1, FileId(2), 0, &bytes), None);
    }
}
