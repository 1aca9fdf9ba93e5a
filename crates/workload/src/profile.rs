//! Aging to a profile as a workload. A round is a percentage of the operations; round 100 is the end.

mod driver;
mod dry_run;
mod feed;
mod outcome;
mod rank_group;
mod rollback;

pub use driver::ProfileDriver;
pub use dry_run::DryRun;
pub use outcome::{ProfileOutcome, StoppedBy};
pub use rank_group::follow;

use crate::interface::last_of;
use crate::{Churn, Conditions, Driver, Error, Method, Segment, Start, Workload};
use fs::VolumeConfig;
use serde::{Deserialize, Deserializer, Serialize};

/// Aging to a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByProfile {
    /// The profile; in an experiment file a built-in name, a TOML file, or the profile itself.
    #[serde(deserialize_with = "named_or_inline")]
    pub profile: profile::Profile,
    /// How operations are chosen.
    #[serde(default = "planned")]
    pub method: Method,
    /// Share of the capacity in live files at the end; by default that of the profile, or 0.8.
    #[serde(default)]
    pub fullness: Option<f64>,
    /// Bytes created over capacity; by default the method decides.
    #[serde(default)]
    pub overwrites: Option<f64>,
    /// Changes within live files, as shares of the operations; by default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub churn: Option<Churn>,
}

/// The fullness if neither the user nor the profile names one.
const FULLNESS: f64 = 0.8;

/// The last round.
pub const LAST_ROUND: u64 = 100;

fn planned() -> Method {
    Method::Planned
}

fn named_or_inline<'de, D: Deserializer<'de>>(from: D) -> Result<profile::Profile, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Named {
        Name(String),
        Inline(Box<profile::Profile>),
    }
    match Named::deserialize(from)? {
        Named::Name(name) => profile::load(&name).map_err(serde::de::Error::custom),
        Named::Inline(profile) => Ok(*profile),
    }
}

impl ByProfile {
    /// The conditions on a file system.
    pub fn conditions(&self, volume: &VolumeConfig, seed: u64) -> Conditions {
        let by_default = || self.profile.fullness.unwrap_or(FULLNESS).min(volume.max_fullness());
        Conditions {
            method: self.method,
            profile: self.profile.clone(),
            capacity_bytes: volume.size_bytes,
            fullness: self.fullness.unwrap_or_else(by_default),
            seed,
            overwrites: self.overwrites,
            churn: self.churn,
        }
    }
}

#[typetag::serde(name = "profile")]
impl Workload for ByProfile {
    fn check(&self, _seed: u64, rounds: &[u64]) -> Result<(), Error> {
        match last_of(rounds) {
            0..=LAST_ROUND => {
                self.churn.iter().try_for_each(Churn::check)?;
                Ok(self.profile.check()?)
            }
            last => Err(Error::Refused(format!(
                "no round {last}: a round of a profile is a percentage of its operations"
            ))),
        }
    }

    fn start(&self, start: &Start) -> Result<Box<dyn Driver>, Error> {
        let first = || Segment { conditions: self.conditions(start.volume, start.seed), done: 0 };
        let segments = if start.segments.is_empty() { vec![first()] } else { start.segments.to_vec() };
        Ok(Box::new(ProfileDriver::new(segments, start.redo_to, start.terms, start.tool)?))
    }

    fn default_last_round(&self) -> Option<u64> {
        Some(LAST_ROUND)
    }

    fn as_profile(&self) -> Option<&ByProfile> {
        Some(self)
    }
}
