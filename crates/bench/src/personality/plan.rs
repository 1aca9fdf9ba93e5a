//! The files of a personality's sets, drawn before any of them is created: the directory tree and the size of each file.
//!
//! As in Filebench, each directory draws its number of entries and the depth limit at its place; a directory at its limit contains files,
//! any other contains directories, and the root of a set has as many entries as needed. The mean depth is such that directories of the mean
//! width hold all files.

use super::error::Error;
use super::files::{FileId, FileTree};
use super::load::{FileSet, Personality};
use super::operation::Operation;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use rand_distr::{Distribution as _, Gamma};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum depth of a tree.
const MOST_DEPTH: f64 = 32.0;

/// Upper bound of a file's metadata: an inode, an entry, an extent record.
const METADATA_BYTES_A_FILE: u64 = 1024;

/// The block size of most file systems.
const BLOCK_BYTES: u64 = 4096;

/// The files of a personality.
pub struct Plan {
    pub(super) sets: Vec<PlannedSet>,
    io_bytes: u64,
    /// Bytes that a run may add to the initial files.
    growth_bytes: u64,
}

/// The files of a set.
pub(super) struct PlannedSet {
    pub name: String,
    /// The parent of each directory; the first is the root of the set.
    pub above: Vec<u32>,
    pub files: Vec<PlannedFile>,
    pub most_bytes: Option<u64>,
}

/// A file.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedFile {
    /// The directory of the file.
    pub directory: u32,
    pub bytes: u64,
    /// Whether the file exists at the start of the run.
    pub there: bool,
}

/// The directory tree of a set: its number of files, and the distributions of the depth limit and of the entries of a directory.
struct TreeShape {
    files: u64,
    depth: Gamma<f64>,
    width: Gamma<f64>,
}

/// The gamma distribution with this shape and mean.
fn gamma(shape: f64, mean: f64) -> Gamma<f64> {
    // A set of one file has a mean depth of 0, which no gamma distribution has.
    Gamma::new(shape, mean.max(f64::MIN_POSITIVE) / shape).expect("the shape is positive")
}

impl Plan {
    /// Draws the files of a personality; the same seed gives the same files.
    pub fn new(personality: &Personality, seed: u64) -> Result<Plan, Error> {
        let drawn = personality.set.iter().enumerate();
        let sets: Vec<PlannedSet> = drawn
            .map(|(at, (name, set))| {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                random.set_stream(at as u64);
                PlannedSet::draw(name, set, &mut random)
            })
            .collect();
        let operations = personality.operations()?;
        let appended = operations.iter().map(|operation| match operation {
            Operation::Append(size) => size.most,
            _ => 0,
        });
        let appended = appended.max().unwrap_or(0);
        let growth = |(set, planned): (&FileSet, &PlannedSet)| {
            let there = planned.files.iter().filter(|file| file.there).count() as u64;
            // Each thread may create a file before another is deleted, and a file grows until it is deleted.
            let open = u64::from(personality.threads).saturating_mul(set.mean_bytes);
            open.saturating_add(there.saturating_mul(appended)).saturating_add(set.most_bytes.unwrap_or(0))
        };
        let growth_bytes = personality.set.values().zip(&sets).map(growth).fold(0, u64::saturating_add);
        Ok(Plan { sets, io_bytes: personality.io_bytes, growth_bytes })
    }

    /// Number of files at the start of the run.
    pub fn files(&self) -> u64 {
        self.there().count() as u64
    }

    /// Number of directories of all sets.
    pub fn directories(&self) -> u64 {
        self.sets.iter().map(|set| set.above.len() as u64).sum()
    }

    /// Bytes of the files at the start of the run.
    pub fn bytes(&self) -> u64 {
        self.there().map(|file| file.bytes).sum()
    }

