//! Writes initramfs archives (`Documentation/driver-api/early-userspace/buffer-format.rst`).

use std::io::{self, Write};

/// A writer for archives in `newc` format.
pub struct Cpio<W: Write> {
    to: W,
    entries: u32,
}

const DIRECTORY: u32 = 0o040_755;
const FILE: u32 = 0o100_755;
const SYMLINK: u32 = 0o120_777;

impl<W: Write> Cpio<W> {
    /// Starts an empty archive.
    pub fn new(to: W) -> Cpio<W> {
        Cpio { to, entries: 0 }
    }

    /// Adds a directory; its parent must exist.
    pub fn dir(&mut self, name: &str) -> io::Result<()> {
        self.entry(name, DIRECTORY, &[])
    }

    /// Adds an executable file.
    pub fn file(&mut self, name: &str, data: &[u8]) -> io::Result<()> {
        self.entry(name, FILE, data)
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, name: &str, to: &str) -> io::Result<()> {
        self.entry(name, SYMLINK, to.as_bytes())
    }

    /// Ends the archive.
    pub fn end(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, &[])?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn entry(&mut self, name: &str, mode: u32, data: &[u8]) -> io::Result<()> {
        let len = u32::try_from(data.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.entries += 1;
        let name_len = name.len() as u32 + 1;
        // Magic, inode, mode, user, group, links, time, size, device, device of a node, length of the name, no checksum.
        let fields = [self.entries, mode, 0, 0, 1, 0, len, 0, 0, 0, 0, name_len, 0];
        self.to.write_all(b"070701")?;
        for field in fields {
            write!(self.to, "{field:08X}")?;
        }
        self.to.write_all(name.as_bytes())?;
        self.to.write_all(&[0])?;
        self.pad(110 + name.len() + 1)?;
        self.to.write_all(data)?;
        self.pad(data.len())
    }

    fn pad(&mut self, written: usize) -> io::Result<()> {
        self.to.write_all(&[0; 3][..written.next_multiple_of(4) - written])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn archive_is_readable_by_cpio() {
        let mut cpio = Cpio::new(Vec::new());
        cpio.dir("d").unwrap();
        cpio.file("d/five", b"12345").unwrap();
        cpio.link("l", "d/five").unwrap();
        let archive = cpio.end().unwrap();
        let dir = tempfile::tempdir().unwrap();
        if !testing::has_tool("cpio") {
            return;
        }
        let mut command = Command::new("cpio");
        command.args(["-i", "--quiet"]).current_dir(dir.path()).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(&archive).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(std::fs::read(dir.path().join("l")).unwrap(), b"12345");
    }
}
