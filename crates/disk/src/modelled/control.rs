//! What a process asks of the server of a modelled disk: a line of JSON through the socket `control` in the store,
//! and a line back.

use super::harden::Hardening;
use super::log::{self, Log};
use super::write_cache::Loss;
use crate::error::{Error, IoContext};
use crate::request::Request;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Name of the socket.
const SOCKET: &str = "control";

/// How long the server waits for a caller to say what it wants, and to take the answer.
const CALLER: Duration = Duration::from_secs(20);

/// How long a caller waits for an answer: forcing a large disk to a slow one may take a while.
const SERVER: Duration = Duration::from_secs(300);

/// What can be asked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// How it is.
    Status,
    /// To keep the disk as it is now under a name.
    Snapshot(String),
    /// To make the disk what it was.
    Rollback {
        /// The snapshot.
        name: String,
        /// Whether also while the disk's file is open: who asks sees to it that nothing is mounted.
        open: bool,
    },
    /// To fail.
    Fault(Fault),
    /// To keep a new log of the requests from now on, or none.
    Log(bool),
    /// For the requests since this was last asked, or the log began.
    TakeLog,
}

/// A way in which the disk fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The power goes: what was not flushed is lost, and from now on every request fails.
    PowerCut(Loss),
    /// Reading in this range fails.
    ReadError {
        /// Where it begins.
        at_bytes: u64,
        /// How long it is.
        len_bytes: u64,
    },
    /// Flushes are acknowledged, but what was flushed is lost all the same when the power goes.
    Lie,
    /// No lies and no errors from now on. A cut stays a cut.
    None,
}

/// How a modelled disk is.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Status {
    /// The process that serves it.
    pub pid: u32,
    /// Requests served since it was attached.
    pub requests: u64,
    /// Requests that failed.
    pub failed: u64,
    /// What was said about the first that failed.
    pub first_failure: Option<String>,
    /// Whether a log of requests is kept.
    pub log_kept: bool,
    /// Requests in the log.
    pub log_requests: u64,
    /// Requests for which the log had no room.
    pub log_lost: u64,
    /// The disk's own clock: how long it has had requests to do.
    pub clock_ns: u64,
    /// Bytes that the disk and its snapshots take.
    pub used_bytes: u64,
    /// Whether its power was cut.
    pub cut: bool,
    /// How well its server stands want of memory.
    pub hardening: Hardening,
}

impl Status {
    /// What is to be said if requests failed, as they do when the backing store is full.
    pub fn failures(&self) -> Option<String> {
        let first = self.first_failure.as_ref()?;
        Some(format!("{} requests failed on the modelled disk; first failure: {first}", self.failed))
    }
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Done(Status),
    Failed(String),
}

/// Who answers.
pub trait Answers {
    /// Does what was asked.
    fn answer(&self, ask: &Ask) -> Result<Status, String>;

    /// Gives the log away; a new one begins.
    fn take_log(&self) -> Log;
}

/// Begins to listen in the store at `dir`.
pub fn listen(dir: &Path) -> Result<UnixListener, Error> {
    let path = dir.join(SOCKET);
    match std::fs::remove_file(&path) {
        // That of a server that was killed.
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e).context("removing", &path),
        _ => {}
    }
    let (_open, short) = short(dir).context("opening", dir)?;
    UnixListener::bind(short).context("listening at", &path)
}

/// Takes the socket away.
pub fn close(dir: &Path) {
    let _ = std::fs::remove_file(dir.join(SOCKET));
}

/// Serves callers until the process ends, each in a thread of its own, so that none waits for another that is slow.
pub fn serve(listener: &UnixListener, disk: &Arc<impl Answers + Send + Sync + 'static>) {
    for caller in listener.incoming().flatten() {
        let disk = disk.clone();
        // One that goes away early harms nobody, and one that no thread can be had for is told so by the closed socket.
        let _ = std::thread::Builder::new().spawn(move || serve_one(&caller, disk.as_ref()));
    }
}

fn serve_one(caller: &UnixStream, disk: &impl Answers) -> io::Result<()> {
    caller.set_read_timeout(Some(CALLER))?;
    caller.set_write_timeout(Some(CALLER))?;
    let mut line = String::new();
    BufReader::new(caller).read_line(&mut line)?;
    let ask: Ask = serde_json::from_str(&line)?;
    // The answer says how much of the log follows it.
    let (answer, log) = match &ask {
        Ask::TakeLog => {
            let log = disk.take_log();
            let status = disk.answer(&Ask::Status);
            (status.map(|s| Status { log_requests: log.requests(), log_lost: log.lost(), ..s }), Some(log))
        }
        ask => (disk.answer(ask), None),
    };
    let answer = answer.map_or_else(Answer::Failed, Answer::Done);
    let mut out = BufWriter::with_capacity(1 << 16, caller);
    writeln!(out, "{}", serde_json::to_string(&answer)?)?;
    log.map_or(Ok(()), |log| log.write(&mut out))?;
    out.flush()
}

/// Asks the server of the store at `dir`; `None` if there is no server.
pub fn call(dir: &Path, ask: &Ask) -> Result<Option<Status>, Error> {
    Ok(connect(dir, ask)?.map(|(status, _)| status))
}

/// Takes the requests since the log was last taken, oldest first.
pub fn take_log(dir: &Path) -> Result<Option<(Vec<Request>, Status)>, Error> {
    let Some((status, mut from)) = connect(dir, &Ask::TakeLog)? else { return Ok(None) };
    let requests = log::read(&mut from, status.log_requests).context("reading the log of", dir)?;
    Ok(Some((requests, status)))
}

fn connect(dir: &Path, ask: &Ask) -> Result<Option<(Status, BufReader<UnixStream>)>, Error> {
    let (_open, short) = short(dir).context("opening", dir)?;
    let mut server = match UnixStream::connect(short) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        server => server.context("calling the server of", dir)?,
    };
    let mut ask = serde_json::to_string(ask).expect("plain data");
    ask.push('\n');
    let mut line = String::new();
    let mut from = BufReader::new(server.try_clone().context("calling the server of", dir)?);
    server
        .set_read_timeout(Some(SERVER))
        .and_then(|()| server.write_all(ask.as_bytes()))
        .and_then(|()| from.read_line(&mut line))
        .map_err(|e| match e.kind() {
            io::ErrorKind::WouldBlock => io::Error::new(e.kind(), format!("no answer within {SERVER:?}")),
            _ => e,
        })
        .context("waiting for the server of", dir)?;
    match serde_json::from_str(&line) {
        Ok(Answer::Done(status)) => Ok(Some((status, from))),
        Ok(Answer::Failed(why)) => Err(Error::Store { dir: dir.to_owned(), why }),
        Err(_) => {
            let why = "its server closed the connection without an answer".to_owned();
            Err(Error::Store { dir: dir.to_owned(), why })
        }
    }
}

/// The socket under a name that fits: a socket's name has 107 bytes at most, and stores may lie deep.
fn short(dir: &Path) -> io::Result<(File, PathBuf)> {
    let open = File::open(dir)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", open.as_raw_fd()));
    Ok((open, path))
}
