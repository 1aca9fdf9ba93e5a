//! The lines of a figure. A claim is judged for each line.

/// A file system with a setting and a seed, or a disk alone, with costs on one disk.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// Kind of file system; empty for a disk alone.
    pub fs: String,
    /// Model of the disk.
    pub disk: String,
    /// The setting; empty if there is only one.
    pub option: String,
    /// The seed.
    pub seed: u64,
    /// The cell that measures the line.
    pub cell: String,
}

impl Line {
    /// The name of the line in a verdict.
    pub fn name(&self, by_disk: bool, several_seeds: bool) -> String {
        let seed = if several_seeds { format!("seed {}", self.seed) } else { String::new() };
        let disk = if by_disk { self.disk.as_str() } else { "" };
        let parts = [self.fs.as_str(), &self.option, disk, &seed];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}
