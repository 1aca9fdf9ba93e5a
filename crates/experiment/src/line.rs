//! The lines of a figure. A claim is judged for each line.

/// A file system with a setting, or a disk alone, with costs on one disk.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// Kind of file system; empty for a disk alone.
    pub fs: String,
    /// Model of the disk.
    pub disk: String,
    /// The setting; empty if there is only one.
    pub option: String,
    /// The agings, in the order of their seeds in the experiment, which is the same for all lines.
    pub agings: Vec<Aging>,
}

/// One of the agings of a line, which differ in their seeds alone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Aging {
    /// The seed.
    pub seed: u64,
    /// The cell that measures it.
    pub cell: String,
}

impl Line {
    /// Adds an aging to its line.
    pub fn add(lines: &mut Vec<Line>, [fs, disk, option]: [&str; 3], aging: Aging) {
        let same = |line: &&mut Line| [line.fs.as_str(), &line.disk, &line.option] == [fs, disk, option];
        match lines.iter_mut().find(same) {
            Some(line) => line.agings.push(aging),
            None => {
                let [fs, disk, option] = [fs, disk, option].map(str::to_owned);
                lines.push(Line { fs, disk, option, agings: vec![aging] });
            }
        }
    }

    /// The name of the line in a verdict.
    pub fn name(&self, by_disk: bool) -> String {
        let disk = if by_disk { self.disk.as_str() } else { "" };
        let parts = [self.fs.as_str(), &self.option, disk];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}
