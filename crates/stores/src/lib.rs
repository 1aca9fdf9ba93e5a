//! Interfaces of the metadata benchmark that are services: object stores, PostgreSQL and MongoDB.
//!
//! Each rank has one client on a runtime of one thread, and waits for each answer before it asks again. No client repeats what
//! has failed: latencies are measured, and a repetition would hide in one. Who may come in is read from the environment or a
//! file ([`Remote`]), and no secret gets into a message.

mod client;
mod credentials;
mod mongodb;
mod object_store;
mod postgres;

use bench::metadata::{Failure, Interface, Remote, Service};
use client::Client;
use credentials::Variables;

/// Opens a service for a rank.
pub fn open(remote: &Remote) -> Result<Box<dyn Interface>, Failure> {
    // One for all: it is asked for by whoever makes a connection that is encrypted. It stays when it is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let variables = Variables::load(remote.credentials.as_deref())?;
    let client = Client::new(variables.secrets())?;
    let url = remote.url.as_deref();
    Ok(match remote.service {
        Service::ObjectStore => Box::new(object_store::Objects::open(client, &variables, url)?),
        Service::Postgres => Box::new(postgres::Tables::open(client, &variables, url)?),
        Service::Mongodb => Box::new(mongodb::Collections::open(client, &variables, url)?),
    })
}
