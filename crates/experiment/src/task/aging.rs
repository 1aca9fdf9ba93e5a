//! Aging by a workload, with scans of the aged file system and its unaged copy after each round.

use super::{Measuring, NamedDisk, Task};
use crate::cell::Cell;
use crate::spec::Scale;
use fs::Location;
use ranks::Alone;
use run::Error;
use run::SUBJECTS;
use run::series::Series;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use workload::Workload;

/// The name of the kind, for messages: in a file its kind is that of the workload.
pub(super) const KIND: &str = "aging";

/// Aging by a workload.
#[derive(Debug)]
pub(super) struct Aging(pub Arc<dyn Workload>);

impl Task for Aging {
    fn check(&self, cell: &Cell, scale: &Scale) -> Result<(), Error> {
        Ok(self.0.check(cell.seed, &scale.rounds)?)
    }

    fn parameters(&self, scale: &Scale, disks: &[NamedDisk]) -> Result<Value, Error> {
        let last = scale.last();
        let mut parameters = json!({
            "workload": self.0,
            "source": self.0.fingerprint(last)?,
            "repeat": scale.repeat,
            "quiet_s": scale.quiet_s,
            "unaged": scale.unaged,
            "pictures": scale.pictures,
            "disks": disks.iter().map(|disk| &disk.model).collect::<Vec<_>>(),
        });
        if !scale.memory_bytes.is_empty() {
            // With memory limits, the checkpoint does not name its round.
            parameters["last_round"] = json!(last);
        }
        Ok(parameters)
    }

    fn measure(&self, at: &mut Measuring) -> Result<(), Error> {
        if let Some(why) = at.untraced {
            let name = &at.identity.name;
            at.watch.say(&format!("{name}: no modelled costs: block requests cannot be traced: {why}"));
        }
        if !at.scale.memory_bytes.is_empty() {
            at.say_what_memory_limits_do_not_count()?;
        }
        let images = at.images()?;
        let location = Location::Image(images.path().join("aged.img"));
        let models = at.models();
        let mut series = Series {
            session: at.session,
            store: at.store,
            identity: at.identity,
            command: &at.spec.command,
            work: &at.spec.work,
            volume: at.cell.volume(at.scale.size_bytes, location, self.0.inodes()?)?,
            erase: None,
            seed: at.cell.seed,
            schedule: at.schedule,
            models: &models,
            one_cpu: true,
            group: &mut Alone,
            watch: &mut *at.watch,
            save: &mut |_| Ok(()),
        };
        series.run(self.0.as_ref())
    }

    fn method(&self, scale: &Scale) -> (&'static str, String) {
        (
            "Scans",
            format!("{} of each side after each round, every file read from a cold cache", scale.repeat),
        )
    }

    fn sides(&self) -> &'static [&'static str] {
        &SUBJECTS
    }

    fn supports_memory_and_pictures(&self) -> bool {
        true
    }

    fn uses_requests(&self) -> bool {
        true
    }

    fn with_repository(&self, repository: &Path) -> Option<Arc<dyn Task>> {
        Some(Arc::new(Aging(self.0.with_repository(repository)?)))
    }
}
