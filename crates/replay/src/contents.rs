//! The contents of files: incompressible bytes that can be generated for any offset and
//! that identify the file they were written for.
//!
//! Word i of a file (8 bytes, little-endian) is element i of the SplitMix64 sequence (Steele, Lea & Flood 2014) that
//! starts at a key derived from the seed and the file number. Every step is invertible, so a word read back
//! yields the file number: [`owner`]. This allows verification of renamed files, whose names differ from the number.

use trace::FileId;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const FIRST: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND: u64 = 0x94d0_49bb_1331_11eb;

/// Fills `buf` with the contents of `file` from byte `offset`.
pub fn contents(seed: u64, file: FileId, offset: u64, buf: &mut [u8]) {
    let key = key(seed, file);
    let mut index = offset / 8;
    let skip = (offset % 8) as usize;
    let mut rest = buf;
    if skip > 0 {
        let (head, tail) = rest.split_at_mut(rest.len().min(8 - skip));
        head.copy_from_slice(&word(key, index).to_le_bytes()[skip..skip + head.len()]);
        (index, rest) = (index + 1, tail);
    }
    let mut words = rest.chunks_exact_mut(8);
    for chunk in &mut words {
        chunk.copy_from_slice(&word(key, index).to_le_bytes());
        index += 1;
    }
    let tail = words.into_remainder();
    tail.copy_from_slice(&word(key, index).to_le_bytes()[..tail.len()]);
}

/// The file with `word` as word `index` of its contents. Every word yields a number; a number that no trace
/// reaches shows that a replay did not write the word.
pub(crate) fn owner(seed: u64, index: u64, word: u64) -> FileId {
    let key = unmix(word).wrapping_sub(index.wrapping_mul(GOLDEN));
    FileId(unmix(key) ^ mix(seed))
}

/// A position in the contents of a file: determines the following bytes, without seed and file number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContentPosition(pub u64);

impl ContentPosition {
    fn of(word: u64) -> ContentPosition {
        ContentPosition(unmix(word))
    }

    fn after(self, words: u64) -> ContentPosition {
        ContentPosition(self.0.wrapping_add(words.wrapping_mul(GOLDEN)))
    }

    /// Fills `buf` with the contents from this position.
    pub fn contents(self, buf: &mut [u8]) {
        let mut at = self;
        let mut words = buf.chunks_exact_mut(8);
        for chunk in &mut words {
            chunk.copy_from_slice(&mix(at.0).to_le_bytes());
            at = at.after(1);
        }
        let tail = words.into_remainder();
        tail.copy_from_slice(&mix(at.0).to_le_bytes()[..tail.len()]);
    }

    /// The number of bytes at the start of `bytes` that match the contents from this position.
    fn follow(self, bytes: &[u8]) -> usize {
        let mut at = self;
        let mut same = 0;
        for chunk in bytes.chunks(8) {
            let word = mix(at.0).to_le_bytes();
            let equal = chunk.iter().zip(word).take_while(|(byte, made)| **byte == *made).count();
            same += equal;
            if equal < 8 {
                break;
            }
            at = at.after(1);
        }
        same
    }
}

/// The first run of contents in `bytes` at or behind `from`, with at least `least` bytes and at least two words: its offset, its
/// length, and its position in the contents. Works for any seed, because two consecutive words
/// identify contents, with a false positive for one in 2⁶⁴ pairs.
pub fn find_contents(bytes: &[u8], from: usize, least: usize) -> Option<(usize, usize, ContentPosition)> {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    // The positions of the words at the last eight offsets, so that each word is inverted once.
    let mut before = [ContentPosition(0); 8];
    for at in from..bytes.len().saturating_sub(7) {
        let here = ContentPosition::of(word(at));
        let start = at.wrapping_sub(8);
        if at >= from + 8 && before[at % 8].after(1) == here {
            let position = before[at % 8];
            let len = position.follow(&bytes[start..]);
            if len >= least {
                return Some((start, len, position));
            }
        }
        before[at % 8] = here;
    }
    None
}

fn key(seed: u64, file: FileId) -> u64 {
    mix(file.0 ^ mix(seed))
}

fn word(key: u64, index: u64) -> u64 {
    mix(key.wrapping_add(index.wrapping_mul(GOLDEN)))
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(FIRST);
    x = (x ^ (x >> 27)).wrapping_mul(SECOND);
    x ^ (x >> 31)
}

/// Inverts [`mix`].
fn unmix(mut x: u64) -> u64 {
    x = unshift(x, 31).wrapping_mul(const { inverse(SECOND) });
    x = unshift(x, 27).wrapping_mul(const { inverse(FIRST) });
    unshift(x, 30)
}

/// Inverts `x ^ (x >> by)`, for `by` of at least 22.
fn unshift(x: u64, by: u32) -> u64 {
    x ^ (x >> by) ^ (x >> (2 * by))
}

/// The inverse of an odd number modulo 2⁶⁴, by Newton's iteration.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut step = 0;
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn part_equals_part_of_whole(seed: u64, file: u64, from in 0usize..600, len in 0usize..600) {
            let mut whole = [0; 1200];
            contents(seed, FileId(file), 0, &mut whole);
            let mut part = vec![0; len];
            contents(seed, FileId(file), from as u64, &mut part);
            prop_assert_eq!(&part[..], &whole[from..from + len]);
        }

        #[test]
        fn contents_are_found_at_any_offset(
            seed: u64, file: u64, words in 0u64..1 << 40, len in 64usize..700,
            before in proptest::collection::vec(any::<u8>(), 0..100),
            after in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let mut made = vec![0; len];
            contents(seed, FileId(file), words * 8, &mut made);
            let bytes = [&before[..], &made, &after].concat();
            let (start, found, position) = find_contents(&bytes, 0, 64).unwrap();
            prop_assert_eq!(start, before.len());
            prop_assert!(found >= len && found <= len + 8, "{} of {}", found, len);
            let mut again = vec![0; found];
            position.contents(&mut again);
            prop_assert_eq!(&again[..], &bytes[start..start + found]);
        }

        #[test]
        fn arbitrary_bytes_are_not_contents(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            prop_assert_eq!(find_contents(&bytes, 0, 16), None);
        }

        #[test]
        fn word_yields_its_file(seed: u64, file: u64, index in 0..u64::MAX / 8) {
            let mut bytes = [0; 8];
            contents(seed, FileId(file), index * 8, &mut bytes);
            prop_assert_eq!(owner(seed, index, u64::from_le_bytes(bytes)), FileId(file));
        }
    }

    #[test]
    fn contents_differ_by_seed_and_file() {
        let make = |seed, file| {
            let mut bytes = [0; 64];
            contents(seed, FileId(file), 0, &mut bytes);
            bytes
        };
        assert_ne!(make(1, 1), make(2, 1));
        assert_ne!(make(1, 1), make(1, 2));
        assert_ne!(make(0, 0), [0; 64]);
    }
}
