//! Tests of single operations.

use super::*;
use senesce_betreefs::{Rename, SetAttr, SetXattr};

#[test]
fn written_data_survives_a_remount() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let sub = dir(&fs, ROOT, b"sub").unwrap().ino;
    let made = file(&fs, sub, b"f").unwrap();
    let data = bytes(1, 100_000);
    fs.write(made.ino, 0, &data, false).unwrap();
    fs.close().unwrap();
    assert_clean(&disk);
    let fs = open(&disk);
    let sub = fs.lookup(ROOT, b"sub").unwrap();
    assert_eq!((sub.links, sub.size), (2, 1));
    let found = fs.lookup(sub.ino, b"f").unwrap();
    assert_eq!((found.ino, found.size, found.mode), (made.ino, 100_000, libc::S_IFREG | 0o644));
    assert_eq!(content(&fs, found.ino), data);
    assert_eq!(errno(fs.lookup(sub.ino, b"g")), libc::ENOENT);
}

#[test]
fn holes_use_no_space_and_are_found() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let ino = file(&fs, ROOT, b"f").unwrap().ino;
    let block = 16 << 10;
    fs.write(ino, 10 * block + 5, b"x", false).unwrap();
    let attr = fs.attr(ino).unwrap();
    assert_eq!((attr.size, attr.sectors), (10 * block + 6, block / 512));
    assert_eq!(fs.seek(ino, 0, false).unwrap(), 10 * block);
    assert_eq!(fs.seek(ino, 10 * block, true).unwrap(), 10 * block + 6);
    assert_eq!(fs.seek(ino, 3, true).unwrap(), 3);
    assert_eq!(errno(fs.seek(ino, 10 * block + 6, false)), libc::ENXIO);
    fs.write(ino, 3 * block, &bytes(1, 2 * block as usize), false).unwrap();
    assert_eq!(fs.attr(ino).unwrap().sectors, 3 * block / 512);
    let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    fs.fallocate(ino, 2 * block, 2 * block + 7, punch).unwrap();
    assert_eq!(fs.attr(ino).unwrap().sectors, 2 * block / 512);
    let mut expected = vec![0; 10 * block as usize + 6];
    expected[3 * block as usize..5 * block as usize].copy_from_slice(&bytes(1, 2 * block as usize));
    expected[2 * block as usize..4 * block as usize + 7].fill(0);
    expected[10 * block as usize + 5] = b'x';
    assert!(content(&fs, ino) == expected);
    assert_eq!(fs.seek(ino, 0, false).unwrap(), 4 * block);
    fs.close().unwrap();
    assert_clean(&disk);
}

#[test]
fn truncated_data_does_not_reappear() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let ino = file(&fs, ROOT, b"f").unwrap().ino;
    fs.write(ino, 0, &bytes(2, 50_000), false).unwrap();
    let cut = |size| fs.set_attr(ME, ino, &SetAttr { size: Some(size), ..SetAttr::default() }).unwrap();
    assert_eq!(cut(20_000).size, 20_000);
    assert_eq!(cut(60_000).size, 60_000);
    let mut expected = bytes(2, 20_000);
    expected.resize(60_000, 0);
    assert!(content(&fs, ino) == expected);
    fs.close().unwrap();
    assert_clean(&disk);
}

#[test]
fn unlinked_open_file_exists_until_it_is_closed() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let ino = file(&fs, ROOT, b"f").unwrap().ino;
    fs.open_file(ino).unwrap();
    fs.write(ino, 0, b"old", false).unwrap();
    fs.unlink(ROOT, b"f").unwrap();
    let other = file(&fs, ROOT, b"f").unwrap().ino;
    fs.write(other, 0, b"new", false).unwrap();
    fs.write(ino, 3, b"er", false).unwrap();
    assert_eq!(content(&fs, ino), b"older");
    assert_eq!(content(&fs, other), b"new");
    assert_eq!(fs.attr(ino).unwrap().links, 0);
    fs.release(ino).unwrap();
    assert_eq!(errno(fs.open_file(ino)), libc::ESTALE);
    assert_eq!(content(&fs, other), b"new");
    fs.close().unwrap();
    assert_eq!(check(disk.clone()).unwrap().orphans, 0);
    assert_clean(&disk);
}

#[test]
fn next_mount_deletes_unlinked_open_files() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let ino = file(&fs, ROOT, b"f").unwrap().ino;
    fs.open_file(ino).unwrap();
    fs.write(ino, 0, &bytes(1, 70_000), false).unwrap();
    fs.unlink(ROOT, b"f").unwrap();
    fs.close().unwrap();
    assert_eq!(check(disk.clone()).unwrap().orphans, 1);
    open(&disk).close().unwrap();
    let found = check(disk.clone()).unwrap();
    assert_eq!((found.orphans, found.data_bytes, found.problems), (0, 0, vec![]));
}

