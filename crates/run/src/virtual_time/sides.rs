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
    /// Its name in the store: `aged`, `unaged` or empty, and after a comma what it differs in.
    pub name: String,
    /// The image; empty for a copy that does not exist yet.
    pub image: PathBuf,
    pub volume: VolumeConfig,
    pub kernel: Kernel,
}

impl Side {
    /// The subject itself.
    pub fn new(image: &Path, volume: &VolumeConfig, kernel: &Kernel) -> Side {
        Side { name: String::new(), image: image.to_owned(), volume: volume.clone(), kernel: kernel.clone() }
    }

    fn named(&self, name: &str) -> Side {
        Side { name: name.to_owned(), ..self.clone() }
    }

    /// A copy of its tree on a fresh file system.
    fn copy(&self) -> Side {
        Side { image: PathBuf::new(), ..self.named(SUBJECTS[1]) }
    }

    fn differing_in(&self, what: &str) -> Side {
        self.named(
            &[&self.name, what]
                .iter()
                .filter(|part| !part.is_empty())
                .copied()
                .collect::<Vec<_>>()
                .join(SEPARATOR),
        )
    }
}

/// Between the name of a side and what it differs in.
const SEPARATOR: &str = ", ";

/// All sides: the subject, and its unaged copy if it is compared `against` one, with each kernel; or copies with each set of mkfs options.
pub fn sides(
    spec: &VirtualTimeSpec,
    against: bool,
    subject: &Side,
    kernels: &[Kernel],
) -> Result<Vec<Side>, Error> {
    if !spec.mkfs_opts.is_empty() {
        let copy = subject.copy();
        let with = |options: &Vec<String>| {
            let mut side = copy.differing_in(&options.join(" "));
            side.volume.mkfs_opts.extend(options.iter().cloned());
            side
        };
        return Ok(std::iter::once(copy.clone()).chain(spec.mkfs_opts.iter().map(with)).collect());
    }
    let both = if against { vec![subject.named(SUBJECTS[0]), subject.copy()] } else { vec![subject.clone()] };
    let [_, _, ..] = kernels else { return Ok(both) };
    let mut all = Vec::new();
    for (kernel, label) in kernels.iter().zip(labels(kernels)?) {
        all.extend(both.iter().map(|side| Side { kernel: kernel.clone(), ..side.differing_in(&label) }));
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
pub fn ratios(names: &[&str]) -> Vec<(String, [String; 2])> {
    let parts = |name: &str| -> (String, String) {
        let (side, what) = name.split_once(SEPARATOR).unwrap_or((name, ""));
        // A single file system has no name, only what it differs in.
        if SUBJECTS.contains(&side) {
            (side.to_owned(), what.to_owned())
        } else {
            (String::new(), name.to_owned())
        }
    };
    let ratio = |a: &str, b: &str| (format!("{a} / {b}"), [a.to_owned(), b.to_owned()]);
    let mut all = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let (side, what) = parts(name);
        if side == SUBJECTS[0]
            && let Some(unaged) =
                names.iter().find(|other| parts(other) == (SUBJECTS[1].to_owned(), what.clone()))
        {
            all.push(ratio(name, unaged));
        }
        if let Some(first) = names[..index].iter().find(|other| parts(other).0 == side) {
            all.push(ratio(name, first));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        ratios(names).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn sides_that_differ_in_one_thing_are_compared() {
        assert_eq!(names(&[""]), Vec::<String>::new());
        assert_eq!(names(&["aged", "unaged"]), ["aged / unaged"]);
        assert_eq!(names(&["6.1", "6.12"]), ["6.12 / 6.1"]);
        assert_eq!(names(&["unaged", "unaged, -I 512"]), ["unaged, -I 512 / unaged"]);
        assert_eq!(
            names(&["aged, 6.1", "unaged, 6.1", "aged, 6.12", "unaged, 6.12"]),
            [
                "aged, 6.1 / unaged, 6.1",
                "aged, 6.12 / unaged, 6.12",
                "aged, 6.12 / aged, 6.1",
                "unaged, 6.12 / unaged, 6.1"
            ]
        );
    }
}
