//! A thread that runs the loop.

use super::choice::FileStates;
use super::engine::Shared;
use super::error::Error;
use super::files::FileId;
use super::kind::OperationKind;
use super::operation::{AppendSize, Operation};
use super::outcome::Tally;
use super::random::Random;
use quanta::Clock;
use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;
use std::os::fd::{IntoRawFd as _, OwnedFd};
use std::time::Instant;

/// After this many consecutive loops without any operation, the run ends as idle.
const IDLE_LOOPS: u32 = 10_000;

/// The state of a thread.
pub(super) struct Thread<'a> {
    shared: &'a Shared<'a>,
    clock: Clock,
    random: Random,
    /// The file that is open between `open` and `close`.
    open: Option<(FileId, OwnedFd)>,
    /// Per set, the file kept open for `append … to`.
    kept: Vec<Option<(FileId, OwnedFd)>>,
    name: Vec<u8>,
    buffer: Vec<u8>,
    tally: Tally,
}

/// The result of an operation.
enum OpResult {
    /// It succeeded.
    Well,
    /// No suitable file exists.
    NoFile,
    /// It failed, which ends the run.
    Failed(FileId, Errno),
}

impl<'a> Thread<'a> {
    /// The thread with this number.
    pub fn new(shared: &'a Shared<'a>, number: u32, clock: Clock) -> Thread<'a> {
        Thread {
            shared,
            clock,
            random: Random::new(shared.seed, u64::from(number) + 1),
            open: None,
            kept: shared.choices.iter().map(|_| None).collect(),
            name: Vec::new(),
            buffer: vec![0; shared.io_bytes as usize],
            tally: Tally::default(),
        }
    }

    /// Repeats the loop until the run ends.
    pub fn run(mut self) -> Tally {
        let begun = Instant::now();
        let mut idle = 0;
        while self.shared.another_loop() {
            let before = self.tally.operations();
            self.round();
            if self.tally.operations() > before || self.shared.is_over() {
                idle = 0;
                continue;
            }
            idle += 1;
            if idle == IDLE_LOOPS {
                self.shared.fail(Error::NoSuitableFile);
            }
            // Another thread may be about to create a suitable file.
            std::thread::yield_now();
        }
        self.tally.begun = Some(begun);
        self.tally.ended = Some(Instant::now());
        self.tally
    }

    /// Runs the loop once.
    fn round(&mut self) {
        let mut at = 0;
        while at < self.shared.operations.len() && !self.shared.is_over() {
            at = match self.operation(self.shared.operations[at]) {
                OpResult::Well => at + 1,
                OpResult::NoFile => {
                    self.tally.skipped += 1;
                    self.shared.otherwise[at]
                }
                OpResult::Failed(place, error) => {
                    let kind = self.shared.operations[at].kind().name();
                    let path = self.shared.plan.path(place);
                    self.shared.fail(Error::Operation { kind, path, source: error.into() });
                    break;
                }
            };
        }
        self.give_up();
    }

    /// Closes the files left open by a failure or the end of the run.
    fn give_up(&mut self) {
        if let Some((place, file)) = self.open.take() {
            drop(file);
            self.choice(place.set).release(place.file);
        }
    }

    fn choice(&self, set: usize) -> &'a FileStates {
        &self.shared.choices[set]
    }

    fn operation(&mut self, operation: Operation) -> OpResult {
        match operation {
            Operation::Create { set } => self.create(set),
            Operation::Open { set, reads, appends } => {
                let writes = if appends { OFlags::RDWR | OFlags::APPEND } else { OFlags::RDWR };
                self.open(set, if reads { OFlags::RDONLY } else { writes })
            }
            Operation::Close => self.close(),
            Operation::Delete { set } => self.delete(set),
            Operation::Stat { set } => self.stat(set),
            Operation::AppendTo { set, size } => self.append_to(set, size),
            Operation::Read => self.of_open(OperationKind::Read, |file, this| read_all(file, this.buffer)),
            Operation::Write => self.of_open(OperationKind::Write, |file, this| {
                let place = this.writing.expect("a file is open");
                let bytes = this.shared.plan.sets[place.set].files[place.file].bytes;
                write_all(file, bytes, &this.shared.data)
            }),
            Operation::Append(size) => {
                let bytes = self.size(size);
                self.of_open(OperationKind::Append, |file, this| write_all(file, bytes, &this.shared.data))
            }
            Operation::Fsync => {
                self.of_open(OperationKind::Fsync, |file, _| rustix::fs::fsync(file).map(|()| 0))
            }
        }
    }

    /// Runs and times an operation.
    fn timed<T>(
        &mut self,
        kind: OperationKind,
        work: impl FnOnce(&mut Self) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let begun = self.clock.raw();
        let done = work(self);
        let ended = self.clock.raw();
        if done.is_ok() {
            self.tally.record(kind, self.clock.delta_as_nanos(begun, ended), || {
                self.clock.delta_as_nanos(self.shared.begun_raw(), begun)
            });
        }
        done
    }

    fn create(&mut self, set: usize) -> OpResult {
        let Some(file) = self.choice(set).take_missing(&mut self.random) else { return OpResult::NoFile };
        let place = FileId { set, file };
        match self.timed(OperationKind::Create, |this| this.shared.files.create(place, &mut this.name)) {
            Ok(open) => {
                self.choice(set).made(file);
                self.open = Some((place, open));
                OpResult::Well
            }
            Err(error) => {
                self.choice(set).gone(file);
                OpResult::Failed(place, error)
            }
        }
    }

    fn open(&mut self, set: usize, flags: OFlags) -> OpResult {
        let Some(file) = self.choice(set).take_existing(&mut self.random) else { return OpResult::NoFile };
        let place = FileId { set, file };
        match self
            .timed(OperationKind::Open, |this| this.shared.files.open_file(place, flags, &mut this.name))
        {
            Ok(open) => {
                self.open = Some((place, open));
                OpResult::Well
            }
            Err(error) => {
                self.choice(set).release(file);
                OpResult::Failed(place, error)
            }
        }
    }

    fn close(&mut self) -> OpResult {
        let (place, file) = self.open.take().expect("steps close the files they open");
        let closed = self.timed(OperationKind::Close, |_| close(file));
        self.choice(place.set).release(place.file);
        closed.map_or_else(|error| OpResult::Failed(place, error), |()| OpResult::Well)
    }

    fn delete(&mut self, set: usize) -> OpResult {
        let Some(file) = self.choice(set).take_idle(&mut self.random) else { return OpResult::NoFile };
        let place = FileId { set, file };
        let deleted = self.timed(OperationKind::Delete, |this| {
            let (directory, name) = this.shared.files.name(place, &mut this.name);
            rustix::fs::unlinkat(directory, name, AtFlags::empty())
        });
        match deleted {
            Ok(()) => {
                self.choice(set).gone(file);
                OpResult::Well
            }
            Err(error) => {
                self.choice(set).stays(file);
                OpResult::Failed(place, error)
            }
        }
    }

    fn stat(&mut self, set: usize) -> OpResult {
        let Some(file) = self.choice(set).take_existing(&mut self.random) else { return OpResult::NoFile };
        let place = FileId { set, file };
        let looked = self.timed(OperationKind::Stat, |this| {
            let (directory, name) = this.shared.files.name(place, &mut this.name);
            rustix::fs::statat(directory, name, AtFlags::empty()).map(drop)
        });
        self.choice(set).release(file);
        looked.map_or_else(|error| OpResult::Failed(place, error), |()| OpResult::Well)
    }

    /// An operation that transfers bytes of the open file.
    fn of_open(
        &mut self,
        kind: OperationKind,
        work: impl FnOnce(&OwnedFd, &mut Moving) -> Result<u64, Errno>,
    ) -> OpResult {
        let (place, file) = self.open.take().expect("steps open the files they use");
        let mut buffer = std::mem::take(&mut self.buffer);
        let moved = self.timed(kind, |this| {
            work(&file, &mut Moving { shared: this.shared, buffer: &mut buffer, writing: Some(place) })
        });
        self.buffer = buffer;
        self.open = Some((place, file));
        self.moved(kind, moved, place)
    }

    fn moved(&mut self, kind: OperationKind, moved: Result<u64, Errno>, place: FileId) -> OpResult {
        match moved {
            Ok(bytes) if kind == OperationKind::Read => self.tally.read_bytes += bytes,
            Ok(bytes) => self.tally.written_bytes += bytes,
            Err(error) => return OpResult::Failed(place, error),
        }
        OpResult::Well
    }

    fn append_to(&mut self, set: usize, size: AppendSize) -> OpResult {
        if self.kept[set].is_none() {
            let Some(file) = self.choice(set).take_existing(&mut self.random) else {
                return OpResult::NoFile;
            };
            let place = FileId { set, file };
            match self.shared.files.open_file(place, OFlags::WRONLY | OFlags::APPEND, &mut self.name) {
                Ok(open) => self.kept[set] = Some((place, open)),
                Err(error) => {
                    self.choice(set).release(file);
                    return OpResult::Failed(place, error);
                }
            }
        }
        let (place, file) = self.kept[set].take().expect("the file was just opened");
        let bytes = self.size(size);
        let written = self.timed(OperationKind::Append, |this| write_all(&file, bytes, &this.shared.data));
        let emptied = written.and_then(|written| self.keep_small(place, &file, written).map(|()| written));
        self.kept[set] = Some((place, file));
        self.moved(OperationKind::Append, emptied, place)
    }

    /// Truncates a file that exceeds the limit of its set.
    fn keep_small(&self, place: FileId, file: &OwnedFd, written: u64) -> Result<(), Errno> {
        let Some(most) = self.shared.plan.sets[place.set].most_bytes else { return Ok(()) };
        self.shared.grown[place.set].by(written, most, || rustix::fs::ftruncate(file, 0))
    }

    fn size(&mut self, size: AppendSize) -> u64 {
        if size.up_to { self.random.below(size.most) + 1 } else { size.most }
    }
}

