//! Persistent memory of a machine that runs: files of the host, which its kernel reads and writes as memory and not as disks.
//!
//! The command inside asks by a port for the file that it has just made or found; QEMU, told through its monitor, adds the memory to
//! the machine, where it stays until that ends. What is stored there is in the file at once, and synced when the kernel flushes it.

use crate::Error;
use crate::guest::find_port;
use crate::job::port;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What processors map memory by, and kernels describe it by.
const ALIGN_BYTES: u64 = 2 << 20;

/// What is said when the memory is there.
const DONE: &str = "done";

/// The devices of the files that were asked for, by the numbers of those: none can be taken out of the machine again.
static ADDED: Mutex<Option<HashMap<(u64, u64), PathBuf>>> = Mutex::new(None);

/// Makes the file at `path`, below a directory that the machine may write to, persistent memory of this machine; its block device.
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
    // The kernel finds it in its own time.
    for _ in 0..600 {
        if let Some(device) =
            devices().into_iter().find(|device| !added.values().any(|known| known == device))
        {
            added.insert(file, device.clone());
            return Ok(device);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(fail("the kernel does not detect it".to_owned()))
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

/// The devices of persistent memory that the kernel has.
fn devices() -> Vec<PathBuf> {
    let blocks = std::fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
    let names = blocks.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("pmem")).map(|name| Path::new("/dev").join(name)).collect()
}

/// The side of the host, until the machine ends: answers `asked` by what it has QEMU do through `monitor`.
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

/// The file that is asked for, and its size, if the machine may write to it.
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

/// QEMU's monitor, which takes commands and gives answers in JSON, a line each.
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
            // It also greets, and tells what happens.
            if answer.get("return").is_some() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the machine hears that asks for this, where QEMU says that.
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
    fn only_files_of_the_directories_that_were_named_become_memory() {
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
