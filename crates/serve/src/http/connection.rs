//! One connection: a head is read, an answer is written, each within its time and size.

use super::{Request, Response};
use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Bytes of a head.
const HEAD_BYTES: usize = 16 * 1024;

/// Time for the head to arrive, all of it.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// Time for the answer to be taken, all of it.
const ANSWER_TIME: Duration = Duration::from_secs(60);

/// What is still read of who goes on talking after the answer, so that the answer is not torn away from them.
const REST_BYTES: usize = 64 * 1024;
const REST_TIME: Duration = Duration::from_secs(2);

/// Answers one request.
pub fn serve(mut stream: TcpStream, answer: &dyn Fn(&Request) -> Response) -> Result<()> {
    stream.set_nonblocking(false)?;
    let request = read(&mut stream);
    let (response, head_only, if_none_match) = match &request {
        Ok(request) => (answer(request), request.method == "HEAD", request.if_none_match.as_deref()),
        Err(Some(response)) => (response.clone(), false, None),
        Err(None) => return Ok(()),
    };
    write(&mut stream, &response.bytes(head_only, if_none_match))?;
    stream.shutdown(Shutdown::Write)?;
    rest(&mut stream)
}

/// Reads the head. None if the browser went away without a word, as those do that connect ahead.
fn read(stream: &mut TcpStream) -> std::result::Result<Request, Option<Response>> {
    let deadline = Instant::now() + HEAD_TIME;
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

fn write(stream: &mut TcpStream, mut bytes: &[u8]) -> Result<()> {
    let deadline = Instant::now() + ANSWER_TIME;
    while !bytes.is_empty() {
        limited(deadline, |time| stream.set_write_timeout(time))?;
        match stream.write(bytes)? {
            0 => return Err(ErrorKind::WriteZero.into()),
            written => bytes = &bytes[written..],
        }
    }
    Ok(())
}

/// Reads what is left, up to a limit.
fn rest(stream: &mut TcpStream) -> Result<()> {
    let deadline = Instant::now() + REST_TIME;
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

/// Sets the time that is left; no time at all is an error.
fn limited(deadline: Instant, set: impl FnOnce(Option<Duration>) -> Result<()>) -> Result<()> {
    match deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        Some(left) => set(Some(left)),
        None => Err(Error::from(ErrorKind::TimedOut)),
    }
}

fn is_late(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock)
}
