//! Labels and contents: round trips; damaged, truncated or foreign files are rejected.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use senesce_trace::{
    BlobId, BlobPack, BlobPackWriter, DirId, Error, FileId, FileLabel, LabelWriter, Labels, SavedLabels,
    blobs_path, is_valid_name, labels_path,
};

const DIGEST: &str = "of the trace";

type Files = BTreeMap<u64, FileLabel>;
type Dirs = BTreeMap<u32, Vec<u8>>;
type Blobs = BTreeMap<[u8; 20], Vec<u8>>;

/// A temporary directory, in memory if possible: every file is synced, which takes milliseconds on disk.
fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

fn any_name() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..40).prop_filter("no name", |name| is_valid_name(name))
}

fn any_files() -> impl Strategy<Value = Files> {
    let label = (any_name(), any::<bool>(), any::<Option<[u8; 20]>>())
        .prop_map(|(name, executable, blob)| FileLabel { name, executable, blob: blob.map(BlobId) });
    prop::collection::btree_map(any::<u64>(), label, 0..20)
}

fn any_dirs() -> impl Strategy<Value = Dirs> {
    prop::collection::btree_map(any::<u32>(), any_name(), 0..20)
}

fn any_blobs() -> impl Strategy<Value = Blobs> {
    prop::collection::btree_map(any::<[u8; 20]>(), prop::collection::vec(0u8..9, 0..999), 0..9)
}

fn write_labels(trace: &Path, files: &Files, dirs: &Dirs) {
    let mut writer = LabelWriter::create(trace).unwrap();
    for (dir, name) in dirs {
        writer.dir(DirId(*dir), name).unwrap();
    }
    for (file, label) in files {
        writer.file(FileId(*file), label).unwrap();
    }
    writer.finish(DIGEST).unwrap();
}

fn write_blobs(trace: &Path, blobs: &Blobs) {
    let mut writer = BlobPackWriter::create(blobs_path(trace)).unwrap();
    for (blob, contents) in blobs {
        writer.add(BlobId(*blob), contents).unwrap();
        writer.add(BlobId(*blob), b"what is there already is not added again").unwrap();
    }
    writer.finish().unwrap();
}

fn example(trace: &Path) {
    let label = FileLabel { name: b"a\nb".to_vec(), executable: true, blob: Some(BlobId([7; 20])) };
    write_labels(trace, &BTreeMap::from([(0, label)]), &BTreeMap::from([(1, b"src".to_vec())]));
    write_blobs(trace, &BTreeMap::from([([7; 20], b"contents".to_vec())]));
}

proptest! {
    #[test]
    fn labels_round_trip(files in any_files(), dirs in any_dirs(), blobs in any_blobs()) {
        let dir = directory();
        let trace = dir.path().join("a.parquet");
        write_labels(&trace, &files, &dirs);
        write_blobs(&trace, &blobs);
        let labels = SavedLabels::load(&trace, DIGEST).unwrap().unwrap();
        for (file, label) in &files {
            prop_assert_eq!(labels.file(FileId(*file)), Some(label.clone()));
        }
        for (dir, name) in &dirs {
            prop_assert_eq!(labels.dir(DirId(*dir)), Some(name.clone()));
        }
        for (blob, contents) in &blobs {
            prop_assert_eq!(labels.contents(BlobId(*blob)).unwrap(), Some(contents.clone()));
        }
        prop_assert!(blobs.contains_key(&[1; 20]) || labels.contents(BlobId([1; 20])).unwrap().is_none());
    }

    #[test]
    fn damage_is_detected(
        place: prop::sample::Index, flip in 1..=255u8, cut: prop::sample::Index, which: bool, cuts: bool,
    ) {
        let dir = directory();
        let trace = dir.path().join("a.parquet");
        example(&trace);
        let path = if which { labels_path(&trace) } else { blobs_path(&trace) };
        let mut bytes = fs::read(&path).unwrap();
        match cuts {
            true => bytes.truncate(cut.index(bytes.len())),
            false => *place.get_mut(&mut bytes) ^= flip,
        }
        fs::write(&path, bytes).unwrap();
        let error = SavedLabels::load(&trace, DIGEST).err().expect("damaged labels must be rejected");
        prop_assert!(matches!(error, Error::Labels { .. }), "{}", error);
        prop_assert!(!error.to_string().contains('\n'));
    }

    #[test]
    fn noise_is_rejected(bytes in prop::collection::vec(any::<u8>(), 0..300), marked: bool) {
        let dir = directory();
        let path = dir.path().join("a.blobs");
        let start = if marked { &b"SNB1"[..] } else { b"" };
        fs::write(&path, [start, &bytes].concat()).unwrap();
        prop_assert!(BlobPack::open(&path).is_err());
    }
}

#[test]
fn labels_of_another_trace_are_rejected() {
    let dir = directory();
    let trace = dir.path().join("a.parquet");
    assert!(SavedLabels::load(&trace, DIGEST).unwrap().is_none());
    example(&trace);
    let error = SavedLabels::load(&trace, "of another one").err().unwrap().to_string();
    assert!(error.contains("another trace"), "{error}");
}

#[test]
fn trace_is_rejected_as_labels() {
    let dir = directory();
    let trace = dir.path().join("a.parquet");
    crate::support::write(&trace, &crate::support::each_kind());
    fs::rename(&trace, labels_path(&trace)).unwrap();
    let error = SavedLabels::load(&trace, DIGEST).err().unwrap().to_string();
    assert!(error.contains("another program"), "{error}");
}

#[test]
fn names_outside_directory_are_rejected() {
    for name in [&b""[..], b".", b"..", b"a/b", b"/", b"a\0b", &[b'a'; 256]] {
        assert!(!is_valid_name(name), "{}", name.escape_ascii());
    }
    for name in [&b"..."[..], b"a b", b"\n", &[255], &[b'a'; 255]] {
        assert!(is_valid_name(name), "{}", name.escape_ascii());
    }
    let dir = directory();
    let trace = dir.path().join("a.parquet");
    write_labels(&trace, &BTreeMap::new(), &BTreeMap::from([(1, b"..".to_vec())]));
    assert!(SavedLabels::load(&trace, DIGEST).is_err());
}
