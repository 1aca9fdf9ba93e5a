//! The requests of a scan, and which data of which file each of them read.

use super::places::{Data, FilePlaces};
use disk::model::{LogCost, Pricing};
use disk::{Request, RequestKind, SECTOR_BYTES};
use std::collections::HashMap;

/// The requests of a scan, cut where the data of one file ends.
pub(super) struct LocatedLog<'a> {
    requests: &'a [Request],
    places: &'a FilePlaces,
    parts: Vec<Part>,
    /// The longest read of a file, in bytes.
    longest: u64,
}

/// A part of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    /// The request, by number.
    request: u32,
    /// Where it was read.
    start: u64,
    len: u64,
    /// The data that it read; `None` for metadata, and for what is not a read.
    data: Option<Data>,
    /// Where it is read now.
    place: u64,
}

impl Part {
    /// Whether the next part continues the data of this one.
    fn continues_in(&self, next: &Part) -> bool {
        let end = self.data.map(|data| Data { offset: data.offset + self.len, ..data });
        end.is_some() && end == next.data
    }

    /// Whether the next part is of the same file.
    fn is_of_file_of(&self, next: &Part) -> bool {
        self.data.is_some() && self.file() == next.file()
    }

    fn file(&self) -> Option<u32> {
        self.data.map(|data| data.file)
    }
}

impl<'a> LocatedLog<'a> {
    pub fn new(requests: &'a [Request], places: &'a FilePlaces) -> LocatedLog<'a> {
        let mut parts = Vec::with_capacity(requests.len());
        let mut longest = 0;
        for (number, request) in requests.iter().enumerate() {
            let (start, end) = (request.sector * SECTOR_BYTES, request.end_sector() * SECTOR_BYTES);
            let part = |start, end, data| Part {
                request: number as u32,
                start,
                len: end - start,
                data,
                place: start,
            };
            match request.kind {
                RequestKind::Read => {
                    let of_request = places.parts(start, end);
                    if of_request.iter().any(|(.., data)| data.is_some()) {
                        longest = longest.max(end - start);
                    }
                    parts.extend(of_request.into_iter().map(|(start, end, data)| part(start, end, data)));
                }
                _ => parts.push(part(start, end, None)),
            }
        }
        LocatedLog { requests, places, parts, longest }
    }

    /// Bytes read of files, and of anything else.
    pub fn bytes(&self) -> (u64, u64) {
        self.parts.iter().filter(|part| self.is_read(part)).fold((0, 0), |(files, other), part| {
            match part.data {
                Some(_) => (files + part.len, other),
                None => (files, other + part.len),
            }
        })
    }

    /// The cost of the requests as they are.
    pub fn unchanged(&self, mut pricing: Pricing) -> LogCost {
        pricing.add(self.requests);
        pricing.finish()
    }

    /// The cost with each file in one piece; see [`super::Cause::Pieces`].
    pub fn in_one_piece(&self, pricing: Pricing, size_bytes: u64) -> LogCost {
        let mut parts = self.parts.clone();
        // A scheduler may have sorted what was read of a file by address.
        for of_one_file in parts.chunk_by_mut(Part::is_of_file_of) {
            of_one_file.sort_by_key(|part| part.data.map(|data| data.offset));
        }
        let starts = self.places.in_one_piece(size_bytes);
        for part in &mut parts {
            if let Some(data) = part.data {
                part.place = starts[data.file as usize] + data.offset;
            }
        }
        let had_gap = |before: &Part, next: &Part| before.start + before.len != next.start;
        self.price(pricing, &parts, |before, next| before.continues_in(next) && had_gap(before, next))
    }

    /// The cost with each file behind the one read before it; see [`super::Cause::Order`].
    pub fn in_order(&self, pricing: Pricing, size_bytes: u64) -> LogCost {
        let mut parts = self.parts.clone();
        let mut moved_by: HashMap<u32, u64> = HashMap::new();
        let mut end = None;
        for part in &mut parts {
            let Some(data) = part.data else { continue };
            let behind = || end.map_or(0, |end| difference(end, self.places.first(data.file), size_bytes));
            let by = *moved_by.entry(data.file).or_insert_with(behind);
            // What does not fit between a place and the end of the disk begins at its start.
            part.place = (part.start + by) % size_bytes;
            if part.place + part.len > size_bytes {
                part.place = 0;
            }
            end = Some(part.place + part.len);
        }
        self.price(pricing, &parts, |_, _| false)
    }

    /// The cost without reads of metadata.
    pub fn without_metadata(&self, pricing: Pricing) -> LogCost {
        let is_kept = |part: &&Part| part.data.is_some() || !self.is_read(part);
        let parts: Vec<Part> = self.parts.iter().filter(is_kept).copied().collect();
        self.price(pricing, &parts, |_, _| false)
    }

    /// The cost with one command for what was split into several requests; see [`super::Cause::Splitting`].
    pub fn unsplit(&self, pricing: Pricing) -> LogCost {
        self.price(pricing, &self.parts, Part::is_of_file_of)
    }

    /// The cost of the data alone, each file in one piece behind the one read before it, in the fewest commands.
    pub fn ideal(&self, pricing: Pricing) -> LogCost {
        let mut parts: Vec<Part> = self.parts.iter().filter(|part| part.data.is_some()).copied().collect();
        let mut starts: HashMap<u32, u64> = HashMap::new();
        let mut end = 0;
        for part in &mut parts {
            let Some(data) = part.data else { continue };
            let start = *starts.entry(data.file).or_insert_with(|| {
                end += self.places.bytes(data.file);
                end - self.places.bytes(data.file)
            });
            part.place = start + data.offset;
        }
        parts.sort_by_key(|part| part.place);
        self.price(pricing, &parts, Part::continues_in)
    }

    fn is_read(&self, part: &Part) -> bool {
        self.requests[part.request as usize].kind == RequestKind::Read
    }

    /// Prices the parts, of which a command takes those of one request, and adjacent ones that `joins` puts together, up to the longest read.
    fn price(&self, mut pricing: Pricing, parts: &[Part], joins: impl Fn(&Part, &Part) -> bool) -> LogCost {
        let mut rest = parts;
        let mut command = Vec::new();
        while let [first, ..] = rest {
            let mut bytes = first.len;
            let mut count = 1;
            while let [before, next, ..] = &rest[count - 1..] {
                let is_whole = before.request == next.request;
                if !is_whole && (bytes + next.len > self.longest || !joins(before, next)) {
                    break;
                }
                bytes += next.len;
                count += 1;
            }
            let (taken, behind) = rest.split_at(count);
            rest = behind;
            self.fill(&mut command, taken);
            pricing.add_as_one(&command);
        }
        pricing.finish()
    }

    /// Fills `command` with the ranges of the parts. It is issued as the first of their requests was.
    fn fill(&self, command: &mut Vec<Request>, parts: &[Part]) {
        command.clear();
        let issued = self.requests[parts[0].request as usize];
        let range = |part: &Part| Request {
            sector: part.place / SECTOR_BYTES,
            sectors: (part.len / SECTOR_BYTES) as u32,
            ..issued
        };
        command.extend(parts.iter().map(range));
        command.dedup_by(|next, before| {
            let is_adjacent = before.end_sector() == next.sector;
            if is_adjacent {
                before.sectors += next.sectors;
            }
            is_adjacent
        });
    }
}

/// How far `to` is ahead of `from` on a disk that begins anew at its end.
fn difference(to: u64, from: u64, size_bytes: u64) -> u64 {
    (to % size_bytes + size_bytes - from % size_bytes) % size_bytes
}
