//! The root of the machine: this program, the tools that it runs, all their libraries, the kernel modules, and the
//! job.

use super::job::{FILE, INPUT, Job, PROGRAMS};
use crate::Error;
use crate::initramfs::{Base, file_name, libraries};
use disk::{command, find_tool, run_tool};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The length of the job is rounded up to this, so that longer options move nothing that is loaded after it.
const JOB_BYTES: usize = 1 << 16;

/// Defaults of mkfs that distributions change.
const CONFIGURATION: &str = "/etc/mke2fs.conf";

/// Writes the archive.
pub fn write(
    to: &File,
    job: &Job,
    input: &[u8],
    tools: &[(&str, &'static str)],
    modules: &[(String, Vec<u8>)],
) -> Result<(), Error> {
    let program =
        disk::current_exe().map_err(Error::io("finding the program of", Path::new("/proc/self")))?;
    let programs =
        tools.iter().map(|(name, package)| find_tool(name, package)).collect::<Result<Vec<_>, _>>()?;
    let mut needed = libraries(&program).map_err(Error::io("reading", &program))?;
    for program in &programs {
        needed.extend(libraries_of(program)?);
    }
    // Programs may name the same library by different links to its directory.
    let needed: BTreeMap<String, PathBuf> = needed.into_iter().map(|path| (file_name(&path), path)).collect();
    let write = || -> io::Result<()> {
        let mut base = Base::begin(to, &["bin", "tmp", "run", "etc"])?;
        needed.values().try_for_each(|path| base.library(path))?;
        base.program_and_modules(&program, modules)?;
        for program in &programs {
            base.cpio
                .file(&format!("{}/{}", &PROGRAMS[1..], file_name(program)), &std::fs::read(program)?)?;
        }
        if let Ok(configuration) = std::fs::read(CONFIGURATION) {
            base.cpio.file(&CONFIGURATION[1..], &configuration)?;
        }
        base.cpio.file(&FILE[1..], &padded(serde_json::to_vec(job).expect("plain data serializes")))?;
        base.cpio.file(&INPUT[1..], &padded(input.to_vec()))?;
        base.end()
    };
    write().map_err(Error::io("writing the root of the machine for", &program))
}

/// A text with spaces up to a multiple of [`JOB_BYTES`].
fn padded(mut text: Vec<u8>) -> Vec<u8> {
    text.resize(text.len().next_multiple_of(JOB_BYTES), b' ');
    text
}

/// The libraries of a program, including the dynamic loader, by the names that the program has for them.
fn libraries_of(program: &Path) -> Result<Vec<PathBuf>, Error> {
    let output = run_tool(command("ldd").arg(program), "libc-bin")?;
    Ok(listed(&String::from_utf8_lossy(&output.stdout)))
}

/// The paths in the output of `ldd`, which is `NAME => PATH (ADDRESS)`, or `PATH (ADDRESS)` for the loader.
fn listed(output: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        let path = line.split_whitespace().find(|word| word.starts_with('/'))?;
        Some(PathBuf::from(path))
    };
    output.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn libraries_are_those_with_a_path() {
        let output = "\tlinux-vdso.so.1 (0x7ffd)\n\tlibe2p.so.2 => /lib/x86_64-linux-gnu/libe2p.so.2 (0x7f)\n\
                      \tlibnone.so => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x7f)\n";
        let found = ["/lib/x86_64-linux-gnu/libe2p.so.2", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(listed(output), found.map(PathBuf::from));
        assert_eq!(listed("\tnot a dynamic executable\n"), Vec::<PathBuf>::new());
    }

    proptest! {
        #[test]
        fn padding_changes_no_json(text in "\\PC{0,200}") {
            let json = serde_json::to_vec(&text).unwrap();
            let long = padded(json.clone());
            prop_assert_eq!(long.len() % JOB_BYTES, 0);
            prop_assert_eq!(serde_json::from_slice::<String>(&long).unwrap(), text);
        }
    }
}
