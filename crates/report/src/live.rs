//! The live page: shows running and finished runs in a browser. Stores are opened read-only.
//!
//! A request passes through these stages: `http` accepts its connection, `guard` admits or rejects it, `site`
//! finds its page, and `pages` draws the page from a store, which is opened read-only each time. No files are
//! served; style and scripts are embedded in the program.

mod clock;
mod guard;
mod html;
mod http;
mod list;
mod pages;
mod query;
mod site;
mod stores;
mod token;

pub use stores::Place;
pub use token::Token;

use axum::Router;
use guard::Guard;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// Pages drawn at the same time; each opens a store.
const CONCURRENT_PAGES: usize = 32;

/// The reason why the server cannot run.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum Error {
    #[error("starting the server: {0}")]
    Start(std::io::Error),
    #[error("listening on {address}: {source}; use port 0 for any free port")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("reading the token file {}: {source}", path.display())]
    TokenFile { path: std::path::PathBuf, source: std::io::Error },
    #[error("token file {} has {found} characters; a token must have 16 to 256 letters, digits, - or _ on \
             one line", path.display())]
    Token { path: std::path::PathBuf, found: usize },
    #[error("creating a token: {0}")]
    Random(std::io::Error),
}

/// The server of the live page, listening but not yet serving.
pub struct Server {
    listener: TcpListener,
    pages: Router,
    url: String,
    head_time: Duration,
    runtime: Runtime,
}

impl Server {
    /// Listens on `address`; port 0 selects a free one. Without a token, everyone who can reach the address
    /// can read the stores, so pass one unless only users of this machine can reach it.
    pub fn listen(places: Vec<Place>, address: SocketAddr, token: Option<Token>) -> Result<Server, Error> {
        // One thread serves all connections; pages are drawn in others.
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(CONCURRENT_PAGES)
            .build()
            .map_err(Error::Start)?;
        let listen = |source| Error::Listen { address, source };
        let listener = runtime.block_on(async { http::listen(address) }).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let guard = Guard::new(address, token);
        let (url, pages) = (guard.url(address), site::router(places, guard));
        Ok(Server { listener, pages, url, head_time: http::HEAD_TIME, runtime })
    }

    /// The URL for a browser on this machine, including the token.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Serves until `ended` returns true.
    pub fn serve(self, ended: impl Fn() -> bool) {
        let Server { listener, pages, head_time, runtime, .. } = self;
        runtime.block_on(http::serve(listener, pages, head_time, ended));
        // A page that waits for its store must not delay the end.
        runtime.shutdown_background();
    }
}
