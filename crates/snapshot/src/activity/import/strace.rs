//! Parser for the output of strace: `strace -f -ttt -y -o LOG -e trace=…`; also with `-tt` or `-t`, and in
//! terminal format.
//!
//! Paths are used as written, relative to the working directory, without resolving symbolic links. A file is
//! new if `O_CREAT` opens it and no earlier call opened it without. Sizes start at 0 and follow writes,
//! `ftruncate` and similar calls; writes through mapped memory are invisible, but cannot extend a file.

mod syntax;

use super::{Importer, Zone, local, milliseconds};
use crate::activity::{Collected, Collector, DAY_MS, FileNo};
use std::collections::{BTreeMap, HashMap, HashSet};
use syntax::{Arg, Call, Returned};

/// A path from the root, or from an unknown working directory.
type Path = Vec<u8>;

pub(super) struct Strace<'z> {
    zone: Zone<'z>,
    /// The day for times without a date, and the previous time.
    day: i64,
    before_ms: i64,
    /// The first halves of calls that other processes interrupted in the log, by process.
    unfinished: HashMap<u64, Vec<u8>>,
    /// The process that is about to fork.
    forking: Option<u64>,
    working_dirs: HashMap<u64, Path>,
    /// Created files by name.
    names: BTreeMap<Path, FileNo>,
    /// Created files by the path that the kernel reports for their descriptors, if it differs.
    real: HashMap<Path, FileNo>,
    /// Names of files that existed before.
    old: HashSet<Path>,
    /// The offset of the next write of each descriptor; `None` if it appends.
    offsets: HashMap<(u64, FileNo), Option<u64>>,
    seen: Collector<Path>,
}

