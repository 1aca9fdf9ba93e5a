//! The agings of a comparison, if --fs gives kinds instead of names.

use crate::args::{Compare, SEED};
use crate::commands::age::AgeOptions;
use crate::commands::vm_dispatch;
use anyhow::{Context as _, Result, bail};
use run::AgeSpec;
use std::collections::HashSet;
use vm::Kernel;

/// The agings on this kernel: each file system with each of the options, for one seed after the other.
pub fn agings(args: &Compare, kernel: Option<&Kernel>) -> Result<Vec<AgeSpec>> {
    let (first, work) = (&args.first, &args.work.work);
    let kernel_label = label(args, kernel)?;
    let (mkfs_opts, mount_opts) = (or_none(&first.mkfs_opts), or_none(&first.mount_opts));
    let first_seed = first.seed.unwrap_or(SEED);
    let last_seed = first_seed.checked_add(first.agings - 1).context("--seed plus --agings exceeds 2^64")?;
    let mut agings = Vec::new();
    for seed in first_seed..=last_seed {
        for fs in &first.fs {
            for mkfs in &mkfs_opts {
                for mount in &mount_opts {
                    let kind = fs::find(fs)?.name().to_owned();
                    // A name that the user gave does not tell the file system.
                    let fs_label = (first.name.is_some() && first.fs.len() > 1).then_some(kind);
                    let labels = [fs_label, in_name(mkfs), in_name(mount), kernel_label.clone()];
                    let options = AgeOptions {
                        fs,
                        work,
                        name: first.name.as_deref(),
                        mkfs_opts: mkfs,
                        mount_opts: mount,
                        size_bytes: first.size,
                        profile: first.profile.as_deref(),
                        fullness: first.fullness,
                        overwrites: first.overwrites,
                        churn: first.churn,
                        seed,
                        memory: first.memory,
                        replicate: seed != first_seed,
                    };
                    agings.push(options.spec(&labels.into_iter().flatten().collect::<Vec<_>>())?);
                }
            }
        }
    }
    let mut names = HashSet::new();
    if let Some(twice) = agings.iter().find(|spec| !names.insert(&spec.name)) {
        bail!(
            "the options give two file systems the name {}: leave one out, or age it with `senesce age --name`",
            twice.name
        );
    }
    Ok(agings)
}

/// The given options, or none at all.
fn or_none(options: &[String]) -> Vec<&str> {
    if options.is_empty() { vec![""] } else { options.iter().map(String::as_str).collect() }
}

/// Options as a part of a name: `-O ^flex_bg` becomes `O-no-flex_bg`.
fn in_name(options: &str) -> Option<String> {
    let spelled = options.replace('^', "-no-");
    let parts =
        spelled.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|part| !part.is_empty());
    let name = parts.collect::<Vec<_>>().join("-");
    (!name.is_empty()).then_some(name)
}

/// A label that distinguishes this kernel in a comparison across kernels: its release, followed by its position if several have that release.
fn label(args: &Compare, kernel: Option<&Kernel>) -> Result<Option<String>> {
    let (Some(_), Some(kernel)) = (args.kernels.across, kernel) else { return Ok(None) };
    let release = kernel.release()?;
    let all = vm_dispatch::requested_kernels(&args.kernels.kernel, &args.kernels.modules)?;
    let releases = all.iter().map(Kernel::release).collect::<Result<Vec<_>, _>>()?;
    let position = all.iter().position(|one| one == kernel).map_or(0, |index| index + 1);
    let alone = releases.iter().filter(|other| **other == release).count() == 1;
    Ok(Some(if alone { release } else { format!("{release}-{position}") }))
}

#[cfg(test)]
mod tests {
    use super::in_name;

    #[test]
    fn options_become_parts_of_names() {
        for (options, name) in [
            ("-O ^flex_bg", Some("O-no-flex_bg")),
            ("-O^flex_bg", Some("O-no-flex_bg")),
            ("compress=zstd:1", Some("compress-zstd-1")),
            ("", None),
        ] {
            assert_eq!(in_name(options).as_deref(), name);
        }
    }
}
