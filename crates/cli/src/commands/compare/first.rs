//! Ages file systems before a comparison, if --fs gives kinds instead of names.

use crate::args::{Age, Command, Compare, Senesce};
use crate::commands::{age, vm_dispatch};
use crate::progress::Progress;
use anyhow::{Result, bail};
use clap::Parser as _;
use lab::{Manifest, Stage};
use results::Watch as _;
use vm::Kernel;

/// Ages each kind that is not aged yet on this kernel. Returns their names.
pub fn age(args: &Compare, kernel: Option<&Kernel>, progress: &mut Progress) -> Result<Vec<String>> {
    let label = label(args, kernel)?;
    let mut names = Vec::new();
    for kind in &args.first.fs {
        let mut age = as_asked(args, kind)?;
        if let Some(label) = &label {
            let source = profile::load(&age.profile)?.name;
            age.name = Some(format!("{}-{label}", age::name(&age, &source)));
        }
        let mut spec = age::spec(&age)?;
        let work = spec.work.display();
        match Manifest::load(&spec.work, &spec.name)? {
            Some(there)
                if there.conditions() != Some(&spec.conditions) || there.volume.kernel.as_ref() != kernel =>
            {
                bail!(
                    "{} exists in {work} with other options or on another kernel: give another --work",
                    spec.name
                );
            }
            Some(there) if there.stage == Stage::Done => {
                names.push(spec.name);
                continue;
            }
            there => spec.resume = there.is_some_and(|there| there.stage != Stage::Making),
        }
        progress.say(&format!("== aging {}, {}", spec.name, lab::bytes(spec.volume.size_bytes)));
        lab::age(&spec, progress)?;
        names.push(spec.name);
    }
    Ok(names)
}

/// The arguments of `senesce age` for one kind.
fn as_asked(args: &Compare, kind: &str) -> Result<Box<Age>> {
    let first = &args.first;
    let mut words: Vec<std::ffi::OsString> =
        ["senesce", "age", "--fs", kind, "--work"].map(Into::into).to_vec();
    words.push(args.work.work.clone().into());
    for (option, value) in [
        ("--size", &first.size),
        ("--profile", &first.profile),
        ("--fullness", &first.fullness),
        ("--overwrites", &first.overwrites),
        ("--seed", &first.seed),
    ] {
        words.extend(value.iter().flat_map(|value| [option.into(), value.into()]));
    }
    match Senesce::try_parse_from(words).map(|asked| asked.command) {
        Ok(Command::Age(age)) => Ok(age),
        Ok(_) => unreachable!("the arguments are those of `senesce age`"),
        Err(wrong) => wrong.exit(),
    }
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
