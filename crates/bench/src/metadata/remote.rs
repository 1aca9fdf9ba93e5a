//! Object storage provided by a service. The clients of services are large, so this crate only names the service; the caller of a run provides
//! the function that opens it.

use super::interface::{Interface, InterfaceError};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The kind of a service.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// An object store, such as S3.
    ObjectStore,
    /// PostgreSQL, or a compatible service.
    Postgres,
    /// MongoDB, or a compatible service.
    Mongodb,
}

impl Service {
    /// The name of the service and of its interface.
    pub fn name(self) -> &'static str {
        match self {
            Service::ObjectStore => "object-store",
            Service::Postgres => "postgres",
            Service::Mongodb => "mongodb",
        }
    }
}

/// A service and the location in it. It contains no secrets, so it may be stored and sent: credentials come from the environment or from a
/// file, of which it has the path.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Remote {
    /// The kind of service.
    pub service: Service,
    /// The URL, unless the environment has the location.
    pub url: Option<String>,
    /// A file of variables that override those of the environment.
    pub credentials: Option<PathBuf>,
}

impl Remote {
    /// Returns an error for a URL with credentials or options: it would be visible in the process list, and be stored.
    pub fn new(
        service: Service,
        url: Option<&str>,
        credentials: Option<&Path>,
    ) -> Result<Remote, InterfaceError> {
        // The message does not repeat the URL, which may contain a password.
        if url.is_some_and(|url| url.contains(['@', '?', '#'])) {
            return Err(InterfaceError(
                "the URL must not contain a user, password or option (`@`, `?` or `#`): set them in the \
                 environment, or in a file for --credentials"
                    .to_owned(),
            ));
        }
        Ok(Remote { service, url: url.map(str::to_owned), credentials: credentials.map(Path::to_owned) })
    }
}

/// Opens a service for a rank.
pub type OpenRemote = dyn Fn(&Remote) -> Result<Box<dyn Interface>, InterfaceError> + Sync;

/// Refuses every service, for runs that use none.
pub fn no_service(remote: &Remote) -> Result<Box<dyn Interface>, InterfaceError> {
    Err(InterfaceError(format!("{} is not available in this run", remote.service.name())))
}
