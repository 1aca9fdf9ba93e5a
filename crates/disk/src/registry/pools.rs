//! The ZFS pools of runs. They need no journal: the name of a pool contains the process that imported it.

use crate::error::{Error, IoContext};
use crate::tool::{command, run_to_success};
use std::io::ErrorKind;
use std::path::Path;

/// The start of the name of each pool that this program creates or imports; the process and a count follow.
pub const POOL_PREFIX: &str = "senesce-";

/// The kernel has a directory here for each imported pool.
const IMPORTED: &str = "/proc/spl/kstat/zfs";

/// Exports the pools that process `pid`, which has ended, left imported.
pub fn export(pid: u32) -> Result<Vec<String>, Error> {
    let mut done = Vec::new();
    for name in imported_by(pid, Path::new(IMPORTED))? {
        let mut export = command("zpool");
        export.args(["export", "-f", &name]);
        run_to_success(&mut export, "zfsutils-linux", "exporting the pool", Path::new(&name))?;
        done.push(format!("exported the pool {name}"));
    }
    Ok(done)
}

fn imported_by(pid: u32, all: &Path) -> Result<Vec<String>, Error> {
    let entries = match std::fs::read_dir(all) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        result => result.context("reading", all)?,
    };
    let of_process = format!("{POOL_PREFIX}{pid}-");
    let is_count = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names.filter(|name| name.strip_prefix(&of_process).is_some_and(is_count)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pools_of_the_process_are_named() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["senesce-12-0", "senesce-12-x", "senesce-12-", "senesce-123-0", "senesce-1-2", "tank"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        assert_eq!(imported_by(12, dir.path()).unwrap(), ["senesce-12-0"]);
        assert_eq!(imported_by(12, &dir.path().join("none")).unwrap(), Vec::<String>::new());
    }
}
