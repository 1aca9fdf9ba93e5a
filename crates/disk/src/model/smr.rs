//! A shingled drive that manages itself (Aghayev and Desnoyers, *Skylight*, FAST 2015): tracks overlap, so bands of them
//! can only be rewritten whole.
//!
//! Writes are appended to a persistent cache at the outer edge, which is a log that goes round. Where it comes to a piece
//! that is still needed, the oldest there is, the band of that piece is cleaned: read, merged with what is cached of it,
//! and written back; the write that needs the room waits for that. Pieces that were written again since need no room. Bands have fixed places behind the cache. Reads take each piece from where it lies.

use super::hdd::Drive;
use super::parameters::SmrParameters;
use std::collections::BTreeMap;

/// A shingled drive: what lies in its persistent cache. Bytes count from the start of the disk, places from the outer
/// edge of the drive.
pub(super) struct Shingles {
    cache_bytes: u64,
    band_bytes: u64,
    /// The cached pieces: start to end, and the place in the cache. No two overlap.
    pieces: BTreeMap<u64, (u64, u64)>,
    /// The places that they take: start to end, and the start of the piece.
    taken: BTreeMap<u64, (u64, u64)>,
    /// Where the next piece is appended.
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

    /// How long the head takes to come to the first byte of a read and read all of it, were it in one piece.
    pub fn access_ns(&self, drive: &Drive, start: u64, end: u64) -> f64 {
        self.places(start, end).first().map_or(0.0, |&(from, to)| drive.access_ns(from, to))
    }

    /// Appends `start..end` to the cache, which is cleaned before if it has to be.
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

    /// Cleans a band: its pieces are read from the cache, the band is read and written.
    fn clean(&mut self, drive: &mut Drive, band: u64, now_ns: f64) -> f64 {
        let (start, end) = (band * self.band_bytes, (band + 1) * self.band_bytes);
        let now_ns = drive.flush(now_ns);
        let now_ns = self.read(drive, start, end, now_ns);
        let home = self.cache_bytes + start;
        let now_ns = drive.read(home, home + self.band_bytes, now_ns);
        self.forget(start, end);
        drive.write_media(home, home + self.band_bytes, now_ns)
    }

    /// A piece that takes some of these places.
    fn piece_at(&self, place: u64, place_end: u64) -> Option<u64> {
        overlapping(&self.taken, place, place_end).next().map(|(_, &(_, piece))| piece)
    }

    /// Where the bytes `start..end` lie, in their order.
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

    /// Notes that `start..end` is cached at `place`.
    fn keep(&mut self, start: u64, end: u64, place: u64) {
        self.pieces.insert(start, (end, place));
        self.taken.insert(place, (place + (end - start), start));
    }

    /// Forgets what is cached of `start..end`; pieces that reach over its edges are cut.
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

/// Those of some ranges, none of which overlap each other, that overlap `start..end`.
fn overlapping(
    ranges: &BTreeMap<u64, (u64, u64)>,
    start: u64,
    end: u64,
) -> impl Iterator<Item = (&u64, &(u64, u64))> {
    let before = ranges.range(..start).next_back().filter(move |(_, (before_end, _))| start < *before_end);
    before.into_iter().chain(ranges.range(start..end))
}

/// Cuts a run where bands meet.
fn cut(start: u64, end: u64, band_bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut at = start;
    std::iter::from_fn(move || {
        let until = end.min((at / band_bytes + 1) * band_bytes);
        let piece = (at < end).then_some((at, until));
        at = until;
        piece
    })
}
