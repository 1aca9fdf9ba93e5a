//! Persistent memory of a running machine: host files that the kernel inside accesses as memory instead of as
//! disks.
//!
//! The command inside requests a file through a port; this process has QEMU's monitor add it as memory, until
//! the machine ends. Stores reach the file immediately; a flush by the kernel inside syncs the file.

use crate::Error;
use crate::guest::{detected, find_port};
use crate::job::port;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Alignment of processor mappings and kernel sections.
const ALIGN_BYTES: u64 = 2 << 20;

/// The response to a successful request.
const DONE: &str = "done";

/// The block devices of the requested files, by device and inode; memory cannot be removed from the machine.
static ADDED: Mutex<Option<HashMap<(u64, u64), PathBuf>>> = Mutex::new(None);

/// Makes the file at `path`, in a writable directory, persistent memory of this machine; returns its block
/// device.
pub fn persistent_memory(path: &Path) -> Result<PathBuf, Error> {
    let fail = |why: String| Error::Memory { path: path.to_owned(), why };
    let file = std::fs::metadata(path).map_err(|e| fail(e.to_string()))?;
    if file.len() % ALIGN_BYTES != 0 {
        return Err(fail(format!("{} bytes are not a multiple of 2 MiB: choose another --size", file.len())));
    }
    let mut added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
    let added = added.get_or_insert_default();
    let file = (file.dev(), file.ino());
    if let Some(device) = added.get(&file) {
        return Ok(device.clone());
    }
    ask(path).map_err(fail)?;
    let is_new = |device: &PathBuf| !added.values().any(|known| known == device);
    let device = detected(|| devices().into_iter().find(is_new))
        .ok_or_else(|| fail("the kernel does not detect it".to_owned()))?;
    added.insert(file, device.clone());
    Ok(device)
}

fn ask(path: &Path) -> Result<(), String> {
    let lost = |e: std::io::Error| format!("requesting it: {e}");
    let mut port = find_port(port::MEMORY)?;
    writeln!(port, "{}", json!(path)).map_err(lost)?;
    let mut answer = String::new();
    BufReader::new(port).read_line(&mut answer).map_err(lost)?;
    match answer.trim() {
        DONE => Ok(()),
        why => Err(why.to_owned()),
    }
}

/// The persistent memory devices of the kernel.
fn devices() -> Vec<PathBuf> {
    let blocks = std::fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
    let names = blocks.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("pmem")).map(|name| Path::new("/dev").join(name)).collect()
}

/// The host side: serves requests from `asked` through QEMU's `monitor` until the machine ends.
pub fn serve(mut asked: UnixStream, monitor: UnixStream, writable: Vec<PathBuf>) {
    std::thread::spawn(move || -> std::io::Result<()> {
        let lines = BufReader::new(asked.try_clone()?).lines();
        let mut monitor = Monitor { answers: BufReader::new(monitor.try_clone()?), to: monitor, added: 0 };
        for (index, line) in lines.enumerate() {
            let line = line?;
            let greeted = if index == 0 { monitor.execute("qmp_capabilities", json!({})) } else { Ok(()) };
            let done = greeted
                .and_then(|()| allowed(&line, &writable).and_then(|(path, bytes)| monitor.add(&path, bytes)));
            writeln!(asked, "{}", done.map_or_else(|why| why.replace('\n', "; "), |()| DONE.to_owned()))?;
        }
        Ok(())
    });
}

/// The requested file and its size, if the machine may write to it.
fn allowed(line: &str, writable: &[PathBuf]) -> Result<(PathBuf, u64), String> {
    let path: PathBuf = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let path = std::fs::canonicalize(path).map_err(|e| e.to_string())?;
    let within = |dir: &PathBuf| std::fs::canonicalize(dir).is_ok_and(|dir| path.starts_with(dir));
    if !writable.iter().any(within) {
        return Err("it is outside of the directories that the machine may write to".to_owned());
    }
    let bytes = std::fs::metadata(&path).map_err(|e| e.to_string())?.len();
    Ok((path, bytes))
}

/// QEMU's monitor, which exchanges JSON commands and responses, one per line.
struct Monitor {
    to: UnixStream,
    answers: BufReader<UnixStream>,
    added: usize,
}

impl Monitor {
    fn add(&mut self, path: &Path, bytes: u64) -> Result<(), String> {
        let [file, device] = ["file", "memory"].map(|what| format!("{what}{}", self.added));
        self.added += 1;
        let memory = json!({
            "qom-type": "memory-backend-file", "id": file, "mem-path": path, "size": bytes, "share": true, "align": ALIGN_BYTES,
        });
        self.execute("object-add", memory)?;
        self.execute("device_add", json!({"driver": "virtio-pmem-pci", "id": device, "memdev": file}))
    }

    fn execute(&mut self, command: &str, arguments: Value) -> Result<(), String> {
        let lost = |e: std::io::Error| format!("QEMU monitor: {e}");
        writeln!(self.to, "{}", json!({"execute": command, "arguments": arguments})).map_err(lost)?;
        loop {
            let mut line = String::new();
            if self.answers.read_line(&mut line).map_err(lost)? == 0 {
                return Err("QEMU has ended".to_owned());
            }
            let answer: Value = serde_json::from_str(&line).map_err(|e| format!("QEMU monitor: {e}"))?;
            if let Some(error) = answer.get("error") {
                return Err(format!("QEMU: {}", error["desc"].as_str().unwrap_or_default()));
            }
            // The monitor also sends a greeting and events.
            if answer.get("return").is_some() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The response to the request `asked` if QEMU responds with `says`.
    fn answer(asked: &str, says: &str, writable: &[&Path]) -> String {
        let (mut machine, host) = UnixStream::pair().unwrap();
        let (monitor, mut qemu) = UnixStream::pair().unwrap();
        qemu.write_all(says.as_bytes()).unwrap();
        serve(host, monitor, writable.iter().map(|dir| dir.to_path_buf()).collect());
        writeln!(machine, "{asked}").unwrap();
        let mut line = String::new();
        BufReader::new(machine).read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    #[test]
    fn only_files_in_writable_directories_become_memory() {
        let [dir, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [inside, outside] = [&dir, &other].map(|dir| dir.path().join("a.img"));
        std::fs::write(&inside, [0; 9]).unwrap();
        std::fs::write(&outside, "").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        let fine =
            "{\"QMP\": {}}\n{\"return\": {}}\n{\"event\": \"X\"}\n{\"return\": {}}\n{\"return\": {}}\n";
        let asked = |path: &Path| json!(path).to_string();
        assert_eq!(answer(&asked(&inside), fine, &[dir.path()]), DONE);
        for path in [&outside, &link] {
            let said = answer(&asked(path), fine, &[dir.path()]);
            assert_eq!(said, "it is outside of the directories that the machine may write to");
        }
        let full = fine.replacen(
            "{\"event\": \"X\"}\n{\"return\"",
            "{\"error\": {\"desc\": \"no room\"}}\n{\"return\"",
            1,
        );
        assert_eq!(answer(&asked(&inside), &full, &[dir.path()]), "QEMU: no room");
    }
}
