//! The files of the sample repository and the edits of its developers.

use std::collections::BTreeMap;

use super::sample::{Change, PathContent};
use crate::random::Random;

const FILE: &str = "100644";
const PROGRAM: &str = "100755";
const LINK: &str = "120000";
const SUBMODULE: &str = "160000";

/// Attributes that would change the bytes on checkout unless git is told to ignore them.
const ATTRIBUTES: &[u8] = b"*.crlf text eol=crlf\n*.lf text eol=lf\n*.id ident\n*.filtered filter=none\n\
    *.utf16 text working-tree-encoding=UTF-16LE eol=crlf\n";

/// Words for lines and names.
const WORDS: [&str; 24] = [
    "index", "parse", "buffer", "tree", "token", "match", "search", "walk", "line", "path", "error", "print",
    "state", "cache", "range", "split", "merge", "lock", "node", "table", "filter", "group", "writer",
    "reader",
];

/// A working tree with the changes since the last commit.
pub(super) struct SampleTree {
    files: BTreeMap<Vec<u8>, PathContent>,
    changes: BTreeMap<Vec<u8>, Option<PathContent>>,
    names: u64,
}

impl SampleTree {
    /// The start of the project, with `files` source files.
    pub fn new(files: u64, random: &mut Random) -> Self {
        let mut tree = Self { files: BTreeMap::new(), changes: BTreeMap::new(), names: 0 };
        tree.put(b"README.md".to_vec(), FILE, text(40, random));
        tree.put(b"build.sh".to_vec(), PROGRAM, text(8, random));
        tree.put(b".gitattributes".to_vec(), FILE, ATTRIBUTES.to_vec());
        tree.write_attributed(1);
        for _ in 0..files {
            tree.add(random);
        }
        tree
    }

    /// Takes the changes since the last call.
    pub fn take_changes(&mut self) -> Vec<Change> {
        let changes = std::mem::take(&mut self.changes);
        // Removals first: a file that becomes a directory blocks the paths below it.
        let (gone, made): (Vec<_>, Vec<_>) = changes.into_iter().partition(|(_, to)| to.is_none());
        gone.into_iter().chain(made).map(|(path, to)| Change { path, to }).collect()
    }

    /// Makes the changes of commit number `number`.
    pub fn develop(&mut self, number: u64, random: &mut Random) {
        self.edit(random);
        match number % 16 {
            1 => self.rename_directory(random),
            2 => self.put(
                b"tools/run me".to_vec(),
                if number % 32 < 16 { FILE } else { PROGRAM },
                text(5, random),
            ),
            3 => self.link(number, random),
            4 if self.files.contains_key(&b"vendor/library"[..]) => self.remove(b"vendor/library"),
            4 => self.put_made(b"vendor/library".to_vec(), submodule(random)),
            5 => self.file_or_directory(random),
            6 => self.put("docs/Übersicht – 目録.md".into(), FILE, text(20, random)),
            7 => self.put(b"docs/two\nlines \"quoted\" \\ tab\t.txt".to_vec(), FILE, text(3, random)),
            9 => self.remove(b"docs/two\nlines \"quoted\" \\ tab\t.txt"),
            10 => self.put(
                format!("assets/{number}.bin").into(),
                FILE,
                noise(1 + random.below(200_000), random),
            ),
            11 => self.put(format!("empty/{number}").into(), FILE, Vec::new()),
            // A submodule becomes a directory of files, and vice versa.
            12 if self.files.contains_key(&b"parts/core"[..]) => {
                self.remove(b"parts/core");
                self.put(b"parts/core/a.rs".to_vec(), FILE, text(30, random));
            }
            12 => {
                self.remove(b"parts/core/a.rs");
                self.put_made(b"parts/core".to_vec(), submodule(random));
            }
            13 => self.delete(random),
            14 => self.write_attributed(number),
            _ => {}
        }
    }

    /// Writes files whose attributes request other bytes on disk than those of the commit.
    fn write_attributed(&mut self, number: u64) {
        let lines = format!("$Id$ {number}\r\nends like this\nand like that\r\n");
        for name in ["crlf", "lf", "id", "filtered", "utf16"] {
            self.put(format!("attributed/lines.{name}").into(), FILE, lines.clone().into());
        }
    }

    /// Changes some lines of some files; occasionally adds, removes or renames one.
    pub fn edit(&mut self, random: &mut Random) {
        for _ in 0..=random.below(5) {
            match random.below(20) {
                0..3 => self.add(random),
                3 => self.delete(random),
                4 => self.rename(random),
                _ => self.change_lines(random),
            }
        }
    }

    /// A change that does not conflict with the main line: a new file.
    pub fn edit_beside(&mut self, random: &mut Random) -> Vec<Change> {
        let before = std::mem::take(&mut self.changes);
        let path = format!("features/{}", self.name(random));
        self.put(path.into(), FILE, text(10 + random.below(200), random));
        let side = self.take_changes();
        self.changes = before;
        side
    }

