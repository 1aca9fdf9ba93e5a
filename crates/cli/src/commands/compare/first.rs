//! Ages file systems before a comparison, if --fs gives kinds instead of names.

use crate::args::Compare;
use crate::commands::age::AgeOptions;
use crate::commands::vm_dispatch;
use crate::progress::Progress;
use anyhow::{Result, bail};
use results::Watch as _;
use run::{Manifest, Stage};
use vm::Kernel;

/// Ages each kind that is not aged yet on this kernel. Returns their names.
pub fn age(args: &Compare, kernel: Option<&Kernel>, progress: &mut Progress) -> Result<Vec<String>> {
    let label = label(args, kernel)?;
    let (first, work) = (&args.first, &args.work.work);
    let mut aged = Vec::new();
    for fs in &first.fs {
        let options = AgeOptions {
            fs,
            work,
            size_bytes: first.size,
            profile: first.profile.as_deref(),
            fullness: first.fullness,
            overwrites: first.overwrites,
            seed: first.seed,
        };
        let mut spec = options.spec(label.as_deref())?;
        match Manifest::load(work, &spec.name)? {
            Some(there)
                if there.conditions() != spec.conditions().as_ref()
                    || there.volume.kernel.as_ref() != kernel =>
            {
                bail!(
                    "{} exists in {} with other options or on another kernel: give another --work",
                    spec.name,
                    work.display()
                );
            }
            Some(there) if there.stage == Stage::Done => {
                aged.push(spec.name);
                continue;
            }
            there => spec.resume = there.is_some_and(|there| there.stage != Stage::Making),
        }
        progress.say(&format!("== aging {}, {}", spec.name, input::bytes(spec.volume.size_bytes)));
        run::age(&spec, progress)?;
        aged.push(spec.name);
    }
    Ok(aged)
}

/// A label that distinguishes this kernel in a comparison across kernels: its release, followed by its position if several have that release.
fn label(args: &Compare, kernel: Option<&Kernel>) -> Result<Option<String>> {
    let (Some(_), Some(kernel)) = (args.kernels.across, kernel) else { return Ok(None) };
    let release = kernel.release()?;
    let all = vm_dispatch::requested_kernels(&args.kernels)?;
    let releases = all.iter().map(Kernel::release).collect::<Result<Vec<_>, _>>()?;
    let position = all.iter().position(|one| one == kernel).map_or(0, |index| index + 1);
    let alone = releases.iter().filter(|other| **other == release).count() == 1;
    Ok(Some(if alone { release } else { format!("{release}-{position}") }))
}
