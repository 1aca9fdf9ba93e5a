//! Ranks started by MPI, on one machine or many.
//!
//! The feature `mpi` enables them. Without it, this module does not depend on MPI and only detects whether the program was started as one of
//! several ranks, which would otherwise all use the same directory.

mod launched;

#[cfg(not(feature = "mpi"))]
mod stub;
#[cfg(feature = "mpi")]
mod world;

#[cfg(not(feature = "mpi"))]
pub use stub::{World, finalize};
#[cfg(feature = "mpi")]
pub use world::{World, finalize};

/// Why the ranks cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program was built without MPI.
    #[error(
        "{ranks} copies of this program were started as the ranks of one run, but it is built without MPI: \
         rebuild it with `--features mpi`, or start it alone"
    )]
    NotBuilt {
        /// Number of ranks started.
        ranks: u32,
    },
    /// The command runs in a single process only.
    #[error(
        "{ranks} copies of this program were started as the ranks of one run; only `bench metadata` and `age --dir` run \
         under MPI: start it alone"
    )]
    SingleProcess {
        /// Number of ranks started.
        ranks: u32,
    },
    /// MPI cannot be initialized.
    #[error("cannot initialize MPI; check that the program runs with the MPI that it was built with")]
    Init,
}

/// Returns an error if this process is one of several, for commands that run in a single process.
pub fn require_single_process() -> Result<(), Error> {
    match launched::launched() {
        Some(ranks) if ranks > 1 => Err(Error::SingleProcess { ranks }),
        _ => Ok(()),
    }
}
