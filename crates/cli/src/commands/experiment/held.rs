//! Claims that held before a run and do not hold after it.

use crate::failure::Regressed;
use anyhow::Result;
use experiment::{Claim, Judged, RunSpec, no_longer_hold};

/// The claims that hold in the earlier runs of some experiments, by figure.
pub struct Held(Vec<(String, Vec<Claim>)>);

impl Held {
    /// Reads them, before the experiments run again.
    pub fn before<'s>(specs: impl IntoIterator<Item = &'s RunSpec>) -> Result<Held> {
        // A virtual machine measures a part of an experiment, which refutes nothing.
        if vm::guest_environment().is_some() {
            return Ok(Held(Vec::new()));
        }
        let of = |spec: &RunSpec| Ok((spec.experiment.figure.clone(), spec.held()?));
        Ok(Held(specs.into_iter().map(of).collect::<Result<_>>()?))
    }

    /// Fails with the status of a regression if one does not hold any more.
    pub fn check<'j>(&self, now: impl IntoIterator<Item = (&'j str, &'j [Judged])>) -> Result<()> {
        let mut lost = Vec::new();
        for (figure, judged) in now {
            let held = self.0.iter().filter(|(of, _)| of == figure).flat_map(|(_, claims)| claims.clone());
            let told =
                |judged: &Judged| format!("{figure} ({}): {}", judged.claim.section, judged.claim.states);
            lost.extend(no_longer_hold(&held.collect::<Vec<_>>(), judged).into_iter().map(told));
        }
        match &lost[..] {
            [] => Ok(()),
            [one] => Err(Regressed(format!("a claim that held does not hold any more: {one}")).into()),
            several => {
                let claims = several.join("; ");
                Err(Regressed(format!("{} claims that held do not hold any more: {claims}", several.len()))
                    .into())
            }
        }
    }
}
