//! Truncated or damaged trace files are rejected without a panic.

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
fn truncations_are_rejected() {
    let dir = testing::dir_in_memory();
    let path = dir.path().join("a.parquet");
    write(&path, &each_kind());
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        let error = read(&path, &whole[..length]).expect_err("a truncated trace must be rejected");
        assert!(matches!(error, Error::Foreign { .. }), "at {length}: {error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn bit_flips_are_detected() {
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
    fn damage_is_detected(
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
        // Two flips of one bit cancel out.
        match read(&path, &bytes) {
            Ok(read) => prop_assert!(bytes == whole && read == ops),
            Err(_) => prop_assert!(bytes != whole),
        }
    }

    #[test]
    fn noise_is_rejected(mut bytes in prop::collection::vec(any::<u8>(), 0..999), framed: bool) {
        // The marks of Parquet get noise past the first check.
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
