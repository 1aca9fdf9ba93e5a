//! Groups of ranks that run one job together: threads or processes of one machine, or processes of [MPI](mpi)
//! on many.

mod alone;
mod error;
mod group;
pub mod mpi;
mod processes;
mod threads;

pub use alone::Alone;
pub use error::Error;
pub use group::{Group, barrier, broadcast, gather, maximum, receive};
pub use processes::{ProcessRank, Processes, Timeouts};
pub use threads::{ThreadRank, threads};
