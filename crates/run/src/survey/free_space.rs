//! The free extents.

use super::{Detail, Effect, Probe, ProbeSubmission, Survey};
use crate::Error;
use crate::aged_pair::AgedPair;
use results::measures;

struct FreeSpace;

inventory::submit!(ProbeSubmission(&FreeSpace));

impl Probe for FreeSpace {
    fn effect(&self) -> Effect {
        Effect::Unmounts
    }

    fn measure(&self, survey: &Survey, pair: &mut AgedPair) -> Result<(), Error> {
        let mut reported = true;
        pair.record_each("free space", 1, measures::FREE_EXTENTS, |turn| {
            // Some file systems free deleted space in the background.
            turn.target.drop_caches()?;
            let Some(extents) = turn.target.free_extents()? else {
                reported = false;
                return Ok(());
            };
            let free = probe::free_space(&extents);
            if survey.detail == Detail::Documents {
                turn.record_document("free_space", &free)?;
            }
            Ok(turn.record_known(&[
                (measures::FREE_EXTENTS, Some(free.extents as f64)),
                (measures::FREE_BYTES, Some(free.total_bytes as f64)),
                (measures::FREE_MEAN_BYTES, Some(free.mean_bytes)),
                (measures::FREE_LARGEST_BYTES, Some(free.largest_bytes as f64)),
            ])?)
        })?;
        if !reported {
            survey.explain(pair, "no free space: this file system does not report free extents");
        }
        Ok(())
    }
}
