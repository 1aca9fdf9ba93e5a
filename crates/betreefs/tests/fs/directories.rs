//! Reading directories during changes.

use super::*;

fn some(fs: &Fs, handle: u64, offset: u64, n: usize) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    fs.read_dir(handle, offset, true, |entry| {
        if found.len() == n {
            return false;
        }
        found.push((String::from_utf8(entry.name.to_vec()).unwrap(), entry.offset));
        true
    })
    .unwrap();
    found
}

#[test]
fn entries_are_sorted_by_bytes_without_duplicates() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let mut expected: Vec<Vec<u8>> =
        (0..3000).map(|i| format!("{:x}", i * 7919 % 3000).into_bytes()).collect();
    expected.extend([b"new\nline".to_vec(), vec![0xff, 0xfe], vec![1], b"a.c".to_vec()]);
    for name in &expected {
        let made = file(&fs, ROOT, name).unwrap();
        fs.forget(made.ino, 1);
    }
    expected.sort();
    assert_eq!(names(&fs, ROOT), expected);
    fs.close().unwrap();
    assert_eq!(names(&open(&disk), ROOT), expected);
}

#[test]
fn offsets_stay_valid_during_changes() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    for name in ["b", "d", "f", "h", "k"] {
        file(&fs, ROOT, name.as_bytes()).unwrap();
    }
    let handle = fs.open_dir(ROOT).unwrap();
    let first = some(&fs, handle, 0, 4);
    assert_eq!(first.iter().map(|(name, _)| &name[..]).collect::<Vec<_>>(), [".", "..", "b", "d"]);
    let behind_d = first[3].1;
    let rest = some(&fs, handle, behind_d, 9);
    let behind_f = rest[0].1;
    file(&fs, ROOT, b"a").unwrap();
    file(&fs, ROOT, b"e").unwrap();
    fs.unlink(ROOT, b"d").unwrap();
    fs.unlink(ROOT, b"h").unwrap();
    let names = |found: Vec<(String, u64)>| found.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(some(&fs, handle, behind_d, 9)), ["e", "f", "k"]);
    // Going back does not move offsets already returned.
    assert_eq!(names(some(&fs, handle, behind_f, 9)), ["k"]);
    assert_eq!(names(some(&fs, handle, 2, 9)), ["a", "b", "e", "f", "k"]);
    assert_eq!(names(some(&fs, handle, behind_f, 9)), ["k"]);
}

#[test]
fn attributes_are_current() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    for name in [b"a", b"b", b"c"] {
        let made = file(&fs, ROOT, name).unwrap();
        fs.forget(made.ino, 1);
    }
    let handle = fs.open_dir(ROOT).unwrap();
    let a = some(&fs, handle, 2, 1);
    let b = fs.lookup(ROOT, b"b").unwrap().ino;
    fs.write(b, 0, b"12345", false).unwrap();
    fs.forget(b, 1);
    let mut sizes = Vec::new();
    fs.read_dir(handle, a[0].1, true, |entry| {
        sizes.push(entry.attr.unwrap().size);
        true
    })
    .unwrap();
    assert_eq!(sizes, [5, 0]);
}
