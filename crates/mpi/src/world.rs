//! The ranks of `MPI_COMM_WORLD`. An error of MPI itself ends them all, as is its rule; so does the loss of a rank, which its
//! launcher notices and names.

use crate::Error;
use crate::launched::launched;
use bench::metadata::{self, Group};
use rsmpi::Threading;
use rsmpi::environment::processor_name;
use rsmpi::ffi;
use rsmpi::topology::SimpleCommunicator;
use rsmpi::traits::{Communicator, Destination, Root, Source};
use std::time::Duration;

/// The status that a run with an error gives its launcher.
const FAILED: i32 = 1;

/// How long a rank that was asked to end waits for the others to end with it.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often it is looked whether one was asked.
const LOOK: Duration = Duration::from_millis(100);

/// The ranks of a run, as this one sees them.
pub struct World {
    all: SimpleCommunicator,
}

impl World {
    /// Joins the ranks that were started together with this one; there is no world if no launcher started it. [`end`] must be
    /// called before the program exits. `interrupted` says whether a signal asked this rank for the end: others that were not
    /// asked are ended soon after.
    pub fn join(interrupted: fn() -> bool) -> Result<Option<World>, Error> {
        if launched().is_none() {
            return Ok(None);
        }
        // Replays have threads, which leave MPI alone.
        let (universe, threads) = rsmpi::initialize_with_threading(Threading::Funneled).ok_or(Error::Init)?;
        // Dropped, it would wait for all ranks, though some may never come if there was an error.
        std::mem::forget(universe);
        if threads < Threading::Funneled {
            return Err(Error::Init);
        }
        let world = World { all: SimpleCommunicator::world() };
        let (rank, host) = (world.rank(), world.host());
        std::thread::spawn(move || {
            while !interrupted() {
                std::thread::sleep(LOOK);
            }
            std::thread::sleep(PATIENCE);
            eprintln!(
                "senesce: rank {rank} on {host}: interrupted; the other ranks did not end by themselves"
            );
            // The launcher ends them all when one exits that has not left MPI.
            std::process::exit(FAILED);
        });
        Ok(Some(world))
    }

    /// The machine that this rank runs on.
    pub fn host(&self) -> String {
        processor_name().unwrap_or_else(|_| "an unknown host".to_owned())
    }

    fn first(&self) -> impl Root + Destination + '_ {
        self.all.process_at_rank(0)
    }
}

impl Group for World {
    fn rank(&self) -> u32 {
        self.all.rank() as u32
    }

    fn ranks(&self) -> u32 {
        self.all.size() as u32
    }

    fn gather(&mut self, message: Vec<u8>) -> Result<Vec<Vec<u8>>, metadata::Error> {
        if self.rank() > 0 {
            self.first().send(&message[..]);
            return Ok(Vec::new());
        }
        let others = (1..self.all.size()).map(|rank| self.all.process_at_rank(rank).receive_vec().0);
        Ok(std::iter::once(message).chain(others).collect())
    }

    fn broadcast(&mut self, mut message: Vec<u8>) -> Result<Vec<u8>, metadata::Error> {
        let mut length = message.len() as u64;
        self.first().broadcast_into(&mut length);
        message.resize(length as usize, 0);
        // The address of no bytes may be one that means something to MPI: that of an empty `Vec` is `MPI_IN_PLACE` of Open MPI.
        if length > 0 {
            self.first().broadcast_into(&mut message[..]);
        }
        Ok(message)
    }

    /// The launcher ends this process when the run is over.
    fn is_over(&self) -> bool {
        false
    }
}

/// Ends the world that was joined, if any: together with all other ranks if all is well, else at once for all of them.
pub fn end(well: bool) {
    if !rsmpi::environment::is_initialized() || rsmpi::environment::is_finalized() {
        return;
    }
    if !well {
        SimpleCommunicator::world().abort(FAILED);
    }
    // SAFETY: it is initialized and not finalized, by the thread that is here, and nothing of it is used behind this.
    unsafe { ffi::MPI_Finalize() };
}
