//! Write amplification: bytes written to the device over bytes changed by the workload (DESIGN §3; Conway et al.
//! 2017, Figure 8, blocks written by Btrfs with nodes of several sizes).

use crate::{Error, Result};
use disk::{DeviceCounters, Request, RequestKind, SECTOR_BYTES, interrupted, mount_holding};
use rustix::fs::{major, minor, syncfs};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, set_parent_process_death_signal, waitid,
};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// Polling interval for a running command; no time is measured.
const POLL: Duration = Duration::from_millis(5);

/// The bytes written by a workload, at the system call level and at the device.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct WriteAmplification {
    /// Bytes changed by the workload.
    pub changed_bytes: u64,
    /// Bytes written to the device.
    pub written_bytes: u64,
    /// `written_bytes` over `changed_bytes`; `None` if nothing was changed.
    pub write_amplification: Option<f64>,
}

impl WriteAmplification {
    /// Computes the ratio of two counts.
    pub fn of(changed_bytes: u64, written_bytes: u64) -> WriteAmplification {
        let write_amplification = (changed_bytes > 0).then(|| written_bytes as f64 / changed_bytes as f64);
        WriteAmplification { changed_bytes, written_bytes, write_amplification }
    }
}

/// The write amplification of a workload that changed `changed_bytes` and sent `requests` to the device.
pub fn write_amplification(changed_bytes: u64, requests: &[Request]) -> WriteAmplification {
    let writes = requests.iter().filter(|request| request.kind == RequestKind::Write);
    let written_bytes = writes.map(|request| u64::from(request.sectors) * SECTOR_BYTES).sum();
    WriteAmplification::of(changed_bytes, written_bytes)
}

/// Runs `command` and measures its write amplification on the file system that contains `root`.
///
/// Changed bytes are those passed to `write` and similar calls by its processes, on this file system or elsewhere, including pipes and
/// terminals; excluded are changes through mappings or io_uring, and writes of processes whose parent did not wait for them. Written
/// bytes are those of the underlying devices in the meantime, from all sources; data delayed before the command is written back before
/// it, and data delayed by the command after it.
pub fn command_write_amplification(root: &Path, command: &mut Command) -> Result<WriteAmplification> {
    let devices = devices_below(root)?;
    let file_system = File::open(root).map_err(Error::io("opening", root))?;
    let sync = || syncfs(&file_system).map_err(Error::io("syncing the file system of", root));
    let written = || -> Result<u64> {
        devices.iter().try_fold(0, |sum, device| Ok(sum + DeviceCounters::read(*device)?.written_bytes))
    };
    sync()?;
    let before = written()?;
    let changed_bytes = run(command)?;
    sync()?;
    Ok(WriteAmplification::of(changed_bytes, written()?.saturating_sub(before)))
}

/// Runs a command to completion; returns the bytes that it and its child processes passed to `write`.
fn run(command: &mut Command) -> Result<u64> {
    let program = command.get_program().to_string_lossy().into_owned();
    let cannot = |why: String| Error::cannot(format!("running {program}"), why);
    // SAFETY: the closure makes one system call and neither allocates nor takes a lock.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?)) };
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => cannot("no such program".to_owned()),
        _ => cannot(error.to_string()),
    })?;
    // As a zombie it still has its counters, including those of all children that were waited for.
    let counted = wait_for_exit(&child).and_then(|()| written_by(&child));
    let status = child.wait().map_err(|error| cannot(error.to_string()))?;
    if !status.success() {
        return Err(cannot(format!("it ended with {status}; it must succeed for a valid measurement")));
    }
    counted.map_err(|error| cannot(format!("cannot count its writes: {error}")))
}