/// Resources of an operation on the open file.
struct Moving<'m> {
    shared: &'m Shared<'m>,
    buffer: &'m mut Vec<u8>,
    /// The file.
    writing: Option<FileId>,
}

/// Incompressible data to write.
pub(super) fn incompressible(bytes: u64) -> Vec<u8> {
    let mut random = Random::new(1, 0);
    (0..bytes.div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).take(bytes as usize).collect()
}

/// Writes `bytes` bytes, at most the length of `data` per call.
pub(super) fn write_all(file: &OwnedFd, bytes: u64, data: &[u8]) -> Result<u64, Errno> {
    let mut left = bytes;
    while left > 0 {
        let now = data.len().min(left as usize);
        match rustix::io::write(file, &data[..now]) {
            Ok(0) => return Err(Errno::IO),
            Ok(written) => left -= written as u64,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

/// Reads a file to its end, which is the first short read.
fn read_all(file: &OwnedFd, buffer: &mut [u8]) -> Result<u64, Errno> {
    let mut at = 0;
    loop {
        match rustix::io::pread(file, &mut *buffer, at) {
            Ok(read) => {
                at += read as u64;
                if read < buffer.len() {
                    return Ok(at);
                }
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Closes a file and returns errors: some file systems report a failed write only then.
pub(super) fn close(file: OwnedFd) -> Result<(), Errno> {
    // SAFETY: the descriptor is owned and not used afterwards.
    unsafe { rustix::io::try_close(file.into_raw_fd()) }
}
