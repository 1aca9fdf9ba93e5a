//! The initramfs of the machine: this program, its libraries, the kernel modules, and the job.

use crate::Error;
use crate::cpio::Cpio;
use crate::job::{FILE, Job, MODULES, PROGRAM, module_file};
use std::collections::BTreeSet;
use std::io::{BufWriter, Result, Write};
use std::path::{Path, PathBuf};

/// A directory that the dynamic loader searches on every distribution.
const LIBRARIES: &str = "lib";

/// Writes the archive.
pub fn write(to: impl Write, job: &Job, modules: &[(String, Vec<u8>)]) -> std::result::Result<(), Error> {
    let program = &job.program;
    let write = || -> Result<()> {
        let mut base = Base::begin(to, &["shm"])?;
        libraries(program)?.iter().try_for_each(|path| base.library(path))?;
        base.program_and_modules(program, modules)?;
        base.cpio.file(&FILE[1..], &serde_json::to_vec(job).expect("plain data serializes"))?;
        base.end()
    };
    write().map_err(Error::io("writing the root of the machine for", program))
}

/// What is in every archive.
pub struct Base<W: Write> {
    pub cpio: Cpio<BufWriter<W>>,
}

impl<W: Write> Base<W> {
    /// Starts an archive with these directories besides the usual ones.
    pub fn begin(to: W, dirs: &[&str]) -> Result<Base<W>> {
        let mut cpio = Cpio::new(BufWriter::new(to));
        for dir in [LIBRARIES, "usr", "proc", "sys", "dev", "root", &MODULES[1..]].iter().chain(dirs) {
            cpio.dir(dir)?;
        }
        for link in ["lib64", "usr/lib", "usr/lib64"] {
            cpio.link(link, "/lib")?;
        }
        Ok(Base { cpio })
    }

    /// Adds a library and its symbolic links.
    pub fn library(&mut self, path: &Path) -> Result<()> {
        let name = file_name(path);
        self.cpio.file(&format!("{LIBRARIES}/{name}"), &std::fs::read(path)?)?;
        for link in links_to(path)? {
            self.cpio.link(&format!("{LIBRARIES}/{link}"), &name)?;
        }
        Ok(())
    }

    /// Adds this program and the modules.
    pub fn program_and_modules(&mut self, program: &Path, modules: &[(String, Vec<u8>)]) -> Result<()> {
        self.cpio.file(&PROGRAM[1..], &std::fs::read(program)?)?;
        for (index, (name, data)) in modules.iter().enumerate() {
            self.cpio.file(&module_file(index, name)[1..], data)?;
        }
        Ok(())
    }

    /// Ends the archive.
    pub fn end(self) -> Result<()> {
        self.cpio.end()?.into_inner()?.flush()
    }
}

/// The library files of this process, including the dynamic loader.
pub fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    Ok(libraries_in(&maps, &std::env::current_exe()?, program))
}

/// The libraries in a table of mapped files. In a chroot, after a change of the mount namespace, the paths in the table and `mapped`, the path
/// of the program, begin at the root of the old namespace; `program` is the path of the same file in the chroot.
fn libraries_in(maps: &str, mapped: &Path, program: &Path) -> Vec<PathBuf> {
    let (mapped, program) = (mapped.to_string_lossy(), program.to_string_lossy());
    let root = mapped.strip_suffix(&*program).unwrap_or_default();
    let paths: BTreeSet<&str> =
        maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).collect();
    let is_library = |path: &&&str| {
        let name = file_name(Path::new(path));
        name.ends_with(".so") || name.contains(".so.")
    };
    let ours = |path: &&str| PathBuf::from(path.strip_prefix(root).unwrap_or(path));
    paths.iter().filter(is_library).map(ours).collect()
}

/// The symbolic links to a library in its directory, such as `libz.so.1`, which links to `libz.so.1.2.13`.
fn links_to(library: &Path) -> Result<Vec<String>> {
    let Some(dir) = library.parent() else { return Ok(Vec::new()) };
    let mut links = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_symlink() && entry.path().canonicalize().is_ok_and(|to| to == library) {
            links.push(file_name(&entry.path()));
        }
    }
    Ok(links)
}

pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn libraries_are_found_in_a_chroot_whose_namespace_was_left() {
        let maps = |root: &str| {
            ["bin/senesce", "lib/libz.so.1", "lib/libz.so.1", "lib/ld.so"]
                .map(|file| format!("7f00-7f10 r--p 0 fe:00 7      {root}/{file}\n"))
                .concat()
        };
        let program = Path::new("/bin/senesce");
        let found = ["/lib/ld.so", "/lib/libz.so.1"].map(PathBuf::from);
        assert_eq!(libraries_in(&maps(""), program, program), found);
        assert_eq!(libraries_in(&maps("/old root"), Path::new("/old root/bin/senesce"), program), found);
    }

    #[test]
    fn links_to_library_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let library = dir.join("liba.so.1.2");
        std::fs::write(&library, "").unwrap();
        symlink("liba.so.1.2", dir.join("liba.so.1")).unwrap();
        symlink("liba.so.1", dir.join("liba.so")).unwrap();
        symlink("nothing", dir.join("libb.so")).unwrap();
        let mut links = links_to(&library).unwrap();
        links.sort_unstable();
        assert_eq!(links, ["liba.so", "liba.so.1"]);
    }
}
