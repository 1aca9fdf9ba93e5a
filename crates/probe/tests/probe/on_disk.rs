//! Measurements of real disks: the requests they receive, and the caches.

use crate::common::{Loop, Mounted};
use disk::{DeviceCounters, MemoryLimit, Session};
use senesce_probe::{
    TransferPlan, block_picture, census, command_write_amplification, file_extents, scan_limited,
    transfer_size,
};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// Sets a memory limit; skips if the kernel does not support it.
fn limit(bytes: u64) -> Option<MemoryLimit> {
    match MemoryLimit::new(&Session::begin().unwrap(), bytes) {
        Err(error @ disk::Error::NoMemoryController) => {
            testing::skip("memory cgroups", error);
            None
        }
        result => Some(result.unwrap()),
    }
}

fn sh(script: &str, directory: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(directory);
    command
}

#[test]
fn disk_is_read_uncached_and_not_written() {
    if !testing::is_root() {
        return;
    }
    let disk = Loop::new(64 * MIB);
    let plan = TransferPlan { reads: 50, time: Duration::from_secs(1), ..TransferPlan::standard(7) };
    let begun = Instant::now();
    for _ in 0..2 {
        let before = DeviceCounters::read(disk.devno()).unwrap();
        let mut clock = |_: Option<&disk::Request>| begun.elapsed();
        let measured = transfer_size(Path::new(&disk.device), &plan, &mut clock, &mut |_| ()).unwrap();
        let moved = DeviceCounters::read(disk.devno()).unwrap().since(before);
        let read: u64 = measured.points.iter().map(|point| point.reads * point.read_bytes).sum();
        assert_eq!((moved.read_bytes, moved.written_bytes), (read, 0));
        assert_eq!((measured.disk_bytes, measured.allocated_bytes), (64 * MIB, None));
        let largest = measured.points.last().unwrap();
        assert_eq!((measured.points.len(), largest.read_bytes, largest.reads), (15, 64 * MIB, 1));
        assert!(measured.natural_50_bytes <= measured.natural_90_bytes, "{measured:?}");
        assert!(measured.best_bytes_per_s.unwrap() > 0.0);
    }
}

#[test]
fn small_durable_writes_are_amplified_and_large_ones_are_not() {
    for kind in ["ext4", "xfs", "btrfs"] {
        let Some(mounted) = Mounted::new(kind) else { continue };
        let root = mounted.root();
        // Data that was delayed before the command does not count for it.
        std::fs::write(root.join("before"), vec![1; 32 << 20]).unwrap();
        let large = sh("head -c 16777216 /dev/urandom >large", &root);
        let large = command_write_amplification(&root, &mut { large }).unwrap();
        assert_eq!(large.changed_bytes, 16 * MIB, "{kind}");
        let ratio = large.write_amplification.unwrap();
        assert!((1.0..1.5).contains(&ratio), "{kind}: {large:?}");
        let script = "for i in 1 2 3 4 5 6 7 8; do head -c 4096 /dev/urandom >small$i; sync small$i; done";
        let small = command_write_amplification(&root, &mut sh(script, &root)).unwrap();
        assert_eq!(small.changed_bytes, 8 * 4096, "{kind}");
        // XFS delays metadata writes and writes only its log.
        assert!(small.write_amplification.unwrap() > 1.4, "{kind}: {small:?}");
    }
}

#[test]
fn picture_has_every_block_of_every_file() {
    let Some(mounted) = Mounted::new("xfs") else { return };
    let root = mounted.root();
    std::fs::create_dir(root.join("b")).unwrap();
    let names = ["a", "b/inner", "c"];
    let files = names.map(|name| File::create(root.join(name)).unwrap());
    for block in 0..20 {
        for file in &files {
            file.write_all_at(&[7; 4096], block * 4096).unwrap();
            file.sync_all().unwrap();
        }
    }
    std::fs::write(root.join("d"), "").unwrap();
    let picture = block_picture(&root, 10).unwrap();
    let shown: Vec<_> = picture.iter().map(|file| (file.name.as_str(), file.size_bytes)).collect();
    assert_eq!(shown, [("a", 81920), ("b/inner", 81920), ("c", 81920), ("d", 0)]);
    for (drawn, file) in picture.iter().zip(&files) {
        let blocks = |runs: Vec<(u64, u64, u64)>| -> Vec<u64> {
            runs.iter().flat_map(|(_, at, len)| (*at..at + len).step_by(4096)).collect()
        };
        let mapped = file_extents(file).unwrap();
        let expected = mapped.iter().map(|extent| (extent.logical, extent.physical, extent.len)).collect();
        assert_eq!(blocks(drawn.extents.clone()), blocks(expected));
        // A file system may have allocated more than was written so far.
        assert!(drawn.extents.iter().map(|(_, _, len)| len).sum::<u64>() >= 81920);
    }
    assert!(picture[3].extents.is_empty());
    assert_eq!(block_picture(&root, 2).unwrap(), picture[..2]);
}

#[test]
fn insufficient_memory_for_reader_is_reported() {
    if !testing::is_root() {
        return;
    }
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    // One line, which grep must keep in memory.
    std::fs::write(dir.path().join("line"), vec![b'x'; 48 << 20]).unwrap();
    let Some(limit) = limit(16 * MIB) else { return };
    let census = census(dir.path()).unwrap();
    let error = scan_limited(dir.path(), &census, &limit).unwrap_err().to_string();
    assert!(error.contains("16777216 bytes of memory are not enough"), "{error}");
}
