//! What the manifest of a saved image says beside its checksums.

use super::scores::Scores;
use crate::{Error, Manifest, can_name};
use saved::Saved;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a saved image is, and how it came to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// How it was made and aged: file system, options of its program, profile or workload, seed. Of paths only their last parts are kept.
    pub aged: Manifest,
    /// Whether the file system does not tell what it does not use, so that all that is not zero is kept.
    pub unused_unknown: bool,
    /// How it lies on its disk.
    pub scores: Scores,
}

impl About {
    /// As a value for a manifest: without paths, which may hold names of people.
    pub(super) fn to_value(&self) -> Value {
        let mut value = serde_json::to_value(self).expect("plain data");
        without_paths(&mut value);
        value
    }

    /// What the manifest of `saved` says.
    pub(super) fn of(saved: &Saved) -> Result<About, Error> {
        let path = saved.path().display();
        let about: About = serde_json::from_value(saved.manifest().about.clone()).map_err(|why| {
            Error::Refused(format!("{path} is a saved image, but not of an aged file system: {why}"))
        })?;
        about.check().map_err(|why| Error::Refused(format!("{path} is not safe to use: {why}")))?;
        Ok(about)
    }

    /// Refuses what would reach for other files or devices than the image: its options are given to mkfs and mount here.
    fn check(&self) -> Result<(), String> {
        let name = self.name();
        if !can_name(name) {
            return Err(format!("its name {name:?} is not a valid file name"));
        }
        let made = &self.aged.made;
        match [&made.plan_mkfs_opts, &made.mkfs_opts, &made.mount_opts]
            .into_iter()
            .flatten()
            .find(|option| option.contains('/'))
        {
            Some(option) => {
                Err(format!("option {option:?} names a path, but options are passed to mkfs or mount"))
            }
            None => Ok(()),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.aged.name
    }
}

/// Leaves of each absolute path its last part.
fn without_paths(value: &mut Value) {
    match value {
        Value::String(text) if text.starts_with('/') => {
            *text = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
        }
        Value::Array(values) => values.iter_mut().for_each(without_paths),
        Value::Object(fields) => fields.values_mut().for_each(without_paths),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn of_paths_only_the_last_part_is_kept() {
        let mut value =
            json!({"home": {"image": "/home/ann/work/a.img"}, "list": ["/x/", "mkfs.ext4 /dev/loop0", 1]});
        without_paths(&mut value);
        assert_eq!(value, json!({"home": {"image": "a.img"}, "list": ["x", "mkfs.ext4 /dev/loop0", 1]}));
    }
}
