//! A file system of its own for a test: an image in memory if there is room, mounted through a loop device.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted image. Dropping it unmounts it, also when a test panics. Its file has no name, so that its memory goes with the mount.
pub struct Image {
    dir: tempfile::TempDir,
}

impl Image {
    /// Makes and mounts a file system with `mkfs.<fs>` and its `options`, or says why that cannot be done here.
    pub fn new(fs: &str, mebibytes: u64, options: &[&str]) -> Result<Image, String> {
        let shm = Path::new("/dev/shm");
        let dir = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() };
        let dir = dir.map_err(|error| format!("no place for an image: {error}"))?;
        let image = dir.path().join("image");
        let file = std::fs::File::create(&image).map_err(|error| error.to_string())?;
        file.set_len(mebibytes << 20).map_err(|error| error.to_string())?;
        run(Command::new(format!("mkfs.{fs}")).args(options).arg(&image))?;
        let root = dir.path().join("root");
        std::fs::create_dir(&root).map_err(|error| error.to_string())?;
        run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&root))?;
        let mounted = Image { dir };
        std::fs::remove_file(&image).map_err(|error| error.to_string())?;
        Ok(mounted)
    }

    /// Where it is mounted.
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
