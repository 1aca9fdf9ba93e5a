//! The layout of files from their extent maps, and the time of a modelled disk to read them.

use super::{Detail, Effect, Probe, ProbeSubmission, Survey};
use crate::Error;
use crate::aged_pair::{AgedPair, Turn};
use crate::compare::SUBJECTS;
use crate::scanned::{self, HDD_MODEL};
use disk::Model;
use results::measures::{self, Measure};

/// The document that holds the position of the files of a checkpoint on disk.
pub const PICTURE: &str = "picture";

struct Layout;

inventory::submit!(ProbeSubmission(&Layout));

impl Probe for Layout {
    fn effect(&self) -> Effect {
        Effect::ReadsMetadata
    }

    fn measure(&self, survey: &Survey, pair: &mut AgedPair) -> Result<(), Error> {
        if pair.targets().any(|(_, target)| !target.supports_fiemap()) {
            survey.explain(pair, "no layout scores of files: this file system does not report file extents");
        }
        let hdd = Model::find(HDD_MODEL)?;
        pair.record_each("extent maps", 1, measures::FILES, |turn| match turn.target.supports_fiemap() {
            true => from_maps(survey.detail, &hdd, turn),
            false => {
                let files = probe::census(turn.target.root())?.files;
                Ok(turn.record(&[measures::FILES.once(turn.subject, files as f64)])?)
            }
        })
    }
}

/// Records documents before measures, which tell that the layout is recorded.
fn from_maps(detail: Detail, hdd: &Model, turn: &mut Turn) -> Result<(), Error> {
    let target = &*turn.target;
    let mut layout = probe::static_layout(target.root(), target.block_bytes(), target.max_extent_bytes())?;
    let cost = turn.disk_bytes().and_then(|size| scanned::extents_s_per_gib(&layout, hdd, size));
    match detail {
        Detail::Measures => {}
        Detail::Picture if turn.subject == SUBJECTS[0] => turn.record_document(PICTURE, &layout.block_map)?,
        Detail::Picture => {}
        Detail::Documents => {
            // One or more extents per file are too much to store; the cost computed from them is stored.
            layout.scan_extents.clear();
            turn.record_document("static_layout", &layout)?;
        }
    }
    let values: [(Measure, _); 6] = [
        (measures::FILES, Some(layout.files as f64)),
        (measures::EXTENTS, Some(layout.extents as f64)),
        (measures::LAYOUT_SCORE, layout.layout_score),
        (measures::SCAN_LAYOUT_SCORE, layout.scan_layout_score),
        (measures::DEGREE_OF_FRAGMENTATION, layout.degree_of_fragmentation),
        (measures::EXTENT_MAP_HDD_S_PER_GIB, cost),
    ];
    Ok(turn.record_known(&values)?)
}