impl<'z> Strace<'z> {
    pub fn new(zone: Zone<'z>) -> Strace<'z> {
        Strace {
            zone,
            day: 0,
            before_ms: 0,
            unfinished: HashMap::new(),
            forking: None,
            working_dirs: HashMap::new(),
            names: BTreeMap::new(),
            real: HashMap::new(),
            old: HashSet::new(),
            offsets: HashMap::new(),
            seen: Collector::new(),
        }
    }

    /// Local milliseconds of a strace time: since 1970, or within an unknown day.
    fn time(&mut self, text: &str) -> Option<i64> {
        let Some((hours, rest)) = text.split_once(':') else {
            return Some(local(milliseconds(text)?, self.zone));
        };
        let (minutes, seconds) = rest.split_once(':')?;
        let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
        let ms = i64::from(hours) * 3_600_000 + i64::from(minutes) * 60_000 + milliseconds(seconds)?;
        if ms >= i64::from(DAY_MS) {
            return None;
        }
        if ms < self.before_ms - i64::from(DAY_MS) / 2 {
            self.day += 1;
        }
        self.before_ms = ms;
        Some(self.day * i64::from(DAY_MS) + ms)
    }

    /// Processes a successful call.
    fn done(&mut self, at_ms: i64, pid: u64, call: &Call<'_>) -> Result<(), String> {
        let args = &call.args;
        for path in args.iter().filter_map(Arg::working_dir) {
            self.working_dirs.insert(pid, path);
        }
        match call.name {
            "open" | "creat" => self.opened(at_ms, pid, None, args, call)?,
            "openat" | "openat2" => {
                self.opened(at_ms, pid, args.first(), args.get(1..).unwrap_or(&[]), call)?
            }
            "mknod" => self.special(at_ms, pid, None, args)?,
            "mknodat" => self.special(at_ms, pid, args.first(), args.get(1..).unwrap_or(&[]))?,
            "unlink" => {
                let path = self.path(pid, None, args.first())?;
                self.unlinked(at_ms, &path);
            }
            "unlinkat" if !args.get(2).is_some_and(|flags| flags.has("AT_REMOVEDIR")) => {
                let path = self.path(pid, args.first(), args.get(1))?;
                self.unlinked(at_ms, &path);
            }
            "rename" => self.renamed(at_ms, pid, [None, args.first(), None, args.get(1)], None)?,
            "renameat" | "renameat2" => {
                let paths = [args.first(), args.get(1), args.get(2), args.get(3)];
                self.renamed(at_ms, pid, paths, args.get(4))?;
            }
            "link" => self.linked(pid, [None, args.first(), None, args.get(1)])?,
            "linkat" => self.linked(pid, [args.first(), args.get(1), args.get(2), args.get(3)])?,
            "truncate" => {
                let path = self.path(pid, None, args.first())?;
                if let (Some(file), Some(size)) = (self.names.get(&path), args.get(1).and_then(Arg::number)) {
                    self.seen.sized(*file, size);
                }
            }
            "chdir" => {
                let path = self.path(pid, None, args.first())?;
                self.working_dirs.insert(pid, path);
            }
            "fchdir" => {
                if let Some(path) = args.first().and_then(Arg::descriptor_path) {
                    self.working_dirs.insert(pid, path);
                }
            }
            "clone" | "clone3" | "fork" | "vfork" => {
                let dir = self.working_dirs.get(&pid).cloned().unwrap_or_default();
                self.working_dirs.entry(call.returned.number).or_insert(dir);
            }
            _ => self.written(call),
        }
        Ok(())
    }

    fn opened(
        &mut self,
        at_ms: i64,
        pid: u64,
        dir: Option<&Arg<'_>>,
        args: &[Arg<'_>],
        call: &Call<'_>,
    ) -> Result<(), String> {
        let path = self.path(pid, dir, args.first())?;
        let flag = |name: &str| args.get(1).is_some_and(|flags| flags.has(name));
        let creates = call.name == "creat" || flag("O_CREAT");
        if flag("O_TMPFILE") || flag("O_DIRECTORY") {
            return Ok(());
        }
        if !creates {
            if !self.names.contains_key(&path) {
                self.old.insert(path);
            }
            return Ok(());
        }
        let Some(real) = &call.returned.path else {
            return Err("its descriptor has no path; run strace with -y".to_owned());
        };
        let file = match self.names.get(&path) {
            Some(file) => *file,
            None if self.old.contains(&path) && !flag("O_EXCL") => return Ok(()),
            None => self.created(at_ms, path.clone()),
        };
        if *real != path {
            self.real.insert(real.clone(), file);
        }
        if call.name == "creat" || flag("O_TRUNC") {
            self.seen.sized(file, 0);
        }
        let offset = if flag("O_APPEND") { None } else { Some(0) };
        self.offsets.insert((call.returned.number, file), offset);
        Ok(())
    }

    fn created(&mut self, at_ms: i64, path: Path) -> FileNo {
        let dir = path.iter().rposition(|byte| *byte == b'/').map_or(&[][..], |end| &path[..end]);
        let file = self.seen.created(at_ms, dir.to_vec());
        self.names.insert(path, file);
        file
    }

    fn special(
        &mut self,
        at_ms: i64,
        pid: u64,
        dir: Option<&Arg<'_>>,
        args: &[Arg<'_>],
    ) -> Result<(), String> {
        if args.get(1).is_some_and(|mode| mode.has("S_IFREG")) {
            let path = self.path(pid, dir, args.first())?;
            self.created(at_ms, path);
        }
        Ok(())
    }

    fn unlinked(&mut self, at_ms: i64, path: &Path) {
        self.old.remove(path);
        if let Some(file) = self.names.remove(path) {
            self.seen.unlinked(at_ms, file);
        }
    }

    fn linked(
        &mut self,
        pid: u64,
        [from_dir, from, to_dir, to]: [Option<&Arg<'_>>; 4],
    ) -> Result<(), String> {
        let (from, to) = (self.path(pid, from_dir, from)?, self.path(pid, to_dir, to)?);
        if let Some(file) = self.names.get(&from).copied() {
            self.seen.linked(file);
            self.names.insert(to, file);
        }
        Ok(())
    }

    fn renamed(
        &mut self,
        at_ms: i64,
        pid: u64,
        [from_dir, from, to_dir, to]: [Option<&Arg<'_>>; 4],
        flags: Option<&Arg<'_>>,
    ) -> Result<(), String> {
        let (from, to) = (self.path(pid, from_dir, from)?, self.path(pid, to_dir, to)?);
        if from == to {
            return Ok(());
        }
        let moved = self.take(&from);
        if flags.is_some_and(|flags| flags.has("RENAME_EXCHANGE")) {
            let back = self.take(&to);
            self.put(&from, back);
        } else {
            // The rename replaces the old entry; a replaced directory can only be empty.
            self.unlinked(at_ms, &to);
            if self.old.remove(&from) {
                self.old.insert(to.clone());
            }
        }
        self.put(&to, moved);
        Ok(())
    }

    /// Removes the file of that name, or the files below that directory, and returns them with the rest of
    /// their names.
    fn take(&mut self, path: &Path) -> Vec<(Path, FileNo)> {
        let below = [&path[..], b"/"].concat();
        let inside = self.names.range(below.clone()..).take_while(|(name, _)| name.starts_with(&below));
        let mut names: Vec<Path> = inside.map(|(name, _)| name.clone()).collect();
        names.push(path.clone());
        let taken = names.into_iter().filter_map(|name| {
            let file = self.names.remove(&name)?;
            Some((name[path.len()..].to_vec(), file))
        });
        taken.collect()
    }

    fn put(&mut self, path: &Path, files: Vec<(Path, FileNo)>) {
        self.names.extend(files.into_iter().map(|(rest, file)| ([&path[..], &rest[..]].concat(), file)));
    }

    /// Applies the effect of a call on a descriptor to the file size.
    fn written(&mut self, call: &Call<'_>) {
        // The third argument is the written descriptor if the data comes from a file.
        let place = if matches!(call.name, "copy_file_range" | "splice") { 2 } else { 0 };
        let Some(arg) = call.args.get(place) else { return };
        let Some((descriptor, path)) = arg.number().zip(arg.descriptor_path()) else { return };
        let Some(file) = self.names.get(&path).or_else(|| self.real.get(&path)).copied() else { return };
        let number = |place: usize| call.args.get(place).and_then(Arg::number);
        let size = self.seen.size(file);
        let moved = call.returned.number;
        let end = match call.name {
            "ftruncate" => return self.seen.sized(file, number(1).unwrap_or(size)),
            "fallocate" if call.args.get(1).is_some_and(|mode| mode.text() == b"0") => {
                number(2).zip(number(3)).and_then(|(offset, length)| offset.checked_add(length))
            }
            "pwrite64" | "pwritev" | "pwritev2" => number(3).and_then(|offset| offset.checked_add(moved)),
            "lseek" => {
                if let Some(Some(offset)) = self.offsets.get_mut(&(descriptor, file)) {
                    *offset = moved;
                }
                None
            }
            "write" | "writev" | "sendfile" | "copy_file_range" | "splice" => {
                let offset = self.offsets.entry((descriptor, file)).or_insert(Some(size));
                let end = offset.unwrap_or(size).checked_add(moved);
                if offset.is_some() {
                    *offset = end;
                }
                end
            }
            _ => None,
        };
        if let Some(end) = end.filter(|end| *end > size) {
            self.seen.sized(file, end);
        }
    }

    /// The path of `name` in the directory `dir`, or in the working directory of the process.
    fn path(&self, pid: u64, dir: Option<&Arg<'_>>, name: Option<&Arg<'_>>) -> Result<Path, String> {
        let name = name.and_then(Arg::string).ok_or("an expected path is missing")?;
        if name.starts_with(b"/") {
            return Ok(normal(&name));
        }
        let base = match dir.and_then(Arg::descriptor_path) {
            Some(path) => path,
            None => self.working_dirs.get(&pid).cloned().unwrap_or_default(),
        };
        Ok(normal(&[&base[..], b"/", &name[..]].concat()))
    }
}

/// Normalizes a path: removes `.`, `..` and empty components.
fn normal(path: &[u8]) -> Path {
    let mut names: Vec<&[u8]> = Vec::new();
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names.iter().flat_map(|name| [&b"/"[..], *name]).flatten().copied().collect()
}

impl Importer for Strace<'_> {
    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        if line.trim_ascii().is_empty() || line.starts_with(b"strace: ") {
            return Ok(());
        }
        let (pid, time, rest) =
            syntax::head(line).ok_or("it does not begin with a time; run strace with -f -ttt -y")?;
        let at_ms =
            self.time(time).ok_or_else(|| format!("{time:?} is not a time; run strace with -f -ttt -y"))?;
        // Signals and process exits.
        if rest.starts_with(b"---") || rest.starts_with(b"+++") {
            return Ok(());
        }
        let text = if let Some(end) = syntax::resumed(rest) {
            // The first half of a call that started before the log is missing.
            let Some(mut begin) = self.unfinished.remove(&pid) else { return Ok(()) };
            begin.extend_from_slice(end);
            begin
        } else if let Some(begin) = syntax::unfinished(rest) {
            if syntax::forks(begin) {
                self.forking = Some(pid);
            }
            self.unfinished.insert(pid, begin.to_vec());
            return Ok(());
        } else {
            rest.to_vec()
        };
        if !self.working_dirs.contains_key(&pid)
            && let Some(parent) = self.forking.and_then(|parent| self.working_dirs.get(&parent).cloned())
        {
            self.working_dirs.insert(pid, parent);
        }
        match syntax::call(&text)? {
            Some(call @ Call { returned: Returned { failed: false, .. }, .. }) => {
                self.done(at_ms, pid, &call)
            }
            _ => Ok(()),
        }
    }

    fn finish(self: Box<Self>) -> Collected {
        self.seen.finish()
    }
}

#[cfg(test)]
mod tests {
    use crate::activity::Format::Strace;
    use crate::activity::import::testing::{damaged, files, read};
    use proptest::prelude::*;

    const LOG: &str = r#"10    100.000000 execve("/bin/sh", ["sh", "-c", "a, (b"], 0x7ffd /* 20 vars */) = 0
10    100.000100 openat(AT_FDCWD</w>, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3</etc/ld.so.cache>
10    100.100000 openat(AT_FDCWD</w>, "a \"x\", 1", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</w/a "x", 1>
10    100.200000 write(3</w/a "x", 1>, "hello, \"(\n"..., 5000) = 5000
10    100.250000 openat(AT_FDCWD</w>, "stays", O_WRONLY|O_CREAT, 0666) = 4</w/stays>
10    100.300000 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD <unfinished ...>
11    100.310000 unlink("a \"x\", 1" <unfinished ...>
10    100.320000 <... clone resumed>, child_tidptr=0x7f) = 11
11    100.330000 <... unlink resumed>)  = 0
11    100.340000 --- SIGCHLD {si_signo=SIGCHLD, si_pid=12} ---
11    100.350000 creat("/w/sub/b", 0644) = 5</w/sub/b>
11    100.360000 pwrite64(5</w/sub/b>, "x", 1, 99) = 1
11    100.370000 open("/w/sub/c", O_WRONLY|O_CREAT|O_APPEND, 0644) = 6</w/sub/c>
11    100.371000 write(6</w/sub/c>, "xy", 2) = 2
11    100.372000 ftruncate(6</w/sub/c>, 50) = 0
11    100.373000 write(6</w/sub/c>, "xy", 2) = 2
11    100.380000 rename("/w/sub", "/w/moved") = 0
11    100.390000 unlinkat(AT_FDCWD</w>, "gone", 0) = -1 ENOENT (No such file or directory)
11    100.400000 rename("moved/c", "moved/b") = 0
11    100.500000 unlinkat(7</w/moved>, "b", 0) = 0
11    100.600000 openat(AT_FDCWD</w>, "/etc/old", O_RDONLY) = 8</etc/old>
11    100.610000 openat(AT_FDCWD</w>, "/etc/old", O_RDWR|O_CREAT, 0600) = 8</etc/old>
11    100.620000 unlink("/etc/old") = 0
11    100.700000 exit_group(0)       = ?
11    100.700000 +++ exited with 0 +++
"#;

    #[test]
    fn files_are_tracked_across_processes_and_renames() {
        let expected =
            [vec![(100_100, 100_330, 5000)], vec![(100_350, 100_400, 100), (100_370, 100_500, 52)]];
        assert_eq!(files(Strace, LOG), expected);
    }

    #[test]
    fn times_without_date_cross_midnight() {
        let log = "[pid  7] 23:59:59.900000 creat(\"/a\", 0644) = 3</a>\n\
            [pid  7] 00:00:00.100000 creat(\"/b\", 0644) = 4</b>\n\
            [pid  7] 00:00:00.200000 unlink(\"/a\") = 0\n\
            [pid  7] 00:00:01 unlink(\"/b\") = 0\n";
        assert_eq!(files(Strace, log), [vec![(100, 1000, 0)]]);
    }

    #[test]
    fn logs_without_times_or_paths_are_rejected_with_remedy() {
        for (log, expected) in [
            ("creat(\"/a\", 0644) = 3\n", "-ttt"),
            ("25:00:00 creat(\"/a\", 0644) = 3</a>\n", "-ttt"),
            ("1.0 creat(\"/a\", 0644) = 3\n", "-y"),
            ("1.0 creat(\"/a, 0644) = 3</a>\n", "ends within"),
            ("1.0 unlink(0x7f) = 0\n", "an expected path is missing"),
        ] {
            let error = read(Strace, log.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("line 1") && error.contains(expected), "{error}");
        }
    }

    #[test]
    fn unterminated_last_line_is_ignored() {
        let imported = read(Strace, b"1.0 creat(\"/a\", 0644) = 3</a>\n2.0 unlink(\"/").unwrap();
        assert_eq!((imported.lines, imported.incomplete_lines, imported.collected.created), (1, 1, 1));
    }

    proptest! {
        #[test]
        fn damaged_log_is_read_or_rejected(
            edits in prop::collection::vec(any::<(usize, u8)>(), 0..4),
            cut in prop_oneof![Just(0), any::<usize>()],
        ) {
            damaged(Strace, LOG, &edits, cut);
        }
    }
}
