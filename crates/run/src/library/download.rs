//! Downloads the file that a catalogue names, by path or URL, up to the expected size.

use super::catalogue::is_remote;
use crate::Error;
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Child, Stdio};

/// The options of curl besides the URL: no configuration files, redirects to encrypted URLs only, and a timeout for stalled transfers.
const CURL: [&str; 17] = [
    "--fail",
    "--location",
    "--max-redirs",
    "5",
    "--globoff",
    "--silent",
    "--show-error",
    "--proto",
    "=https,http",
    "--proto-redir",
    "=https",
    "--connect-timeout",
    "30",
    "--speed-limit",
    "1",
    "--speed-time",
    "60",
];

/// Writes the file at a URL, or at a path relative to `base`, to `to`. Refuses more than `most` bytes. Reports the number of bytes so far.
pub fn download(
    at: &str,
    base: &Path,
    most: u64,
    to: &mut impl Write,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Error> {
    if !is_remote(at) {
        let path = base.join(at.strip_prefix("file://").unwrap_or(at));
        return copy(at, &mut open(&path)?, most, to, progress);
    }
    disk::require_tool("curl", "curl")?;
    let mut curl = disk::command("curl");
    curl.args(CURL).arg("--").arg(at).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut curl = Ended(curl.spawn().map_err(Error::io("running curl for", Path::new(at)))?);
    let mut from = curl.0.stdout.take().expect("the stream is piped");
    copy(at, &mut from, most, to, progress)?;
    let mut said = String::new();
    let read = curl.0.stderr.take().expect("the stream is piped").read_to_string(&mut said);
    let status = read.and_then(|_| curl.0.wait()).map_err(Error::io("running curl for", Path::new(at)))?;
    if !status.success() {
        return Err(Error::Failed(format!("fetching {at}: {}", said.trim().trim_start_matches("curl: "))));
    }
    Ok(())
}

/// Kills the process on drop.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Opens a file. Refuses pipes and devices, which may be endless or block.
fn open(path: &Path) -> Result<File, Error> {
    let file = File::options()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path)
        .map_err(Error::io("opening", path))?;
    match file.metadata().map_err(Error::io("checking", path))?.is_file() {
        true => Ok(file),
        false => Err(Error::Refused(format!("{} is not a file", path.display()))),
    }
}

fn copy(
    at: &str,
    from: &mut impl Read,
    most: u64,
    to: &mut impl Write,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Error> {
    let (mut bytes, mut done) = (vec![0; 1 << 18], 0);
    loop {
        if disk::interrupted() {
            return Err(archive::Error::Interrupted.into());
        }
        let read = from.read(&mut bytes).map_err(Error::io("fetching", Path::new(at)))?;
        if read == 0 {
            return to.flush().map_err(Error::io("copying", Path::new(at)));
        }
        done += read as u64;
        if done > most {
            return Err(Error::Refused(format!("{at} has more than the {most} bytes allowed")));
        }
        to.write_all(&bytes[..read]).map_err(Error::io("copying", Path::new(at)))?;
        progress(done);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_regular_files_up_to_the_limit_are_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), [7; 1000]).unwrap();
        let download = |at: &str, most| {
            let mut to = Vec::new();
            super::download(at, dir.path(), most, &mut to, &mut |_| {}).map(|()| to.len())
        };
        assert_eq!(download("a", 1000).unwrap(), 1000);
        assert_eq!(download(&format!("file://{}/a", dir.path().display()), 1000).unwrap(), 1000);
        assert!(download("a", 999).unwrap_err().to_string().contains("more than the 999 bytes"));
        for no_file in ["/dev/zero", "."] {
            assert!(download(no_file, 1000).unwrap_err().to_string().contains("is not a file"));
        }
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(download("pipe", 1000).unwrap_err().to_string().contains("is not a file"));
    }
}
