//! Interfaces of the metadata benchmark to services: object stores, PostgreSQL and MongoDB. Also a PostgreSQL [`Database`] for
//! other data.
//!
//! Each rank has one client on a single-threaded runtime, and waits for each answer before the next request. No client retries a failed
//! request: latencies are measured, and would hide a retry. Credentials come from the environment or a file ([`Remote`]), and no message
//! contains a secret.

mod client;
mod credentials;
mod database;
#[cfg(feature = "mongodb")]
mod mongodb;
#[cfg(feature = "object-store")]
mod object_store;
mod postgres;

pub use client::Timeouts;
pub use database::{ColumnValue, Database};

use bench::metadata::{Interface, InterfaceError, Remote, Service};
use client::Client;
use credentials::Variables;

/// Opens a service for a rank.
pub fn open(remote: &Remote) -> Result<Box<dyn Interface>, InterfaceError> {
    open_with(remote, Timeouts::default())
}

/// Opens a service for a rank, with these timeouts.
pub fn open_with(remote: &Remote, timeouts: Timeouts) -> Result<Box<dyn Interface>, InterfaceError> {
    encrypt();
    let variables = Variables::load(remote.credentials.as_deref())?;
    let client = Client::new(variables.secrets(), timeouts)?;
    let url = remote.url.as_deref();
    Ok(match remote.service {
        #[cfg(feature = "object-store")]
        Service::ObjectStore => Box::new(object_store::Objects::open(client, &variables, url)?),
        Service::Postgres => Box::new(postgres::Tables::open(client, &variables, url)?),
        #[cfg(feature = "mongodb")]
        Service::Mongodb => Box::new(mongodb::Collections::open(client, &variables, url)?),
        #[cfg(not(all(feature = "object-store", feature = "mongodb")))]
        _ => {
            return Err(InterfaceError(
                "this senesce is built without the client of this service".to_owned(),
            ));
        }
    })
}

/// Installs the cryptography provider for encrypted connections. One provider serves all connections; an installed one is kept.
fn encrypt() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
