//! HTTP/1.1 connections, one request each, within limits of time and number.
//!
//! hyper serves each connection and axum each request. `axum::serve` has no limits, so the loop that accepts
//! connections is here.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, sink};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Concurrent connections. Further ones wait in the kernel, as many as [`WAITING`]; a slot becomes free at the
/// latest when the time limits of a connection expire. Together with the files that responses open, they stay
/// below the usual limit of 1024 descriptors.
const CONNECTIONS: usize = 512;

/// Connections that the kernel holds until they are accepted. Beyond them it delays and may reset connections;
/// the usual limit of 128 is reached by a burst of clients before one thread can accept them.
const WAITING: u32 = 4096;

/// Maximum size of a request head in bytes.
const HEAD_BYTES: usize = 16 * 1024;

/// Time limit for receiving the whole request head.
pub const HEAD_TIME: Duration = Duration::from_secs(10);

/// Time limit for a request and its response. It ends the connection of a client that reads too slowly.
const TOTAL_TIME: Duration = Duration::from_secs(120);

/// Bytes to read after the response from a client that continues sending, so that the response is not lost to
/// a reset.
const REST_BYTES: u64 = 64 * 1024;

/// Time limit for a client that continues sending after the response.
const REST_TIME: Duration = Duration::from_secs(2);

/// Interval for checking whether to stop.
const POLL: Duration = Duration::from_millis(200);

/// Listens on `address`; port 0 selects a free one. Must be called in a runtime.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Connections of a previous server on the same port do not prevent listening.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

/// Serves connections until `ended` returns true.
pub async fn serve(listener: TcpListener, pages: Router, head_time: Duration, ended: impl Fn() -> bool) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    while !ended() {
        let next = async { (slots.clone().acquire_owned().await, listener.accept().await) };
        match timeout(POLL, next).await {
            Ok((slot, Ok((stream, _)))) => {
                let pages = pages.clone();
                tokio::spawn(async move {
                    let _slot = slot;
                    connection(stream, pages, head_time).await;
                });
            }
            // The client has disconnected, or too many files are open: neither is a reason to stop.
            Ok((_, Err(_))) => sleep(POLL).await,
            Err(_) => {}
        }
    }
}

/// Serves one request. Errors mean that the client has disconnected or is too slow, and need no handling.
async fn connection(mut stream: TcpStream, pages: Router, head_time: Duration) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_time)
        .max_buf_size(HEAD_BYTES)
        // A client may close its sending side after the request.
        .half_close(true)
        .keep_alive(false)
        .serve_connection(TokioIo::new(&mut stream), TowerToHyperService::new(pages));
    let _ = timeout(TOTAL_TIME, served).await;
    let _ = stream.shutdown().await;
    let _ = timeout(REST_TIME, copy(&mut stream.take(REST_BYTES), &mut sink())).await;
}

#[cfg(test)]
mod tests {
    use crate::live::Server;
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    /// Longer than any test.
    const HOUR: Duration = Duration::from_secs(3600);

    /// Runs a test against a server without stores, then stops the server.
    fn served(head_time: Duration, test: impl FnOnce(&dyn Fn() -> TcpStream)) {
        struct End<'a>(&'a AtomicBool);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let mut server = Server::listen(Vec::new(), "127.0.0.1:0".parse().unwrap(), None).unwrap();
        server.head_time = head_time;
        let (address, ended) = (server.listener.local_addr().unwrap(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| server.serve(|| ended.load(Ordering::Relaxed)));
            let _end = End(&ended);
            test(&|| TcpStream::connect(address).unwrap());
        });
    }

    fn answer(mut stream: TcpStream) -> String {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Requests the style, with additional header fields.
    fn ask(mut stream: TcpStream, method: &str, fields: &str) -> String {
        let host = stream.peer_addr().unwrap();
        write!(stream, "{method} /style.css HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        answer(stream)
    }

    #[test]
    fn idle_and_slow_clients_do_not_block_others() {
        served(HOUR, |connect| {
            let silent: Vec<TcpStream> = (0..20).map(|_| connect()).collect();
            (&silent[0]).write_all(b"GET / HT").unwrap();
            assert!(ask(connect(), "GET", "").starts_with("HTTP/1.1 200 "));
        });
    }

    #[test]
    fn slow_heads_time_out() {
        let head_time = Duration::from_millis(50);
        served(head_time, |connect| {
            let (begun, mut slow) = (Instant::now(), connect());
            slow.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
            testing::wait_until("the end of a connection with half a head", || {
                slow.write_all(b"G").is_err() || slow.read(&mut [0]).is_ok_and(|read| read == 0)
            });
            assert!(begun.elapsed() >= head_time);
            // Browsers open connections in advance; an idle one gets no response.
            assert_eq!(answer(connect()), "");
        });
    }

    #[test]
    fn unchanged_parts_are_not_sent_again() {
        served(HOUR, |connect| {
            let whole = ask(connect(), "GET", "");
            let (head, body) = whole.split_once("\r\n\r\n").unwrap();
            let field = |name: &str| {
                let (_, rest) = head.split_once(&format!("\r\n{name}: ")).unwrap();
                rest.lines().next().unwrap()
            };
            assert_eq!(field("content-length"), body.len().to_string());
            assert_eq!(field("content-type"), "text/css; charset=utf-8");
            let again = ask(connect(), "GET", &format!("If-None-Match: {}\r\n", field("etag")));
            assert!(again.starts_with("HTTP/1.1 304 ") && again.ends_with("\r\n\r\n"), "{again}");
            assert!(!again.contains("content-length"), "{again}");
            assert!(ask(connect(), "GET", "If-None-Match: \"x\"\r\n").starts_with("HTTP/1.1 200 "));
            let head = ask(connect(), "HEAD", "");
            assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{head}");
            assert!(head.ends_with("\r\n\r\n"), "{head}");
        });
    }
}
