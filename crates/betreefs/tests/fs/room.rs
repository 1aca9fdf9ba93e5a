//! Full and failing disks.

use super::*;
use betree::CrashStorage;

#[test]
fn full_disk_returns_enospc_and_deletes_still_work() {
    let disk = disk(SMALL);
    let mut fs = open(&disk);
    fs.set_reclaim_interval(Duration::ZERO);
    let data = bytes(3, 100_000);
    let mut made = Vec::new();
    let full = loop {
        let name = format!("f{}", made.len()).into_bytes();
        let written = file(&fs, ROOT, &name).and_then(|attr| {
            made.push((name, attr.ino));
            fs.write(attr.ino, 0, &data, false)
        });
        if let Err(error) = written {
            break error.errno();
        }
    };
    assert_eq!(full, libc::ENOSPC);
    assert!(made.len() > 50, "{} files of 100 kB fit into 16 MiB", made.len());
    for (name, ino) in &made[..made.len() - 1] {
        assert!(content(&fs, *ino) == data);
        fs.unlink(ROOT, name).unwrap();
    }
    let free = fs.statfs().unwrap();
    assert!(free.available_bytes * 100 > free.total_bytes * 95, "{free:?} with one file of 100 kB");
    let ino = file(&fs, ROOT, b"again").unwrap().ino;
    fs.write(ino, 0, &data, false).unwrap();
    fs.close().unwrap();
    assert_clean(&disk);
}

#[test]
fn failed_sparse_write_leaves_no_stored_blocks() {
    let disk = disk(SMALL);
    let mut fs = open(&disk);
    fs.set_reclaim_interval(Duration::ZERO);
    let sparse = file(&fs, ROOT, b"sparse").unwrap().ino;
    fs.write(sparse, 1 << 20, b"end", false).unwrap();
    let filler = file(&fs, ROOT, b"filler").unwrap().ino;
    let (mut at, mut looks) = (0, 0);
    // One search may leave space that older trees still hold to the next search.
    while looks < 3 {
        match fs.write(filler, at, &bytes(at, 16 << 10), false) {
            Ok(()) => (at, looks) = (at + (16 << 10), 0),
            Err(error) => {
                assert_eq!(error.errno(), libc::ENOSPC);
                looks += 1;
            }
        }
    }
    assert_eq!(errno(fs.write(sparse, 0, &bytes(1, 64 << 10), false)), libc::ENOSPC);
    fs.unlink(ROOT, b"filler").unwrap();
    // A part of a block; a patch only if the block were stored.
    fs.write(sparse, 100, b"part", false).unwrap();
    assert_eq!(fs.attr(sparse).unwrap().sectors, 2 * (16 << 10) / 512);
    fs.close().unwrap();
    assert_clean(&disk);
}

#[test]
fn failed_disk_makes_the_file_system_read_only() {
    let memory = disk(SMALL);
    let disk = Arc::new(CrashStorage::of(memory.image()));
    let fs = Fs::open(disk.clone(), store_options(8 << 20)).unwrap();
    let ino = file(&fs, ROOT, b"f").unwrap().ino;
    fs.write(ino, 0, b"kept", false).unwrap();
    fs.sync().unwrap();
    disk.fail_writes(Some(libc::EIO));
    fs.write(ino, 0, b"lost", false).unwrap();
    assert_eq!(errno(fs.sync()), libc::EIO);
    assert_eq!(errno(fs.write(ino, 0, b"more", false)), libc::EROFS);
    assert_eq!(errno(file(&fs, ROOT, b"g")), libc::EROFS);
    assert_eq!(content(&fs, ino), b"lost");
    drop(fs);
    let after = Arc::new(disk.after(betree::PowerCut::KeepAll));
    let fs = open(&after);
    assert_eq!(fs.lookup(ROOT, b"f").unwrap().ino, ino);
    assert_eq!(content(&fs, ino), b"kept");
}

