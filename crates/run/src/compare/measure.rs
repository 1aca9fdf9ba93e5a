//! All measurements of a comparison, each recorded immediately.

use super::{CompareSpec, Models, SUBJECTS};
use crate::io_capture::device_bytes;
use crate::manifest::Manifest;
use crate::scanned::{self, Scanned};
use crate::scans::{Scan, Scans};
use crate::{Error, space, tree};
use fs::{Location, Target};
use results::measures::{self, Measure};
use results::{Measurement, RunId, Store, Watch};
use rustix::fs::StatVfsMountFlags;

/// A comparison in progress.
pub struct Measuring<'a> {
    pub spec: &'a CompareSpec,
    pub manifest: &'a Manifest,
    pub models: &'a Models,
    pub store: &'a Store,
    pub run: RunId,
    pub watch: &'a mut dyn Watch,
}

impl Measuring<'_> {
    /// Measures both sides. Skips what an earlier, incomplete run has measured.
    pub fn all(&mut self, targets: &mut [&mut dyn Target; 2]) -> Result<(), Error> {
        for (target, subject) in targets.iter_mut().zip(SUBJECTS) {
            self.static_layout(*target, subject)?;
            self.free_space(*target, subject)?;
            if tree::tree_layout(self.store, self.run, subject)?.is_none() {
                tree::record(self.store, self.run, subject, *target)?;
            }
        }
        if self.manifest.fill {
            self.scans(targets)?;
        } else {
            self.watch.say("not filled with data (--no-fill): scans are modelled from extent maps only");
        }
        if self.spec.new_file && self.manifest.fill {
            self.new_files(targets)?;
        }
        Ok(())
    }

    fn phase(&mut self, what: &str) {
        self.watch.phase(&format!("{}: {what}", self.manifest.name), None);
    }

    /// Measures the layout from extent maps, and the time of a modelled disk to read it.
    fn static_layout(&mut self, target: &mut dyn Target, subject: &str) -> Result<(), Error> {
        if self.store.document::<serde_json::Value>(self.run, subject, "static_layout")?.is_some() {
            return Ok(());
        }
        if !target.supports_fiemap() {
            self.watch.say("no layout scores of files: this file system does not report file extents");
            return Ok(());
        }
        self.phase(&format!("extent maps of the {subject} side"));
        let mut layout =
            probe::static_layout(target.root(), target.block_bytes(), target.max_extent_bytes())?;
        let mut numbers = vec![
            measures::FILES.once(subject, layout.files as f64),
            measures::EXTENTS.once(subject, layout.extents as f64),
        ];
        let extent_map_hdd =
            scanned::extents_s_per_gib(&layout, &self.models.hdd, disk_bytes(self.manifest, target));
        let scores: [(Measure, _); 4] = [
            (measures::LAYOUT_SCORE, layout.layout_score),
            (measures::SCAN_LAYOUT_SCORE, layout.scan_layout_score),
            (measures::DEGREE_OF_FRAGMENTATION, layout.degree_of_fragmentation),
            (measures::EXTENT_MAP_HDD_S_PER_GIB, extent_map_hdd),
        ];
        for (measure, value) in scores {
            numbers.extend(value.map(|value| measure.once(subject, value)));
        }
        self.store.record_all(self.run, &numbers)?;
        // One or more extents per file are too much to store; the cost computed from them is stored.
        layout.scan_extents.clear();
        Ok(self.store.record_document(self.run, subject, "static_layout", &layout)?)
    }

    fn free_space(&mut self, target: &mut dyn Target, subject: &str) -> Result<(), Error> {
        let Some(extents) = target.free_extents()? else {
            self.watch.say("no free space: this file system does not report free extents");
            return Ok(());
        };
        let free = probe::free_space(&extents);
        self.store.record_all(
            self.run,
            &[
                measures::FREE_EXTENTS.once(subject, free.extents as f64),
                measures::FREE_BYTES.once(subject, free.total_bytes as f64),
                measures::FREE_MEAN_BYTES.once(subject, free.mean_bytes),
                measures::FREE_LARGEST_BYTES.once(subject, free.largest_bytes as f64),
            ],
        )?;
        Ok(self.store.record_document(self.run, subject, "free_space", &free)?)
    }

    /// Cold scans. The sides alternate, so that a drift of the machine affects both.
    fn scans(&mut self, targets: &mut [&mut dyn Target; 2]) -> Result<(), Error> {
        let traced = probe::blocktrace::available();
        if let Err(why) = &traced {
            self.watch.say(&format!("no dynamic layout score: block requests cannot be traced: {why}"));
        }
        if !targets[0].makes_requests() {
            self.watch
                .say("no dynamic layout score: files in persistent memory are read without block requests");
        }
        self.watch.phase(&format!("{}: cold scans", self.manifest.name), Some(2 * self.spec.repeat));
        let scans = Scans {
            store: self.store,
            run: self.run,
            scan: Scan::Cold(self.spec.reader),
            repeat: self.spec.repeat,
            traced: traced.is_ok(),
        };
        let (models, manifest) = (self.models, self.manifest);
        scans.run(&mut targets[..], self.watch, |cold, target, subject, repetition| {
            let disk_bytes = disk_bytes(manifest, target);
            numbers(models, cold, disk_bytes, subject, repetition)
        })
    }

    /// Measures the fragments of a new large file. The file has the same size on both sides, limited by the fuller one; either both sides
    /// are recorded or none. Runs last, because it uses free space.
    fn new_files(&mut self, targets: &mut [&mut dyn Target; 2]) -> Result<(), Error> {
        if targets.iter().any(|target| !target.supports_fiemap()) {
            return Ok(());
        }
        for (target, side) in targets.iter().zip(SUBJECTS) {
            let root = target.root();
            let mount = rustix::fs::statvfs(root).map_err(|e| Error::io("checking", root)(e.into()))?;
            if mount.f_flag.contains(StatVfsMountFlags::RDONLY) {
                self.watch.say(&format!(
                    "fragments of a new file: not measured, because the {side} side is mounted read-only"
                ));
                return Ok(());
            }
        }
        let free = [disk::free_bytes(targets[0].root())?, disk::free_bytes(targets[1].root())?];
        let fuller = usize::from(free[1] < free[0]);
        let Some(size) = probe::new_file_bytes(free[fuller]) else {
            let (free, side) = (input::bytes(free[fuller]), SUBJECTS[fuller]);
            self.watch.say(&format!(
                "fragments of a new file: not measured, because the {side} side has only {free} free"
            ));
            return Ok(());
        };
        if let Err(why) = space::check_new_files(&self.manifest.volume.location, &self.spec.work, size) {
            self.watch.say(&format!("fragments of a new file: not measured, because {why}"));
            return Ok(());
        }
        let mut numbers = Vec::new();
        for (target, subject) in targets.iter_mut().zip(SUBJECTS) {
            self.phase(&format!("new file on the {subject} side"));
            let new = probe::new_file(target.root(), size)?;
            numbers.extend([
                measures::NEW_FILE_BYTES.once(subject, new.bytes as f64),
                measures::NEW_FILE_FRAGMENTS.once(subject, new.fragments as f64),
                measures::NEW_FILE_WRITE_S.once(subject, new.write_s),
            ]);
        }
        Ok(self.store.record_all(self.run, &numbers)?)
    }
}

