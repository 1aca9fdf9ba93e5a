//! The run-info file, with which another job runs the phases that this one left out: the positions of the ranks, and the identity of
//! the run.

use super::error::Error;
use super::settings::Settings;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The information for a later job.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunInfo {
    /// The position of each rank.
    pub positions: Vec<u64>,
    /// Data sets of each rank.
    pub data_sets: u32,
    /// Objects of each data set.
    pub precreate: u64,
    /// The rank distance between writer and reader.
    pub offset: u32,
    /// The seed of the sizes and contents of the objects.
    pub seed: u64,
}

impl RunInfo {
    /// The information of the current run.
    pub fn of(settings: &Settings, positions: &[u64]) -> RunInfo {
        RunInfo {
            positions: positions.to_vec(),
            data_sets: settings.data_sets,
            precreate: settings.precreate,
            offset: settings.offset,
            seed: settings.seed,
        }
    }

    /// Reads the file; returns an error if the run had other settings, since its objects would not be found.
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

    /// Replaces the file.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let fail = |source| Error::Io { action: "writing", path: path.to_owned(), source };
        let new = path.with_extension("new");
        std::fs::write(&new, serde_json::to_vec(self).expect("the data is serializable")).map_err(fail)?;
        std::fs::rename(&new, path).map_err(fail)
    }
}
