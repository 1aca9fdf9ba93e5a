//! Truncated, damaged or foreign snapshot files, and those of a later version, are rejected without a panic.

use crate::support::any_snapshot;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use senesce_snapshot::{Error, Snapshot};
use std::fs;
use std::path::Path;

/// Reads `bytes` as a snapshot file.
fn load(path: &Path, bytes: &[u8]) -> Result<Snapshot, Error> {
    fs::write(path, bytes).unwrap();
    Snapshot::load(path)
}

#[test]
fn truncations_and_bit_flips_are_detected() {
    let dir = testing::dir_in_memory();
    let path = dir.path().join("a.parquet");
    let snapshot = any_snapshot(9).new_tree(&mut TestRunner::deterministic()).unwrap().current();
    snapshot.save(&path, false).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        let error = load(&path, &bytes[..length]).expect_err("a truncated snapshot must be rejected");
        assert!(matches!(error, Error::Foreign { .. }), "at {length}: {error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    for place in 0..bytes.len() {
        bytes[place] ^= 1 << (place % 8);
        assert!(load(&path, &bytes).is_err(), "byte {place}");
        bytes[place] ^= 1 << (place % 8);
    }
}

#[test]
fn newer_versions_and_foreign_files_are_distinguished() {
    let dir = testing::dir_in_memory();
    let at = |name: &str| dir.path().join(name);
    let reworded = |from: &str, to: &str| {
        let snapshot = any_snapshot(3).new_tree(&mut TestRunner::deterministic()).unwrap().current();
        snapshot.save(&at("whole"), true).unwrap();
        let mut bytes = fs::read(at("whole")).unwrap();
        let place = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
        bytes.splice(place..place + from.len(), to.bytes());
        fs::write(at("reworded"), &bytes).unwrap();
        // Seal the file again, as its own writer would have done.
        let mut file = parquet_file::seal::begin(&at("sealed")).unwrap();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
        parquet_file::seal::finish(file, &at("sealed")).unwrap();
        Snapshot::load(&at("sealed")).unwrap_err().to_string()
    };
    let version = "senesce.snapshot_version\u{18}\u{1}1";
    let later = reworded(version, "senesce.snapshot_version\u{18}\u{1}7");
    assert!(later.contains("format 7 is newer than format 1") && later.contains("update senesce"), "{later}");
    let other = reworded("senesce.snapshot_version", "someone.snapshot_version");
    assert!(other.contains("not a snapshot"), "{other}");
}

proptest! {
    #[test]
    fn damage_is_detected(
        snapshot in any_snapshot(9),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..9),
    ) {
        let dir = testing::dir_in_memory();
        let path = dir.path().join("a.parquet");
        snapshot.save(&path, false).unwrap();
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        for (place, flip) in flips {
            *place.get_mut(&mut bytes) ^= flip;
        }
        // Two flips of one bit cancel out.
        match load(&path, &bytes) {
            Ok(read) => prop_assert!(bytes == whole && read == snapshot),
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
        prop_assert!(load(&dir.path().join("a.parquet"), &bytes).is_err());
    }
}
