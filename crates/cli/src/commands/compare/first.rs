//! The agings of a comparison, if kinds or a matrix are given instead of names.

use crate::args::{Axis, Compare, SEED};
use crate::commands::age::AgeOptions;
use crate::commands::vm_dispatch;
use crate::units;
use anyhow::{Context as _, Error, Result, bail};
use run::AgeSpec;
use std::collections::HashSet;
use vm::Kernel;

/// The values of one axis.
struct Dimension<'a> {
    axis: Axis,
    values: Vec<&'a str>,
}

/// The agings on this kernel: all combinations, for one seed after the other.
pub fn agings(args: &Compare, kernel: Option<&Kernel>) -> Result<Vec<AgeSpec>> {
    let first = &args.first;
    let kernel_label = kernel.map_or(Ok(None), |kernel| kernel_label(args, kernel))?;
    let dimensions = dimensions(args)?;
    let first_seed = first.seed.unwrap_or(SEED);
    let last_seed = first_seed.checked_add(first.agings - 1).context("--seed plus --agings exceeds 2^64")?;
    let mut agings = Vec::new();
    for seed in first_seed..=last_seed {
        for combination in combinations(&dimensions) {
            let mut options = AgeOptions {
                fs: "",
                work: &args.work.work,
                name: first.name.as_deref(),
                mkfs_opts: "",
                mount_opts: "",
                size_bytes: first.size,
                profile: first.profile.as_deref(),
                fullness: first.fullness,
                overwrites: first.overwrites,
                churn: first.churn,
                seed,
                memory: first.memory,
                replicate: seed != first_seed || !first.matrix.is_empty(),
            };
            let mut labels = Vec::new();
            for (dimension, value) in dimensions.iter().zip(combination) {
                set(&mut options, dimension.axis, value)?;
                labels.extend(label(dimension, value, first.name.is_some()));
            }
            labels.extend(kernel_label.clone());
            agings.push(options.spec(&labels)?);
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

/// The kinds of file system.
pub fn kinds(args: &Compare) -> Result<Vec<&str>> {
    let of_matrix = args.first.matrix.iter().filter(|of| of.axis == Axis::Fs).flat_map(|of| &of.values);
    let kinds: Vec<&str> = args.first.fs.iter().chain(of_matrix).map(String::as_str).collect();
    if kinds.is_empty() {
        bail!("--matrix needs file systems: add fs=ext4,xfs or --fs ext4");
    }
    Ok(kinds)
}

/// What the agings differ in, apart from kernels and seeds: the first varies slowest.
fn dimensions(args: &Compare) -> Result<Vec<Dimension<'_>>> {
    let first = &args.first;
    kinds(args)?;
    let given = [
        (Axis::Fs, first.fs.iter().map(String::as_str).collect::<Vec<_>>()),
        (Axis::Mkfs, first.mkfs_opts.iter().map(String::as_str).collect()),
        (Axis::Mount, first.mount_opts.iter().map(String::as_str).collect()),
    ];
    let mut dimensions: Vec<Dimension> = Vec::new();
    let options = given.into_iter().filter(|(_, values)| !values.is_empty());
    let of_matrix = first.matrix.iter().map(|of| (of.axis, of.values.iter().map(String::as_str).collect()));
    for (axis, values) in options.chain(of_matrix) {
        let is_option = match axis {
            Axis::Kernel => !args.kernels.kernel.is_empty(),
            Axis::Profile => first.profile.is_some(),
            Axis::Size => first.size.is_some(),
            Axis::Fullness => first.fullness.is_some(),
            Axis::Overwrites => first.overwrites.is_some(),
            Axis::Churn => first.churn.is_some(),
            Axis::Fs | Axis::Mkfs | Axis::Mount => false,
        };
        if is_option || dimensions.iter().any(|of| of.axis == axis) {
            bail!("{} is given twice: leave its option or one of its axes out", axis.name());
        }
        dimensions.push(Dimension { axis, values });
    }
    dimensions.retain(|of| of.axis != Axis::Kernel);
    Ok(dimensions)
}

/// All combinations with one value of each dimension.
fn combinations<'a>(dimensions: &[Dimension<'a>]) -> Vec<Vec<&'a str>> {
    let extend = |all: Vec<Vec<&'a str>>, of: &Dimension<'a>| {
        let with = |one: &Vec<&'a str>, value: &&'a str| [one.as_slice(), &[*value]].concat();
        all.iter().flat_map(|one| of.values.iter().map(move |value| with(one, value))).collect()
    };
    dimensions.iter().fold(vec![Vec::new()], extend)
}

/// Gives an option the value of its axis.
fn set<'a>(options: &mut AgeOptions<'a>, axis: Axis, value: &'a str) -> Result<()> {
    match axis {
        Axis::Fs => options.fs = value,
        Axis::Mkfs => options.mkfs_opts = value,
        Axis::Mount => options.mount_opts = value,
        _ if value.is_empty() => {}
        Axis::Profile => options.profile = Some(value),
        Axis::Size => options.size_bytes = Some(units::size(value).map_err(Error::msg)?),
        Axis::Fullness => options.fullness = Some(units::share(value).map_err(Error::msg)?),
        Axis::Overwrites => options.overwrites = Some(units::overwrites(value).map_err(Error::msg)?),
        Axis::Churn => options.churn = Some(units::churn(value).map_err(Error::msg)?),
        Axis::Kernel => unreachable!("a kernel is no option of an aging"),
    }
    Ok(())
}

/// What distinguishes the value in the name of an aging. File system and profile are already in a name that the user did not give.
fn label(dimension: &Dimension, value: &str, is_named: bool) -> Option<String> {
    let is_one_of_several = dimension.values.len() > 1;
    match dimension.axis {
        Axis::Mkfs | Axis::Mount => in_name(value),
        Axis::Fs | Axis::Profile => (is_named && is_one_of_several).then(|| in_name(value)).flatten(),
        axis if is_one_of_several => in_name(value).map(|value| format!("{}-{value}", axis.name())),
        _ => None,
    }
}

/// Options as a part of a name: `-O ^flex_bg` becomes `O-no-flex_bg`.
fn in_name(options: &str) -> Option<String> {
    let spelled = options.replace('^', "-no-");
    let parts =
        spelled.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|part| !part.is_empty());
    let name = parts.collect::<Vec<_>>().join("-");
    (!name.is_empty()).then_some(name)
}

/// A label that distinguishes a kernel among several: its release, followed by its position if several have that release.
fn kernel_label(args: &Compare, kernel: &Kernel) -> Result<Option<String>> {
    let all = vm_dispatch::requested_kernels(&args.kernel_images(), &args.kernels.modules)?;
    if all.len() < 2 {
        return Ok(None);
    }
    let release = kernel.release()?;
    let releases = all.iter().map(Kernel::release).collect::<Result<Vec<_>, _>>()?;
    let position = all.iter().position(|one| one == kernel).map_or(0, |index| index + 1);
    let alone = releases.iter().filter(|other| **other == release).count() == 1;
    Ok(Some(if alone { release } else { format!("{release}-{position}") }))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn first_dimension_varies_slowest() {
        let of = |axis, values: &[&'static str]| Dimension { axis, values: values.to_vec() };
        let all = combinations(&[of(Axis::Fs, &["ext4", "xfs"]), of(Axis::Mkfs, &["-b 1024", ""])]);
        assert_eq!(all, [["ext4", "-b 1024"], ["ext4", ""], ["xfs", "-b 1024"], ["xfs", ""]]);
        assert_eq!(combinations(&[]), [[""; 0]]);
    }
}