#[test]
fn read_errors_never_return_zeros() {
    const PIECE: usize = 16 << 10;
    let memory = disk(SMALL);
    let fs = open(&memory);
    let ino = file(&fs, ROOT, b"f").unwrap().ino;
    for i in 0..128 {
        fs.write(ino, i * PIECE as u64, &bytes(i, PIECE), false).unwrap();
    }
    fs.close().unwrap();
    let disk = Arc::new(CrashStorage::of(memory.image()));
    let fs = Fs::open(disk.clone(), store_options(1 << 20)).unwrap();
    let ino = fs.lookup(ROOT, b"f").unwrap().ino;
    file(&fs, ROOT, b"g").unwrap();
    fs.sync().unwrap();
    let read = |i: u64| {
        let mut out = Vec::new();
        fs.read(ino, i * PIECE as u64, PIECE as u32, &mut out).map(|()| out)
    };
    for i in 0..8 {
        assert!(read(i).unwrap() == bytes(i, PIECE));
    }
    disk.cut_power_at(disk.writes() - 1);
    let failed = (8..128).find(|i| match read(*i) {
        Ok(out) => {
            assert!(out == bytes(*i, PIECE));
            false
        }
        Err(error) => error.errno() == libc::EIO,
    });
    let failed = failed.expect("some of the file is not cached");
    assert_eq!(errno(read(failed)), libc::EIO);
    assert_eq!(errno(read(failed + 1)), libc::EIO);
}

/// Replacing files does not fail with ENOSPC while deletes are still in buffers.
#[test]
fn replacing_files_works_on_a_nearly_full_disk() {
    const WRITERS: u64 = 4;
    const FULL: u64 = 95;
    let disk = disk(4 * SMALL);
    let mut fs = open(&disk);
    // A second search would not help after an unsuccessful one.
    fs.set_reclaim_interval(Duration::from_secs(3600));
    let data = bytes(9, 50_000);
    let available_bytes = fs.statfs().unwrap().available_bytes;
    let files = available_bytes / 100 * FULL / WRITERS / data.len() as u64;
    let write = &|writer| {
        // In hashed order, so that the deletes are everywhere.
        let name = |i: u64| format!("{:x}-{writer}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes();
        for i in 0..files * 4 {
            if i >= files {
                fs.unlink(ROOT, &name(i - files)).unwrap();
            }
            let made = file(&fs, ROOT, &name(i)).and_then(|made| fs.write(made.ino, 0, &data, false));
            made.unwrap_or_else(|error| panic!("file {i} of {files}: {error}"));
        }
    };
    std::thread::scope(|scope| {
        (0..WRITERS).for_each(|writer| _ = scope.spawn(move || write(writer)));
    });
    fs.close().unwrap();
    assert_clean(&disk);
}

/// Each search is a checkpoint, so a full disk must not search on every write.
#[test]
fn deletes_trigger_a_new_search_for_free_space() {
    let disk = Arc::new(CrashStorage::of(disk(SMALL).image()));
    let options = store_options(8 << 20);
    let mut fs = Fs::open(disk.clone(), options).unwrap();
    fs.set_reclaim_interval(Duration::from_secs(3600));
    let ino = file(&fs, ROOT, b"filler").unwrap().ino;
    let piece = bytes(5, 16 << 10);
    let mut at = 0;
    let mut before = u64::MAX;
    // Messages in buffers may need less space in leaves than estimated.
    while before != at {
        before = at;
        while fs.write(ino, at, &piece, false).is_ok() {
            at += 16 << 10;
        }
        fs.checkpoint().unwrap();
    }
    let before = disk.writes();
    for _ in 0..100 {
        assert_eq!(errno(fs.write(ino, at, &piece, false)), libc::ENOSPC);
    }
    assert_eq!(disk.writes(), before, "searches for free space must not write");
    fs.unlink(ROOT, b"filler").unwrap();
    let again = file(&fs, ROOT, b"again").unwrap();
    fs.write(again.ino, 0, &piece, false).unwrap();
    fs.close().unwrap();
    let found = check(disk).unwrap();
    assert_eq!(found.problems, Vec::<String>::new());
}
