//! Ages several file systems and compares each with its unaged copy.

use super::parallel::age_all;
use super::{CompareSpec, Pair, compare, discard};
use crate::Error;
use crate::age::AgeSpec;
use crate::manifest::{Manifest, Stage};
use crate::space;
use crate::work::Work;
use fs::VolumeConfig;
use results::{Machine, Run, TOOL, Watch};

/// Ages each file system, compares it, and removes it if it is a [replicate](AgeSpec::replicate). An incomplete aging is continued. With `reuse`,
/// what the store already holds is not repeated.
///
/// # Errors
/// If one of the file systems cannot be made, or one of the same name was aged with other options.
pub fn replicate(
    agings: &[AgeSpec],
    comparison: &CompareSpec,
    reuse: bool,
    watch: &mut dyn Watch,
) -> Result<Vec<Pair>, Error> {
    // Nothing is aged if one of them cannot be made.
    agings.iter().try_for_each(|spec| fs::can_make(&spec.volume))?;
    let mut pairs: Vec<Option<Pair>> =
        if reuse { compared(agings, comparison)? } else { vec![None; agings.len()] };
    for (spec, _) in agings.iter().zip(&pairs).filter(|(_, earlier)| earlier.is_some()) {
        watch.say(&format!("{} is already compared under these conditions", spec.name));
    }
    let left: Vec<usize> = (0..agings.len()).filter(|at| pairs[*at].is_none()).collect();
    let mut begun = 0;
    let most = at_once(agings)?;
    let mut alone = Vec::new();
    for spec in agings {
        alone.push(is_alone(spec)?);
    }
    // Consecutive agings go together if each stays on one processor.
    for batch in left.chunk_by(|a, b| !alone[*a] && !alone[*b]).flat_map(|some| some.chunks(most)) {
        let specs: Vec<AgeSpec> = batch.iter().map(|at| agings[*at].clone()).collect();
        for spec in &specs {
            begun += 1;
            let size = input::bytes(spec.volume.size_bytes);
            watch.say(&format!("== {begun} of {}: {}, {size}", left.len(), spec.name));
        }
        age_unless_aged(specs, watch)?;
        for at in batch {
            let one = CompareSpec { aged: vec![agings[*at].name.clone()], ..comparison.clone() };
            pairs[*at] = compare(&one, watch)?.pop();
            // One that the user aged by its name stays.
            let manifest = Manifest::load(&agings[*at].work, &agings[*at].name)?;
            if manifest.is_some_and(|manifest| manifest.replicate) {
                discard(&agings[*at])?;
            }
        }
    }
    Ok(pairs.into_iter().flatten().collect())
}

/// The number of agings at once: one for each processor, if there is room for their images.
fn at_once(agings: &[AgeSpec]) -> Result<usize, Error> {
    let mut most = std::thread::available_parallelism().map_or(1, usize::from);
    for spec in agings {
        let free_bytes = disk::free_bytes(space::existing(spec.volume.location.path()))?;
        // The unaged copy needs room too.
        let room = free_bytes / spec.volume.size_bytes.max(1);
        most = most.min((room as usize).saturating_sub(1));
    }
    Ok(most.max(1))
}

/// Whether no other aging may go on beside this one: it uses several processors.
fn is_alone(spec: &AgeSpec) -> Result<bool, Error> {
    Ok(spec.terms()?.threads > 1)
}

/// The comparisons of these agings in the store that were completed under the same conditions, on this kernel and by this version.
fn compared(agings: &[AgeSpec], comparison: &CompareSpec) -> Result<Vec<Option<Pair>>, Error> {
    let mut pairs = vec![None; agings.len()];
    if !comparison.work.join(results::STORE_FILE).is_file() {
        return Ok(pairs);
    }
    let work = Work::take(&comparison.work)?;
    let store = work.store()?;
    work.keep();
    let machine = Machine::this();
    let same = |run: &&Run| {
        let mut parameters = run.parameters.clone();
        parameters.as_object_mut().map(|fields| fields.remove("aged_run"));
        let here = (&*run.tool, &run.machine.kernel) == (TOOL, &machine.kernel);
        here && run.state == "done" && parameters == comparison.parameters()
    };
    // The last of several counts.
    for run in store.runs_of_kind(super::KIND)?.iter().rev().filter(same) {
        let of_it = |at: &usize| agings[*at].name == run.name && pairs[*at].is_none();
        let Some(at) = (0..agings.len()).find(of_it) else { continue };
        let manifest: Option<Manifest> = store.document(run.id, "", "manifest")?;
        if manifest.is_some_and(|manifest| is_aged_by(&manifest, &agings[at])) {
            pairs[at] = Some(Pair::load(&store, run)?);
        }
    }
    Ok(pairs)
}

/// Whether the manifest describes the file system that this aging makes.
fn is_aged_by(manifest: &Manifest, spec: &AgeSpec) -> bool {
    let plan_mkfs_opts = manifest.volume.plan_mkfs_opts.clone();
    let volume = VolumeConfig { plan_mkfs_opts, ..spec.volume.clone() };
    let same_source =
        manifest.conditions() == spec.conditions().as_ref() && manifest.aged_by == spec.aged_by();
    manifest.volume == volume && manifest.fill == spec.fill && same_source
}

/// Ages those that are not aged yet.
fn age_unless_aged(specs: Vec<AgeSpec>, watch: &mut dyn Watch) -> Result<(), Error> {
    let mut left = Vec::new();
    for mut spec in specs {
        let earlier = Manifest::load(&spec.work, &spec.name)?;
        if let Some(earlier) = &earlier
            && !is_aged_by(earlier, &spec)
        {
            return Err(Error::Refused(format!(
                "{} exists in {} with other options or on another kernel: give another --name or --work",
                spec.name,
                spec.work.display()
            )));
        }
        let stage = earlier.map(|earlier| earlier.stage);
        spec.resume = stage.is_some_and(|stage| stage != Stage::Making);
        if stage != Some(Stage::Done) {
            left.push(spec);
        }
    }
    match left.first() {
        Some(first) => age_all(&left, &Work::take(&first.work)?, watch),
        None => Ok(()),
    }
}
