//! Where objects are kept by a service. The clients of such services are large, so this crate only says which one is meant,
//! and whoever starts a run gives the function that opens it.

use super::interface::{Failure, Interface};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What kind of service.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// An object store, such as S3.
    ObjectStore,
    /// PostgreSQL, or what speaks like it.
    Postgres,
    /// MongoDB, or what speaks like it.
    Mongodb,
}

impl Service {
    /// Its name, which is that of its interface.
    pub fn name(self) -> &'static str {
        match self {
            Service::ObjectStore => "object-store",
            Service::Postgres => "postgres",
            Service::Mongodb => "mongodb",
        }
    }
}

/// A service and the place in it. It holds no secret, so it may be stored and sent: who may come in is read from the
/// environment, or from a file of which it has the path.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Remote {
    /// The kind of service.
    pub service: Service,
    /// Where it is, if the environment does not say it.
    pub url: Option<String>,
    /// A file with variables that come before those of the environment.
    pub credentials: Option<PathBuf>,
}

impl Remote {
    /// Refuses a URL that says more than where: it would be seen by all who list processes, and be stored.
    pub fn new(service: Service, url: Option<&str>, credentials: Option<&Path>) -> Result<Remote, Failure> {
        // The URL is not repeated, for it may hold a password.
        if url.is_some_and(|url| url.contains(['@', '?', '#'])) {
            return Err(Failure(
                "the URL must not contain a user, password or option (`@`, `?` or `#`): set them in the \
                 environment, or in a file for --credentials"
                    .to_owned(),
            ));
        }
        Ok(Remote { service, url: url.map(str::to_owned), credentials: credentials.map(Path::to_owned) })
    }
}

/// Opens a service for a rank.
pub type OpenRemote = dyn Fn(&Remote) -> Result<Box<dyn Interface>, Failure> + Sync;

/// For runs that reach no service.
pub fn no_service(remote: &Remote) -> Result<Box<dyn Interface>, Failure> {
    Err(Failure(format!("{} is not available in this run", remote.service.name())))
}
