//! Records the requests of a loop device.

use crate::common::{Loop, Mounted, run};
use disk::{Request, RequestKind, SECTOR_BYTES};
use rustix::fs::OFlags;
use senesce_probe::{Reader, RequestRecorder, blocktrace, census, file_extents, scan};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

/// Whether block traces can be recorded; prints a skip otherwise.
fn can_record() -> bool {
    if !testing::is_root() {
        return false;
    }
    match blocktrace::available() {
        Ok(()) => true,
        Err(why) => {
            testing::skip("block traces", why);
            false
        }
    }
}

fn data_bytes_read(requests: &[Request]) -> u64 {
    let reads = requests.iter().filter(|request| request.kind == RequestKind::Read && !request.metadata);
    reads.map(|read| u64::from(read.sectors) * SECTOR_BYTES).sum()
}

#[test]
fn file_is_read_once_from_its_extents() {
    if !can_record() {
        return;
    }
    let Some(mounted) = Mounted::new("ext4") else { return };
    let path = mounted.root().join("file");
    std::fs::write(&path, vec![1; 8 << 20]).unwrap();
    let extents = file_extents(File::open(&path).unwrap()).unwrap();
    mounted.drop_caches();
    let recorder = RequestRecorder::start(mounted.disk.devno(), 1024).unwrap();
    assert_eq!(std::fs::read(&path).unwrap().len(), 8 << 20);
    let requests = recorder.stop().unwrap();
    let within = |request: &&Request| {
        let (start, end) = (request.sector * SECTOR_BYTES, request.end_sector() * SECTOR_BYTES);
        extents.iter().any(|extent| extent.physical <= start && end <= extent.physical_end())
    };
    let file: Vec<_> = requests.iter().filter(within).copied().collect();
    assert_eq!(data_bytes_read(&file), 8 << 20);
    assert!(requests.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
    assert!(file.iter().any(|request| request.readahead));
}

#[test]
fn both_readers_read_all_files_from_disk() {
    if !can_record() {
        return;
    }
    let Some(mounted) = Mounted::new("xfs") else { return };
    let root = mounted.root();
    for name in 0..200 {
        std::fs::write(root.join(name.to_string()), vec![b'x'; 20_000]).unwrap();
    }
    let counts = census(&root).unwrap();
    for reader in [Reader::Grep, Reader::Builtin] {
        mounted.drop_caches();
        let recorder = RequestRecorder::start(mounted.disk.devno(), 1024).unwrap();
        scan(&root, reader, &counts).unwrap();
        let requests = recorder.stop().unwrap();
        assert_eq!(data_bytes_read(&requests), 200 * 20_480, "{reader:?}");
    }
}

/// Reads sectors from a device, bypassing the page cache.
fn read_direct(device: &str, sectors: &[u64]) {
    let options = OFlags::DIRECT.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(options).open(device).unwrap();
    let mut buffer = vec![0; 8192];
    let start = buffer.as_ptr().align_offset(4096);
    for sector in sectors {
        let into = &mut buffer[start..start + 4096];
        rustix::io::pread(&file, into, sector * SECTOR_BYTES).unwrap();
    }
}

#[test]
fn every_request_is_recorded_in_order() {
    if !can_record() {
        return;
    }
    let disk = Loop::new(64 << 20);
    let sectors: Vec<u64> = (0..20_000).map(|i| i * 7919 % 16_000 * 8).collect();
    let recorder = RequestRecorder::start(disk.devno(), 4096).unwrap();
    read_direct(&disk.device, &sectors);
    let requests = recorder.stop().unwrap();
    let seen: Vec<u64> = requests.iter().filter(|r| !r.readahead).map(|request| request.sector).collect();
    assert_eq!(seen, sectors);
    let asked: Vec<_> = requests.iter().filter(|request| !request.readahead).collect();
    assert!(asked.iter().all(|request| request.service_ns > 0));
    // Any program that opens the device may read its first sectors at the same time.
    assert!(asked.iter().filter(|request| request.queue == 1).count() > 19_900);
}

#[test]
fn zeroing_is_recorded_as_discard() {
    if !can_record() {
        return;
    }
    let disk = Loop::new(64 << 20);
    let recorder = RequestRecorder::start(disk.devno(), 1024).unwrap();
    run("blkdiscard", &["--offset", "0", "--length", "1048576", &disk.device]);
    run("blkdiscard", &["--zeroout", "--offset", "1048576", "--length", "1048576", &disk.device]);
    let kinds: Vec<_> = recorder.stop().unwrap().iter().map(|r| (r.kind, r.sector, r.sectors)).collect();
    let expected = [(RequestKind::Discard, 0, 2048), (RequestKind::Discard, 2048, 2048)];
    for request in expected {
        assert!(kinds.contains(&request), "{kinds:?}");
    }
}

#[test]
fn partition_addresses_start_at_zero() {
    if !can_record() {
        return;
    }
    let disk = Loop::new(64 << 20);
    let partition = Partition::new(&disk.device);
    let name = Path::new(&disk.device).file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(format!("/sys/block/{name}/{name}p1/dev")).unwrap();
    let (major, minor) = text.trim().split_once(':').unwrap();
    let recorder = RequestRecorder::start((major.parse().unwrap(), minor.parse().unwrap()), 1024).unwrap();
    // In front of the partition, in it, and behind it, where programs that identify partitions do not read.
    read_direct(&disk.device, &[1528, 2048 + 1736, 2048 + 4096 + 1352]);
    let sectors: Vec<_> = recorder.stop().unwrap().iter().map(|request| request.sector).collect();
    run("delpart", &[&disk.device, "1"]);
    drop(partition);
    assert!(sectors.contains(&1736), "{sectors:?}");
    // Such a program may have read at the same time.
    assert!(
        sectors.iter().all(|sector| *sector < 4096 && ![1528, 2048 + 1736].contains(sector)),
        "{sectors:?}"
    );
}

/// The first partition of a loop device; it would remain after the device is detached.
struct Partition<'a> {
    device: &'a str,
}

