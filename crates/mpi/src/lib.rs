//! Ranks that MPI starts, on one machine or many: what they have in common ([`World`]), and files reached by MPI-IO
//! ([`mpi_io`]).
//!
//! The feature `mpi` brings them. Without it this crate depends on no MPI and only tells whether the program was started
//! as one of several ranks, which then would fight over one directory.

mod launched;

#[cfg(feature = "mpi")]
mod io;
#[cfg(feature = "mpi")]
mod world;

#[cfg(not(feature = "mpi"))]
mod absent;

#[cfg(not(feature = "mpi"))]
pub use absent::{World, end, mpi_io};
#[cfg(feature = "mpi")]
pub use io::mpi_io;
#[cfg(feature = "mpi")]
pub use world::{World, end};

/// Why there are no ranks.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program was built without MPI.
    #[error(
        "{ranks} copies of this program were started as the ranks of one run, but it is built without MPI: \
         rebuild it with `--features mpi`, or start it alone"
    )]
    NotBuilt {
        /// How many were started.
        ranks: u32,
    },
    /// What was asked for is the work of one process.
    #[error(
        "{ranks} copies of this program were started as the ranks of one run; only `bench metadata` and `age --dir` run \
         under MPI: start it alone"
    )]
    NotShared {
        /// How many were started.
        ranks: u32,
    },
    /// MPI cannot be initialized.
    #[error("cannot initialize MPI; check that the program runs with the MPI that it was built with")]
    Init,
}

/// Refuses to be one of several copies, for work that one process does.
pub fn alone() -> Result<(), Error> {
    match launched::launched() {
        Some(ranks) if ranks > 1 => Err(Error::NotShared { ranks }),
        _ => Ok(()),
    }
}
