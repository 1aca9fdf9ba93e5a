//! Rolls back a device as published for aged images (Kadekodi, Nagarajan and Gibson, CMU-PDL-17-106): an image of the device is saved,
//! write requests are logged, and the blocks in the log are restored from the image.
//!
//! The image is saved once, in the work directory with its checksum, and is valid as long as the device has that checksum when a benchmark
//! begins. If requests cannot be traced, or some were lost, all different blocks are restored.

use crate::Error;
use disk::{
    Digest, RestoreMethod, RestoreNote, Session, restore_all, restore_ranges, save_image, written_ranges,
};
use probe::RequestRecorder;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Ring buffer per processor for block requests, in KiB.
const TRACE_BUFFER_KB: u32 = 16 * 1024;

/// A device that is written to.
pub(super) struct Device {
    path: PathBuf,
    devno: (u32, u32),
    image: PathBuf,
    saved: Digest,
    restore_note: RestoreNote,
    recorder: Option<RequestRecorder>,
    restored_bytes: u64,
}

impl Device {
    /// Ensures that an image of the device is saved in `dir`, and records that it is going to be written to.
    pub(super) fn prepare(
        session: &Arc<Session>,
        path: &Path,
        dir: &Path,
        name: &str,
        note: &Path,
    ) -> Result<Device, Error> {
        let devno = disk::BlockDevice::open(path)?.devno();
        let dir = std::fs::canonicalize(dir).map_err(Error::io("finding", dir))?;
        let image = dir.join(format!("{name}.saved.img"));
        let checksum = image.with_extension("sha256");
        disk::drop_device_cache(path)?;
        let earlier = input::read_to_string(&checksum).ok().filter(|_| image.exists());
        let same =
            earlier.map(|saved| disk::checksum(path).map(|now| (saved == now.to_string()).then_some(now)));
        let saved = match same.transpose()?.flatten() {
            Some(saved) => saved,
            None => {
                let _ = std::fs::remove_file(&checksum);
                let saved = save_image(path, &image)?;
                std::fs::write(&checksum, saved.to_string()).map_err(Error::io("writing", &checksum))?;
                saved
            }
        };
        let restore_method = RestoreMethod::Image { device: path.to_owned(), image: image.clone() };
        let restore_note = RestoreNote::create(session, note, &restore_method)?;
        Ok(Device {
            path: path.to_owned(),
            devno,
            image,
            saved,
            restore_note,
            recorder: None,
            restored_bytes: 0,
        })
    }

    /// The checksum of the saved image.
    pub(super) fn saved(&self) -> Digest {
        self.saved
    }

    /// Starts to log requests, if that is possible.
    pub(super) fn watch(&mut self) -> Result<(), Error> {
        if probe::blocktrace::available().is_ok() {
            self.recorder = Some(RequestRecorder::start(self.devno, TRACE_BUFFER_KB)?);
        }
        Ok(())
    }

    /// Restores all blocks written since then. The device must not be mounted.
    pub(super) fn restore(&mut self) -> Result<(), Error> {
        // A log with lost requests is useless.
        let log = self.recorder.take().and_then(|recorder| recorder.stop().ok());
        let restored = match log {
            Some(log) => restore_ranges(&self.image, &self.path, &written_ranges(&log))?,
            None => restore_all(&self.image, &self.path)?,
        };
        self.restored_bytes += restored;
        Ok(())
    }

    /// Restores all different blocks, regardless of the log.
    pub(super) fn restore_all(&mut self) -> Result<(), Error> {
        self.restored_bytes += restore_all(&self.image, &self.path)?;
        Ok(())
    }

    /// The note to delete, and the number of restored bytes.
    pub(super) fn done(self) -> (RestoreNote, u64) {
        (self.restore_note, self.restored_bytes)
    }
}
