//! The object storage of a run, as data that ranks in other processes get and results keep.

use super::interface::{Interface, InterfaceError, InterfaceKind, LocationKind, posix};
use super::launch::Ranks;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// An interface, and the location of the objects. Each rank opens it itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Backend {
    interface: String,
    #[serde(flatten)]
    location: ObjectLocation,
}

/// The location of the objects. It contains no secrets, so it may be stored and sent: credentials come from the environment or from a file, of
/// which it has the path.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct ObjectLocation {
    /// The directory, which must be new or empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// The URL of the service, unless the environment has the location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A file of variables that override those of the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
}

impl Backend {
    /// Objects at `location`, accessed by the interface with this name or alias. Returns an error if the build has no such interface, the
    /// location is of another kind, or its URL contains credentials or options: it would be visible in the process list, and be stored.
    pub fn new(interface: &str, location: ObjectLocation) -> Result<Backend, InterfaceError> {
        let kind = InterfaceKind::find(interface)?;
        // The message does not repeat the URL, which may contain a password.
        if location.url.as_deref().is_some_and(|url| url.contains(['@', '?', '#'])) {
            return Err(InterfaceError(
                "the URL must not contain a user, password or option (`@`, `?` or `#`): set them in the \
                 environment, or in a file for --credentials"
                    .to_owned(),
            ));
        }
        if kind.location != LocationKind::Service
            && (location.url.is_some() || location.credentials.is_some())
        {
            return Err(InterfaceError(
                "--url and --credentials need a service: give --interface".to_owned(),
            ));
        }
        let location = match kind.location {
            LocationKind::None => ObjectLocation::default(),
            LocationKind::Directory => {
                location.root()?;
                location
            }
            LocationKind::Service if location.root.is_some() => {
                return Err(InterfaceError("--root is for files; name the service with --url".to_owned()));
            }
            LocationKind::Service => location,
        };
        kind.opener()?;
        Ok(Backend { interface: kind.name.to_owned(), location })
    }

    /// Files below `root`.
    pub fn posix(root: PathBuf) -> Backend {
        let location = ObjectLocation { root: Some(root), ..ObjectLocation::default() };
        Backend { interface: posix::NAME.to_owned(), location }
    }

    /// The directory of the objects, if they are files.
    pub fn root(&self) -> Option<&Path> {
        self.location.root.as_deref()
    }

    /// The name of the interface.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Returns an error if these ranks cannot share the location.
    pub(super) fn check(&self, ranks: Ranks) -> Result<(), InterfaceError> {
        (InterfaceKind::find(&self.interface)?.check)(&self.location, ranks)
    }

    /// Opens the storage for a rank.
    pub fn open(&self) -> Result<Box<dyn Interface>, InterfaceError> {
        InterfaceKind::find(&self.interface)?.opener()?(&self.location)
    }
}

impl ObjectLocation {
    /// The directory; an error if there is none.
    pub fn root(&self) -> Result<&Path, InterfaceError> {
        let missing = || InterfaceError("this interface needs --root".to_owned());
        self.root.as_deref().ok_or_else(missing)
    }
}
