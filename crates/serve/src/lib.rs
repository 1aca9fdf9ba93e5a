//! The live page: shows running and finished runs in a browser. Stores are opened read-only.
//!
//! A request passes through these stages: `http` reads its head, `guard` admits or rejects it, `site` finds
//! its page, and `pages` draws the page from a store, which is opened read-only each time. No files are
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

pub use http::Limits;
pub use stores::Place;
pub use token::Token;

use guard::Guard;
use site::Site;
use std::net::{SocketAddr, TcpListener};

/// The reason why the server cannot run.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum Error {
    #[error("listening on {address}: {source}; use port 0 for any free port")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("waiting for connections: {0}")]
    Wait(std::io::Error),
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
    /// Time limits of each connection.
    pub limits: Limits,
    listener: TcpListener,
    address: SocketAddr,
    site: Site,
    guard: Guard,
}

impl Server {
    /// Listens on `address`; port 0 selects a free one. Without a token, everyone who can reach the address
    /// can read the stores, so pass one unless only users of this machine can reach it.
    pub fn listen(places: Vec<Place>, address: SocketAddr, token: Option<Token>) -> Result<Server, Error> {
        let listen = |source| Error::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (limits, site, guard) = (Limits::default(), Site::new(places), Guard::new(address, token));
        Ok(Server { limits, listener, address, site, guard })
    }

    /// The URL for a browser on this machine, including the token.
    pub fn url(&self) -> String {
        self.guard.url(self.address)
    }

    /// Serves until `ended` returns true.
    pub fn serve(self, ended: impl Fn() -> bool) -> Result<(), Error> {
        let Server { limits, listener, site, guard, .. } = self;
        let answer = move |request: &http::Request| match guard.admit(request) {
            Ok(()) => site.answer(request),
            Err(refusal) => refusal,
        };
        http::serve(&listener, limits, answer, ended).map_err(Error::Wait)
    }
}
