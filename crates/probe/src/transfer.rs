//! Reads or writes files completely, in large units, as both benchmarks of Smith & Seltzer 1997 do.

use crate::incompressible::Incompressible;
use crate::{Error, Result};
use rustix::fs::syncfs;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

/// The bytes moved and the time taken.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transfer {
    /// Bytes of files.
    pub bytes: u64,
    /// Elapsed seconds.
    pub wall_s: f64,
}

impl Transfer {
    /// Measures the time of `work`, which returns the number of bytes moved.
    pub(crate) fn timed(work: impl FnOnce() -> Result<u64>) -> Result<Transfer> {
        let begun = Instant::now();
        let bytes = work()?;
        Ok(Transfer { bytes, wall_s: begun.elapsed().as_secs_f64() })
    }
}

/// Reads `bytes` of a file, or up to its end, in units of `unit.len()`; returns the number of bytes read.
pub(crate) fn read(file: &mut File, bytes: u64, unit: &mut [u8], path: &Path) -> Result<u64> {
    let mut done = 0;
    while done < bytes {
        let most = unit.len().min((bytes - done) as usize);
        match file.read(&mut unit[..most]).map_err(Error::io("reading", path))? {
            0 => break,
            n => done += n as u64,
        }
    }
    Ok(done)
}

/// Writes `bytes` to a file at its current position, in units of at most `unit_bytes`.
pub(crate) fn write(
    file: &mut File,
    bytes: u64,
    unit_bytes: u64,
    data: &mut Incompressible,
    path: &Path,
) -> Result<()> {
    let mut done = 0;
    while done < bytes {
        let len = unit_bytes.min(bytes - done);
        file.write_all(data.next(len as usize)).map_err(Error::io("writing", path))?;
        done += len;
    }
    Ok(())
}

/// Syncs the file system of `root`.
pub(crate) fn make_durable(root: &Path) -> Result<()> {
    let doing = "syncing the file system of";
    let opened = File::open(root).map_err(Error::io(doing, root))?;
    syncfs(opened).map_err(Error::io(doing, root))
}

/// Returns an error if this process was interrupted.
pub(crate) fn check_interrupted(root: &Path) -> Result<()> {
    if disk::interrupted() {
        return Err(Error::cannot(format!("copying files in {}", root.display()), "interrupted"));
    }
    Ok(())
}
