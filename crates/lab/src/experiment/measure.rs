//! The measures that plots and claims may name.

use super::{metadata, personality};
use results::measures::{self, MEASURES};

/// Whether a measure has a value per disk.
pub fn is_by_disk(measure: &str) -> bool {
    measures::find(measure).is_some_and(|measure| measure.by_disk)
}

/// Refuses names that are not a measure.
pub(super) fn known(name: &str) -> Result<(), String> {
    let is_family = |measure: &str| measure.contains('*');
    let mut names: Vec<&str> =
        MEASURES.iter().map(|measure| measure.name).filter(|name| !is_family(name)).collect();
    if names.contains(&name) || metadata::is_measure(name) || personality::is_measure(name) {
        return Ok(());
    }
    names.sort_unstable();
    Err(format!(
        "unknown measure {name:?}; known: {}; for a phase of the metadata benchmark: {}; for a kind of \
         operation of a personality: {}",
        names.join(", "),
        metadata::EXAMPLES,
        personality::EXAMPLES
    ))
}
