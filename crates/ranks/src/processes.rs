//! Ranks that are processes of one machine. Rank 0 starts the others; each is connected to it by a socket as its standard input, and is
//! killed when rank 0 exits.

use crate::{Error, Group};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Maximum length of a message, in bytes: a longer one does not come from a rank.
const MOST_BYTES: u32 = 1 << 30;

/// How long rank 0 waits for processes to exit.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the exit status of a rank whose connection has closed; default 2 s.
    pub exit_status: Duration,
    /// For the exit of all ranks after the run, before they are killed; default 2 s.
    pub exit: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { exit_status: Duration::from_secs(2), exit: Duration::from_secs(2) }
    }
}

/// Rank 0 of a group of processes.
pub struct Processes {
    /// How long it waits for the other processes to exit.
    pub timeouts: Timeouts,
    others: Vec<PeerProcess>,
    lost: Arc<LostRank>,
}

/// Another rank, as seen by rank 0.
struct PeerProcess {
    child: Child,
    link: UnixStream,
}

/// The lost rank, if any.
#[derive(Default)]
struct LostRank {
    over: AtomicBool,
    who: Mutex<Option<(u32, String)>>,
}

impl Processes {
    /// Starts the ranks 1 to `ranks` - 1, each with a command that must call [`ProcessRank::join`], and sends each `job`.
    pub fn start(ranks: u32, command: impl Fn() -> Command, job: &[u8]) -> Result<Processes, Error> {
        let lost = Arc::<LostRank>::default();
        let mut group = Processes { timeouts: Timeouts::default(), others: Vec::new(), lost };
        for rank in 1..ranks {
            let fail = |error: std::io::Error| Error::Rank { rank, why: format!("cannot start: {error}") };
            let (link, theirs) = UnixStream::pair().map_err(fail)?;
            let child = command().stdin(Stdio::from(OwnedFd::from(theirs))).spawn().map_err(fail)?;
            let watched = link.try_clone().map_err(fail)?;
            watch(rank, Pid::from_child(&child), watched, group.lost.clone());
            group.others.push(PeerProcess { child, link });
            let first = [&rank.to_le_bytes()[..], &ranks.to_le_bytes(), job].concat();
            group.send(rank, &first)?;
        }
        Ok(group)
    }

    fn send(&mut self, rank: u32, message: &[u8]) -> Result<(), Error> {
        send(&mut self.others[rank as usize - 1].link, message).map_err(|error| self.lost(rank, &error))
    }

