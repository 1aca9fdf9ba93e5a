//! `senesce verify`.

use crate::args::Verify;
use crate::output::{self, number};
use crate::progress::Progress;
use anyhow::Result;
use run::{Case, Location, Verified, VerifySpec, VolumeConfig};
use snapshot::activity::ActivitySet;
use workload::snapshots::{Options, ShortLived, snapshot_files};
use workload::synthetic::SyntheticOptions;

pub fn run(args: &Verify) -> Result<()> {
    let name = args.name.clone().unwrap_or_else(|| match args.against.is_empty() {
        true => format!("verify-{}", args.fs),
        false => "verify".to_owned(),
    });
    let spec =
        VerifySpec { name, work: args.work.work.clone(), case: case(args)?, command: super::command_line() };
    let mut progress = Progress::new();
    let verified = run::verify(&spec, &mut progress)?;
    drop(progress);
    if args.json { output::json(&verified) } else { show(&verified) }
}

fn case(args: &Verify) -> Result<Case> {
    let real = if args.builtin { Vec::new() } else { snapshot_files(&args.real)? };
    if !args.against.is_empty() {
        return Ok(Case::Given { real, replayed: snapshot_files(&args.against)? });
    }
    let options =
        if args.published { Options::published(args.seed) } else { Options::full_metadata(args.seed) };
    let set = args.short_lived.as_deref().map(ActivitySet::load).transpose()?;
    let options = Options { short_lived: set.map(ShortLived::published), ..options };
    // The location is a placeholder: the verification chooses the images.
    let volume = VolumeConfig::new(Location::Image(args.work.work.clone()), &args.fs, args.size);
    if !args.builtin {
        return Ok(Case::Replayed { real, options, write_back_bytes: args.write_back, volume });
    }
    let synthetic = SyntheticOptions {
        size_bytes: args.size,
        days: args.days,
        concurrency: args.concurrency.into(),
        intervals: args.intervals,
        fullness: args.fullness,
        seed: args.seed,
    };
    Ok(Case::Synthetic { synthetic, options, write_back_bytes: args.write_back, volume })
}

fn show(verified: &Verified) -> Result<()> {
    let row = |name: String, a: Option<f64>, b: Option<f64>| {
        let difference = a.zip(b).map(|(a, b)| b - a);
        vec![name, number(a), number(b), number(difference)]
    };
    output::table(
        &[&verified.name, "real", "replayed", "difference"],
        verified.days.iter().map(|day| row(format!("day {}", day.day), day.real_score, day.replayed_score)),
    )?;
    output::line("")?;
    output::table(
        &["size up to", "real", "replayed", "difference"],
        verified
            .by_size
            .iter()
            .map(|size| row(input::bytes(size.upper_bytes), size.real_score, size.replayed_score)),
    )?;
    output::line("")?;
    let last = verified.days.last();
    let free = last.and_then(|day| day.free);
    output::table(
        &["", ""],
        [
            ("mean absolute difference", verified.mean_abs_difference),
            ("sizes, Kolmogorov-Smirnov", last.map(|day| day.sizes.kolmogorov_smirnov)),
            ("sizes, earth mover's, in doublings", last.map(|day| day.sizes.earth_mover_doublings)),
            ("free extents, Kolmogorov-Smirnov", free.map(|free| free.kolmogorov_smirnov)),
            ("free extents, earth mover's, in doublings", free.map(|free| free.earth_mover_doublings)),
            ("free extents, real", verified.real_free.as_ref().map(|free| free.extents as f64)),
            ("free extents, replayed", verified.replayed_free.as_ref().map(|free| free.extents as f64)),
        ]
        .map(|(name, value)| vec![name.to_owned(), number(value)]),
    )
}
