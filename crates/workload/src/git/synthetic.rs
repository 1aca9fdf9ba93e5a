//! A synthetic repository with a tree like that of a large C project, U-Boot, and commits that change it as its
//! developers do. The history is linear, and written as it is made: memory holds two bytes per line of the tree.

use std::collections::HashSet;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use super::command::{DATE_S, IDENTITY, git_reading};
use super::directories::directories;
use super::distributions::{
    CHANGES, DIR_SKEW, FILE_BYTES, FILE_SKEW, FILES_PER_COMMIT, LINES_ADDED, LINES_DELETED,
    RENAMES_WITHIN_DIR, SAME_DIR, SAME_TOP, spread,
};
use super::sample::{self, STEP_S};
use super::sample_tree::text;
use crate::Error;
use crate::random::Random;

/// Files at the start, unless the user says how many: 7 MB.
pub const FILES: u64 = 1_000;

/// Different lines; files are made of them.
const LINES: usize = 1 << 16;

/// Creates a bare repository at `path`, a new or empty directory, that starts with `files` files and has
/// `commits`. A seed gives the same commits on every machine.
pub fn make(path: &Path, files: u64, commits: u64, seed: u64) -> Result<(), Error> {
    sample::begin(path)?;
    // Least compression: most of the time goes there.
    let import = ["-c", "pack.compression=1", "fast-import", "--quiet"];
    git_reading(sample::ACTION, path, import, |to| write(to, files as usize, commits, seed))
}

/// Writes the history in the format of `git fast-import`.
fn write(to: &mut dyn Write, files: usize, commits: u64, seed: u64) -> io::Result<()> {
    let mut random = Random::new(seed, 0);
    let mut tree = Tree::new(files, &mut random);
    for number in 1..=commits {
        if disk::interrupted() {
            return Err(io::Error::other("interrupted"));
        }
        let (date, message) = (DATE_S + number * STEP_S, format!("Change {number}\n"));
        let length = message.len();
        write!(to, "commit refs/heads/main\ncommitter {IDENTITY} {date} +0000\ndata {length}\n{message}\n")?;
        match number {
            1 => tree.write_all(to)?,
            _ => tree.commit(&mut random).iter().try_for_each(|change| tree.write(change, to))?,
        }
        writeln!(to)?;
    }
    Ok(())
}

struct File {
    name: String,
    /// Numbers of lines.
    lines: Vec<u16>,
}

struct Dir {
    /// With a slash at the end, except the top.
    path: String,
    /// The directories with the same first component.
    beside: Range<usize>,
    /// Oldest first.
    files: Vec<File>,
}

/// A change of a commit. The file is at its place in the tree until the next change.
enum Change {
    /// Modifies or adds a file.
    Write {
        dir: usize,
        name: String,
        lines: Vec<u16>,
    },
    Delete {
        dir: usize,
        name: String,
    },
    Rename {
        dir: usize,
        name: String,
        to: (usize, String),
    },
}

impl Change {
    /// The name of the file before the change.
    #[cfg(test)]
    fn name(&self) -> &str {
        match self {
            Change::Write { name, .. } | Change::Delete { name, .. } | Change::Rename { name, .. } => name,
        }
    }

    /// The directory with the change.
    #[cfg(test)]
    fn dir(&self) -> usize {
        match *self {
            Change::Write { dir, .. } | Change::Delete { dir, .. } | Change::Rename { dir, .. } => dir,
        }
    }
}

struct Tree {
    lines: Vec<Vec<u8>>,
    /// Those below a top directory are consecutive.
    dirs: Vec<Dir>,
    /// The sum of the weights of the directories up to each.
    weights: Vec<f64>,
    files: usize,
    /// Files ever made.
    names: u64,
}

impl Tree {
    fn new(files: usize, random: &mut Random) -> Tree {
        let lines = (0..LINES).map(|_| text(1, random)).collect();
        let (paths, dir_files): (Vec<String>, Vec<usize>) = directories(files, random).into_iter().unzip();
        let mut tree = Tree { lines, dirs: dirs(paths), weights: Vec::new(), files: 0, names: 0 };
        let mut sizes: Vec<usize> = spread(files, random).map(|share| FILE_BYTES.at(share)).collect();
        let mut weight = 0.0;
        let hot: Vec<f64> = spread(dir_files.len(), random).collect();
        for (dir, (&count, share)) in dir_files.iter().zip(hot).enumerate() {
            for size in sizes.drain(sizes.len() - count..) {
                let lines = tree.text(size, random);
                tree.add(dir, lines);
            }
            weight += count as f64 * libm::pow(share, -DIR_SKEW);
            tree.weights.push(weight);
        }
        tree
    }