    /// The reason why a rank does not answer.
    fn lost(&self, rank: u32, error: &std::io::Error) -> Error {
        // The connection closes shortly before the process exits.
        let begun = std::time::Instant::now();
        loop {
            if let Some((rank, why)) =
                self.lost.who.lock().expect("no thread panics while holding the lock").clone()
            {
                return Error::Rank { rank, why };
            }
            if begun.elapsed() > self.timeouts.exit_status {
                return Error::Rank { rank, why: format!("no answer: {error}") };
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Waits for a process in a separate thread; its failure ends the run. The parent reaps the process.
fn watch(rank: u32, pid: Pid, link: UnixStream, lost: Arc<LostRank>) {
    std::thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let status = loop {
            match rustix::process::waitid(WaitId::Pid(pid), options) {
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
                Ok(status) => break status,
            }
        };
        let Some(status) = status.filter(|status| status.exit_status() != Some(0)) else { return };
        let why = match (status.terminating_signal(), status.exit_status()) {
            (Some(signal), _) => format!("it was killed by signal {signal}"),
            (None, code) => format!("it exited with status {}", code.unwrap_or_default()),
        };
        lost.who.lock().expect("no thread panics while holding the lock").get_or_insert((rank, why));
        lost.over.store(true, Ordering::Relaxed);
        // Unblocks the thread that waits for its answer.
        let _ = link.shutdown(Shutdown::Both);
    });
}

impl Group for Processes {
    fn rank(&self) -> u32 {
        0
    }

    fn ranks(&self) -> u32 {
        self.others.len() as u32 + 1
    }

    fn gather(&mut self, message: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        let mut all = vec![message];
        for rank in 1..self.ranks() {
            // Any rank may be the lost one, and the others never answer: wait for each in turn, and stop when one is lost.
            if self.is_over() {
                return Err(self.lost(rank, &std::io::ErrorKind::BrokenPipe.into()));
            }
            let other = &mut self.others[rank as usize - 1];
            let link = other.link.as_fd();
            wait_for(link, &self.lost.over);
            let message = receive(&mut other.link).map_err(|error| self.lost(rank, &error))?;
            match message.split_first() {
                Some((&DONE, message)) => all.push(message.to_vec()),
                Some((_, why)) => {
                    return Err(Error::Rank { rank, why: String::from_utf8_lossy(why).into_owned() });
                }
                None => return Err(Error::Rank { rank, why: "no message".to_owned() }),
            }
        }
        Ok(all)
    }

    fn broadcast(&mut self, message: Vec<u8>) -> Result<Vec<u8>, Error> {
        for rank in 1..self.ranks() {
            self.send(rank, &message)?;
        }
        Ok(message)
    }

    fn is_over(&self) -> bool {
        self.lost.over.load(Ordering::Relaxed)
    }
}

impl Drop for Processes {
    /// The other ranks have ended, or cannot continue.
    fn drop(&mut self) {
        for other in &mut self.others {
            let _ = other.link.shutdown(Shutdown::Both);
        }
        let begun = std::time::Instant::now();
        for other in &mut self.others {
            while other.child.try_wait().is_ok_and(|status| status.is_none()) {
                if begun.elapsed() > self.timeouts.exit {
                    let _ = other.child.kill();
                    let _ = other.child.wait();
                    break;
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

/// Waits until data is readable, or the run is over.
fn wait_for(link: std::os::fd::BorrowedFd<'_>, over: &AtomicBool) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let while_waiting = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    while !over.load(Ordering::Relaxed) {
        let mut one = [PollFd::from_borrowed_fd(link, PollFlags::IN)];
        if poll(&mut one, Some(&while_waiting)).is_ok_and(|ready| ready > 0) {
            return;
        }
    }
}

/// The first byte of an answer: success …
const DONE: u8 = 0;

/// … or failure, followed by the reason.
const FAILED: u8 = 1;

/// A rank started by another process.
pub struct ProcessRank {
    rank: u32,
    ranks: u32,
    link: UnixStream,
}

impl ProcessRank {
    /// Joins the group through standard input; returns the rank and its job.
    pub fn join() -> Result<(ProcessRank, Vec<u8>), Error> {
        let stranger = |why: String| {
            Error::Message(format!("ranks cannot be started by hand, only by the benchmark: {why}"))
        };
        // The rank must not outlive rank 0, which may have exited already.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|e| stranger(e.to_string()))?;
        let stdin = std::io::stdin().as_fd().try_clone_to_owned().map_err(|e| stranger(e.to_string()))?;
        let mut link = UnixStream::from(stdin);
        let first = receive(&mut link).map_err(|e| stranger(e.to_string()))?;
        let Some((head, job)) = first.split_at_checked(8) else {
            return Err(stranger("no job received".to_owned()));
        };
        let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        Ok((ProcessRank { rank: number(0), ranks: number(4), link }, job.to_vec()))
    }

    /// Reports to rank 0 why this rank cannot continue.
    pub fn fail(mut self, why: &str) {
        let _ = send(&mut self.link, &[&[FAILED], why.as_bytes()].concat());
    }

    fn lost(error: std::io::Error) -> Error {
        Error::Rank { rank: 0, why: format!("no answer: {error}") }
    }
}

impl Group for ProcessRank {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn gather(&mut self, message: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        send(&mut self.link, &[&[DONE], &message[..]].concat()).map_err(Self::lost)?;
        Ok(Vec::new())
    }

    fn broadcast(&mut self, _: Vec<u8>) -> Result<Vec<u8>, Error> {
        receive(&mut self.link).map_err(Self::lost)
    }

    /// Rank 0 kills this process when the run is over.
    fn is_over(&self) -> bool {
        false
    }
}

fn send(link: &mut UnixStream, message: &[u8]) -> std::io::Result<()> {
    link.write_all(&(message.len() as u32).to_le_bytes())?;
    link.write_all(message)
}

fn receive(link: &mut UnixStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    link.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MOST_BYTES {
        return Err(std::io::Error::other(format!("invalid message length: {length} bytes")));
    }
    let mut message = vec![0; length as usize];
    link.read_exact(&mut message)?;
    Ok(message)
}
