//! Communication between the ranks of a run: barriers, results to rank 0, and broadcasts from it.

use crate::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The ranks of a run, as seen by one of them. All ranks call the same methods in the same order.
pub trait Group {
    /// The number of this rank, from 0.
    fn rank(&self) -> u32;

    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// Sends a message to rank 0, which returns the messages of all ranks in order; the other ranks return nothing.
    fn gather(&mut self, message: Vec<u8>) -> Result<Vec<Vec<u8>>, Error>;

    /// Returns the message of rank 0 on every rank; messages of other ranks are ignored.
    fn broadcast(&mut self, message: Vec<u8>) -> Result<Vec<u8>, Error>;

    /// Whether the run has ended because a rank was lost. Checked between operations, so it must be fast.
    fn is_over(&self) -> bool;
}

/// [`Group::gather`] of serializable data.
pub fn gather<T: Serialize + DeserializeOwned>(group: &mut dyn Group, mine: &T) -> Result<Vec<T>, Error> {
    let all = group.gather(encode(mine))?;
    all.iter().map(|message| decode(message)).collect()
}

/// [`Group::broadcast`] of serializable data.
pub fn broadcast<T: Serialize + DeserializeOwned>(group: &mut dyn Group, mine: &T) -> Result<T, Error> {
    decode(&group.broadcast(encode(mine))?)
}

/// The data that rank 0 [broadcasts](broadcast), on another rank.
pub fn receive<T: DeserializeOwned>(group: &mut dyn Group) -> Result<T, Error> {
    decode(&group.broadcast(Vec::new())?)
}

/// A barrier: returns when all ranks have called it.
pub fn barrier(group: &mut dyn Group) -> Result<(), Error> {
    group.gather(Vec::new())?;
    group.broadcast(Vec::new())?;
    Ok(())
}

/// The maximum over all ranks, on every rank.
pub fn maximum(group: &mut dyn Group, mine: u64) -> Result<u64, Error> {
    let most = gather(group, &mine)?.into_iter().max().unwrap_or(mine);
    broadcast(group, &most)
}

fn encode<T: Serialize>(plain: &T) -> Vec<u8> {
    serde_json::to_vec(plain).expect("the data is serializable")
}

fn decode<T: DeserializeOwned>(message: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(message)
        .map_err(|e| Error::Message(format!("cannot decode a message of a rank: {e}")))
}