    /// Makes the changes of the next commit.
    fn commit(&mut self, random: &mut Random) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut touched = HashSet::new();
        // A small project has no commits of a thousand files.
        let count = FILES_PER_COMMIT.draw(random).min(self.files.div_ceil(20));
        let mut dir = self.pick_dir(0..self.dirs.len(), random);
        for _ in 0..count {
            if !changes.is_empty() {
                dir = match random.unit() {
                    near if near < SAME_DIR => dir,
                    near if near < SAME_TOP => self.pick_dir(self.dirs[dir].beside.clone(), random),
                    _ => self.pick_dir(0..self.dirs.len(), random),
                };
            }
            let kind = random.weighted(&CHANGES);
            let change = match self.pick_file(dir, &touched, random) {
                Some(file) if kind != 1 => self.change(kind, dir, file, random),
                _ => {
                    let lines = self.text(FILE_BYTES.draw(random), random);
                    let name = self.add(dir, lines.clone());
                    Change::Write { dir, name, lines }
                }
            };
            if let Change::Write { name, .. } | Change::Rename { to: (_, name), .. } = &change {
                touched.insert(name.clone());
            }
            changes.push(change);
        }
        changes
    }

    /// Modifies, deletes or renames a file.
    fn change(&mut self, kind: usize, dir: usize, file: usize, random: &mut Random) -> Change {
        if kind == 0 {
            let (deleted, added) = (LINES_DELETED.draw(random), LINES_ADDED.draw(random).max(1));
            let File { name, lines } = &mut self.dirs[dir].files[file];
            let deleted = deleted.min(lines.len());
            let at = random.below(lines.len() - deleted + 1);
            lines.splice(at..at + deleted, (0..added).map(|_| random.below(LINES) as u16));
            return Change::Write { dir, name: name.clone(), lines: lines.clone() };
        }
        let File { name, lines } = self.dirs[dir].files.remove(file);
        self.files -= 1;
        if kind == 2 {
            return Change::Delete { dir, name };
        }
        let within = random.unit() < RENAMES_WITHIN_DIR;
        let to = if within { dir } else { self.pick_dir(self.dirs[dir].beside.clone(), random) };
        Change::Rename { dir, name, to: (to, self.add(to, lines)) }
    }

    /// Adds a file to a directory, and returns its name, which no other file has had.
    fn add(&mut self, dir: usize, lines: Vec<u16>) -> String {
        self.names += 1;
        self.files += 1;
        let name = format!("file{}.c", self.names);
        self.dirs[dir].files.push(File { name: name.clone(), lines });
        name
    }

    /// A directory, the hot ones more often.
    fn pick_dir(&self, among: Range<usize>, random: &mut Random) -> usize {
        let before = among.start.checked_sub(1).map_or(0.0, |last| self.weights[last]);
        let weight = before + random.unit() * (self.weights[among.end - 1] - before);
        self.weights.partition_point(|&upto| upto <= weight).clamp(among.start, among.end - 1)
    }

    /// A file of a directory, the new ones more often, that the commit has not changed yet.
    fn pick_file(&self, dir: usize, touched: &HashSet<String>, random: &mut Random) -> Option<usize> {
        const TRIES: usize = 20;
        let files = &self.dirs[dir].files;
        (0..TRIES.min(files.len())).find_map(|_| {
            let age = (files.len() as f64 * libm::pow(random.unit(), FILE_SKEW)) as usize;
            let file = files.len() - 1 - age;
            (!touched.contains(&files[file].name)).then_some(file)
        })
    }

    /// Lines of about `bytes` together.
    fn text(&self, bytes: usize, random: &mut Random) -> Vec<u16> {
        let mut lines = Vec::new();
        let mut left = bytes;
        while left > 0 {
            let line = random.below(LINES);
            let length = self.lines[line].len();
            // The last line ends beyond the size in half of all files.
            if length > left && random.below(length) >= left {
                break;
            }
            lines.push(line as u16);
            left = left.saturating_sub(length);
        }
        lines
    }

    fn write_all(&self, to: &mut dyn Write) -> io::Result<()> {
        for dir in &self.dirs {
            for file in &dir.files {
                self.write_file(dir, &file.name, &file.lines, to)?;
            }
        }
        Ok(())
    }

    fn write(&self, change: &Change, to: &mut dyn Write) -> io::Result<()> {
        let path = |dir: usize| &self.dirs[dir].path;
        match change {
            Change::Write { dir, name, lines } => self.write_file(&self.dirs[*dir], name, lines, to),
            Change::Delete { dir, name } => writeln!(to, "D {}{name}", path(*dir)),
            Change::Rename { dir, name, to: (new_dir, new) } => {
                writeln!(to, "R {}{name} {}{new}", path(*dir), path(*new_dir))
            }
        }
    }

    fn write_file(&self, dir: &Dir, name: &str, lines: &[u16], to: &mut dyn Write) -> io::Result<()> {
        let lines = || lines.iter().map(|line| &self.lines[usize::from(*line)]);
        let bytes: usize = lines().map(Vec::len).sum();
        writeln!(to, "M 100644 inline {}{name}\ndata {bytes}", dir.path)?;
        lines().try_for_each(|line| to.write_all(line))?;
        writeln!(to)
    }
}

