//! Captures the I/O of the device below a tree during an operation on the tree.

use crate::Error;
use disk::Request;
use disk::model::{Ftl, Model, price_on};
use disk::modelled::ModelledDisk;
use fs::Target;
use probe::{Causes, FilePlaces, RequestRecorder, ScannedDisk};

/// Ring buffer per processor for block requests, in KiB.
const TRACE_BUFFER_KB: u32 = 16 * 1024;

/// The I/O of a device.
pub struct Observation {
    /// The requests that reached the device, if known.
    pub requests: Option<Vec<Request>>,
    /// Whether the requests come from the log of a modelled disk, which does not distinguish data from metadata.
    pub(crate) own_log: bool,
    /// Seconds elapsed on the clock of the modelled disk; `None` without a modelled disk or with an ideal one, whose clock does not
    /// advance.
    pub disk_clock_s: Option<f64>,
    /// The state of the flash of a modelled disk before the operation; `None` without a translation layer.
    flash: Option<Ftl>,
}

impl Observation {
    /// Seconds that a disk of this model and size takes for the requests, in the order of their issue, averaged over the initial angle of
    /// the disk. The disk below has its own flash, others a fresh one.
    pub fn modelled_s(&self, model: &Model, disk_bytes: u64) -> Option<f64> {
        Some(price_on(model, disk_bytes, self.flash.as_ref(), self.requests.as_ref()?).total_s())
    }

    /// Why a disk of this model and size takes that time for the requests of a scan of files that lie at `places`. `None` if the requests are
    /// unknown or read no file.
    pub(crate) fn causes(&self, places: &FilePlaces, model: &Model, disk_bytes: u64) -> Option<Causes> {
        let disk = ScannedDisk { model, size_bytes: disk_bytes, flash: self.flash.as_ref() };
        probe::causes(self.requests.as_ref()?, places, &disk)
    }
}

/// Runs `work` and captures the I/O of the device. `traced` states whether block requests can be traced; otherwise a modelled disk uses its
/// own log.
pub(crate) fn capture<T>(
    target: &dyn Target,
    traced: bool,
    work: impl FnOnce(&dyn Target) -> Result<T, Error>,
) -> Result<(T, Observation), Error> {
    let recorder = match target.device() {
        Some((_, devno)) if traced && target.makes_requests() => {
            Some(RequestRecorder::start(devno, TRACE_BUFFER_KB)?)
        }
        _ => None,
    };
    let own_log = recorder.is_none();
    let logged = target.modelled().filter(|_| own_log);
    logged.map(ModelledDisk::start_log).transpose()?;
    let flash = target.modelled().map(ModelledDisk::flash).transpose()?.flatten();
    let begin_ns = target.modelled().map(ModelledDisk::clock_ns).transpose()?;
    let done = work(target)?;
    let log = logged.map(end_log).transpose()?;
    let end_ns = target.modelled().map(ModelledDisk::clock_ns).transpose()?;
    let traced = recorder.map(RequestRecorder::stop).transpose()?;
    let clock_s = end_ns.zip(begin_ns).map(|(end, begin)| (end - begin) as f64 / 1e9);
    let disk_clock_s = clock_s.filter(|s| *s > 0.0);
    Ok((done, Observation { requests: traced.or(log), own_log, disk_clock_s, flash }))
}

/// The requests of a complete log: with missing requests the work would look cheaper than it is.
fn end_log(disk: &ModelledDisk) -> Result<Vec<Request>, Error> {
    match disk.end_log()? {
        (requests, 0) => Ok(requests),
        (requests, lost) => Err(Error::Refused(format!(
            "{} requests were sent, {lost} more than the log of the modelled disk in {} can hold; trace \
             block requests in the kernel instead (see `senesce doctor`), which has no such limit",
            requests.len() as u64 + lost,
            disk.dir().display()
        ))),
    }
}

/// The size of the block device below, from sysfs.
pub(crate) fn device_bytes(target: &dyn Target) -> Option<u64> {
    let (_, (major, minor)) = target.device()?;
    let sectors = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/size")).ok()?;
    sectors.trim().parse::<u64>().ok().map(|sectors| sectors * disk::SECTOR_BYTES)
}
