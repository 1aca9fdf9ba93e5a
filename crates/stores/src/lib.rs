//! Interfaces of the metadata benchmark that are services: object stores, PostgreSQL and MongoDB. And a [`Database`] of PostgreSQL for
//! whoever keeps something else in one.
//!
//! Each rank has one client on a runtime of one thread, and waits for each answer before it asks again. No client repeats what
//! has failed: latencies are measured, and a repetition would hide in one. Who may come in is read from the environment or a
//! file ([`Remote`]), and no secret gets into a message.

mod client;
mod credentials;
mod database;
#[cfg(feature = "mongodb")]
mod mongodb;
#[cfg(feature = "object-store")]
mod object_store;
mod postgres;

pub use client::Patience;
pub use database::{Cell, Database};

use bench::metadata::{Failure, Interface, Remote, Service};
use client::Client;
use credentials::Variables;

/// Opens a service for a rank.
pub fn open(remote: &Remote) -> Result<Box<dyn Interface>, Failure> {
    open_with(remote, Patience::default())
}

/// The same, for a service that may take so long.
pub fn open_with(remote: &Remote, patience: Patience) -> Result<Box<dyn Interface>, Failure> {
    encrypt();
    let variables = Variables::load(remote.credentials.as_deref())?;
    let client = Client::new(variables.secrets(), patience)?;
    let url = remote.url.as_deref();
    Ok(match remote.service {
        #[cfg(feature = "object-store")]
        Service::ObjectStore => Box::new(object_store::Objects::open(client, &variables, url)?),
        Service::Postgres => Box::new(postgres::Tables::open(client, &variables, url)?),
        #[cfg(feature = "mongodb")]
        Service::Mongodb => Box::new(mongodb::Collections::open(client, &variables, url)?),
        #[cfg(not(all(feature = "object-store", feature = "mongodb")))]
        _ => return Err(Failure("this senesce is built without the client of this service".to_owned())),
    })
}

/// Provides for connections that are encrypted. One provider is for all, and stays when it is there already.
fn encrypt() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
