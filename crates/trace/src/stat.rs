//! Statistics of a trace.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::check::Checker;
use crate::{BATCH, Error, Op, Source};

/// The statistics of a trace. Computing them needs memory only for live files and directories.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Stat {
    /// All operations.
    pub operations: u64,
    /// Operations by kind; kinds that do not occur are absent.
    pub by_kind: BTreeMap<&'static str, u64>,
    /// Files created, without hard links and clones.
    pub files_created: u64,
    /// Files at the end, counting each hard link.
    pub live_files: u64,
    /// The largest number of files at any time.
    pub peak_live_files: u64,
    /// Directories at the end, without the root.
    pub directories: u64,
    /// The largest depth of any directory; the root has depth 0.
    pub deepest_directory: u32,
    /// Total size of all files at their creation, in bytes; clones create none.
    pub bytes_created: u64,
    /// The largest size of a file at its creation.
    pub largest_size: u64,
    /// Files by size at creation: empty ones first, then by powers of two up to the largest.
    pub sizes: Vec<SizeBucket>,
}

/// Number of files with a size from one power of two up to the next.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SizeBucket {
    /// The least size in the bucket: 0, or a power of two. The bucket ends before the next bucket's `from`.
    pub from: u64,
    /// Number of files.
    pub files: u64,
}

impl Stat {
    /// Reads `source` to its end. Fails on an invalid operation.
    pub fn of(mut source: impl Source) -> Result<Self, Error> {
        let mut stat = Stat::default();
        let mut checker = Checker::new();
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            source.next_batch(&mut batch)?;
            if batch.is_empty() {
                stat.live_files = checker.namespace().files();
                stat.directories = checker.namespace().dirs();
                return Ok(stat);
            }
            for op in &batch {
                checker.check(op)?;
                stat.add(op, &checker);
            }
        }
    }

    /// Counts `op`, which the checker has just accepted.
    fn add(&mut self, op: &Op, checker: &Checker) {
        self.operations += 1;
        *self.by_kind.entry(Op::KINDS[op.kind()]).or_default() += 1;
        self.peak_live_files = self.peak_live_files.max(checker.namespace().files());
        match *op {
            Op::Create { size, .. } => {
                self.files_created += 1;
                self.bytes_created = self.bytes_created.saturating_add(size);
                self.largest_size = self.largest_size.max(size);
                self.count_size(size);
            }
            Op::Mkdir { dir, .. } => {
                let depth = checker.namespace().depth(dir).expect("the directory was just made");
                self.deepest_directory = self.deepest_directory.max(depth);
            }
            _ => {}
        }
    }

    fn count_size(&mut self, size: u64) {
        let bucket = (u64::BITS - size.leading_zeros()) as usize;
        for new in self.sizes.len()..=bucket {
            let from = new.checked_sub(1).map_or(0, |power| 1 << power);
            self.sizes.push(SizeBucket { from, files: 0 });
        }
        self.sizes[bucket].files += 1;
    }
}
