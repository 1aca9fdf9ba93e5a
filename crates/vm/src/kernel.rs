//! Kernels: a bootable image and its modules.

use crate::Error;
use crate::image;
use crate::modules::Modules;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A bootable kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Kernel {
    /// The image, an absolute path.
    pub image: PathBuf,
    /// The directory of the modules, whose name is the release; an absolute path.
    pub modules: PathBuf,
}

/// The directory of unpacked kernel packages, each in its own directory as created by `dpkg-deb -x`.
pub fn kernels_dir() -> PathBuf {
    disk::cache_dir("kernels")
}

impl Kernel {
    /// The kernel in the file `image`. Its modules are below `modules`, or where kernel packages install them.
    pub fn new(image: &Path, modules: Option<&Path>) -> Result<Kernel, Error> {
        let image = std::fs::canonicalize(image).map_err(Error::io("opening the kernel", image))?;
        let release = release(&image)?;
        let above = |path: &Path| path.ancestors().nth(2).map(Path::to_owned);
        let places: Vec<PathBuf> = match modules {
            Some(dir) => vec![dir.to_owned(), dir.join(&release), dir.join("lib/modules").join(&release)],
            None => above(&image)
                .into_iter()
                .chain(["/".into()])
                .map(|r| r.join("lib/modules").join(&release))
                .collect(),
        };
        let Some(found) = places.iter().find(|dir| dir.join("kernel").is_dir()) else {
            let tried: Vec<_> = places.iter().map(|dir| dir.display().to_string()).collect();
            let why = format!("no modules in {}; name their directory with --modules", tried.join(" or "));
            return Err(Error::Kernel { image, why });
        };
        let modules = std::fs::canonicalize(found).map_err(Error::io("opening the modules in", found))?;
        Ok(Kernel { image, modules })
    }

    /// The newest kernel with the given modules, below [`kernels_dir`] or else installed.
    pub fn find(wanted: &[&str]) -> Result<Kernel, Error> {
        let has = |kernel: &Kernel| {
            Modules::of(kernel).is_ok_and(|modules| wanted.iter().all(|name| modules.has(name)))
        };
        let dir = kernels_dir();
        let mut unpacked: Vec<PathBuf> =
            std::fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        unpacked.sort();
        let newest = |roots: &[PathBuf]| {
            let mut kernels: Vec<Kernel> = roots.iter().flat_map(|root| below(root)).collect();
            kernels.sort_by_cached_key(|kernel| order(&kernel.modules));
            kernels.into_iter().rev().find(has)
        };
        let found = newest(&unpacked).or_else(|| newest(&["/".into()]));
        found.ok_or_else(|| Error::NoKernel { wanted: wanted.iter().map(|w| w.to_string()).collect(), dir })
    }

    /// The release, as printed by `uname -r`.
    pub fn release(&self) -> Result<String, Error> {
        release(&self.image)
    }
}

fn release(path: &Path) -> Result<String, Error> {
    use std::io::Read as _;
    let mut head = Vec::new();
    let file = input::open(path).map_err(Error::io("opening the kernel", path))?;
    file.take(1 << 16).read_to_end(&mut head).map_err(Error::io("reading the kernel", path))?;
    image::release(&head).ok_or_else(|| Error::Kernel {
        image: path.to_owned(),
        why: "it is not an x86 Linux kernel image (vmlinuz, bzImage)".to_owned(),
    })
}

/// The kernels of packages unpacked at `root`.
fn below(root: &Path) -> Vec<Kernel> {
    let boot = std::fs::read_dir(root.join("boot"));
    let images = boot.into_iter().flatten().flatten().map(|entry| entry.path());
    let is_image =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-"));
    images.filter(is_image).filter_map(|image| Kernel::new(&image, None).ok()).collect()
}

/// A sort key: the numbers in the release.
fn order(modules: &Path) -> Vec<u64> {
    let release = modules.file_name().unwrap_or_default().to_string_lossy();
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_ordered_by_version() {
        let mut releases = ["6.1.0-56-amd64", "6.12.117+deb12-amd64", "6.2.1"].map(Path::new);
        releases.sort_by_key(|release| order(release));
        assert_eq!(
            releases.map(|r| r.to_str().unwrap()),
            ["6.1.0-56-amd64", "6.2.1", "6.12.117+deb12-amd64"]
        );
    }

    #[test]
    fn invalid_kernel_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vmlinuz-1");
        std::fs::write(&path, "no").unwrap();
        let said = Kernel::new(&path, None).unwrap_err().to_string();
        assert!(said.ends_with("it is not an x86 Linux kernel image (vmlinuz, bzImage)"), "{said}");
    }
}