impl<'a> Partition<'a> {
    fn new(device: &'a str) -> Self {
        let partition = Partition { device };
        // A killed test may have left one.
        partition.remove();
        run("addpart", &[device, "1", "2048", "4096"]);
        partition
    }

    fn remove(&self) {
        let _ = Command::new("delpart").args([self.device, "1"]).output();
    }
}

impl Drop for Partition<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}

#[test]
fn concurrent_recordings_are_independent() {
    if !can_record() {
        return;
    }
    let disks = [Loop::new(1 << 20), Loop::new(1 << 20)];
    let recorders = disks.each_ref().map(|disk| RequestRecorder::start(disk.devno(), 64).unwrap());
    read_direct(&disks[0].device, &[0, 8]);
    read_direct(&disks[1].device, &[16]);
    let [first, second] = recorders.map(|recorder| recorder.stop().unwrap());
    assert_eq!(first.iter().map(|request| request.sector).collect::<Vec<_>>(), [0, 8]);
    assert_eq!(second.iter().map(|request| request.sector).collect::<Vec<_>>(), [16]);
    let abandoned = RequestRecorder::start(disks[0].devno(), 64).unwrap();
    drop(abandoned);
    blocktrace::remove_stale().unwrap();
}

#[test]
fn trace_is_complete_or_an_error() {
    if !can_record() {
        return;
    }
    let disk = Loop::new(64 << 20);
    let sectors: Vec<u64> = (0..10_000).map(|i| i * 7919 % 16_000 * 8).collect();
    let recorder = RequestRecorder::start(disk.devno(), 4).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| read_direct(&disk.device, &sectors));
        }
    });
    match recorder.stop() {
        Ok(requests) => {
            assert_eq!(requests.len(), 40_000);
            assert!(requests.iter().all(|request| (1..=4).contains(&request.queue)));
            assert!(requests.iter().any(|request| request.queue > 1), "four threads never waited together");
        }
        Err(error) => assert!(error.to_string().contains("larger buffer"), "{error}"),
    }
}
