//! HTTP/1.1 as far as a page that is only read needs it: one request a connection, `GET` and `HEAD`, no bodies.
//!
//! The parser of heads is hyper's (`httparse`); the rest is the standard library, so that every limit is in plain sight here.

mod connection;
mod request;
mod response;
mod slots;

pub use request::Request;
pub use response::Response;

use slots::Slots;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::Duration;

/// Connections at once. More wait in the kernel, where none is reset; one is free at the latest when the times of a connection are over.
/// With the files that answers open they stay below 1024 descriptors, the usual limit.
const CONNECTIONS: usize = 512;

/// Answers that are made at once: each opens a store and draws a page.
const ANSWERS: usize = 32;

/// Connections that wait in the kernel to be accepted; it takes no more than `net.core.somaxconn`.
const WAITING: i32 = 4096;

/// How long it takes at most until an end is noticed.
const LOOK: Duration = Duration::from_millis(200);

/// Answers requests until `ended` says so, each in a thread of its own.
pub fn serve(
    listener: &TcpListener,
    answer: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ended: impl Fn() -> bool,
) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    // To listen once more changes the length of the queue: the standard library asks for 128.
    // SAFETY: the descriptor is that of the listener, which lives across the call.
    if unsafe { libc::listen(listener.as_raw_fd(), WAITING) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    let answers = Slots::new(ANSWERS);
    let answer = Arc::new(move |request: &Request| {
        let _slot = answers.take();
        answer(request)
    });
    let connections = Slots::new(CONNECTIONS);
    while !ended() {
        let Some(slot) = connections.take_within(LOOK) else { continue };
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
        let (its_answer, spare) = (answer.clone(), stream.try_clone());
        let spawned = std::thread::Builder::new().spawn(move || {
            let _slot = slot;
            // Who does not listen to the end has had enough.
            let _ = connection::serve(stream, &*its_answer);
        });
        // Where there are no more threads, one after the other is answered.
        if let (Err(_), Ok(stream)) = (spawned, spare) {
            let _ = connection::serve(stream, &*answer);
        }
    }
    Ok(())
}

/// Waits a moment for a connection.
fn wait(listener: &TcpListener) -> std::io::Result<()> {
    let timeout = Timespec::try_from(LOOK).expect("a moment is a time");
    match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