    /// Free space needed to create the files and run on them, in bytes. Sets with appends only may need more.
    pub fn needed_bytes(&self) -> u64 {
        let blocks = |file: &PlannedFile| file.bytes.next_multiple_of(BLOCK_BYTES) + METADATA_BYTES_A_FILE;
        let files: u64 = self.there().map(blocks).sum();
        let directories = self.directories() * BLOCK_BYTES;
        files.saturating_add(directories).saturating_add(self.growth_bytes)
    }

    fn there(&self) -> impl Iterator<Item = &PlannedFile> {
        self.sets.iter().flat_map(|set| &set.files).filter(|file| file.there)
    }

    /// Creates the files below `root`, with one thread per processor. Checks `interrupted` before each file.
    pub fn make(&self, root: &Path, interrupted: &(dyn Fn() -> bool + Sync)) -> Result<(), Error> {
        for set in &self.sets {
            set.make_directories(root)?;
        }
        let files = FileTree::open(self, root, 0)?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        let places: Vec<FileId> =
            self.places().filter(|(_, file)| file.there).map(|(place, _)| place).collect();
        let work = || -> Result<(), Error> {
            let (data, mut name) = (super::thread::incompressible(self.io_bytes), Vec::new());
            while let Some(place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                if interrupted() {
                    return Err(Error::Interrupted);
                }
                let bytes = self.sets[place.set].files[place.file].bytes;
                let made = files.create(*place, &mut name).and_then(|file| {
                    super::thread::write_all(&file, bytes, &data)?;
                    super::thread::close(file)
                });
                made.map_err(|e| Error::io("creating the file", &root.join(self.path(*place)))(e))?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
        })
    }

    /// All files, of all sets.
    fn places(&self) -> impl Iterator<Item = (FileId, &PlannedFile)> {
        self.sets.iter().enumerate().flat_map(|(set, planned)| {
            planned.files.iter().enumerate().map(move |(file, planned)| (FileId { set, file }, planned))
        })
    }

    /// The path of a file below the root.
    pub(super) fn path(&self, place: FileId) -> String {
        let set = &self.sets[place.set];
        format!("{}/{:08x}", set.directory(set.files[place.file].directory as usize), place.file)
    }
}

impl PlannedSet {
    fn draw(name: &str, set: &FileSet, random: &mut ChaCha8Rng) -> PlannedSet {
        let mut drawn = PlannedSet {
            name: name.to_owned(),
            above: vec![0],
            files: Vec::new(),
            most_bytes: set.most_bytes,
        };
        let mean_depth = (set.files as f64).ln() / (set.width as f64).ln();
        let shape = TreeShape {
            files: set.files,
            depth: gamma(set.shape, mean_depth),
            width: gamma(set.shape, set.width as f64),
        };
        while (drawn.files.len() as u64) < set.files {
            drawn.grow(0, 2.0, &shape, random);
        }
        let sizes = gamma(set.shape, set.mean_bytes as f64);
        for file in &mut drawn.files {
            file.bytes = sizes.sample(random).round().max(1.0) as u64;
        }
        // Selects the given fraction of the files to exist at the start, all equally likely.
        let mut left = (set.files as f64 * set.preallocated).round() as u64;
        for (at, file) in drawn.files.iter_mut().enumerate() {
            file.there = random.random_range(0..set.files - at as u64) < left;
            left -= u64::from(file.there);
        }
        drawn
    }

    /// Adds a directory below `above` with its descendants, until the set has all its files.
    fn grow(&mut self, above: u32, depth: f64, shape: &TreeShape, random: &mut ChaCha8Rng) {
        let own = self.above.len() as u32;
        self.above.push(above);
        let limit = shape.depth.sample(random).floor().clamp(1.0, MOST_DEPTH);
        let width = shape.width.sample(random).round().max(1.0) as u64;
        for _ in 0..width {
            if self.files.len() as u64 >= shape.files {
                return;
            }
            if depth >= limit {
                self.files.push(PlannedFile { directory: own, bytes: 0, there: false });
            } else {
                self.grow(own, depth + 1.0, shape, random);
            }
        }
    }

