//! The hot files of a tree (Smith & Seltzer 1997, §4): the most recently modified files, read and then overwritten in place,
//! sorted by directory. A user works with these files, and they are the youngest, so they occupy the free space that older files
//! left. This module selects and accesses the files; the caller drops the caches before each phase.

use crate::census::Links;
use crate::incompressible::Incompressible;
use crate::static_layout::Survey;
use crate::transfer::{self, Transfer};
use crate::{Error, Result, file_extents};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, SeekFrom, StatxFlags, openat, seek, statx};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;
use tree::{Entry, walk};

/// Maximum bytes per call, as published.
const UNIT_BYTES: usize = 4 << 20;

const NS_PER_S: f64 = 1e9;

/// The selection of hot files.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HotCriterion {
    /// Files modified within a number of days before a point in time; published with 30 days.
    Days {
        /// The number of days.
        days: f64,
        /// The point in time, in seconds since 1970; default: the newest modification in the tree. Files modified later are not hot.
        now_unix_s: Option<f64>,
    },
    /// The youngest share of all files.
    Youngest {
        /// The share, from 0 to 1; the number of files is rounded up.
        share: f64,
        /// The timestamp that determines the age.
        by: FileTime,
    },
}

/// The timestamp from which the age of a file is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileTime {
    /// Its last modification.
    Modified,
    /// Its birth; its last modification if the file system has no birth time.
    Born,
}

/// Hot files, sorted by directory.
#[derive(Clone, PartialEq, Debug)]
pub struct HotFiles {
    /// Sorted by directory path, then by name.
    hot: Vec<Candidate>,
    all: Sums,
}

/// A file that may be hot.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Candidate {
    /// Its directory, relative to the root of the tree.
    dir: Rc<Path>,
    name: CString,
    size_bytes: u64,
    allocated_bytes: u64,
    /// Nanoseconds since 1970.
    time_ns: i128,
}

/// Totals of a set of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Sums {
    files: u64,
    bytes: u64,
    allocated_bytes: u64,
}

impl Sums {
    fn of(files: &[Candidate]) -> Sums {
        files.iter().fold(Sums::default(), |sums, file| Sums {
            files: sums.files + 1,
            bytes: sums.bytes + file.size_bytes,
            allocated_bytes: sums.allocated_bytes + file.allocated_bytes,
        })
    }
}

/// The on-disk layout of the hot files.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct HotLayout {
    /// Their layout score; `None` if no file has two blocks.
    pub layout_score: Option<f64>,
    /// Their degree of fragmentation; `None` without extents.
    pub degree_of_fragmentation: Option<f64>,
}

impl HotFiles {
    /// Finds the hot files of the tree below `root`. A file with several names counts once, with its first name in scan order.
    pub fn of(root: &Path, criterion: &HotCriterion) -> Result<HotFiles> {
        let by = match criterion {
            HotCriterion::Days { .. } => FileTime::Modified,
            HotCriterion::Youngest { by, .. } => *by,
        };
        let all = candidates(root, by)?;
        Ok(HotFiles { all: Sums::of(&all), hot: hottest(all, criterion) })
    }

    /// Number of hot files.
    pub fn files(&self) -> u64 {
        Sums::of(&self.hot).files
    }

    /// Sum of their sizes in bytes.
    pub fn bytes(&self) -> u64 {
        Sums::of(&self.hot).bytes
    }

    /// Their share of all files; `None` if the tree is empty.
    pub fn share_of_files(&self) -> Option<f64> {
        (self.all.files > 0).then(|| self.files() as f64 / self.all.files as f64)
    }

    /// Their share of the allocated space of all files; `None` if nothing is allocated.
    pub fn share_of_space(&self) -> Option<f64> {
        let hot = Sums::of(&self.hot).allocated_bytes;
        (self.all.allocated_bytes > 0).then(|| hot as f64 / self.all.allocated_bytes as f64)
    }

