//! The file systems of a measurement in virtual time, and which of them are compared.

use super::VirtualTimeSpec;
use crate::Error;
use crate::compare::SUBJECTS;
use fs::VolumeConfig;
use std::path::{Path, PathBuf};
use vm::Kernel;

/// A file system to measure.
#[derive(Clone)]
pub struct Side {
    /// `aged`, `unaged`, or empty if it is the only one.
    subject: &'static str,
    /// What it differs in from the others of this subject: a kernel, or options of mkfs.
    what: String,
    /// The image; empty for a fresh file system that does not exist yet.
    pub image: PathBuf,
    pub volume: VolumeConfig,
    pub kernel: Kernel,
}

impl Side {
    /// The subject itself.
    pub fn new(image: &Path, volume: &VolumeConfig, kernel: &Kernel) -> Side {
        let (image, volume, kernel) = (image.to_owned(), volume.clone(), kernel.clone());
        Side { subject: "", what: String::new(), image, volume, kernel }
    }

    /// Its name in the store.
    pub fn name(&self) -> String {
        let parts = [self.subject, &self.what].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(", ")
    }

    /// A fresh file system of the same kind.
    fn fresh(&self) -> Side {
        Side { subject: SUBJECTS[1], image: PathBuf::new(), ..self.clone() }
    }
}

/// All sides: the subject, and a fresh one if it is compared `against` one, with each kernel; or fresh ones with each set of mkfs options.
pub fn sides(
    spec: &VirtualTimeSpec,
    against: bool,
    subject: &Side,
    kernels: &[Kernel],
) -> Result<Vec<Side>, Error> {
    if !spec.mkfs_opts.is_empty() {
        let fresh = subject.fresh();
        let with = |options: &Vec<String>| {
            let mut side = Side { what: options.join(" "), ..fresh.clone() };
            side.volume.mkfs_opts.extend(options.iter().cloned());
            side
        };
        return Ok(std::iter::once(fresh.clone()).chain(spec.mkfs_opts.iter().map(with)).collect());
    }
    let both = match against {
        true => vec![Side { subject: SUBJECTS[0], ..subject.clone() }, subject.fresh()],
        false => vec![subject.clone()],
    };
    let [_, _, ..] = kernels else { return Ok(both) };
    let mut all = Vec::new();
    for (kernel, what) in kernels.iter().zip(labels(kernels)?) {
        all.extend(both.iter().map(|side| Side {
            kernel: kernel.clone(),
            what: what.clone(),
            ..side.clone()
        }));
    }
    Ok(all)
}

/// The release of each kernel, or its path if another one has the same release.
fn labels(kernels: &[Kernel]) -> Result<Vec<String>, Error> {
    let releases =
        kernels.iter().map(Kernel::release).collect::<Result<Vec<_>, _>>().map_err(super::vm_error)?;
    let label = |(kernel, release): (&Kernel, &String)| {
        let is_alone = releases.iter().filter(|other| *other == release).count() == 1;
        if is_alone { release.clone() } else { kernel.image.display().to_string() }
    };
    let labels: Vec<String> = kernels.iter().zip(&releases).map(label).collect();
    match labels.iter().enumerate().find(|(index, label)| labels[..*index].contains(label)) {
        Some((_, twice)) => Err(Error::Refused(format!("kernel {twice} is given twice"))),
        None => Ok(labels),
    }
}

/// The sides to compare, with the name of each ratio: aged over unaged for each kernel, and each side over the first one that differs from it
/// only in the kernel or in the options.
pub fn ratios(sides: &[Side]) -> Vec<(String, [String; 2])> {
    let ratio = |a: &Side, b: &Side| (format!("{} / {}", a.name(), b.name()), [a.name(), b.name()]);
    let mut all = Vec::new();
    for (index, side) in sides.iter().enumerate() {
        let unaged = sides.iter().find(|other| other.subject == SUBJECTS[1] && other.what == side.what);
        if side.subject == SUBJECTS[0] {
            all.extend(unaged.map(|unaged| ratio(side, unaged)));
        }
        let first = sides[..index].iter().find(|other| other.subject == side.subject);
        all.extend(first.map(|first| ratio(side, first)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the ratios of sides, each a subject and what it differs in.
    fn names(sides: &[(&'static str, &str)]) -> Vec<String> {
        let kernel = Kernel { image: PathBuf::new(), modules: PathBuf::new() };
        let volume = VolumeConfig::new(fs::Location::Image(PathBuf::new()), "ext4", 0);
        let side = |(subject, what): &(&'static str, &str)| Side {
            subject,
            what: (*what).to_owned(),
            ..Side::new(Path::new(""), &volume, &kernel)
        };
        let sides: Vec<Side> = sides.iter().map(side).collect();
        ratios(&sides).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn sides_that_differ_in_one_thing_are_compared() {
        assert_eq!(names(&[("", "")]), Vec::<String>::new());
        assert_eq!(names(&[("aged", ""), ("unaged", "")]), ["aged / unaged"]);
        assert_eq!(names(&[("", "6.1"), ("", "6.12")]), ["6.12 / 6.1"]);
        assert_eq!(names(&[("unaged", ""), ("unaged", "-I 512")]), ["unaged, -I 512 / unaged"]);
        let kernels = [("aged", "6.1"), ("unaged", "6.1"), ("aged", "6.12"), ("unaged", "6.12")];
        assert_eq!(
            names(&kernels),
            [
                "aged, 6.1 / unaged, 6.1",
                "aged, 6.12 / unaged, 6.12",
                "aged, 6.12 / aged, 6.1",
                "unaged, 6.12 / unaged, 6.1"
            ]
        );
    }
}
