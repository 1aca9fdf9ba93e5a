//! Clients of services: what they share ([`Client`], [`Variables`]), and PostgreSQL.
//!
//! A client has a single-threaded runtime, and waits for each answer before the next request. No client retries a failed request: the
//! metadata benchmark measures latencies, which would hide a retry. Credentials come from the environment or a file, and no message
//! contains a secret.

mod client;
mod credentials;
mod database;
mod error;
pub mod postgres;

pub use client::{Client, Timeouts};
pub use credentials::Variables;
pub use database::{ColumnValue, Database};
pub use error::Error;