    /// Their layout below `root`, which may be another root of the same tree. `None` if the file system does not report extents.
    pub fn layout(&self, root: &Path, block_bytes: u64, max_extent_bytes: u64) -> Result<Option<HotLayout>> {
        transfer::make_durable(root)?;
        let mut survey = Survey::new(block_bytes, max_extent_bytes);
        let mut reports_extents = true;
        self.each(root, OFlags::RDONLY, |hot, file, path| {
            match file_extents(&file) {
                Err(Errno::OPNOTSUPP | Errno::NOTTY) => reports_extents = false,
                extents => {
                    let extents = extents.map_err(Error::io("mapping the extents of", path))?;
                    survey.add(hot.size_bytes, &extents);
                }
            }
            Ok(())
        })?;
        let layout = survey.finish(0);
        Ok(reports_extents.then_some(HotLayout {
            layout_score: layout.layout_score,
            degree_of_fragmentation: layout.degree_of_fragmentation,
        }))
    }

    /// Reads them below `root`, directory by directory.
    pub fn read(&self, root: &Path) -> Result<Transfer> {
        let mut unit = vec![0; UNIT_BYTES];
        Transfer::timed(|| {
            let mut bytes = 0;
            self.each(root, OFlags::RDONLY, |hot, mut file, path| {
                bytes += transfer::read(&mut file, hot.size_bytes, &mut unit, path)?;
                Ok(())
            })?;
            Ok(bytes)
        })
    }

    /// Overwrites their data in place, in the same order: the contents are lost, but names, sizes and holes are kept. The measured time
    /// includes the sync.
    pub fn overwrite(&self, root: &Path) -> Result<Transfer> {
        let mut data = Incompressible::new(UNIT_BYTES)?;
        Transfer::timed(|| {
            let mut bytes = 0;
            self.each(root, OFlags::WRONLY, |_, mut file, path| {
                bytes += overwrite(&mut file, &mut data, path)?;
                Ok(())
            })?;
            transfer::make_durable(root)?;
            Ok(bytes)
        })
    }

    /// Opens each file in turn.
    fn each(
        &self,
        root: &Path,
        flags: OFlags,
        mut visit: impl FnMut(&Candidate, File, &Path) -> Result<()>,
    ) -> Result<()> {
        for files in self.hot.chunk_by(|a, b| a.dir == b.dir) {
            let path = root.join(&files[0].dir);
            let dir = open_below(root, &files[0].dir).map_err(Error::io("opening directory", &path))?;
            for hot in files {
                transfer::check_interrupted(root)?;
                let path = path.join(OsStr::from_bytes(hot.name.to_bytes()));
                let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file =
                    openat(&dir, &hot.name, flags, Mode::empty()).map_err(Error::io("opening", &path))?;
                visit(hot, file.into(), &path)?;
            }
        }
        Ok(())
    }
}

/// Opens a directory below `root` component by component, so the path may have any length and no symbolic link is followed.
fn open_below(root: &Path, dir: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, flags, Mode::empty())?;
    dir.iter().try_fold(root, |dir, name| openat(&dir, name, flags | OFlags::NOFOLLOW, Mode::empty()))
}

/// Overwrites the data of a file without filling its holes, and returns the number of bytes.
fn overwrite(file: &mut File, data: &mut Incompressible, path: &Path) -> Result<u64> {
    let failed = |error: std::io::Error| Error::io("overwriting", path)(error);
    let (mut at, mut bytes) = (0, 0);
    loop {
        let begin = match seek(&*file, SeekFrom::Data(at)) {
            // No further data.
            Err(Errno::NXIO) => return Ok(bytes),
            begin => begin.map_err(|error| failed(error.into()))?,
        };
        at = seek(&*file, SeekFrom::Hole(begin)).map_err(|error| failed(error.into()))?;
        seek(&*file, SeekFrom::Start(begin)).map_err(|error| failed(error.into()))?;
        transfer::write(file, at - begin, UNIT_BYTES as u64, data, path)?;
        bytes += at - begin;
    }
}

