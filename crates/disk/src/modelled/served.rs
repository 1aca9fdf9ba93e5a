//! An attached disk: executes requests from FUSE and from callers in turn, and injects faults.

use super::control::{ControlRequest, Fault, Handler, Status};
use super::harden::Hardening;
use super::log::Log;
use super::queue::Queue;
use super::settings::Clock;
use super::store::Store;
use crate::Error;
use crate::model::lock as lock_flash;
use crate::request::RequestKind;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard};

/// An attached disk.
pub struct Served {
    store: RwLock<Store>,
    /// The data file of the store, for syncing it while the store is in use.
    data: File,
    hardening: Hardening,
    size_bytes: u64,
    queue: Queue,
    requests: AtomicU64,
    failures: Mutex<(u64, Option<String>)>,
    open: AtomicU32,
    /// Set when the power was cut, with the result of the cut.
    cut: OnceLock<Result<(), String>>,
    ignore_flush: AtomicBool,
    unreadable: RwLock<Range<u64>>,
}

impl Served {
    /// Serves a store with this clock or that of the store. `hardening` describes the process.
    pub fn new(store: Store, clock: Option<Clock>, hardening: Hardening) -> Result<Served, Error> {
        let settings = store.settings();
        let model = store.model()?;
        Ok(Served {
            data: store.data()?,
            hardening,
            size_bytes: settings.size_bytes,
            queue: Queue::new(
                &model,
                settings.size_bytes,
                store.flash().cloned(),
                clock.unwrap_or(settings.clock),
            ),
            store: RwLock::new(store),
            requests: AtomicU64::new(0),
            failures: Mutex::default(),
            open: AtomicU32::new(0),
            cut: OnceLock::new(),
            ignore_flush: AtomicBool::new(false),
            unreadable: RwLock::new(0..0),
        })
    }

    /// The number of threads for FUSE requests.
    pub fn threads(&self) -> usize {
        self.queue.threads()
    }

    /// Closes the store.
    pub fn close(&self) -> Result<(), Error> {
        self.store_mut(Store::close)
    }

    /// Executes one request when its turn comes. `work` also sends the response on success; on failure the caller sends the error.
    pub fn request(
        &self,
        kind: RequestKind,
        at: u64,
        len: u64,
        work: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let _turn = self.queue.enter(kind, at, len);
        self.requests.fetch_add(1, Ordering::Relaxed);
        work().inspect_err(|e| self.failed(kind, at, e))
    }

