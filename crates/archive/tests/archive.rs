//! Saving and restoring images, and detecting damage.

use proptest::prelude::*;
use senesce_archive::{ArchivedImage, AtomicFile, Digest, UsedBlocks, write};
use serde_json::json;
use std::fs::File;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use trace::FileId;

const BLOCK: u64 = 4096;

/// A sparse image of 20 MiB and 512 bytes with metadata, contents, and space that is no longer used.
fn image(dir: &Path) -> PathBuf {
    let path = dir.join("image");
    let file = File::create(&path).unwrap();
    file.set_len((20 << 20) + 512).unwrap();
    file.write_all_at(b"superblock", 1024).unwrap();
    let mut data = vec![0; 3 << 20];
    replay::contents(1, FileId(9), 0, &mut data);
    file.write_all_at(&data, 5 << 20).unwrap();
    file.write_all_at(&[7; 100_000], 12 << 20).unwrap();
    file.write_all_at(b"the end", (20 << 20) + 500).unwrap();
    path
}

fn save(image: &Path, unused: &[disk::Extent], to: &Path) {
    let blocks = UsedBlocks::of(image, unused).unwrap();
    let mut out = AtomicFile::begin(to).unwrap();
    write(&blocks, &mut out, "test", json!({"name": "it"}), &mut |_, _| {}).unwrap();
    out.finish().unwrap();
}

fn archived() -> (TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let image = image(dir.path());
    let to = dir.path().join("it.aged");
    save(&image, &[], &to);
    (dir, image, to)
}

fn restore(archive: &ArchivedImage, to: &Path) -> Result<(), senesce_archive::Error> {
    let mut out = AtomicFile::begin(to)?;
    archive.restore(&mut out, &mut |_, _| {})?;
    out.finish()
}

#[test]
fn image_round_trips_and_stays_sparse() {
    let (dir, image, to) = archived();
    let archive = ArchivedImage::open(&to).unwrap();
    archive.verify(&mut |_, _| {}).unwrap();
    assert_eq!(archive.manifest().about, json!({"name": "it"}));
    assert_eq!(archive.manifest().contents.regenerated_bytes, 3 << 20, "contents are stored literally");
    assert!(archive.file_bytes() < 4000, "{}", archive.file_bytes());
    let back = dir.path().join("back");
    restore(&archive, &back).unwrap();
    assert_eq!(std::fs::read(&back).unwrap(), std::fs::read(&image).unwrap());
    assert!(std::fs::metadata(&back).unwrap().blocks() * 512 < 4 << 20);
    assert!(restore(&archive, &back).unwrap_err().to_string().contains("choose another name"));
}

#[test]
fn unused_space_is_restored_as_zeros() {
    let (dir, image, whole) = archived();
    let to = dir.path().join("less.aged");
    let unused = disk::Extent { start_bytes: 12 << 20, len_bytes: 10 * BLOCK };
    save(&image, &[unused], &to);
    let less = ArchivedImage::open(&to).unwrap();
    let back = dir.path().join("back");
    restore(&less, &back).unwrap();
    let mut expected = std::fs::read(&image).unwrap();
    expected[12 << 20..(12 << 20) + 10 * BLOCK as usize].fill(0);
    assert!(std::fs::read(&back).unwrap() == expected);
    let diff = ArchivedImage::open(&whole).unwrap().diff(&less, &mut |_, _| {}).unwrap();
    assert_eq!((diff.blocks, diff.only_first, diff.only_second), (10, 10, 0));
    let same = less.diff(&less, &mut |_, _| {}).unwrap();
    assert_eq!(same.blocks, 0);
}

#[test]
fn bit_flip_in_any_byte_is_detected() {
    let (dir, _, to) = archived();
    let bytes = std::fs::read(&to).unwrap();
    let flipped = dir.path().join("flipped");
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(&flipped, &damaged).unwrap();
        let checked = ArchivedImage::open(&flipped).and_then(|archive| archive.verify(&mut |_, _| {}));
        assert!(checked.is_err(), "byte {at} of {}", bytes.len());
    }
}

