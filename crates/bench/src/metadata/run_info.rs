//! The file that lets another job continue with the phases that this one left out: where each rank is, and what the run is
//! that it belongs to.

use super::error::Error;
use super::settings::Settings;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a later job must know.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunInfo {
    /// How far each rank has come.
    pub positions: Vec<u64>,
    /// Data sets of each rank.
    pub data_sets: u32,
    /// Objects of each data set.
    pub precreate: u64,
    /// The offset between who writes and who reads.
    pub offset: u32,
    /// The sizes and contents of the objects follow from it.
    pub seed: u64,
}

impl RunInfo {
    /// Of a run that is here now.
    pub fn of(settings: &Settings, positions: &[u64]) -> RunInfo {
        RunInfo {
            positions: positions.to_vec(),
            data_sets: settings.data_sets,
            precreate: settings.precreate,
            offset: settings.offset,
            seed: settings.seed,
        }
    }

    /// Reads it; refuses one of a run with other settings, whose objects would not be found.
    pub fn load(path: &Path, settings: &Settings, ranks: u32) -> Result<RunInfo, Error> {
        let text = input::read(path).map_err(|source| Error::Io {
            action: "reading",
            path: path.to_owned(),
            source,
        })?;
        let refuse = |why: String| Error::RunInfo { path: path.to_owned(), why };
        let info: RunInfo = serde_json::from_slice(&text)
            .map_err(|e| refuse(format!("it is not a run-info file of the benchmark: {e}")))?;
        let same = RunInfo::of(settings, &info.positions) == info && info.positions.len() == ranks as usize;
        if !same {
            return Err(refuse(format!(
                "it is from a run with {} ranks, {} data sets, {} objects in each, offset {} and seed {}; \
                 use the same, or remove it",
                info.positions.len(),
                info.data_sets,
                info.precreate,
                info.offset,
                info.seed
            )));
        }
        Ok(info)
    }

    /// Puts it in the place of the one before.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let fail = |source| Error::Io { action: "writing", path: path.to_owned(), source };
        let new = path.with_extension("new");
        std::fs::write(&new, serde_json::to_vec(self).expect("plain data")).map_err(fail)?;
        std::fs::rename(&new, path).map_err(fail)
    }
}
