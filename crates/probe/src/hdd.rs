//! A modelled 7200 rpm disk: what requests in their order would cost on one, on any machine (FACTS: it puts
//! all published cases in their order, while the wall time of an image in memory says little).

use disk::{Extent, Request, RequestKind, SECTOR_BYTES};
use serde::{Deserialize, Serialize};

/// A disk that seeks, waits for half a turn, then transfers.
///
/// A request that begins where the head is costs its transfer, length / `bytes_per_s`. Any other first costs
/// `seek_min_ms` + `seek_span_ms` · √(distance / `disk_bytes`) + `half_turn_ms`, or, where it lies ahead and
/// that is quicker, the time to read through the gap. The head starts at byte 0. The ratio between two
/// scans depends on `disk_bytes`, so state it beside every figure.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Hdd {
    /// The shortest seek, in milliseconds.
    pub seek_min_ms: f64,
    /// What a seek over the whole disk takes on top of it, in milliseconds.
    pub seek_span_ms: f64,
    /// Half a turn, in milliseconds.
    pub half_turn_ms: f64,
    /// Sequential bandwidth.
    pub bytes_per_s: f64,
    /// Size of the disk; farther distances cost a seek over all of it.
    pub disk_bytes: u64,
}

impl Hdd {
    /// A 7200 rpm disk of the given size.
    pub fn rpm_7200(disk_bytes: u64) -> Hdd {
        Hdd { seek_min_ms: 1.0, seek_span_ms: 14.0, half_turn_ms: 4.17, bytes_per_s: 150e6, disk_bytes }
    }

    /// Seconds the disk takes to serve the reads and writes among `requests` one after another. Flushes and
    /// discards cost nothing.
    pub fn service_s(&self, requests: &[Request]) -> f64 {
        let transfers = requests
            .iter()
            .filter(|request| matches!(request.kind, RequestKind::Read | RequestKind::Write))
            .map(|request| (request.sector * SECTOR_BYTES, u64::from(request.sectors) * SECTOR_BYTES));
        self.transfers_s(transfers)
    }

    /// Seconds for runs of (start, length) in bytes, one after another.
    fn transfers_s(&self, runs: impl Iterator<Item = (u64, u64)>) -> f64 {
        let mut head = 0;
        let mut seconds = 0.0;
        for (start, len) in runs {
            seconds += self.move_s(head, start) + len as f64 / self.bytes_per_s;
            head = start + len;
        }
        seconds
    }

    /// Seconds until the head, at `from`, can transfer at `to`.
    fn move_s(&self, from: u64, to: u64) -> f64 {
        let distance = from.abs_diff(to) as f64;
        if distance == 0.0 {
            return 0.0;
        }
        let share = (distance / self.disk_bytes as f64).min(1.0);
        let seek_s = (self.seek_min_ms + self.seek_span_ms * share.sqrt() + self.half_turn_ms) / 1000.0;
        if to > from { seek_s.min(distance / self.bytes_per_s) } else { seek_s }
    }
}

/// Seconds `hdd` would take to read the given extents of files, in scan order: the scan cost of a tree whose
/// files were given space but no data, as nothing is read.
pub fn modelled_scan_s(scan_extents: &[Extent], hdd: &Hdd) -> f64 {
    hdd.transfers_s(scan_extents.iter().map(|extent| (extent.start_bytes, extent.len_bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 MB/s and a disk of 1 MB · 100 makes figures that are worked out by hand.
    const DISK: Hdd = Hdd {
        seek_min_ms: 1.0,
        seek_span_ms: 10.0,
        half_turn_ms: 4.0,
        bytes_per_s: 512e6,
        disk_bytes: 51_200_000_000,
    };

    fn request(kind: RequestKind, sector: u64, sectors: u32) -> Request {
        Request { time_ns: 0, kind, metadata: false, readahead: false, sector, sectors }
    }

    fn read(sector: u64, sectors: u32) -> Request {
        request(RequestKind::Read, sector, sectors)
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }

    #[test]
    fn sequential_requests_cost_their_transfer() {
        // 512 MB/s is a million sectors a second.
        close(DISK.service_s(&[read(0, 1000), read(1000, 500)]), 0.0015);
    }

    #[test]
    fn a_seek_costs_the_root_of_its_distance() {
        // A quarter of the disk away: 1 + 10 · 0.5 + 4 = 10 ms, then 1 ms of transfer; back again the same.
        let there = read(25_000_000, 1000);
        close(DISK.service_s(&[there]), 0.011);
        close(DISK.service_s(&[there, read(1000, 1000)]), 0.022);
    }

    #[test]
    fn a_short_gap_ahead_is_read_through_and_the_same_gap_back_is_not() {
        close(DISK.service_s(&[read(0, 1000), read(3000, 1000)]), 0.004);
        // Back by 10,000 sectors, 1e-4 of the disk: 1 + 10 · 0.01 + 4 = 5.1 ms, quicker than 10 ms of reading.
        close(DISK.service_s(&[read(0, 10_000), read(0, 1000)]), 0.0161);
        close(DISK.service_s(&[read(10_000, 1000)]), 0.0061);
    }

    #[test]
    fn flushes_and_discards_cost_nothing_and_writes_do() {
        let others = [request(RequestKind::Flush, 0, 0), request(RequestKind::Discard, 40_000_000, 8)];
        close(DISK.service_s(&others), 0.0);
        close(DISK.service_s(&[request(RequestKind::Write, 0, 1000)]), 0.001);
    }

    #[test]
    fn farther_than_the_disk_is_as_far_as_the_disk() {
        close(DISK.service_s(&[read(900_000_000, 0)]), 0.015);
    }

    #[test]
    fn a_modelled_scan_is_the_service_of_its_reads() {
        let hdd = Hdd::rpm_7200(1 << 40);
        let extents = [(0, 8192), (1 << 30, 4096), (8192, 4096)]
            .map(|(start_bytes, len_bytes)| Extent { start_bytes, len_bytes });
        let reads = extents.map(|e| read(e.start_bytes / 512, (e.len_bytes / 512) as u32));
        close(modelled_scan_s(&extents, &hdd), hdd.service_s(&reads));
    }
}
