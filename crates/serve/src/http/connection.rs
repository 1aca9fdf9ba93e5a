//! One connection: reads a request head and writes a response, each within limits of time and size.

use super::{Request, Response};
use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Maximum size of a request head in bytes.
const HEAD_BYTES: usize = 16 * 1024;

/// Bytes to read after the response from a client that continues sending, so that the response is not lost to
/// a reset.
const REST_BYTES: usize = 64 * 1024;

/// Time limits of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For receiving the whole request head: 10 s.
    pub head_time: Duration,
    /// For sending the whole response: 60 s.
    pub answer_time: Duration,
    /// For a client that continues sending after the response: 2 s.
    pub rest_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let [head_time, answer_time, rest_time] = [10, 60, 2].map(Duration::from_secs);
        Limits { head_time, answer_time, rest_time }
    }
}

/// Serves one request.
pub fn serve(mut stream: TcpStream, limits: &Limits, answer: &dyn Fn(&Request) -> Response) -> Result<()> {
    stream.set_nonblocking(false)?;
    let request = read(&mut stream, limits.head_time);
    let (response, head_only, if_none_match) = match &request {
        Ok(request) => (answer(request), request.method == "HEAD", request.if_none_match.as_deref()),
        Err(Some(response)) => (response.clone(), false, None),
        Err(None) => return Ok(()),
    };
    write(&mut stream, &response.bytes(head_only, if_none_match), limits.answer_time)?;
    stream.shutdown(Shutdown::Write)?;
    rest(&mut stream, limits.rest_time)
}

/// Reads the head. `None` if the client disconnects without a request, as with connections opened in advance.
fn read(stream: &mut TcpStream, time: Duration) -> std::result::Result<Request, Option<Response>> {
    let deadline = Instant::now() + time;
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read =
            limited(deadline, |time| stream.set_read_timeout(time)).and_then(|()| stream.read(&mut buffer));
        match read {
            Ok(0) => return Err(None),
            Ok(read) => head.extend_from_slice(&buffer[..read]),
            Err(error) if is_late(&error) => {
                return Err((!head.is_empty()).then(|| Response::plain(408, "The request took too long.")));
            }
            Err(_) => return Err(None),
        }
        if let Some(request) = Request::parse(&head).map_err(Some)? {
            return Ok(request);
        }
        if head.len() > HEAD_BYTES {
            return Err(Some(Response::plain(431, "The header of the request is too large.")));
        }
    }
}

fn write(stream: &mut TcpStream, mut bytes: &[u8], time: Duration) -> Result<()> {
    let deadline = Instant::now() + time;
    while !bytes.is_empty() {
        limited(deadline, |time| stream.set_write_timeout(time))?;
        match stream.write(bytes)? {
            0 => return Err(ErrorKind::WriteZero.into()),
            written => bytes = &bytes[written..],
        }
    }
    Ok(())
}

/// Reads the remaining input, up to a limit.
fn rest(stream: &mut TcpStream, time: Duration) -> Result<()> {
    let deadline = Instant::now() + time;
    let (mut buffer, mut left) = ([0; 4096], REST_BYTES);
    loop {
        limited(deadline, |time| stream.set_read_timeout(time))?;
        let read = stream.read(&mut buffer)?;
        if read == 0 || read > left {
            return Ok(());
        }
        left -= read;
    }
}

/// Sets the remaining time as a timeout; fails if no time remains.
fn limited(deadline: Instant, set: impl FnOnce(Option<Duration>) -> Result<()>) -> Result<()> {
    match deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        Some(left) => set(Some(left)),
        None => Err(Error::from(ErrorKind::TimedOut)),
    }
}

fn is_late(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock)
}