/// All regular files below `root`.
fn candidates(root: &Path, by: FileTime) -> Result<Vec<Candidate>> {
    let mut links = Links::default();
    let mut dir: Rc<Path> = Path::new("").into();
    let mut all = Vec::new();
    walk(root, |entry| -> Result<()> {
        if entry.file_type != FileType::RegularFile {
            return Ok(());
        }
        let stat = entry.stat()?;
        if !links.first_name(&stat) {
            return Ok(());
        }
        let here = entry.path.parent().unwrap_or(Path::new(""));
        // The files of a directory are mostly adjacent, so they share its path.
        if here != &*dir {
            dir = here.into();
        }
        all.push(Candidate {
            dir: dir.clone(),
            name: entry.name.to_owned(),
            size_bytes: stat.st_size as u64,
            allocated_bytes: stat.st_blocks as u64 * 512,
            time_ns: time_ns(entry, by)?,
        });
        Ok(())
    })?;
    Ok(all)
}

/// The time of modification or birth.
fn time_ns(entry: &Entry, by: FileTime) -> Result<i128> {
    let wanted = StatxFlags::MTIME | StatxFlags::BTIME;
    let stat = statx(entry.dir, entry.name, AtFlags::SYMLINK_NOFOLLOW, wanted)
        .map_err(|errno| entry.error("examining", errno.into()))?;
    let born = by == FileTime::Born && stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    let time = if born { stat.stx_btime } else { stat.stx_mtime };
    Ok(i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec))
}

