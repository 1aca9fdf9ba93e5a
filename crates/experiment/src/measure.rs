//! The measures that plots and claims may name.

use super::task::TaskKind;
use results::measures::{self, MEASURES};

/// Whether a measure has a value per disk.
pub fn is_by_disk(measure: &str) -> bool {
    measures::find(measure).is_some_and(|measure| measure.by_disk)
}

/// Refuses names that are not a measure.
pub(super) fn known(name: &str) -> Result<(), String> {
    let is_family = |measure: &str| measure.contains('*');
    let mut names: Vec<String> =
        MEASURES.iter().map(|measure| measure.name.to_owned()).filter(|name| !is_family(name)).collect();
    names.extend(TaskKind::all().flat_map(|kind| (kind.measures)()));
    if names.iter().any(|known| known == name) {
        return Ok(());
    }
    names.sort_unstable();
    names.dedup();
    Err(format!("unknown measure {name:?}; known: {}", names.join(", ")))
}
