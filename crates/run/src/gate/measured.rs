//! Comparisons that a gate did not make itself.

use crate::Error;
use crate::compare::{Identity, KIND, Pair};
use results::Store;

/// The comparisons of a name in the store, with or without the seeds, under the conditions of the last of them.
///
/// # Errors
/// If there is none.
pub fn measured(store: &Store, name: &str) -> Result<Vec<Pair>, Error> {
    let mut pairs = Vec::new();
    for run in store.runs_of_kind(KIND)?.iter().filter(|run| run.state == "done") {
        let identity = Identity::load(store, run)?;
        if identity.is_some_and(|of| of.manifest.name == name || of.name() == name) {
            pairs.push(Pair::load(store, run)?);
        }
    }
    let Some(last) = pairs.last().map(|pair| pair.condition.clone()) else {
        return Err(Error::Refused(format!(
            "the store has no comparison of {name}: make some with `senesce compare --fs ext4 --name {name}`"
        )));
    };
    pairs.retain(|pair| pair.condition == last);
    Ok(pairs)
}
