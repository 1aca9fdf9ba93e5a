//! Records the requests a block device is sent, from the kernel's tracepoint `block_rq_issue`.
//!
//! An own tracefs instance leaves other users of tracing undisturbed. Events are read raw, page by page, one
//! thread a CPU, because as text they cost more than the workload; see `ring` for the pages and `format`
//! for the events. A lost event is an error: a log with gaps would give a wrong layout score.

mod device;
mod format;
mod instance;
mod ring;

use crate::{Error, Result};
use device::Device;
use disk::Request;
use format::EventFormat;
use instance::Instance;
use ring::PageLayout;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

pub use instance::remove_stale;

/// Whether requests can be recorded on this machine, or why not.
pub fn available() -> std::result::Result<(), String> {
    let format = || Instance::create()?.parse(&format!("{EVENT}/format"), EventFormat::parse);
    format().map(drop).map_err(|error: Error| error.to_string())
}

/// A recording of the requests of one block device, from [`Recorder::start`] to [`Recorder::stop`].
pub struct Recorder {
    readers: Vec<JoinHandle<Result<Vec<Request>>>>,
    stop: Arc<AtomicBool>,
    instance: Instance,
}

impl Recorder {
    /// Starts to record the requests of the device with this (major, minor) number. Each CPU gets a buffer of
    /// `buffer_kb_per_cpu` KiB; 16 MiB take a load of 240,000 requests a second without loss.
    ///
    /// A partition is recorded through its disk, with addresses counted from its own start. A device without
    /// a request queue (RAM disks, most device mapper targets) cannot be recorded.
    pub fn start(devno: (u32, u32), buffer_kb_per_cpu: u32) -> Result<Recorder> {
        let device = Device::find(devno)?;
        let instance = Instance::create()?;
        instance.write("buffer_size_kb", &buffer_kb_per_cpu.to_string())?;
        instance.write("trace_clock", "mono")?;
        let decoder = Decoder {
            layout: instance.parse("events/header_page", PageLayout::parse)?,
            format: instance.parse(&format!("{EVENT}/format"), EventFormat::parse)?,
            device,
        };
        instance.write(&format!("{EVENT}/filter"), &format!("dev == {}", device.disk))?;
        let stop = Arc::new(AtomicBool::new(false));
        let mut recorder = Recorder { readers: Vec::new(), stop, instance };
        for cpu in recorder.instance.cpus()? {
            let path = recorder.instance.path(&format!("per_cpu/{cpu}/trace_pipe_raw"));
            let pipe = OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(&path)
                .map_err(Error::io("opening", &path))?;
            let stop = recorder.stop.clone();
            recorder.readers.push(std::thread::spawn(move || read_cpu(pipe, &decoder, &stop)));
        }
        recorder.instance.write(&format!("{EVENT}/enable"), "1")?;
        Ok(recorder)
    }

    /// Ends the recording. The requests come sorted by their time of issue.
    pub fn stop(mut self) -> Result<Vec<Request>> {
        self.instance.write(&format!("{EVENT}/enable"), "0")?;
        self.stop.store(true, Ordering::Release);
        let mut requests = Vec::new();
        for reader in self.readers.drain(..) {
            let read = reader.join().map_err(|_| Error::cannot(RECORDING, "a reader panicked"))?;
            requests.append(&mut read?);
        }
        self.check_losses()?;
        requests.sort_by_key(|request| request.time_ns);
        Ok(requests)
    }

    /// Fails if the kernel had to drop events.
    fn check_losses(&self) -> Result<()> {
        for cpu in self.instance.cpus()? {
            let stats = self.instance.read(&format!("per_cpu/{cpu}/stats"))?;
            let lost = format::lost_events(&stats);
            if lost > 0 {
                return Err(Error::cannot(RECORDING, lost_message(&format!("{lost} events of {cpu}"))));
            }
        }
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for reader in self.readers.drain(..) {
            // Without `stop` nobody asked for what was read.
            let _ = reader.join();
        }
    }
}

/// The tracepoint of requests at their issue to the device's driver.
const EVENT: &str = "events/block/block_rq_issue";

const RECORDING: &str = "recording block requests";

fn lost_message(what: &str) -> String {
    format!("{what} were lost, as the buffer was full; measure again with a larger buffer")
}

/// Turns pages of the ring buffer into requests of one device.
#[derive(Clone, Copy)]
struct Decoder {
    layout: PageLayout,
    format: EventFormat,
    device: Device,
}

impl Decoder {
    fn decode(&self, page: &[u8], requests: &mut Vec<Request>) -> Result<()> {
        let wrong = |why: String| Error::cannot(RECORDING, why);
        let page = ring::parse_page(page, &self.layout).map_err(wrong)?;
        if page.missed {
            return Err(wrong(lost_message("events")));
        }
        for event in page.events {
            let event = self.format.decode(event.time_ns, event.payload).map_err(wrong)?;
            requests.extend(event.and_then(|request| self.device.own(request)));
        }
        Ok(())
    }
}

/// Reads the events of one CPU until told to stop and nothing is left.
fn read_cpu(mut pipe: File, decoder: &Decoder, stop: &AtomicBool) -> Result<Vec<Request>> {
    let mut requests = Vec::new();
    let mut page = vec![0; decoder.layout.page_bytes()];
    let tenth_of_a_second = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    loop {
        // Taken before the read, so that what was recorded until then is read once more.
        let last = stop.load(Ordering::Acquire);
        match pipe.read(&mut page) {
            // Nothing yet. The kernel wakes us when the buffer is half full.
            Ok(0) if last => return Ok(requests),
            Err(error) if error.kind() == ErrorKind::WouldBlock && last => return Ok(requests),
            Ok(0) => wait(&pipe, &tenth_of_a_second)?,
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait(&pipe, &tenth_of_a_second)?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(len) => decoder.decode(&page[..len], &mut requests)?,
            Err(error) => return Err(Error::cannot(RECORDING, error.to_string())),
        }
    }
}

/// Waits until much can be read, or for a while.
fn wait(pipe: &File, timeout: &Timespec) -> Result<()> {
    match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(Error::cannot(RECORDING, format!("waiting for events: {error}"))),
    }
}
