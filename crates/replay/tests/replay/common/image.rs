//! A new file system for a test: an image in memory if it fits, mounted through a loop device.

use std::path::PathBuf;
use std::process::Command;

/// A mounted image. Dropping it unmounts it, even if a test panics. The image file is unlinked, so the unmount frees its memory.
pub struct Image {
    dir: tempfile::TempDir,
}

impl Image {
    /// Creates and mounts a file system with `mkfs.<fs>` and its `options`; skips without root or the program.
    pub fn new(fs: &str, mebibytes: u64, options: &[&str]) -> Option<Image> {
        Image::mounted(fs, mebibytes, options, "loop")
    }

    /// Like `new`, with the mount options `mount`, which must include `loop`.
    pub fn mounted(fs: &str, mebibytes: u64, options: &[&str], mount: &str) -> Option<Image> {
        let mkfs = format!("mkfs.{fs}");
        if !testing::is_root() || !testing::has_tool(&mkfs) {
            return None;
        }
        let dir = testing::dir_in_memory();
        let image = dir.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(mebibytes << 20).unwrap();
        run(Command::new(mkfs).args(options).arg(&image)).unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir(&root).unwrap();
        run(Command::new("mount").args(["-o", mount]).arg(&image).arg(&root)).unwrap();
        std::fs::remove_file(&image).unwrap();
        Some(Image { dir })
    }

    /// The mount point.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        if run(Command::new("umount").arg(self.root())).is_err() {
            let _ = run(Command::new("umount").arg("-l").arg(self.root()));
        }
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