/// Waits until the process has exited, and terminates it if this process is interrupted.
fn wait_for_exit(child: &Child) -> std::io::Result<()> {
    let pid = Pid::from_child(child);
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let mut asked = false;
    while waitid(WaitId::Pid(pid), options)?.is_none() {
        if interrupted() && !asked {
            kill_process(pid, Signal::TERM)?;
            asked = true;
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

fn written_by(child: &Child) -> std::io::Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{}/io", child.id()))?;
    wchar(&text).ok_or_else(|| std::io::Error::new(ErrorKind::InvalidData, "no wchar in its io file"))
}

/// The value of `wchar` in the text of `/proc/PID/io`.
fn wchar(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("wchar:"))?.trim().parse().ok()
}

/// The block devices of a file system, by number.
fn devices_below(root: &Path) -> Result<Vec<(u32, u32)>> {
    let cannot = |why: String| Error::cannot(format!("finding the device below {}", root.display()), why);
    let root = std::fs::canonicalize(root).map_err(Error::io("opening", root))?;
    let dev = std::fs::metadata(&root).map_err(Error::io("checking", &root))?.dev();
    if Path::new(&format!("/sys/dev/block/{}:{}", major(dev), minor(dev))).exists() {
        return Ok(vec![(major(dev), minor(dev))]);
    }
    // A file system with device numbers of its own, such as Btrfs; its mount names one of its devices.
    let Some(mount) = mount_holding(&root)?.filter(|mount| mount.source.starts_with("/dev")) else {
        return Err(cannot("it is not on a block device; name a directory on a disk".to_owned()));
    };
    let number = |device: &Path| -> Result<(u32, u32)> {
        let number = std::fs::metadata(device).map_err(Error::io("checking", device))?.rdev();
        Ok((major(number), minor(number)))
    };
    let source = std::fs::canonicalize(&mount.source).map_err(Error::io("checking", &mount.source))?;
    let kind = fs::find(&mount.kind).ok();
    let devices = kind.map_or_else(|| vec![source.clone()], |kind| kind.devices(&source));
    devices.iter().map(|device| number(device)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_writes_count() {
        let request = |kind, sectors| Request {
            time_ns: 0,
            kind,
            metadata: false,
            readahead: false,
            sector: 0,
            sectors,
            queue: 1,
            service_ns: 0,
        };
        let requests = [
            request(RequestKind::Write, 8),
            request(RequestKind::Read, 100),
            request(RequestKind::Discard, 100),
            request(RequestKind::Flush, 0),
            request(RequestKind::Write, 16),
        ];
        let measured = write_amplification(4096, &requests);
        assert_eq!((measured.written_bytes, measured.write_amplification), (24 * 512, Some(3.0)));
        assert_eq!(write_amplification(0, &requests).write_amplification, None);
        assert_eq!(write_amplification(10, &[]).write_amplification, Some(0.0));
    }

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn writes_of_descendants_count() {
        let script = "head -c 1000000 /dev/zero >/dev/null; sh -c 'head -c 234567 /dev/zero >/dev/null; :'";
        assert_eq!(run(&mut sh(script)).unwrap(), 1_234_567);
        assert_eq!(run(&mut sh(":")).unwrap(), 0);
    }

    #[test]
    fn failed_command_is_an_error() {
        let message = |command: &mut Command| run(command).unwrap_err().to_string();
        assert!(message(&mut sh("exit 3")).contains("exit status: 3"));
        assert!(message(&mut Command::new("/nonexistent/program")).contains("no such program"));
    }

    #[test]
    fn file_system_without_device_is_an_error() {
        let error = command_write_amplification(Path::new("/proc"), &mut sh(":")).unwrap_err().to_string();
        assert!(error.contains("it is not on a block device"), "{error}");
    }

    proptest! {
        #[test]
        fn wchar_is_found_on_any_line(bytes: u64, before in "([a-z_]{1,9}: [0-9]{1,9}\n)*") {
            prop_assert_eq!(wchar(&format!("{before}wchar: {bytes}\nsyscw: 3\n")), Some(bytes));
        }

        #[test]
        fn arbitrary_io_text_does_not_panic(text in "(wchar:)?\\PC*") {
            wchar(&text);
        }
    }
}
