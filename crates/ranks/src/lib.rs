//! Groups of ranks that run one job together: threads or processes of one machine. MPI has groups of its own.

mod error;
mod group;
mod processes;
mod threads;

pub use error::Error;
pub use group::{Group, barrier, broadcast, gather, maximum};
pub use processes::{ProcessRank, Processes, Timeouts};
pub use threads::{ThreadRank, threads};
