//! The contents of files: bytes that no file system can compress, that can be made for any position at once, and
//! that say which file they were written for.
//!
//! Word i of a file (8 bytes, little-endian) is element i of the SplitMix64 sequence (Steele, Lea & Flood 2014) that
//! starts at a key made of the seed and the file's number. Every step can be undone, so a word that is read back
//! tells the number: [`owner`]. That is how renamed files are verified, whose names no longer tell it.

use trace::FileId;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const FIRST: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND: u64 = 0x94d0_49bb_1331_11eb;

/// Fills `buf` with the contents that `file` has from byte `offset` on.
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

/// The file that has `word` as word `index` of its contents. Every word gives some number: those that no trace
/// reaches give away that the word is none of ours.
pub(crate) fn owner(seed: u64, index: u64, word: u64) -> FileId {
    let key = unmix(word).wrapping_sub(index.wrapping_mul(GOLDEN));
    FileId(unmix(key) ^ mix(seed))
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

/// Undoes [`mix`].
fn unmix(mut x: u64) -> u64 {
    x = unshift(x, 31).wrapping_mul(const { inverse(SECOND) });
    x = unshift(x, 27).wrapping_mul(const { inverse(FIRST) });
    unshift(x, 30)
}

/// Undoes `x ^ (x >> by)`, for `by` of at least 22.
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
        fn any_part_equals_that_part_of_the_whole(seed: u64, file: u64, from in 0usize..600, len in 0usize..600) {
            let mut whole = [0; 1200];
            contents(seed, FileId(file), 0, &mut whole);
            let mut part = vec![0; len];
            contents(seed, FileId(file), from as u64, &mut part);
            prop_assert_eq!(&part[..], &whole[from..from + len]);
        }

        #[test]
        fn a_word_tells_its_file(seed: u64, file: u64, index in 0..u64::MAX / 8) {
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
