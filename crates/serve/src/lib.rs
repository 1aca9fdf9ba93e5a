//! The live page: running and finished runs in a browser, read from stores and never written.
//!
//! A request goes one way: `http` reads its head and nothing else, `guard` lets it in or not, `site` finds its page, `pages` draws it
//! from a store that is opened for reading anew each time. No file is served; style and scripts are part of the program.

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

/// Why nothing can be served.
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

/// The live page, listening and not yet serving.
pub struct Server {
    /// How long each part of a connection may take.
    pub limits: Limits,
    listener: TcpListener,
    address: SocketAddr,
    site: Site,
    guard: Guard,
}

impl Server {
    /// Listens on `address`, whose port may be 0. Without a token anyone who reaches the address may read, so that one must be given
    /// where others than this machine's users do.
    pub fn listen(places: Vec<Place>, address: SocketAddr, token: Option<Token>) -> Result<Server, Error> {
        let listen = |source| Error::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (limits, site, guard) = (Limits::default(), Site::new(places), Guard::new(address, token));
        Ok(Server { limits, listener, address, site, guard })
    }

    /// Where it is, for a browser on this machine, with the token that it asks for.
    pub fn url(&self) -> String {
        self.guard.url(self.address)
    }

    /// Serves until `ended` says so.
    pub fn serve(self, ended: impl Fn() -> bool) -> Result<(), Error> {
        let Server { limits, listener, site, guard, .. } = self;
        let answer = move |request: &http::Request| match guard.admit(request) {
            Ok(()) => site.answer(request),
            Err(refusal) => refusal,
        };
        http::serve(&listener, limits, answer, ended).map_err(Error::Wait)
    }
}
