//! The subset of HTTP/1.1 for read-only pages: one request per connection, `GET` and `HEAD`, no bodies.
//!
//! hyper's parser (`httparse`) parses request heads; the rest uses the standard library, so that all limits
//! are explicit here.

mod connection;
mod request;
mod response;
mod slots;

pub use connection::Limits;
pub use request::Request;
pub use response::Response;

use slots::Slots;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::Duration;

/// Concurrent connections. Further ones wait in the kernel and are not reset; a slot becomes free at the
/// latest when the time limits of a connection expire. Together with the files that responses open, they stay
/// below the usual limit of 1024 descriptors.
const CONNECTIONS: usize = 512;

/// Concurrent responses; each opens a store and draws a page.
const ANSWERS: usize = 32;

/// Connections waiting in the kernel to be accepted; the kernel limits this to `net.core.somaxconn`.
const WAITING: i32 = 4096;

/// Interval for checking whether to stop.
const LOOK: Duration = Duration::from_millis(200);

/// Serves requests, each in its own thread, until `ended` returns true.
pub fn serve(
    listener: &TcpListener,
    limits: Limits,
    answer: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ended: impl Fn() -> bool,
) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    // A second listen changes the length of the queue: the standard library uses 128.
    // SAFETY: the descriptor belongs to the listener, which outlives the call.
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
            // The client has disconnected, or too many files are open: neither is a reason to stop.
            Err(_) => {
                std::thread::sleep(LOOK);
                continue;
            }
        };
        let (its_answer, spare) = (answer.clone(), stream.try_clone());
        let spawned = std::thread::Builder::new().spawn(move || {
            let _slot = slot;
            // An error means that the client has disconnected.
            let _ = connection::serve(stream, &limits, &*its_answer);
        });
        // If no thread can be started, serve the request in this one.
        if let (Err(_), Ok(stream)) = (spawned, spare) {
            let _ = connection::serve(stream, &limits, &*answer);
        }
    }
    Ok(())
}

/// Waits briefly for a connection.
fn wait(listener: &TcpListener) -> std::io::Result<()> {
    let timeout = Timespec::try_from(LOOK).expect("the interval is a valid time");
    match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Longer than any test.
    const HOUR: Duration = Duration::from_secs(3600);

    const PATIENT: Limits = Limits { head_time: HOUR, answer_time: HOUR, rest_time: Duration::from_secs(60) };

    /// Runs a test against a server with a constant response, then stops the server.
    fn served(limits: Limits, test: impl FnOnce(&dyn Fn() -> TcpStream)) {
        struct End<'a>(&'a AtomicUsize);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.store(1, Ordering::Relaxed);
            }
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, ended) = (listener.local_addr().unwrap(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let greet = |_: &Request| Response::plain(200, "Hello.");
                serve(&listener, limits, greet, || ended.load(Ordering::Relaxed) == 1).unwrap();
            });
            let _end = End(&ended);
            test(&|| TcpStream::connect(address).unwrap());
        });
    }

    fn answer(mut stream: TcpStream) -> String {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn ask(mut stream: TcpStream) -> String {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        answer(stream)
    }

    #[test]
    fn idle_and_slow_clients_do_not_block_others() {
        served(PATIENT, |connect| {
            let silent: Vec<TcpStream> = (0..20).map(|_| connect()).collect();
            (&silent[0]).write_all(b"GET / HT").unwrap();
            assert!(ask(connect()).starts_with("HTTP/1.1 200 "));
        });
    }

    #[test]
    fn slow_heads_time_out() {
        let head_time = Duration::from_millis(50);
        served(Limits { head_time, ..PATIENT }, |connect| {
            let (begun, mut drop_by_drop) = (std::time::Instant::now(), connect());
            drop_by_drop.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
            let mut answer = [0; 12];
            testing::wait_until("an answer to half a head", || {
                drop_by_drop.write_all(b"G").unwrap();
                drop_by_drop.read_exact(&mut answer).is_ok()
            });
            assert_eq!(&answer, b"HTTP/1.1 408");
            assert!(begun.elapsed() >= head_time);
            // Browsers open connections in advance; an idle one gets no response.
            assert_eq!(super::tests::answer(connect()), "");
        });
    }
}