    fn add(&mut self, random: &mut Random) {
        let dirs = ["src", "src/core", "src/core/deep", "src/ui", "tests", "tests/data", "docs", ""];
        let (dir, name) = (dirs[random.below(dirs.len())], self.name(random));
        let path = if dir.is_empty() { name } else { format!("{dir}/{name}") };
        // Half of all source files are short, some are ten times as long.
        let scale = random.below(6);
        let lines = 10 + random.below(20 << scale);
        self.put(path.into(), FILE, text(lines, random));
    }

    fn delete(&mut self, random: &mut Random) {
        if let Some(path) = self.pick(random) {
            self.remove(&path);
        }
    }

    fn rename(&mut self, random: &mut Random) {
        let name = self.name(random);
        if let Some((path, made)) = self.pick(random).and_then(|path| self.files.remove_entry(&path)) {
            let dir = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
            let to = [&path[..dir], name.as_bytes()].concat();
            self.changes.insert(path, None);
            self.put_made(to, made);
        }
    }

    fn change_lines(&mut self, random: &mut Random) {
        let Some(path) = self.pick(random) else { return };
        let PathContent { mode, bytes, .. } = &self.files[&path];
        let mut lines: Vec<Vec<u8>> =
            bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        for _ in 0..=random.below(4) {
            let at = random.below(lines.len() + 1);
            match lines.get_mut(at) {
                Some(there) if random.coin() => *there = text(1, random),
                _ => lines.insert(at, text(1 + random.below(4), random)),
            }
        }
        let mode = *mode;
        self.put(path, mode, lines.concat());
    }

    /// Moves all of `src/core`, and moves it back the next time.
    fn rename_directory(&mut self, random: &mut Random) {
        let there = self.files.keys().any(|path| path.starts_with(b"src/core/"));
        let (from, to) = if there { ("src/core/", "lib/") } else { ("lib/", "src/core/") };
        let paths: Vec<Vec<u8>> =
            self.files.keys().filter(|path| path.starts_with(from.as_bytes())).cloned().collect();
        for path in paths {
            let made = self.files.remove(&path).expect("the path was just found");
            let moved = [to.as_bytes(), &path[from.len()..]].concat();
            self.changes.insert(path, None);
            self.put_made(moved, made);
        }
        self.change_lines(random);
    }

    fn link(&mut self, number: u64, random: &mut Random) {
        let target = self.pick(random).unwrap_or_else(|| b"README.md".to_vec());
        let made = PathContent { mode: LINK, inline: true, bytes: target };
        self.put_made(b"latest".to_vec(), made.clone());
        self.put_made(format!("docs/link{}", number % 64).into(), made);
    }

    /// Makes `config` a file, then a directory, then a symbolic link, and so on.
    fn file_or_directory(&mut self, random: &mut Random) {
        let kind = self.files.get(&b"config"[..]).map(|made| made.mode);
        match kind {
            Some(FILE) => {
                self.remove(b"config");
                for name in ["config/a", "config/b/c", "config/b/d"] {
                    self.put(name.into(), FILE, text(4, random));
                }
            }
            Some(_) => self.put(b"config".to_vec(), FILE, text(9, random)),
            None => {
                for name in ["config/a", "config/b/c", "config/b/d"] {
                    self.remove(name.as_bytes());
                }
                let made = PathContent { mode: LINK, inline: true, bytes: b"README.md".to_vec() };
                self.put_made(b"config".to_vec(), made);
            }
        }
    }

    /// An existing source file.
    fn pick(&self, random: &mut Random) -> Option<Vec<u8>> {
        let sources: Vec<&Vec<u8>> = self
            .files
            .iter()
            .filter(|(path, made)| made.mode == FILE && path.ends_with(b".rs"))
            .map(|(path, _)| path)
            .collect();
        (!sources.is_empty()).then(|| sources[random.below(sources.len())].clone())
    }

    /// A new, unique name.
    fn name(&mut self, random: &mut Random) -> String {
        self.names += 1;
        format!("{}_{}{}.rs", WORDS[random.below(WORDS.len())], WORDS[random.below(WORDS.len())], self.names)
    }

    fn put(&mut self, path: Vec<u8>, mode: &'static str, bytes: Vec<u8>) {
        self.put_made(path, PathContent { mode, inline: true, bytes });
    }

    fn put_made(&mut self, path: Vec<u8>, made: PathContent) {
        self.changes.insert(path.clone(), Some(made.clone()));
        self.files.insert(path, made);
    }

    fn remove(&mut self, path: &[u8]) {
        if self.files.remove(path).is_some() {
            self.changes.insert(path.to_vec(), None);
        }
    }
}

fn submodule(random: &mut Random) -> PathContent {
    let digits = (0..40).map(|_| b"0123456789abcdef"[random.below(16)]).collect();
    PathContent { mode: SUBMODULE, inline: false, bytes: digits }
}

/// Random lines.
pub(super) fn text(lines: usize, random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..lines {
        for _ in 0..=random.below(10) {
            text.extend(WORDS[random.below(WORDS.len())].bytes());
            text.push(b' ');
        }
        text.push(b'\n');
    }
    text
}

fn noise(len: usize, random: &mut Random) -> Vec<u8> {
    (0..len).map(|_| random.below(256) as u8).collect()
}