/// Selects the hot files, sorted by directory and name.
fn hottest(mut all: Vec<Candidate>, criterion: &HotCriterion) -> Vec<Candidate> {
    match *criterion {
        HotCriterion::Days { days, now_unix_s } => {
            let newest = all.iter().map(|file| file.time_ns).max().unwrap_or(0);
            let now = now_unix_s.map_or(newest, |now| (now * NS_PER_S) as i128);
            let begin = now - (days * 86_400.0 * NS_PER_S) as i128;
            all.retain(|file| (begin..=now).contains(&file.time_ns));
        }
        HotCriterion::Youngest { share, .. } => {
            let place = |file: &Candidate| (file.dir.clone(), file.name.clone());
            all.sort_by(|a, b| b.time_ns.cmp(&a.time_ns).then_with(|| place(a).cmp(&place(b))));
            // 0.3 of 10 is 3, although the floating-point product is slightly larger.
            let exact = share * all.len() as f64;
            all.truncate((exact - 1e-9).ceil() as usize);
        }
    }
    all.sort_by(|a, b| (&a.dir, &a.name).cmp(&(&b.dir, &b.name)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::{FileExt, MetadataExt};
    use std::time::{Duration, SystemTime};

    const DAY_NS: i128 = 86_400_000_000_000;

    fn candidate(path: &str, time_ns: i128) -> Candidate {
        let path = Path::new(path);
        let name = CString::new(path.file_name().unwrap().as_bytes()).unwrap();
        Candidate { dir: path.parent().unwrap().into(), name, size_bytes: 1, allocated_bytes: 4096, time_ns }
    }

    fn paths(files: &[Candidate]) -> Vec<String> {
        let path = |file: &Candidate| file.dir.join(file.name.to_str().unwrap());
        files.iter().map(|file| path(file).display().to_string()).collect()
    }

    #[test]
    fn days_count_back_from_newest_or_given_time() {
        let all = [("b/x", 100), ("a/b/y", 71), ("a/z", 70), ("a/a", 69), ("c", 99)];
        let all: Vec<_> = all.map(|(path, day)| candidate(path, day * DAY_NS)).to_vec();
        let hot = |now_unix_s| paths(&hottest(all.clone(), &HotCriterion::Days { days: 30.0, now_unix_s }));
        // Files in the root come first, then the other directories in order.
        assert_eq!(hot(None), ["c", "a/z", "a/b/y", "b/x"]);
        assert_eq!(hot(Some(99.5 * 86_400.0)), ["c", "a/z", "a/b/y"]);
        assert_eq!(hot(Some(1e6 * 86_400.0)), Vec::<String>::new());
        assert_eq!(hottest(Vec::new(), &HotCriterion::Days { days: 30.0, now_unix_s: None }), []);
    }

    #[test]
    fn subdirectories_do_not_split_a_directory() {
        let all: Vec<_> = ["d/a", "d/b/x", "d/c", "d-/q"].map(|path| candidate(path, 0)).to_vec();
        let criterion = HotCriterion::Youngest { share: 1.0, by: FileTime::Modified };
        assert_eq!(paths(&hottest(all, &criterion)), ["d/a", "d/c", "d/b/x", "d-/q"]);
    }

    #[test]
    fn overwrite_keeps_names_sizes_and_holes() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        let holes = File::create(at("holes")).unwrap();
        holes.write_all_at(&[7; 4096], 1 << 20).unwrap();
        holes.set_len(2 << 20).unwrap();
        let old = SystemTime::now() - Duration::from_secs(40 * 86_400);
        for (name, time) in [("old", old), ("new", SystemTime::now()), ("sub/new", SystemTime::now())] {
            std::fs::write(at(name), vec![7; 100_000]).unwrap();
            File::options().write(true).open(at(name)).unwrap().set_modified(time).unwrap();
        }
        std::fs::hard_link(at("new"), at("sub/link")).unwrap();
        let hot = HotFiles::of(dir.path(), &HotCriterion::Days { days: 30.0, now_unix_s: None }).unwrap();
        assert_eq!((hot.files(), hot.bytes()), (3, 200_000 + (2 << 20)));
        assert_eq!(hot.share_of_files(), Some(0.75));
        assert!(hot.share_of_space().unwrap() < 0.9);
        assert_eq!(hot.read(dir.path()).unwrap().bytes, hot.bytes());
        let blocks = std::fs::metadata(at("holes")).unwrap().blocks();
        let written = hot.overwrite(dir.path()).unwrap().bytes;
        assert!((204_096..400_000).contains(&written), "{written}");
        assert_eq!(std::fs::read(at("old")).unwrap(), vec![7; 100_000]);
        for name in ["new", "sub/new"] {
            let now = std::fs::read(at(name)).unwrap();
            assert!(now.len() == 100_000 && now != vec![7; 100_000]);
        }
        assert_eq!(std::fs::metadata(at("holes")).unwrap().len(), 2 << 20);
        assert_eq!(std::fs::metadata(at("holes")).unwrap().blocks(), blocks);
        let gone =
            HotFiles::of(Path::new("/nonexistent"), &HotCriterion::Days { days: 1.0, now_unix_s: None });
        assert!(gone.unwrap_err().to_string().contains("/nonexistent"));
    }

    proptest! {
        #[test]
        fn share_selects_youngest(times in prop::collection::vec(0i128..20, 1..60), share in 0.001f64..=1.0) {
            let all: Vec<_> =
                times.iter().enumerate().map(|(n, time)| candidate(&format!("d{}/f{n}", n % 5), *time)).collect();
            let criterion = HotCriterion::Youngest { share, by: FileTime::Born };
            let hot = hottest(all.clone(), &criterion);
            let files = hot.len() as f64;
            prop_assert!(files >= share * times.len() as f64 - 1e-6 && files < share * times.len() as f64 + 1.0);
            let oldest = hot.iter().map(|file| file.time_ns).min().unwrap();
            prop_assert!(all.iter().all(|file| file.time_ns <= oldest || hot.contains(file)));
            prop_assert!(hot.is_sorted_by(|a, b| (&a.dir, &a.name) < (&b.dir, &b.name)));
        }
    }
}
