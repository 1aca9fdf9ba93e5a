//! What the ranks of a run have in common: they meet, hand results to rank 0, and hear from it.

use super::error::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The ranks of a run, as one of them sees them. All ranks call the same of these in the same order.
pub trait Group {
    /// The number of this rank, from 0.
    fn rank(&self) -> u32;

    /// How many ranks there are.
    fn ranks(&self) -> u32;

    /// Gives a message to rank 0, which gets those of all ranks in their order; the others get nothing.
    fn gather(&mut self, message: Vec<u8>) -> Result<Vec<Vec<u8>>, Error>;

    /// What rank 0 gives, on every rank; what others give is not looked at.
    fn broadcast(&mut self, message: Vec<u8>) -> Result<Vec<u8>, Error>;

    /// Whether the run has ended already, for another rank is lost: asked between operations, so it must cost nothing.
    fn is_over(&self) -> bool;
}

/// [`Group::gather`] of plain data.
pub(super) fn gather<T: Serialize + DeserializeOwned>(
    group: &mut dyn Group,
    mine: &T,
) -> Result<Vec<T>, Error> {
    let all = group.gather(encode(mine))?;
    all.iter().map(|message| decode(message)).collect()
}

/// [`Group::broadcast`] of plain data.
pub(super) fn broadcast<T: Serialize + DeserializeOwned>(
    group: &mut dyn Group,
    mine: &T,
) -> Result<T, Error> {
    decode(&group.broadcast(encode(mine))?)
}

/// Ends when all ranks have come here.
pub(super) fn meet(group: &mut dyn Group) -> Result<(), Error> {
    group.gather(Vec::new())?;
    group.broadcast(Vec::new())?;
    Ok(())
}

/// The most that any rank gives, on every rank.
pub(super) fn most(group: &mut dyn Group, mine: u64) -> Result<u64, Error> {
    let most = gather(group, &mine)?.into_iter().max().unwrap_or(mine);
    broadcast(group, &most)
}

fn encode<T: Serialize>(plain: &T) -> Vec<u8> {
    serde_json::to_vec(plain).expect("plain data")
}

fn decode<T: DeserializeOwned>(message: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(message)
        .map_err(|e| Error::Settings(format!("cannot decode a message of a rank: {e}")))
}