#[test]
fn hard_links_share_data_and_attributes() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let sub = dir(&fs, ROOT, b"sub").unwrap().ino;
    let ino = file(&fs, sub, b"a").unwrap().ino;
    fs.write(ino, 0, b"shared", false).unwrap();
    assert_eq!(fs.link(ino, ROOT, b"b").unwrap().links, 2);
    assert_eq!(errno(fs.link(sub, ROOT, b"d")), libc::EPERM);
    fs.unlink(sub, b"a").unwrap();
    // A new file at the old name does not reuse the keys of the data.
    let other = file(&fs, sub, b"a").unwrap().ino;
    fs.write(other, 0, b"another", false).unwrap();
    fs.rename((ROOT, b"b"), (sub, b"c"), Rename::Replace).unwrap();
    fs.close().unwrap();
    assert_clean(&disk);
    let fs = open(&disk);
    fs.lookup(ROOT, b"sub").unwrap();
    let found = fs.lookup(sub, b"c").unwrap();
    assert_eq!((found.ino, found.links), (ino, 1));
    assert_eq!(content(&fs, ino), b"shared");
    fs.unlink(sub, b"c").unwrap();
    let other = fs.lookup(sub, b"a").unwrap().ino;
    assert_eq!(content(&fs, other), b"another");
    fs.close().unwrap();
    assert_clean(&disk);
}

#[test]
fn small_trees_are_copied_home_and_large_trees_become_zones() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    for (name, len) in [(b"small", 1000), (b"large", 300_000)] {
        let tree = dir(&fs, ROOT, name).unwrap().ino;
        let sub = dir(&fs, tree, b"sub").unwrap().ino;
        let ino = file(&fs, sub, b"f").unwrap().ino;
        fs.write(ino, 0, &bytes(len, len as usize), false).unwrap();
        let to = [b"new-", &name[..]].concat();
        fs.rename((ROOT, name), (ROOT, &to), Rename::Replace).unwrap();
        // Open inodes follow the rename.
        assert!(content(&fs, ino) == bytes(len, len as usize));
        fs.write(ino, 0, b"y", false).unwrap();
        // An inode created at the old name is independent.
        let newcomer = dir(&fs, ROOT, name).unwrap().ino;
        assert_eq!(names(&fs, newcomer), Vec::<Vec<u8>>::new());
        let sub = dir(&fs, newcomer, b"sub").unwrap().ino;
        let other = file(&fs, sub, b"f").unwrap().ino;
        fs.write(other, 0, b"other", false).unwrap();
        assert_eq!(content(&fs, ino)[..2], [b'y', bytes(len, 2)[1]]);
    }
    assert_eq!(names(&fs, ROOT), [&b"large"[..], b"new-large", b"new-small", b"small"]);
    fs.close().unwrap();
    assert_clean(&disk);
}

#[test]
fn directory_cannot_become_its_own_descendant() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let a = dir(&fs, ROOT, b"a").unwrap().ino;
    let b = dir(&fs, a, b"b").unwrap().ino;
    assert_eq!(errno(fs.rename((ROOT, b"a"), (b, b"a"), Rename::Replace)), libc::EINVAL);
    assert_eq!(errno(fs.rename((a, b"b"), (ROOT, b"a"), Rename::Replace)), libc::ENOTEMPTY);
    assert_eq!(errno(fs.rename((a, b"b"), (ROOT, b"a"), Rename::Exchange)), libc::EINVAL);
    assert_eq!(errno(fs.rename((ROOT, b"a"), (ROOT, b"a"), Rename::NoReplace)), libc::EEXIST);
    fs.rename((a, b"b"), (ROOT, b"b"), Rename::NoReplace).unwrap();
    fs.rename((ROOT, b"a"), (ROOT, b"b"), Rename::Exchange).unwrap();
    assert_eq!(fs.lookup(ROOT, b"a").unwrap().ino, b);
    assert_eq!(fs.attr(ROOT).unwrap().links, 4);
    fs.close().unwrap();
    assert_clean(&disk);
}

#[test]
fn paths_have_no_length_limit() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let name = [b'n'; 255];
    let mut at = ROOT;
    for _ in 0..40 {
        at = dir(&fs, at, &name).unwrap().ino;
    }
    let ino = file(&fs, at, &name).unwrap().ino;
    fs.write(ino, 0, b"deep", false).unwrap();
    assert_eq!(errno(file(&fs, at, &[b'n'; 256])), libc::ENAMETOOLONG);
    fs.rename((ROOT, &name), (ROOT, b"short"), Rename::Replace).unwrap();
    fs.close().unwrap();
    assert_clean(&disk);
    let fs = open(&disk);
    let mut at = fs.lookup(ROOT, b"short").unwrap().ino;
    for _ in 1..40 {
        at = fs.lookup(at, &name).unwrap().ino;
    }
    let ino = fs.lookup(at, &name).unwrap().ino;
    assert_eq!(content(&fs, ino), b"deep");
}