    /// The path of a directory relative to the root of all sets.
    pub fn directory(&self, number: usize) -> String {
        if number == 0 {
            return self.name.clone();
        }
        format!("{}/d{number:x}", self.directory(self.above[number] as usize))
    }

    fn make_directories(&self, root: &Path) -> Result<(), Error> {
        // Parents precede their children.
        (0..self.above.len()).try_for_each(|number| {
            let path = root.join(self.directory(number));
            std::fs::create_dir(&path).map_err(Error::io("creating the directory", &path))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_has_its_mean_and_variance() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for (shape, mean) in [(1.5, 131_072.0), (1.0, 3.0), (4.0, 20.0)] {
            let drawn: Vec<f64> = gamma(shape, mean).sample_iter(&mut random).take(200_000).collect();
            let n = drawn.len() as f64;
            let found = drawn.iter().sum::<f64>() / n;
            let variance = drawn.iter().map(|x| (x - found) * (x - found)).sum::<f64>() / n;
            assert!((found / mean - 1.0).abs() < 0.02, "{shape}: mean {found}");
            assert!((variance / (mean * mean / shape) - 1.0).abs() < 0.05, "{shape}: variance {variance}");
        }
        assert!([1.0, 1000.0].iter().all(|shape| gamma(*shape, 0.0).sample(&mut random) < 1.0));
    }

    #[test]
    fn number_and_sizes_of_files_match_the_settings() {
        let personality = Personality::find("fileserver").unwrap();
        let plan = Plan::new(&personality, 42).unwrap();
        let set = &plan.sets[0];
        assert_eq!((set.files.len(), plan.files()), (10_000, 8_000));
        let mean = plan.bytes() as f64 / 8000.0;
        assert!((mean / 131_072.0 - 1.0).abs() < 0.03, "{mean}");
        // Directories with files have about the expected number; the last one of each set has fewer.
        let mut held = vec![0_u32; set.above.len()];
        set.files.iter().for_each(|file| held[file.directory as usize] += 1);
        let full: Vec<f64> = held.into_iter().filter(|held| *held > 0).map(f64::from).collect();
        let width = full.iter().sum::<f64>() / full.len() as f64;
        assert!((15.0..27.0).contains(&width), "{width}");
        assert!(plan.needed_bytes() > plan.bytes() + 8_000 * 16_384);
    }

    #[test]
    fn wide_set_is_one_directory_and_seeds_are_reproducible() {
        let personality = Personality::find("varmail").unwrap();
        let plan = Plan::new(&personality, 1).unwrap();
        assert_eq!((plan.files(), plan.directories()), (800, 2));
        let bytes = |seed| Plan::new(&personality, seed).unwrap().bytes();
        assert_eq!(bytes(1), bytes(1));
        assert_ne!(bytes(1), bytes(2));
        let one = Plan::new(&personality.scaled(0.0001), 1).unwrap();
        assert_eq!(one.sets[0].files.len(), 1);
    }

    #[test]
    fn planned_files_are_created() {
        let dir = tempfile::tempdir().unwrap();
        let personality = Personality::find("fileserver").unwrap().scaled(0.01);
        let plan = Plan::new(&personality, 3).unwrap();
        plan.make(dir.path(), &|| false).unwrap();
        for (place, file) in plan.places() {
            let found = std::fs::metadata(dir.path().join(plan.path(place)));
            assert_eq!(found.ok().map(|found| found.len()), file.there.then_some(file.bytes));
        }
        let error = plan.make(dir.path(), &|| false).unwrap_err().to_string();
        assert!(error.contains("creating the directory"), "{error}");
        let other = tempfile::tempdir().unwrap();
        assert!(matches!(plan.make(other.path(), &|| true), Err(Error::Interrupted)));
    }
}
