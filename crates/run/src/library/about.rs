//! The description of a saved image in its manifest.

use super::scores::Scores;
use crate::{Error, Manifest, can_name};
use archive::ArchivedImage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a saved image contains, and how it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// How it was made and aged: file system, mkfs options, profile or workload, seed. Paths are reduced to their last component.
    pub aged: Manifest,
    /// Whether the file system does not report its unused blocks, so that all nonzero blocks are saved.
    pub unused_unknown: bool,
    /// The layout.
    pub scores: Scores,
}

impl About {
    /// As a value for a manifest: without paths, which may contain names of people.
    pub(super) fn to_value(&self) -> Value {
        let mut value = serde_json::to_value(self).expect("plain data");
        without_paths(&mut value);
        value
    }

    /// Reads the description from the manifest of `archive`.
    pub(super) fn of(archive: &ArchivedImage) -> Result<About, Error> {
        let path = archive.path().display();
        let about: About = serde_json::from_value(archive.manifest().about.clone()).map_err(|why| {
            Error::Refused(format!("{path} is a saved image, but not of an aged file system: {why}"))
        })?;
        about.check().map_err(|why| Error::Refused(format!("{path} is not safe to use: {why}")))?;
        Ok(about)
    }

    /// Refuses a description that refers to other files or devices than the image: its options are passed to mkfs and mount here.
    fn check(&self) -> Result<(), String> {
        let name = self.name();
        if !can_name(name) {
            return Err(format!("its name {name:?} is not a valid file name"));
        }
        let volume = &self.aged.volume;
        match [&volume.plan_mkfs_opts, &volume.mkfs_opts, &volume.mount_opts]
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

    /// The name.
    pub fn name(&self) -> &str {
        &self.aged.name
    }
}

/// Reduces each absolute path to its last component.
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
    fn absolute_paths_are_reduced_to_their_last_component() {
        let mut value =
            json!({"home": {"image": "/home/ann/work/a.img"}, "list": ["/x/", "mkfs.ext4 /dev/loop0", 1]});
        without_paths(&mut value);
        assert_eq!(value, json!({"home": {"image": "a.img"}, "list": ["x", "mkfs.ext4 /dev/loop0", 1]}));
    }
}