#[test]
fn truncated_extended_and_newer_files_are_refused() {
    let (dir, _, to) = archived();
    let bytes = std::fs::read(&to).unwrap();
    let other = dir.path().join("other");
    for len in (0..bytes.len()).step_by(7) {
        std::fs::write(&other, &bytes[..len]).unwrap();
        assert!(ArchivedImage::open(&other).is_err(), "{len}");
    }
    std::fs::write(&other, [&bytes[..], &[0]].concat()).unwrap();
    assert!(ArchivedImage::open(&other).is_err());
    let mut newer = bytes;
    newer[8] = 2;
    std::fs::write(&other, newer).unwrap();
    let message = ArchivedImage::open(&other).unwrap_err().to_string();
    assert!(message.contains("format 2, but this program supports 1; use a newer senesce"), "{message}");
    assert!(ArchivedImage::open(dir.path()).is_err());
}

/// A huge sparse file is cheap to send, so lengths in the file must not be trusted.
#[test]
fn huge_lengths_are_refused_before_allocation() {
    let (dir, _, to) = archived();
    let bytes = std::fs::read(&to).unwrap();
    let (head, trailer) = (&bytes[..16], &bytes[bytes.len() - 56..]);
    let manifest = ArchivedImage::open(&to).unwrap().manifest_text().to_vec();
    let path = dir.path().join("huge");
    let len = 1 << 42;
    for (index, manifest_bytes) in [
        (80 << 34, 100),
        (1 << 36, 80),
        (0, 1 << 40),
        (u64::MAX, u64::MAX),
        (80 << 20, manifest.len() as u64),
    ] {
        let file = File::create(&path).unwrap();
        file.set_len(len).unwrap();
        file.write_all_at(head, 0).unwrap();
        file.write_all_at(&manifest, len - 56 - manifest.len() as u64).unwrap();
        file.write_all_at(
            &[&index.to_le_bytes()[..], &u64::to_le_bytes(manifest_bytes), &trailer[16..]].concat(),
            len - 56,
        )
        .unwrap();
        let message = ArchivedImage::open(&path).unwrap_err().to_string();
        assert!(message.contains("damaged"), "{message}");
    }
}

#[test]
fn saving_is_deterministic() {
    let (dir, image, to) = archived();
    let again = dir.path().join("again.aged");
    save(&image, &[], &again);
    assert_eq!(Digest::of(&std::fs::read(&to).unwrap()), Digest::of(&std::fs::read(&again).unwrap()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// All checksums are valid, so that the code behind them is reached.
    #[test]
    fn forged_manifest_or_index_does_not_panic(at in 0usize..160, to: u8, size: u64, frame in prop_oneof![Just(2u64 << 20), any::<u64>()]) {
        let (dir, _, path) = archived();
        let bytes = std::fs::read(&path).unwrap();
        let archive = ArchivedImage::open(&path).unwrap();
        let text = archive.manifest_text();
        let trailer = bytes.len() - 56;
        let manifest_at = trailer - text.len();
        let index_bytes = u64::from_le_bytes(bytes[trailer..trailer + 8].try_into().unwrap()) as usize;
        let mut index = bytes[manifest_at - index_bytes..manifest_at].to_vec();
        let changed = at % index.len();
        index[changed] = to;
        let mut manifest = archive.manifest().clone();
        (manifest.contents.size_bytes, manifest.contents.frame_bytes) = (size, frame);
        manifest.contents.index_sha256 = Digest::of(&index);
        let contents = index.chunks(80).map(|entry| &entry[48..80]);
        manifest.contents.content_sha256 = Digest::of_all(std::iter::once(&size.to_le_bytes()[..]).chain(contents));
        let text = serde_json::to_vec(&manifest).unwrap();
        let forged = [
            &bytes[..manifest_at - index_bytes], &index, &text,
            &(index.len() as u64).to_le_bytes(), &(text.len() as u64).to_le_bytes(), &Digest::of(&text).0, b"SNSCAGED",
        ].concat();
        let path = dir.path().join("forged");
        std::fs::write(&path, forged).unwrap();
        let _ = ArchivedImage::open(&path).and_then(|archive| archive.verify(&mut |_, _| {}));
    }
}
