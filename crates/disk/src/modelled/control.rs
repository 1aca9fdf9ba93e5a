//! Requests to the server of a modelled disk: one line of JSON through the socket `control` in the store, and one line in response. If the file
//! system of the store cannot have sockets, as the files of the host cannot in a virtual machine, the socket is in the run directory.

use super::harden::Hardening;
use super::log::{self, Log};
use super::write_cache::LostWrites;
use crate::error::{Error, IoContext};
use crate::model::FlashStatus;
use crate::registry::run_dir;
use crate::request::Request;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Name of the socket.
const SOCKET: &str = "control";

/// Timeout of the server for reading a request and for writing the response.
const CALLER_TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout of a caller for the response: syncing a large disk to a slow one may take a while.
const SERVER_TIMEOUT: Duration = Duration::from_secs(300);

/// A request to the server.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlRequest {
    /// Returns the status.
    Status,
    /// Takes a snapshot under this name.
    Snapshot(String),
    /// Rolls the disk back to a snapshot.
    Rollback {
        /// The snapshot.
        name: String,
        /// Whether to roll back even while the disk's file is open; the caller then ensures that nothing is mounted.
        open: bool,
    },
    /// Injects a fault.
    Fault(Fault),
    /// Starts a new log of requests, or stops logging.
    Log(bool),
    /// Returns the requests since the last [`ControlRequest::TakeLog`] or the start of the log.
    TakeLog,
    /// Saves the state of the flash in the store.
    SaveFlash,
}

/// An injected fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Power failure: unflushed data is lost, and every later request fails.
    PowerCut(LostWrites),
    /// Reads of this range fail.
    ReadError {
        /// Start of the range.
        at_bytes: u64,
        /// Length of the range.
        len_bytes: u64,
    },
    /// The disk acknowledges flushes but ignores them: a power failure loses the data all the same.
    #[serde(rename = "lie")]
    IgnoreFlush,
    /// Removes ignored flushes and read errors. The power stays off after a power failure.
    None,
}

/// The status of a modelled disk.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Status {
    /// The server process.
    pub pid: u32,
    /// Requests served since the disk was attached.
    pub requests: u64,
    /// Failed requests.
    pub failed: u64,
    /// The error message of the first failed request.
    pub first_failure: Option<String>,
    /// Whether a log of requests is being written.
    pub log_kept: bool,
    /// Requests in the log.
    pub log_requests: u64,
    /// Requests that did not fit into the log.
    pub log_lost: u64,
    /// The clock of the disk: its busy time.
    pub clock_ns: u64,
    /// Bytes used by the disk and its snapshots.
    pub used_bytes: u64,
    /// What its flash has been through; `None` for a model without a translation layer.
    pub flash: Option<FlashStatus>,
    /// Whether the power was cut.
    pub cut: bool,
    /// How well the server is protected against memory shortage.
    pub hardening: Hardening,
}

impl Status {
    /// The message to show if requests failed, for example because the backing store is full.
    pub fn failures(&self) -> Option<String> {
        let first = self.first_failure.as_ref()?;
        Some(format!("{} requests failed on the modelled disk; first failure: {first}", self.failed))
    }
}

#[derive(Debug, Serialize, Deserialize)]
enum Response {
    Done(Status),
    Failed(String),
}

/// Handles requests.
pub trait Handler {
    /// Handles one request.
    fn handle(&self, request: &ControlRequest) -> Result<Status, String>;

    /// Takes the log; a new one starts.
    fn take_log(&self) -> Log;
}

/// The place of the socket of the store at `dir` if the store cannot have it.
fn in_run_dir(dir: &Path) -> Result<PathBuf, Error> {
    let about = std::fs::metadata(dir).context("opening", dir)?;
    Ok(run_dir().join(format!("disk-{}-{}", about.dev(), about.ino())))
}

/// Starts to listen on the socket of the store at `dir`.
pub fn listen(dir: &Path) -> Result<UnixListener, Error> {
    let path = dir.join(SOCKET);
    match listen_at(&path) {
        // A 9p server cannot set the permissions of a socket.
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENXIO | libc::EOPNOTSUPP)) => {
            let path = in_run_dir(dir)?;
            listen_at(&path).context("listening at", &path)
        }
        result => result.context("listening at", &path),
    }
}

fn listen_at(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        // The socket of a server that was killed.
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let (_open, short) = short(path)?;
    UnixListener::bind(short)
}

