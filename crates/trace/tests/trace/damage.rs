//! A trace file that is cut short or damaged is refused; it never brings the program down.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use senesce_trace::{Error, Op, TraceReader};

use crate::support::{any_op, drain, each_kind, write};

/// Reads `bytes` as a trace file.
fn read(path: &Path, bytes: &[u8]) -> Result<Vec<Op>, Error> {
    fs::write(path, bytes).unwrap();
    TraceReader::open(path).and_then(drain)
}

#[test]
fn every_truncation_is_refused() {
    let dir = testing::dir_in_memory();
    let path = dir.path().join("a.parquet");
    write(&path, &each_kind());
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        let error = read(&path, &whole[..length]).expect_err("a cut trace was read");
        assert!(matches!(error, Error::Foreign { .. }), "at {length}: {error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn every_flipped_bit_is_seen() {
    let dir = testing::dir_in_memory();
    let path = dir.path().join("a.parquet");
    write(&path, &each_kind());
    let mut bytes = fs::read(&path).unwrap();
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&path, &bytes).is_err(), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

proptest! {
    #[test]
    fn damage_is_seen(
        ops in prop::collection::vec(any_op(), 0..99),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..9),
    ) {
        let dir = testing::dir_in_memory();
        let path = dir.path().join("a.parquet");
        write(&path, &ops);
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        for (place, flip) in flips {
            *place.get_mut(&mut bytes) ^= flip;
        }
        // Two flips of one bit are none.
        match read(&path, &bytes) {
            Ok(read) => prop_assert!(bytes == whole && read == ops),
            Err(_) => prop_assert!(bytes != whole),
        }
    }

    #[test]
    fn noise_is_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..999), framed: bool) {
        // With the marks of Parquet around it, noise gets past the first door.
        if framed {
            let length = bytes.len() as u32;
            bytes.splice(0..0, *b"PAR1");
            bytes.extend(length.to_le_bytes());
            bytes.extend(*b"PAR1");
        }
        let dir = testing::dir_in_memory();
        prop_assert!(read(&dir.path().join("a.parquet"), &bytes).is_err());
    }
}
