//! Files with several names, and files that lose all but one.

use super::*;
use senesce_betreefs::{Rename, SetXattr};

/// A file that was written as `tmp` and linked to `final`.
fn linked(fs: &Fs, data: &[u8]) -> u64 {
    let ino = file(fs, ROOT, b"tmp").unwrap().ino;
    fs.write(ino, 0, data, false).unwrap();
    assert_eq!(fs.link(ino, ROOT, b"final").unwrap().links, 2);
    ino
}

#[test]
fn open_file_stays_usable_when_it_moves_home() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let mut data = bytes(1, 50_000);
    let ino = linked(&fs, &data);
    fs.open_file(ino).unwrap();
    fs.set_xattr(ino, b"user.a", b"1", SetXattr::Create).unwrap();
    fs.unlink(ROOT, b"tmp").unwrap();
    assert!(content(&fs, ino) == data);
    fs.write(ino, 40_000, &bytes(2, 30_000), false).unwrap();
    data.truncate(40_000);
    data.extend(bytes(2, 30_000));
    assert!(content(&fs, ino) == data);
    // An inode created at the old name is independent.
    let other = file(&fs, ROOT, b"tmp").unwrap().ino;
    fs.write(other, 0, b"other", false).unwrap();
    assert!(content(&fs, ino) == data);
    fs.release(ino).unwrap();
    fs.close().unwrap();
    assert_clean(&disk);
    let fs = open(&disk);
    let found = fs.lookup(ROOT, b"final").unwrap();
    assert_eq!((found.ino, found.links, found.size), (ino, 1, 70_000));
    assert!(content(&fs, ino) == data);
    assert_eq!(fs.xattr(ino, b"user.a").unwrap(), b"1");
    assert_eq!(fs.lookup(ROOT, b"tmp").unwrap().ino, other);
    assert_eq!(content(&fs, other), b"other");
}

#[test]
fn unlinked_file_that_moved_home_is_deleted_at_its_last_close() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let ino = linked(&fs, &bytes(3, 50_000));
    fs.open_file(ino).unwrap();
    fs.unlink(ROOT, b"final").unwrap();
    fs.unlink(ROOT, b"tmp").unwrap();
    assert!(content(&fs, ino) == bytes(3, 50_000));
    assert_eq!(errno(fs.link(ino, ROOT, b"again")), libc::ENOENT);
    fs.release(ino).unwrap();
    fs.close().unwrap();
    let found = check(disk.clone()).unwrap();
    assert_eq!((found.files, found.orphans, found.data_bytes, found.problems), (0, 0, 0, vec![]));
}

#[test]
fn linked_file_survives_forgotten_names() {
    for left in [&b"tmp"[..], b"final"] {
        let lost: &[u8] = if left == b"tmp" { b"final" } else { b"tmp" };
        let disk = disk(SMALL);
        let fs = open(&disk);
        let ino = linked(&fs, &bytes(4, 50_000));
        fs.close().unwrap();
        let fs = open(&disk);
        fs.unlink(ROOT, lost).unwrap();
        let found = fs.lookup(ROOT, left).unwrap();
        assert_eq!((found.ino, found.links), (ino, 1));
        // A rename still moves it home.
        fs.rename((ROOT, left), (ROOT, b"renamed"), Rename::Replace).unwrap();
        assert!(content(&fs, ino) == bytes(4, 50_000));
        fs.close().unwrap();
        assert_clean(&disk);
        let fs = open(&disk);
        assert_eq!(fs.lookup(ROOT, b"renamed").unwrap().ino, ino);
        assert!(content(&fs, ino) == bytes(4, 50_000));
    }
}

#[test]
fn file_moves_home_into_another_directory_that_may_move() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let (a, b) = (dir(&fs, ROOT, b"a").unwrap().ino, dir(&fs, ROOT, b"b").unwrap().ino);
    let ino = file(&fs, a, b"f").unwrap().ino;
    fs.write(ino, 0, &bytes(5, 30_000), false).unwrap();
    fs.link(ino, b, b"g").unwrap();
    fs.rename((ROOT, b"b"), (ROOT, b"c"), Rename::Replace).unwrap();
    let handle = fs.open_dir(b).unwrap();
    let mut seen = Vec::new();
    fs.unlink(a, b"f").unwrap();
    fs.read_dir(handle, 2, true, |entry| {
        seen.push((entry.name.to_vec(), entry.ino, entry.attr.unwrap().links));
        true
    })
    .unwrap();
    assert_eq!(seen, [(b"g".to_vec(), ino, 1)]);
    fs.rmdir(ROOT, b"a").unwrap();
    fs.rename((ROOT, b"c"), (ROOT, b"d"), Rename::Replace).unwrap();
    assert!(content(&fs, ino) == bytes(5, 30_000));
    fs.close().unwrap();
    assert_clean(&disk);
}

#[test]
fn reads_during_moves_home_return_the_written_data() {
    let disk = disk(4 * SMALL);
    let fs = open(&disk);
    let data = bytes(6, 150_000);
    let ino = linked(&fs, &data);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| (0..500).for_each(|_| assert!(content(&fs, ino) == data)));
        for round in 0.. {
            let name: &[u8] = if round % 2 == 0 { b"tmp" } else { b"final" };
            fs.unlink(ROOT, name).unwrap();
            fs.link(ino, ROOT, name).unwrap();
            if reader.is_finished() {
                break;
            }
        }
    });
    fs.close().unwrap();
    assert_clean(&disk);
}
