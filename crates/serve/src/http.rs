//! HTTP/1.1 as far as a page that is only read needs it: one request a connection, `GET` and `HEAD`, no bodies.
//!
//! The parser of heads is hyper's (`httparse`); the rest is the standard library, so that every limit is in plain sight here.

mod connection;
mod request;
mod response;

pub use request::Request;
pub use response::Response;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Connections at once; a browser keeps half a dozen.
const CONNECTIONS: usize = 64;

/// How long it takes at most until an end is noticed.
const LOOK: Duration = Duration::from_millis(200);

/// Answers requests until `ended` says so, each in a thread of its own.
pub fn serve(
    listener: &TcpListener,
    answer: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ended: impl Fn() -> bool,
) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let answer = Arc::new(answer);
    let busy = Arc::new(AtomicUsize::new(0));
    while !ended() {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                wait(listener)?;
                continue;
            }
            // Whoever called has gone, or there are too many files: neither is a reason to end.
            Err(_) => {
                std::thread::sleep(LOOK);
                continue;
            }
        };
        if busy.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
            busy.fetch_sub(1, Ordering::Relaxed);
            connection::refuse(stream);
            continue;
        }
        let (answer, busy) = (answer.clone(), Leaving(busy.clone()));
        std::thread::spawn(move || {
            let _busy = busy;
            // Who does not listen to the end has had enough.
            let _ = connection::serve(stream, &*answer);
        });
    }
    Ok(())
}

/// Counts a connection out, even if its thread panics.
struct Leaving(Arc<AtomicUsize>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits a moment for a connection.
fn wait(listener: &TcpListener) -> std::io::Result<()> {
    let timeout = Timespec::try_from(LOOK).expect("a moment is a time");
    match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
