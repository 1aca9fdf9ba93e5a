//! Opens files named by users. A FIFO, a socket or a terminal is rejected: opening or reading one may block
//! for ever, and a blocked process does not notice signals that only set a flag.
//!
//! Also reads and writes sizes and times as users do, puts errors in one line, and takes secrets out of URLs.

mod one_line;
mod secrets;
mod units;

use rustix::fs::OFlags;
use std::fs::{File, FileType};
use std::io::{Error, ErrorKind, Read as _, Result};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

pub use self::one_line::{one_line, toml_error};
pub use self::secrets::{DATABASES, without_secrets};
pub use self::units::{bytes, grouped, size, time};

/// The accepted file types.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accepts {
    File,
    FileOrDevice,
}

/// Opens a regular file for reading.
///
/// # Errors
/// If the file does not exist, cannot be opened, or is not a regular file.
pub fn open(path: &Path) -> Result<File> {
    open_as(path, Accepts::File)
}

/// Opens a disk for reading: an image file or a block device.
///
/// # Errors
/// As for [`open`].
pub fn open_disk(path: &Path) -> Result<File> {
    open_as(path, Accepts::FileOrDevice)
}

/// Opens an input that is read once sequentially: a regular file, or a pipe that the shell has opened for
/// this process (`/dev/stdin`, or `<(command)`, which is `/dev/fd/N`).
///
/// # Errors
/// As for [`open`].
pub fn open_stream(path: &Path) -> Result<File> {
    let inherited = path == Path::new("/dev/stdin")
        || path.parent().is_some_and(|dir| dir == Path::new("/dev/fd") || dir == Path::new("/proc/self/fd"));
    if inherited { File::open(path) } else { open(path) }
}

/// Reads a whole regular file.
///
/// # Errors
/// As for [`open`], and if reading fails.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular text file.
///
/// # Errors
/// As for [`open`], and if reading fails or the file is not UTF-8.
pub fn read_to_string(path: &Path) -> Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

fn open_as(path: &Path, accepts: Accepts) -> Result<File> {
    // Opening some devices has side effects, and a socket cannot be opened, so check the type first.
    check(std::fs::metadata(path)?.file_type(), accepts)?;
    // The file may have been replaced since the check, so open it without blocking.
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
    check(file.metadata()?.file_type(), accepts)?;
    Ok(file)
}

fn check(found: FileType, accepts: Accepts) -> Result<()> {
    if found.is_file() || (accepts == Accepts::FileOrDevice && found.is_block_device()) {
        return Ok(());
    }
    let kind = match found {
        found if found.is_dir() => "a directory",
        found if found.is_fifo() => "a FIFO (named pipe)",
        found if found.is_socket() => "a socket",
        found if found.is_block_device() => "a block device",
        _ => "a character device",
    };
    let wanted = match accepts {
        Accepts::File => "a regular file",
        Accepts::FileOrDevice => "an image or a block device",
    };
    let error = if found.is_dir() { ErrorKind::IsADirectory } else { ErrorKind::InvalidInput };
    Err(Error::new(error, format!("it is {kind}, not {wanted}; name another")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::os::unix::net::UnixListener;

    #[test]
    fn regular_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "text").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for path in [&path, &link] {
            assert_eq!(read_to_string(path).unwrap(), "text");
            assert_eq!(read(path).unwrap(), b"text");
            assert_eq!(open_disk(path).unwrap().metadata().unwrap().len(), 4);
            open_stream(path).unwrap();
        }
        assert_eq!(open(&dir.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn blocking_files_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let (fifo, socket) = (dir.path().join("fifo"), dir.path().join("socket"));
        mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        for (path, kind) in [
            (fifo.as_path(), "a FIFO (named pipe)"),
            (&socket, "a socket"),
            (dir.path(), "a directory"),
            (Path::new("/dev/zero"), "a character device"),
        ] {
            for (result, wanted) in [
                (open(path), "a regular file"),
                (open_stream(path), "a regular file"),
                (open_disk(path), "an image or a block device"),
            ] {
                let message = result.unwrap_err().to_string();
                assert_eq!(message, format!("it is {kind}, not {wanted}; name another"));
            }
            assert!(read(path).is_err() && read_to_string(path).is_err());
        }
    }

    #[test]
    fn shell_pipe_is_a_stream() {
        let (reader, writer) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut &writer, b"line\n").unwrap();
        drop(writer);
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        let mut text = String::new();
        open_stream(Path::new(&path)).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "line\n");
        assert!(open(Path::new(&path)).is_err());
    }
}