    /// The size of the disk.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Counts an open of the disk's file.
    pub fn opened(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a close of the disk's file.
    pub fn released(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Locks the store for reading a range, if the power is on and the range is readable.
    pub fn readable(&self, at: u64, len: u64) -> io::Result<RwLockReadGuard<'_, Store>> {
        let store = self.store.read().unwrap_or_else(PoisonError::into_inner);
        self.check_power()?;
        self.check_readable(at, len)?;
        Ok(store)
    }

    /// Marks all writes as stable, unless flushes are ignored.
    pub fn flush(&self) -> io::Result<()> {
        self.change(|store| {
            if !self.ignore_flush.load(Ordering::Relaxed) {
                store.flush();
            }
            Ok(())
        })
    }

    /// Changes the contents of the disk, if the power is on.
    pub fn change(&self, change: impl FnOnce(&mut Store) -> io::Result<()>) -> io::Result<()> {
        self.store_mut(|store| {
            self.check_power()?;
            change(store)
        })
    }

    /// Releases the space of some free chunks; false if there were none.
    pub fn reclaim(&self) -> io::Result<bool> {
        self.store_mut(Store::reclaim)
    }

    /// Call this with the store locked, so that no request reaches the store after a power cut.
    fn check_power(&self) -> io::Result<()> {
        if self.cut.get().is_some() { Err(io_error()) } else { Ok(()) }
    }

    fn failed(&self, kind: RequestKind, at: u64, error: &io::Error) {
        let mut failures = lock(&self.failures);
        failures.0 += 1;
        failures.1.get_or_insert_with(|| format!("{kind:?} at byte {at}: {error}"));
    }

    fn store_mut<T>(&self, work: impl FnOnce(&mut Store) -> T) -> T {
        work(&mut self.store.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn check_readable(&self, at: u64, len: u64) -> io::Result<()> {
        let bad = self.unreadable.read().unwrap_or_else(PoisonError::into_inner);
        if at < bad.end && bad.start < at + len {
            return Err(io_error());
        }
        Ok(())
    }

    fn fault(&self, fault: Fault) -> Result<(), String> {
        match fault {
            // The store is locked: no request is half executed, and none is executed afterwards.
            Fault::PowerCut(loss) => self.store_mut(|store| {
                let cut = || store.power_cut(loss).map_err(|e| format!("the power is off, but {e}"));
                self.cut.get_or_init(cut).clone()
            }),
            Fault::ReadError { at_bytes, len_bytes } => {
                let range = at_bytes..at_bytes.saturating_add(len_bytes);
                *self.unreadable.write().unwrap_or_else(PoisonError::into_inner) = range;
                Ok(())
            }
            Fault::IgnoreFlush => {
                self.ignore_flush.store(true, Ordering::Relaxed);
                Ok(())
            }
            Fault::None => {
                self.ignore_flush.store(false, Ordering::Relaxed);
                *self.unreadable.write().unwrap_or_else(PoisonError::into_inner) = 0..0;
                Ok(())
            }
        }
    }

    fn status(&self) -> Status {
        let (failed, first_failure) = lock(&self.failures).clone();
        let (log_kept, log_requests, log_lost) =
            self.queue.with_log(|log| (log.is_on(), log.requests(), log.lost()));
        let store = self.store.read().unwrap_or_else(PoisonError::into_inner);
        Status {
            pid: std::process::id(),
            requests: self.requests.load(Ordering::Relaxed),
            failed,
            first_failure,
            log_kept,
            log_requests,
            log_lost,
            clock_ns: self.queue.clock_ns(),
            used_bytes: store.used_bytes(),
            flash: store.flash().map(|flash| lock_flash(flash).status()),
            cut: self.cut.get().is_some(),
            hardening: self.hardening,
        }
    }
}

impl Handler for Served {
    fn handle(&self, request: &ControlRequest) -> Result<Status, String> {
        match request {
            ControlRequest::Status | ControlRequest::TakeLog => {}
            ControlRequest::Log(on) => self.queue.with_log(|log| *log = Log::new(*on)),
            ControlRequest::Snapshot(name) => {
                // Syncs most of the data before the snapshot blocks requests for the rest.
                self.data.sync_data().map_err(|e| e.to_string())?;
                self.store_mut(|store| store.snapshot(name)).map_err(|e| why(&e))?
            }
            ControlRequest::Rollback { open: false, .. } if self.open.load(Ordering::Relaxed) > 0 => {
                return Err(
                    "its disk is in use; unmount its file system and detach its loop device first".into()
                );
            }
            ControlRequest::Rollback { name, .. } => {
                self.store_mut(|store| store.rollback(name)).map_err(|e| why(&e))?
            }
            ControlRequest::Fault(fault) => self.fault(*fault)?,
            ControlRequest::SaveFlash => self.store_mut(|store| store.save_flash()).map_err(|e| why(&e))?,
        }
        Ok(self.status())
    }

    fn take_log(&self) -> Log {
        self.queue.with_log(Log::take)
    }
}

/// The error message for a caller, which adds the name of the store itself.
fn why(error: &Error) -> String {
    match error {
        Error::Store { why, .. } => why.clone(),
        other => other.to_string(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn io_error() -> io::Error {
    io::Error::from_raw_os_error(libc::EIO)
}
