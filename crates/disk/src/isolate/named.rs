//! The paths that this process was told: by its command line, its environment, and the files that those name.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where programs and their settings lie.
const SYSTEM: [&str; 11] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix", "/gnu", "/snap"];

/// Directories that are used without being told.
const USUAL: [&str; 7] = ["/dev/shm", "/proc", "/sys/fs/cgroup", "/run", "/tmp", "/var/tmp", "/var/lib"];

/// Variables that tell of what was before.
const PAST: [&str; 2] = ["OLDPWD", "_"];

/// Of a larger file no path is expected.
const TEXT_BYTES: u64 = 1 << 20;

/// What may hold a path, from which a directory can be told to be needed.
pub struct Named {
    /// Texts that may name it.
    texts: Vec<Vec<u8>>,
    /// Paths without symbolic links; what is mounted above them is needed.
    paths: BTreeSet<PathBuf>,
    /// Those of which also what is mounted below them is needed.
    trees: BTreeSet<PathBuf>,
}

impl Named {
    /// Looks at what this process was told.
    pub fn find() -> Named {
        let usual = USUAL.iter().map(PathBuf::from);
        let own = [std::env::current_exe(), std::env::current_dir()].into_iter().flatten();
        let mut named = Named::of(std::env::args_os().skip(1), std::env::vars_os());
        named.paths.extend(usual.chain(own).chain([std::env::temp_dir()]).map(|path| real(&path)));
        named.trees.insert(real(&crate::run_dir()));
        named
    }

    fn of(args: impl Iterator<Item = OsString>, vars: impl Iterator<Item = (OsString, OsString)>) -> Named {
        let mut named = Named { texts: Vec::new(), paths: BTreeSet::new(), trees: BTreeSet::new() };
        for arg in args {
            for path in paths_in(&arg) {
                let path = real(&path);
                named.read(&path);
                named.trees.insert(path);
            }
            named.texts.push(arg.into_encoded_bytes());
        }
        for (name, value) in vars.filter(|(name, _)| !PAST.iter().any(|past| name == past)) {
            let is_ours = name.as_bytes().starts_with(b"SENESCE_");
            let paths = paths_in(&value).into_iter().filter(|path| is_ours || path.has_root());
            if is_ours {
                named.trees.extend(paths.map(|path| real(&path)))
            } else {
                named.paths.extend(paths.map(|path| real(&path)))
            }
            named.texts.push(value.into_encoded_bytes());
        }
        // All lies below the root, which says nothing.
        named.trees.remove(Path::new("/"));
        named
    }

    /// A file of settings may name paths, and so may a repository.
    fn read(&mut self, path: &Path) {
        let texts = [
            path.to_owned(),
            path.join(".git"),
            path.join(".git/objects/info/alternates"),
            path.join("objects/info/alternates"),
        ];
        for text in texts {
            if std::fs::metadata(&text).is_ok_and(|data| data.is_file() && data.len() <= TEXT_BYTES) {
                self.texts.extend(std::fs::read(&text));
            }
        }
    }

    /// Whether what is mounted on `dir` may be needed.
    pub fn needs(&self, dir: &Path) -> bool {
        let text = dir.as_os_str().as_bytes();
        SYSTEM.iter().any(|system| dir.starts_with(system))
            || self.paths.iter().chain(&self.trees).any(|path| path.starts_with(dir))
            || self.trees.iter().any(|tree| dir.starts_with(tree))
            || self.texts.iter().any(|told| told.windows(text.len()).any(|part| part == text))
    }
}

/// The paths that a word may be, or have in it, as in `--work=DIR`, `git:DIR` and `DIR:DIR`.
fn paths_in(word: &OsStr) -> Vec<PathBuf> {
    let bytes = word.as_bytes();
    let separates = |byte: &u8| matches!(byte, b'=' | b':' | b',' | b'@');
    let ends = bytes.iter().enumerate().filter(|(_, byte)| separates(byte)).map(|(at, _)| at);
    let begins = || std::iter::once(0).chain(ends.clone().map(|at| at + 1));
    let to_the_end = begins().map(|begin| &bytes[begin..]);
    let paths = to_the_end.chain(bytes.split(separates)).filter(|path| !path.is_empty());
    let paths: BTreeSet<PathBuf> = paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect();
    paths.into_iter().collect()
}

/// The path without symbolic links; what of it is not there yet stays as it is.
fn real(path: &Path) -> PathBuf {
    let Ok(path) = std::path::absolute(path) else { return path.to_owned() };
    let found = path.ancestors().find_map(|there| Some((there, std::fs::canonicalize(there).ok()?)));
    let Some((there, mut real)) = found else { return path };
    // Not at once: an empty rest would add a slash, and a file has none behind it.
    real.extend(path.strip_prefix(there).expect("it is an ancestor"));
    real
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(args: &[&str], vars: &[(&str, &str)]) -> Named {
        let vars = vars.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Named::of(args.iter().map(OsString::from), vars)
    }

    #[test]
    fn what_is_named_in_any_way_is_needed() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (disk, link, settings) = (dir.join("a disk"), dir.join("link"), dir.join("settings.toml"));
        std::fs::create_dir_all(disk.join("repo/objects/info")).unwrap();
        std::os::unix::fs::symlink(&disk, &link).unwrap();
        std::fs::write(&settings, "repository = \"/mnt/far/repo\"\n").unwrap();
        std::fs::write(disk.join("repo/objects/info/alternates"), "/mnt/lender/repo/objects\n").unwrap();
        let needs = |word: &str, dir: &Path| named(&[word], &[]).needs(dir);
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        assert!(needs(&text(&disk), &disk) && needs(&text(&disk.join("not/there/yet")), &disk));
        assert!(needs(&format!("--work={}", text(&link.join("work"))), &disk));
        assert!(needs(&format!("git:{},ro", text(&link)), &disk));
        assert!(needs(&text(&dir), &disk), "what is mounted below may be walked");
        assert!(needs(&text(&settings), Path::new("/mnt/far")));
        assert!(needs(&text(&link.join("repo")), Path::new("/mnt/lender")));
        assert!(!needs(&text(&settings), &disk) && !needs("/", &disk) && !needs("age", &disk));
        assert!(needs("age", Path::new("/usr/share")));
        let told = |name: &str, value: &str| named(&[], &[(name, value)]).needs(&disk);
        assert!(told("HOME", &text(&link)) && told("PATH", &format!("/bin:{}", text(&link.join("bin")))));
        assert!(told("SENESCE_IMAGES", &text(&dir)) && !told("HOME", &text(&dir)));
        assert!(!told("OLDPWD", &text(&disk)) && !told("TERM", "xterm"));
    }

    proptest! {
        #[test]
        fn an_absolute_path_is_found_in_any_word(before in "[a-z=:,@/]{0,9}", after in "[a-z=:,@/ ]{0,9}", dir in "/[a-z ,=:@]{1,9}") {
            let word = format!("{before}{dir}{after}");
            prop_assert!(named(&[&word], &[]).needs(Path::new(&dir)), "{}", word);
        }

        #[test]
        fn any_word_is_survived(word in prop::collection::vec(1u8..=255, 0..40)) {
            let word = OsString::from(OsStr::from_bytes(&word));
            Named::of([word].into_iter(), std::iter::empty()).needs(Path::new("/mnt/a"));
        }
    }
}
