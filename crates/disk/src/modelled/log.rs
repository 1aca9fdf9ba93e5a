//! The in-memory log of the requests to a modelled disk, kept until it is taken. Logging is off by default, so that a disk that is aged for
//! hours needs no memory for a log that nobody reads.

use crate::request::{Request, RequestKind, SECTOR_BYTES};
use std::io::{self, Read, Write};

/// The maximum number of logged requests; further ones are counted. At [`ENTRY_BYTES`] each they take 256 MiB.
const MOST: usize = 8 << 20;

/// Requests are stored in blocks of this many, so that no request waits for a large copy.
const BLOCK: usize = 1 << 15;

/// Size of one request, in memory and on the socket.
const ENTRY_BYTES: usize = 32;

/// A log of requests, oldest first.
#[derive(Debug, Default)]
pub struct Log {
    on: bool,
    blocks: Vec<Vec<[u8; ENTRY_BYTES]>>,
    kept: usize,
    lost: u64,
}

impl Log {
    /// An empty log that is on or off.
    pub fn new(on: bool) -> Log {
        Log { on, ..Log::default() }
    }

    /// Takes the logged requests. If the log is on, a new one starts.
    pub fn take(&mut self) -> Log {
        let next = Log::new(self.on);
        std::mem::replace(self, next)
    }

    /// Adds a request if the log is on.
    pub fn push(&mut self, request: &Request) {
        if !self.on {
            return;
        }
        if self.kept == MOST {
            self.lost += 1;
            return;
        }
        if self.kept.is_multiple_of(BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK));
        }
        self.blocks.last_mut().expect("there is room").push(bytes(request));
        self.kept += 1;
    }

    /// Whether the log is on.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// The number of requests in the log.
    pub fn requests(&self) -> u64 {
        self.kept as u64
    }

    /// The number of requests that did not fit since the log was last taken.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Writes the requests in the format of [`read`].
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.blocks.iter().try_for_each(|block| out.write_all(block.as_flattened()))
    }
}

/// Reads `requests` requests.
pub fn read(from: &mut impl Read, requests: u64) -> io::Result<Vec<Request>> {
    let mut all = Vec::with_capacity(requests as usize);
    let mut bytes = [0; ENTRY_BYTES];
    for _ in 0..requests {
        from.read_exact(&mut bytes)?;
        all.push(request(&bytes).ok_or(io::ErrorKind::InvalidData)?);
    }
    Ok(all)
}

/// Little-endian: time, service time, sector with the kind in the top bits, sectors, queue.
fn bytes(request: &Request) -> [u8; ENTRY_BYTES] {
    let kind = match request.kind {
        RequestKind::Read => 0,
        RequestKind::Write => 1,
        RequestKind::Flush => 2,
        RequestKind::Discard => 3,
    };
    let mut bytes = [0; ENTRY_BYTES];
    bytes[..8].copy_from_slice(&request.time_ns.to_le_bytes());
    bytes[8..16].copy_from_slice(&request.service_ns.to_le_bytes());
    bytes[16..24].copy_from_slice(&(request.sector | kind << 62).to_le_bytes());
    bytes[24..28].copy_from_slice(&request.sectors.to_le_bytes());
    bytes[28..].copy_from_slice(&request.queue.to_le_bytes());
    bytes
}

fn request(bytes: &[u8; ENTRY_BYTES]) -> Option<Request> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let sector = number(16) & ((1 << 62) - 1);
    let kinds = [RequestKind::Read, RequestKind::Write, RequestKind::Flush, RequestKind::Discard];
    (sector < u64::MAX / SECTOR_BYTES).then(|| Request {
        time_ns: number(0),
        kind: kinds[(number(16) >> 62) as usize],
        metadata: false,
        readahead: false,
        sector,
        sectors: half(24),
        queue: half(28),
        service_ns: number(8),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_request() -> impl Strategy<Value = Request> {
        let kinds = [RequestKind::Read, RequestKind::Write, RequestKind::Flush, RequestKind::Discard];
        (any::<u64>(), 0..4usize, 0u64..1 << 50, any::<u32>(), any::<u32>(), any::<u64>()).prop_map(
            move |(time_ns, kind, sector, sectors, queue, service_ns)| Request {
                time_ns,
                kind: kinds[kind],
                metadata: false,
                readahead: false,
                sector,
                sectors,
                queue,
                service_ns,
            },
        )
    }

    proptest! {
        #[test]
        fn requests_round_trip(requests in prop::collection::vec(any_request(), 0..50)) {
            let mut log = Log::new(true);
            requests.iter().for_each(|request| log.push(request));
            let mut bytes = Vec::new();
            log.write(&mut bytes).unwrap();
            prop_assert_eq!(read(&mut bytes.as_slice(), log.requests()).unwrap(), requests);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = read(&mut bytes.as_slice(), 3);
        }
    }
}