/// Removes the socket.
pub fn close(dir: &Path) {
    let _ = std::fs::remove_file(dir.join(SOCKET));
    let _ = in_run_dir(dir).map(std::fs::remove_file);
}

/// Serves callers until the process ends, each in its own thread, so that a slow caller delays no other.
pub fn serve(listener: &UnixListener, disk: &Arc<impl Handler + Send + Sync + 'static>) {
    for caller in listener.incoming().flatten() {
        let disk = disk.clone();
        // A caller that disconnects early is ignored; if no thread can be spawned, the caller sees a closed socket.
        let _ = std::thread::Builder::new().spawn(move || serve_one(&caller, disk.as_ref()));
    }
}

fn serve_one(caller: &UnixStream, disk: &impl Handler) -> io::Result<()> {
    caller.set_read_timeout(Some(CALLER_TIMEOUT))?;
    caller.set_write_timeout(Some(CALLER_TIMEOUT))?;
    let mut line = String::new();
    BufReader::new(caller).read_line(&mut line)?;
    let request: ControlRequest = serde_json::from_str(&line)?;
    // The response gives the number of log entries that follow it.
    let (answer, log) = match &request {
        ControlRequest::TakeLog => {
            let log = disk.take_log();
            let status = disk.handle(&ControlRequest::Status);
            (status.map(|s| Status { log_requests: log.requests(), log_lost: log.lost(), ..s }), Some(log))
        }
        request => (disk.handle(request), None),
    };
    let answer = answer.map_or_else(Response::Failed, Response::Done);
    let mut out = BufWriter::with_capacity(1 << 16, caller);
    writeln!(out, "{}", serde_json::to_string(&answer)?)?;
    log.map_or(Ok(()), |log| log.write(&mut out))?;
    out.flush()
}

/// Sends a request to the server of the store at `dir`; `None` if there is no server.
pub fn call(dir: &Path, request: &ControlRequest) -> Result<Option<Status>, Error> {
    Ok(connect(dir, request)?.map(|(status, _)| status))
}

/// Takes the requests since the log was last taken, oldest first; `None` if there is no server.
pub fn take_log(dir: &Path) -> Result<Option<(Vec<Request>, Status)>, Error> {
    let Some((status, mut from)) = connect(dir, &ControlRequest::TakeLog)? else { return Ok(None) };
    let requests = log::read(&mut from, status.log_requests).context("reading the log of", dir)?;
    Ok(Some((requests, status)))
}

fn connect(dir: &Path, request: &ControlRequest) -> Result<Option<(Status, BufReader<UnixStream>)>, Error> {
    let doing = "calling the server of";
    let mut server = connect_to(&dir.join(SOCKET)).context(doing, dir)?;
    if server.is_none() {
        server = connect_to(&in_run_dir(dir)?).context(doing, dir)?;
    }
    let Some(mut server) = server else { return Ok(None) };
    let mut request = serde_json::to_string(request).expect("plain data");
    request.push('\n');
    let mut line = String::new();
    let mut from = BufReader::new(server.try_clone().context(doing, dir)?);
    server
        .set_read_timeout(Some(SERVER_TIMEOUT))
        .and_then(|()| server.write_all(request.as_bytes()))
        .and_then(|()| from.read_line(&mut line))
        .map_err(|e| match e.kind() {
            io::ErrorKind::WouldBlock => {
                io::Error::new(e.kind(), format!("no answer within {SERVER_TIMEOUT:?}"))
            }
            _ => e,
        })
        .context("waiting for the server of", dir)?;
    match serde_json::from_str(&line) {
        Ok(Response::Done(status)) => Ok(Some((status, from))),
        Ok(Response::Failed(why)) => Err(Error::Store { dir: dir.to_owned(), why }),
        Err(_) => {
            let why = "its server closed the connection without an answer".to_owned();
            Err(Error::Store { dir: dir.to_owned(), why })
        }
    }
}

/// Connects to the server at a socket, if there is one.
fn connect_to(socket: &Path) -> io::Result<Option<UnixStream>> {
    match short(socket).and_then(|(_open, short)| UnixStream::connect(short)) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => Ok(None),
        server => server.map(Some),
    }
}

/// Returns a short path of the socket, because socket paths are limited to 107 bytes and the path of its directory may be longer.
fn short(socket: &Path) -> io::Result<(File, PathBuf)> {
    let open = File::open(socket.parent().unwrap_or(Path::new("/")))?;
    let dir = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
    Ok((open, dir.join(socket.file_name().unwrap_or_default())))
}