/// The size of the modelled disk: that of the file system, or for a directory that of its device.
fn disk_bytes(manifest: &Manifest, target: &dyn Target) -> u64 {
    let own = manifest.volume.size_bytes;
    match manifest.volume.location {
        Location::Dir(_) => device_bytes(target).unwrap_or(own),
        Location::Image(_) | Location::Device(_) | Location::Modelled { .. } => own,
    }
}

/// The measurements of a cold scan.
fn numbers(
    models: &Models,
    cold: &Scanned,
    disk_bytes: u64,
    subject: &str,
    repetition: u64,
) -> Vec<Measurement> {
    let mut numbers = cold.numbers(subject, repetition);
    if vm::guest_environment().is_some_and(|guest| guest.accelerator == vm::Accelerator::Tcg) {
        // With an emulated processor, the measured time says nothing about the disk.
        numbers.retain(|number| number.measure != measures::SCAN_S_PER_GIB.name);
    }
    let on = |model| cold.modelled_s_per_gib(model, disk_bytes);
    for (measure, value) in [
        (measures::MODELLED_HDD_S_PER_GIB, on(&models.hdd)),
        (measures::MODELLED_S_PER_GIB, on(&models.modelled)),
        (measures::DISK_CLOCK_S_PER_GIB, cold.disk_clock_s_per_gib()),
    ] {
        numbers.extend(value.map(|value| measure.measurement(subject, repetition, value)));
    }
    numbers
}