/// Empty directories with these paths, in order.
fn dirs(paths: Vec<String>) -> Vec<Dir> {
    let first = |path: &str| path.split_inclusive('/').next().unwrap_or_default().to_owned();
    let beside = |path: &str| {
        let first = first(path);
        let start = paths.partition_point(|other| *other < first);
        start
            ..start
                + paths[start..].partition_point(|other| {
                    first.is_empty() == other.is_empty() && other.starts_with(&first)
                })
    };
    paths.iter().map(|path| Dir { path: path.clone(), beside: beside(path), files: Vec::new() }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::distributions::{FILES_PER_COMMIT_MEAN, HOT_DIRS, HOT_FILES, MEAN_BYTES};
    use super::super::{History, Order};
    use super::*;

    fn bytes(tree: &Tree) -> usize {
        let files = tree.dirs.iter().flat_map(|dir| &dir.files);
        files.flat_map(|file| &file.lines).map(|line| tree.lines[usize::from(*line)].len()).sum()
    }

    #[test]
    fn tree_has_the_files_and_bytes_of_the_original() {
        for (files, within) in [(100, 0.3), (1_000, 0.1), (9_000, 0.05), (40_000, 0.05)] {
            let tree = Tree::new(files, &mut Random::new(1, 0));
            assert_eq!(tree.dirs.iter().map(|dir| dir.files.len()).sum::<usize>(), files);
            let mean = bytes(&tree) as f64 / files as f64 / MEAN_BYTES as f64;
            assert!((mean - 1.0).abs() < within, "{files} files: mean size {mean} of the original");
        }
    }

    #[test]
    fn commits_have_the_proportions_of_the_original() {
        const COMMITS: usize = 10_000;
        for seed in 1..=2 {
            let mut random = Random::new(seed, 0);
            let mut tree = Tree::new(38_570, &mut random);
            let mut by_dir = vec![0_usize; tree.dirs.len()];
            let mut by_file = std::collections::HashMap::<String, usize>::new();
            let (mut kinds, mut together, mut pairs) = ([0_usize; 3], 0, 0);
            for _ in 0..COMMITS {
                let changes = tree.commit(&mut random);
                for change in &changes {
                    by_dir[change.dir()] += 1;
                    *by_file.entry(change.name().to_owned()).or_default() += 1;
                    match change {
                        Change::Write { .. } => kinds[0] += 1,
                        Change::Delete { .. } => kinds[1] += 1,
                        Change::Rename { .. } => kinds[2] += 1,
                    }
                }
                pairs += changes.len() - 1;
                together += changes.windows(2).filter(|pair| pair[0].dir() == pair[1].dir()).count();
            }
            let all: usize = kinds.iter().sum();
            let near = |what: &str, is: f64, expected: f64, within: f64| {
                println!("{what}: {is:.3}, originally {expected}");
                assert!((is / expected - 1.0).abs() < within, "{what}: {is:.3}, originally {expected}");
            };
            near("files per commit", all as f64 / COMMITS as f64, FILES_PER_COMMIT_MEAN, 0.3);
            near("deleted", kinds[1] as f64 / all as f64, CHANGES[2], 0.15);
            near("renamed", kinds[2] as f64 / all as f64, CHANGES[3], 0.15);
            near("in the same directory", together as f64 / pairs as f64, SAME_DIR, 0.08);
            let mut by_file: Vec<usize> = by_file.into_values().collect();
            by_file.resize(38_570.max(by_file.len()), 0);
            let hot = [("directories", &mut by_dir, &HOT_DIRS[..]), ("files", &mut by_file, &HOT_FILES[..])];
            for (what, changes, shares) in hot {
                changes.sort_unstable_by(|a, b| b.cmp(a));
                for &(part, expected) in shares {
                    let hottest: usize = changes[..(part * changes.len() as f64) as usize].iter().sum();
                    near(&format!("in {part} of the {what}"), hottest as f64 / all as f64, expected, 0.25);
                }
            }
        }
    }

    #[test]
    fn history_that_is_cut_off_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        sample::begin(dir.path()).unwrap();
        let cut = |_: &mut dyn Write| Err(io::Error::other("cut off"));
        let ended = git_reading(sample::ACTION, dir.path(), ["fast-import", "--quiet"], cut);
        assert!(ended.unwrap_err().to_string().contains("cut off"));
    }

    #[test]
    fn seed_names_the_commits() {
        let dir = tempfile::tempdir().unwrap();
        let last = |name: &str, files, commits, seed| {
            let path = dir.path().join(name);
            make(&path, files, commits, seed).unwrap();
            History::open(&path, Order::FirstParent).unwrap().commit(20).unwrap()
        };
        let one = last("one", 200, 20, 1);
        assert_eq!(one, last("longer", 200, 25, 1), "later commits have no effect");
        assert_ne!(one, last("other", 200, 20, 2));
        assert_ne!(one, last("larger", 201, 20, 1));
        expect_test::expect!["5d6520e62a004306f28f6bdb77de4c62ef2e0674"].assert_eq(&one);
    }
}
