//! The ranks of `MPI_COMM_WORLD`. An error of MPI ends them all, as MPI prescribes; so does the loss of a rank, which the
//! launcher detects and reports.

use super::Error;
use super::launched::launched;
use crate::Group;
use rsmpi::Threading;
use rsmpi::environment::processor_name;
use rsmpi::ffi;
use rsmpi::topology::SimpleCommunicator;
use rsmpi::traits::{Communicator, Destination, Root, Source};
use std::time::Duration;

/// The exit status of a failed run.
const FAILED: i32 = 1;

/// How long an interrupted rank waits for the other ranks to end with it.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// Interval at which the interruption is checked.
const LOOK: Duration = Duration::from_millis(100);

/// The ranks of a run, as seen by this one.
pub struct World {
    all: SimpleCommunicator,
}

impl World {
    /// Joins the ranks started together with this one; returns no world if no launcher started it. [`finalize`] must be called before the program
    /// exits. `interrupted` returns whether a signal requested the end of this rank; ranks that did not get the signal are ended
    /// soon after.
    pub fn join(interrupted: fn() -> bool) -> Result<Option<World>, Error> {
        if launched().is_none() {
            return Ok(None);
        }
        // Replays have threads, which do not call MPI.
        let (universe, threads) = rsmpi::initialize_with_threading(Threading::Funneled).ok_or(Error::Init)?;
        // Dropping it would wait for all ranks, some of which may never come after an error.
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
            std::thread::sleep(EXIT_TIMEOUT);
            eprintln!(
                "senesce: rank {rank} on {host}: interrupted; the other ranks did not end by themselves"
            );
            // The launcher ends all ranks when one exits without finalizing MPI.
            std::process::exit(FAILED);
        });
        Ok(Some(world))
    }

    /// The host name of this rank.
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

    fn gather(&mut self, message: Vec<u8>) -> Result<Vec<Vec<u8>>, crate::Error> {
        if self.rank() > 0 {
            self.first().send(&message[..]);
            return Ok(Vec::new());
        }
        let others = (1..self.all.size()).map(|rank| self.all.process_at_rank(rank).receive_vec().0);
        Ok(std::iter::once(message).chain(others).collect())
    }

    fn broadcast(&mut self, mut message: Vec<u8>) -> Result<Vec<u8>, crate::Error> {
        let mut length = message.len() as u64;
        self.first().broadcast_into(&mut length);
        message.resize(length as usize, 0);
        // MPI may treat the address of an empty buffer specially: that of an empty `Vec` is `MPI_IN_PLACE` in Open MPI.
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

/// Finalizes the joined world, if any: on success together with all other ranks, else by aborting all of them at once.
pub fn finalize(success: bool) {
    if !rsmpi::environment::is_initialized() || rsmpi::environment::is_finalized() {
        return;
    }
    if !success {
        SimpleCommunicator::world().abort(FAILED);
    }
    // SAFETY: MPI is initialized and not finalized, by this thread, and is not used afterwards.
    unsafe { ffi::MPI_Finalize() };
}