#[test]
fn extended_attributes_survive_a_remount() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let ino = file(&fs, ROOT, b"f").unwrap().ino;
    fs.set_xattr(ino, b"user.a", b"1", SetXattr::Create).unwrap();
    assert_eq!(errno(fs.set_xattr(ino, b"user.a", b"2", SetXattr::Create)), libc::EEXIST);
    assert_eq!(errno(fs.set_xattr(ino, b"user.b", b"2", SetXattr::Replace)), libc::ENODATA);
    assert_eq!(errno(fs.set_xattr(ino, b"system.x", b"2", SetXattr::Any)), libc::EOPNOTSUPP);
    fs.set_xattr(ino, b"trusted.b", b"", SetXattr::Any).unwrap();
    fs.write(ino, 0, b"x", false).unwrap();
    fs.close().unwrap();
    let fs = open(&disk);
    fs.lookup(ROOT, b"f").unwrap();
    assert_eq!(fs.xattrs(ino).unwrap(), b"trusted.b\0user.a\0");
    assert_eq!(fs.xattr(ino, b"user.a").unwrap(), b"1");
    fs.remove_xattr(ino, b"user.a").unwrap();
    assert_eq!(errno(fs.xattr(ino, b"user.a")), libc::ENODATA);
}

#[test]
fn read_only_file_system_does_not_change() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let ino = file(&fs, ROOT, b"f").unwrap().ino;
    fs.write(ino, 0, b"x", false).unwrap();
    fs.close().unwrap();
    let fs = Fs::open_read_only(disk.clone(), store_options(8 << 20)).unwrap();
    assert_eq!(fs.lookup(ROOT, b"f").unwrap().ino, ino);
    assert_eq!(content(&fs, ino), b"x");
    assert_eq!(errno(fs.write(ino, 0, b"y", false)), libc::EROFS);
    assert_eq!(errno(file(&fs, ROOT, b"g")), libc::EROFS);
    assert_eq!(errno(fs.unlink(ROOT, b"f")), libc::EROFS);
    fs.close().unwrap();
    let fs = open(&disk);
    fs.lookup(ROOT, b"f").unwrap();
    assert_eq!(content(&fs, ino), b"x");
}

#[test]
fn forgotten_inode_keeps_its_state() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let ino = file(&fs, ROOT, b"f").unwrap().ino;
    fs.write(ino, 0, b"x", false).unwrap();
    fs.forget(ino, 1);
    assert_eq!(errno(fs.attr(ino)), libc::ESTALE);
    assert_eq!(fs.lookup(ROOT, b"f").unwrap().size, 1);
}

#[test]
fn sequential_reads_return_the_last_written_data() {
    let disk = disk(SMALL);
    let fs = open(&disk);
    let name = |i: u64| format!("f{i:03}").into_bytes();
    let inos: Vec<u64> = (0..60).map(|i| file(&fs, ROOT, &name(i)).unwrap().ino).collect();
    let len = |i: u64| (i as usize * 1777) % 50_000;
    for (i, ino) in (0..).zip(&inos) {
        fs.write(*ino, 0, &bytes(i, len(i)), false).unwrap();
    }
    for changed in [None, Some(40), None] {
        for (i, ino) in (0..).zip(&inos) {
            if let Some(behind) = changed
                && i == 30
            {
                // Changes during the sequence of reads: at a file still to be read, and at one already read.
                fs.write(inos[behind], 0, b"new", false).unwrap();
                fs.unlink(ROOT, &name(50)).unwrap();
                fs.write(inos[2], 5, b"new", false).unwrap();
            }
            if i == 50 && fs.lookup(ROOT, &name(i)).is_err() {
                continue;
            }
            // Two reads within one block, then the first one again.
            let mut out = Vec::new();
            for (at, n) in [(0, 1000), (1000, 60_000), (0, 1000)] {
                fs.read(*ino, at, n, &mut out).unwrap();
            }
            let data = content(&fs, *ino);
            assert!(out[..out.len().min(1000)] == data[..data.len().min(1000)]);
            assert!(out.len() == data.len() + data.len().min(1000), "{i}");
            let mut expected = bytes(i, len(i));
            if fs.attr(*ino).unwrap().mtime > fs.attr(inos[59]).unwrap().mtime {
                let at = if i == 2 { 5 } else { 0 };
                expected[at..at + 3].copy_from_slice(b"new");
            }
            assert!(data == expected, "file {i} differs from the last write");
        }
    }
    // Sequential reads do not keep deleted blocks allocated.
    fs.close().unwrap();
    assert_clean(&disk);
}
