//! A drive-managed shingled drive (Aghayev and Desnoyers, *Skylight*, FAST 2015): tracks overlap, so bands of tracks can only be rewritten
//! as a whole.
//!
//! Writes are appended to a persistent cache at the outer edge, a circular log. When the log reaches a piece that is still needed (the
//! oldest one), the drive cleans the band of that piece: it reads the band, merges the cached pieces of the band, and writes the band back.
//! The write that needs the space waits for this. Pieces that were overwritten since need no space. Bands have fixed positions behind the
//! cache. A read takes each piece from its current position.

use super::hdd::Drive;
use super::parameters::SmrParameters;
use std::collections::BTreeMap;

/// A shingled drive: the contents of its persistent cache. Byte offsets count from the start of the disk, positions from the outer edge of
/// the drive.
pub(super) struct Shingles {
    cache_bytes: u64,
    band_bytes: u64,
    /// The cached pieces: start to end, and the position in the cache. Pieces do not overlap.
    pieces: BTreeMap<u64, (u64, u64)>,
    /// The occupied positions: start to end, and the start of the piece.
    taken: BTreeMap<u64, (u64, u64)>,
    /// The position at which the next piece is appended.
    tail: u64,
}

impl Shingles {
    pub fn new(smr: &SmrParameters) -> Shingles {
        Shingles {
            cache_bytes: smr.media_cache_bytes,
            band_bytes: smr.band_bytes,
            pieces: BTreeMap::new(),
            taken: BTreeMap::new(),
            tail: 0,
        }
    }

    /// Reads `start..end` piece by piece.
    pub fn read(&self, drive: &mut Drive, start: u64, end: u64, arrival_ns: f64) -> f64 {
        let places = self.places(start, end);
        places.into_iter().fold(arrival_ns, |now_ns, (from, to)| drive.read(from, to, now_ns))
    }

    /// The time until the head has reached the first byte of a read and read its first piece.
    pub fn access_ns(&self, drive: &Drive, start: u64, end: u64) -> f64 {
        self.places(start, end).first().map_or(0.0, |&(from, to)| drive.access_ns(from, to))
    }

    /// Appends `start..end` to the cache, after cleaning bands if the cache needs space.
    pub fn write(&mut self, drive: &mut Drive, start: u64, end: u64, arrival_ns: f64) -> f64 {
        let mut now_ns = arrival_ns;
        for (start, end) in cut(start, end, self.band_bytes) {
            self.forget(start, end);
            if self.tail + (end - start) > self.cache_bytes {
                self.tail = 0;
            }
            let (place, place_end) = (self.tail, self.tail + (end - start));
            while let Some(piece) = self.piece_at(place, place_end) {
                now_ns = self.clean(drive, piece / self.band_bytes, now_ns);
            }
            self.tail = place_end;
            now_ns = drive.write(place, place_end, now_ns);
            self.keep(start, end, place);
        }
        now_ns
    }

    /// Cleans a band: reads its pieces from the cache, reads the band and writes it.
    fn clean(&mut self, drive: &mut Drive, band: u64, now_ns: f64) -> f64 {
        let (start, end) = (band * self.band_bytes, (band + 1) * self.band_bytes);
        let now_ns = drive.flush(now_ns);
        let now_ns = self.read(drive, start, end, now_ns);
        let home = self.cache_bytes + start;
        let now_ns = drive.read(home, home + self.band_bytes, now_ns);
        self.forget(start, end);
        drive.write_media(home, home + self.band_bytes, now_ns)
    }

    /// A piece that overlaps these positions.
    fn piece_at(&self, place: u64, place_end: u64) -> Option<u64> {
        overlapping(&self.taken, place, place_end).next().map(|(_, &(_, piece))| piece)
    }

    /// The positions of the bytes `start..end`, in order.
    fn places(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut places = Vec::new();
        let mut at = start;
        for (&piece, &(piece_end, place)) in overlapping(&self.pieces, start, end) {
            if at < piece {
                places.push((self.cache_bytes + at, self.cache_bytes + piece));
                at = piece;
            }
            let until = piece_end.min(end);
            places.push((place + (at - piece), place + (until - piece)));
            at = until;
        }
        if at < end {
            places.push((self.cache_bytes + at, self.cache_bytes + end));
        }
        places
    }

    /// Records that `start..end` is cached at `place`.
    fn keep(&mut self, start: u64, end: u64, place: u64) {
        self.pieces.insert(start, (end, place));
        self.taken.insert(place, (place + (end - start), start));
    }

    /// Removes `start..end` from the cached pieces; pieces that extend beyond it are cut.
    fn forget(&mut self, start: u64, end: u64) {
        let touched: Vec<_> =
            overlapping(&self.pieces, start, end).map(|(&piece, &rest)| (piece, rest)).collect();
        for (piece, (piece_end, place)) in touched {
            self.pieces.remove(&piece);
            self.taken.remove(&place);
            if piece < start {
                self.keep(piece, start, place);
            }
            if end < piece_end {
                self.keep(end, piece_end, place + (end - piece));
            }
        }
    }
}

/// The ranges that overlap `start..end`, of ranges that do not overlap each other.
fn overlapping(
    ranges: &BTreeMap<u64, (u64, u64)>,
    start: u64,
    end: u64,
) -> impl Iterator<Item = (&u64, &(u64, u64))> {
    let before = ranges.range(..start).next_back().filter(move |(_, (before_end, _))| start < *before_end);
    before.into_iter().chain(ranges.range(start..end))
}

/// Cuts a range at the boundaries of bands.
fn cut(start: u64, end: u64, band_bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut at = start;
    std::iter::from_fn(move || {
        let until = end.min((at / band_bytes + 1) * band_bytes);
        let piece = (at < end).then_some((at, until));
        at = until;
        piece
    })
}
