//! The state of a device between requests, for every kind of device.

use super::ftl::SharedFtl;
use super::hdd::Drive;
use super::parameters::Parameters;
use super::smr::Shingles;
use super::ssd::Ssd;
use crate::{Request, RequestKind, SECTOR_BYTES};

/// A device that serves requests in modelled time: head position, buffers, address table, busy channels.
pub struct Device {
    kind: Kind,
    size_bytes: u64,
    /// The oldest pending request, and how often it was passed over.
    oldest: Option<(Request, u32)>,
}

enum Kind {
    Ideal,
    /// The position of the disk's first byte on the drive, and how often a request may be passed over.
    Hdd(Box<Drive>, u64, u32),
    Smr(Box<Drive>, Box<Shingles>, u32),
    Ssd(Box<Ssd>),
}

impl Device {
    /// Creates a device with a disk of `size_bytes`, in its initial state but for its flash, if it has a translation layer.
    pub(super) fn new(parameters: &Parameters, size_bytes: u64, flash: Option<SharedFtl>) -> Device {
        let kind = match (&parameters.hdd, &parameters.smr, &parameters.ssd) {
            (Some(hdd), Some(smr), _) => {
                let drive_bytes = hdd.drive_bytes.max(smr.media_cache_bytes.saturating_add(size_bytes));
                // Whole bands, because the last band is cleaned like the others.
                let drive = Drive::new(hdd, drive_bytes + smr.band_bytes, smr.media_cache_bytes);
                Kind::Smr(Box::new(drive), Box::new(Shingles::new(smr)), hdd.passed_over_max)
            }
            (Some(hdd), None, _) => {
                // The drive grows if the disk does not fit.
                let drive_bytes = hdd.drive_bytes.max(hdd.partition_offset_bytes.saturating_add(size_bytes));
                let drive = Drive::new(hdd, drive_bytes, hdd.partition_offset_bytes);
                Kind::Hdd(Box::new(drive), hdd.partition_offset_bytes, hdd.passed_over_max)
            }
            (None, _, Some(ssd)) => Kind::Ssd(Box::new(Ssd::new(ssd, parameters.ftl.as_ref().zip(flash)))),
            (None, _, None) => Kind::Ideal,
        };
        Device { kind, size_bytes, oldest: None }
    }

    /// Whether it serves one request at a time, so that other requests should wait for [`Device::choose`].
    pub fn does_one_at_a_time(&self) -> bool {
        matches!(self.kind, Kind::Hdd(..) | Kind::Smr(..))
    }

    /// Returns the index of the pending request to serve next; `pending` is sorted by age, oldest first.
    ///
    /// A drive with heads takes the request that it can complete first (shortest positioning time, as NCQ does), but passes over the oldest
    /// one only a limited number of times; other devices take the oldest. `pending` must not be empty.
    pub fn choose(&mut self, pending: &[Request]) -> usize {
        let passed_over_max = match &self.kind {
            Kind::Hdd(_, _, max) | Kind::Smr(_, _, max) => *max,
            Kind::Ideal | Kind::Ssd(_) => return 0,
        };
        let [first, _, ..] = pending else { return 0 };
        let passed_over = match &self.oldest {
            Some((oldest, passed_over)) if oldest == first => *passed_over,
            _ => 0,
        };
        let access_ns = |request| self.access_ns(request);
        let nearest =
            (0..pending.len()).min_by(|&a, &b| access_ns(&pending[a]).total_cmp(&access_ns(&pending[b])));
        match nearest {
            Some(index) if index > 0 && passed_over < passed_over_max => {
                self.oldest = Some((*first, passed_over + 1));
                index
            }
            _ => {
                self.oldest = None;
                0
            }
        }
    }

    /// Serves a request that arrives at `arrival_ns`. Returns its completion time in nanoseconds of device time. A range beyond the end of
    /// the disk is cut off.
    pub fn serve(&mut self, request: &Request, arrival_ns: u64) -> u64 {
        let (start, end) = self.range(request);
        let at_ns = arrival_ns as f64;
        let done_ns = match (&mut self.kind, request.kind) {
            (Kind::Ideal, _) => at_ns,
            (Kind::Hdd(drive, offset, _), RequestKind::Read) => {
                drive.read(*offset + start, *offset + end, at_ns)
            }
            (Kind::Hdd(drive, offset, _), RequestKind::Write) => {
                drive.write(*offset + start, *offset + end, at_ns)
            }
            (Kind::Smr(drive, shingles, _), RequestKind::Read) => shingles.read(drive, start, end, at_ns),
            (Kind::Smr(drive, shingles, _), RequestKind::Write) => shingles.write(drive, start, end, at_ns),
            (Kind::Hdd(drive, ..) | Kind::Smr(drive, ..), RequestKind::Flush) => drive.flush(at_ns),
            (Kind::Hdd(drive, ..) | Kind::Smr(drive, ..), RequestKind::Discard) => drive.idle_command(at_ns),
            (Kind::Ssd(ssd), RequestKind::Read) => ssd.read_all(&[(start, end)], at_ns),
            (Kind::Ssd(ssd), RequestKind::Write) => ssd.write(start, end, at_ns),
            (Kind::Ssd(ssd), RequestKind::Flush) => ssd.flush(at_ns),
            (Kind::Ssd(ssd), RequestKind::Discard) => ssd.discard(start, end, at_ns),
        };
        (done_ns.ceil() as u64).max(arrival_ns)
    }

    /// Serves reads that arrive at `arrival_ns` as one command. A shingled drive, which reads its pieces one by one, takes each for itself.
    pub(super) fn serve_as_one(&mut self, reads: &[Request], arrival_ns: u64) -> u64 {
        let at_ns = arrival_ns as f64;
        let mut ranges: Vec<(u64, u64)> = reads.iter().map(|read| self.range(read)).collect();
        let done_ns = match &mut self.kind {
            Kind::Ideal => at_ns,
            Kind::Hdd(drive, offset, _) => {
                ranges
                    .iter_mut()
                    .for_each(|(start, end)| (*start, *end) = (*start + *offset, *end + *offset));
                drive.read_all(&ranges, at_ns)
            }
            Kind::Smr(drive, shingles, _) => {
                let done_ns = ranges.iter().map(|&(start, end)| shingles.read(drive, start, end, at_ns));
                done_ns.fold(at_ns, f64::max)
            }
            Kind::Ssd(ssd) => ssd.read_all(&ranges, at_ns),
        };
        (done_ns.ceil() as u64).max(arrival_ns)
    }

    /// See [`Ssd::take_dies_in_turn`]; other devices have no dies.
    pub(super) fn take_dies_in_turn(&mut self) {
        if let Kind::Ssd(ssd) = &mut self.kind {
            ssd.take_dies_in_turn();
        }
    }

    fn access_ns(&self, request: &Request) -> f64 {
        let (start, end) = self.range(request);
        match (&self.kind, request.kind) {
            (Kind::Hdd(drive, offset, _), RequestKind::Read) => drive.access_ns(offset + start, offset + end),
            (Kind::Smr(drive, shingles, _), RequestKind::Read) => shingles.access_ns(drive, start, end),
            // Writes go to the cache.
            _ => 0.0,
        }
    }

    /// The byte range of a request on the disk.
    fn range(&self, request: &Request) -> (u64, u64) {
        let start = request.sector.saturating_mul(SECTOR_BYTES).min(self.size_bytes);
        let end = start + (u64::from(request.sectors) * SECTOR_BYTES).min(self.size_bytes - start);
        (start, end)
    }
}
