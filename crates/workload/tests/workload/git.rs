//! Git histories: unusable repositories are rejected with one-line errors, the source repository stays
//! unchanged, and no process is left behind.

mod live;

use std::fs;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use senesce_workload::git::{ExtractOptions, Extracted, Gc, Git, History, Live, LiveOptions, Order, sample};
use senesce_workload::micro::Shape;
use senesce_workload::{Error, Workload as _};
use tempfile::TempDir;
use trace::{Op, Source, ValidatingSource};

fn sample_repository(commits: u64, seed: u64) -> TempDir {
    let dir = testing::dir_in_memory();
    sample::make(dir.path(), commits, seed).unwrap();
    dir
}

fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "safe.directory=*", "-c", "protocol.file.allow=always", "-c", "user.name=a"]);
    command.args(["-c", "user.email=a@a"]).args(args).current_dir(dir).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// All operations of a history, each checked to be valid.
fn extract(history: &History, options: ExtractOptions) -> Result<Vec<Op>, String> {
    let mut source =
        ValidatingSource::new(Extracted::new(history, options).map_err(|error| error.to_string())?);
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.next_batch(&mut batch).map_err(|error| error.to_string())?;
        if batch.is_empty() {
            return Ok(all);
        }
        all.append(&mut batch);
    }
}

fn open_error(path: &Path) -> String {
    let error = History::open(path, Order::FirstParent).err().expect("opening fails").to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn sample_depends_only_on_seed() {
    let head = |seed| {
        let repository = sample_repository(40, seed);
        assert_eq!(git(repository.path(), &["rev-list", "--count", "--all"]).trim(), "40");
        git(repository.path(), &["fsck", "--full", "--strict"]);
        git(repository.path(), &["rev-parse", "HEAD"])
    };
    assert_eq!(head(1), head(1));
    assert_ne!(head(1), head(2));
}

#[test]
fn sample_covers_hard_checkout_cases() {
    let repository = sample_repository(200, 1);
    let log = git(repository.path(), &["log", "-m", "--first-parent", "--raw", "-M", "--format=%p"]);
    for (what, shown) in [
        ("a rename", " R"),
        ("a new mode", ":100644 100755"),
        ("a symbolic link", ":000000 120000"),
        ("a link that becomes a file", ":120000 100644"),
        ("a submodule", ":000000 160000"),
        ("a deletion", ":100644 000000"),
        ("attributes", "\t.gitattributes"),
        ("a file that has attributes", "\tattributed/lines.crlf"),
        ("a name beyond ASCII", "\"docs/\\303\\234"),
        ("a name with a newline", "docs/two\\nlines"),
        ("a directory in place of a file", "\tconfig/b/c"),
        ("a directory in place of a submodule", "\tparts/core/a.rs"),
    ] {
        assert!(log.contains(shown), "the sample lacks {what}");
    }
    let merges = git(repository.path(), &["rev-list", "--merges", "--count", "HEAD"]);
    assert!(merges.trim().parse::<u64>().unwrap() >= 10, "{merges}");
}

#[test]
fn history_lists_all_commits_parents_first() {
    let repository = sample_repository(100, 3);
    let list = |order: Order, args: &[&str]| {
        let history = History::open(repository.path(), order).unwrap();
        let ours: Vec<String> = (1..=history.count()).map(|pull| history.commit(pull).unwrap()).collect();
        assert!(history.commit(0).is_none() && history.commit(history.count() + 1).is_none());
        let git: Vec<String> = git(repository.path(), args).lines().map(str::to_owned).collect();
        (ours, git)
    };
    let (ours, git) = list(Order::FirstParent, &["rev-list", "--reverse", "--first-parent", "HEAD"]);
    assert_eq!(ours, git);
    let (mut ours, mut git) = list(Order::Full, &["rev-list", "HEAD"]);
    let place = |id: &str| ours.iter().position(|commit| commit == id).unwrap();
    for line in self::git(repository.path(), &["rev-list", "--parents", "HEAD"]).lines() {
        let mut ids = line.split(' ').map(place);
        let child = ids.next().unwrap();
        assert!(ids.all(|parent| parent < child), "{line}");
    }
    ours.sort();
    git.sort();
    assert_eq!(ours, git);
}

#[test]
fn extraction_is_deterministic_and_has_checkpoints() {
    let repository = sample_repository(100, 4);
    let history = History::open(repository.path(), Order::FirstParent).unwrap();
    let options = ExtractOptions { pulls: Some(25), every: 10, objects: true };
    let ops = extract(&history, options).unwrap();
    assert_eq!(ops, extract(&history, options).unwrap());
    let checkpoints = ops.iter().filter_map(|op| match op {
        Op::Checkpoint { number } => Some(*number),
        _ => None,
    });
    assert_eq!(checkpoints.collect::<Vec<_>>(), [10, 20, 25]);
    for options in [
        ExtractOptions { pulls: Some(0), ..options },
        ExtractOptions { pulls: Some(101), ..options },
        ExtractOptions { every: 0, ..options },
    ] {
        let error = extract(&history, options).unwrap_err();
        assert!(error.contains("commits to pull"), "{error}");
    }
}

#[test]
fn working_tree_worktree_and_bare_repository_have_equal_history() {
    let repository = sample_repository(30, 5);
    let dir = testing::dir_in_memory();
    let url = repository.path().to_str().unwrap();
    git(dir.path(), &["clone", "--quiet", url, "clone"]);
    let clone = dir.path().join("clone");
    git(&clone, &["worktree", "add", "--quiet", "--detach", "../linked"]);
    let bare = History::open(repository.path(), Order::Full).unwrap();
    for path in [clone, dir.path().join("linked"), dir.path().join("clone/.git")] {
        let history = History::open(&path, Order::Full).unwrap();
        assert_eq!(history.count(), bare.count(), "{}", path.display());
        assert_eq!(history.commit(30), bare.commit(30));
    }
}

#[test]
fn missing_or_short_history_is_rejected() {
    let dir = testing::dir_in_memory();
    assert!(open_error(dir.path()).contains("not a git repository"));
    assert!(open_error(&dir.path().join("none")).contains("not a git repository"));
    git(dir.path(), &["init", "--quiet", "."]);
    assert!(open_error(dir.path()).contains("no readable newest commit"));
    git(dir.path(), &["commit", "--quiet", "--allow-empty", "-m", "one"]);
    assert!(open_error(dir.path()).contains("fewer than two commits"));
    git(dir.path(), &["commit", "--quiet", "--allow-empty", "-m", "two"]);
    assert_eq!(History::open(dir.path(), Order::FirstParent).unwrap().count(), 2);
    assert!(sample::make(dir.path(), 10, 1).unwrap_err().to_string().contains("not empty"));
}

#[test]
fn shallow_and_partial_clones_are_rejected() {
    let repository = sample_repository(40, 6);
    git(repository.path(), &["config", "uploadpack.allowFilter", "true"]);
    let dir = testing::dir_in_memory();
    let url = format!("file://{}", repository.path().display());
    git(dir.path(), &["clone", "--quiet", "--bare", "--depth=5", &url, "shallow"]);
    assert!(open_error(&dir.path().join("shallow")).contains("shallow clone"));
    git(dir.path(), &["clone", "--quiet", "--bare", "--filter=blob:none", &url, "partial"]);
    let history = History::open(&dir.path().join("partial"), Order::FirstParent).unwrap();
    let error = extract(&history, ExtractOptions::default()).unwrap_err();
    assert!(error.contains("missing") && error.contains("partial") && !error.contains('\n'), "{error}");
}

#[test]
fn reserved_names_are_rejected() {
    let dir = testing::dir_in_memory();
    git(dir.path(), &["init", "--quiet", "--bare", "."]);
    let blob = git(dir.path(), &["hash-object", "-w", "--stdin"]);
    let mut parent = None::<String>;
    for name in ["fine", ".GIT"] {
        let entry = format!("100644 {name}\0");
        let id: Vec<u8> = (0..20).map(|i| u8::from_str_radix(&blob[2 * i..2 * i + 2], 16).unwrap()).collect();
        let file = dir.path().join("tree");
        fs::write(&file, [entry.as_bytes(), &id].concat()).unwrap();
        let tree = git(dir.path(), &["hash-object", "-w", "--literally", "-t", "tree", "tree"]);
        let mut args = vec!["commit-tree", "-m", "a", tree.trim()];
        args.extend(parent.iter().flat_map(|parent| ["-p", parent.as_str()]));
        parent = Some(git(dir.path(), &args).trim().to_owned());
    }
    git(dir.path(), &["update-ref", "HEAD", &parent.unwrap()]);
    let history = History::open(dir.path(), Order::FirstParent).unwrap();
    let error = extract(&history, ExtractOptions::default()).unwrap_err();
    assert!(error.contains(".GIT"), "{error}");
}

/// A repository with commits on one line, each given by the modes, paths and contents that it adds; a file of
/// mode `D` is removed.
fn imported(commits: &[Vec<(&str, String, &[u8])>]) -> TempDir {
    let dir = testing::dir_in_memory();
    git(dir.path(), &["init", "--quiet", "--bare", "--initial-branch=main", "."]);
    let mut stream = Vec::new();
    for (number, changes) in commits.iter().enumerate() {
        writeln!(stream, "commit refs/heads/main\ncommitter a <a@a> {number} +0000\ndata 1\na").unwrap();
        for (mode, path, contents) in changes {
            match *mode {
                "D" => writeln!(stream, "D {path}").unwrap(),
                mode => {
                    writeln!(stream, "M {mode} inline {path}\ndata {}", contents.len()).unwrap();
                    stream.extend([contents, &b"\n"[..]].concat());
                }
            }
        }
    }
    let mut import = Command::new("git");
    import.args(["fast-import", "--quiet"]).current_dir(dir.path()).stdin(Stdio::piped());
    let mut import = import.spawn().unwrap();
    import.stdin.take().unwrap().write_all(&stream).unwrap();
    assert!(import.wait().unwrap().success());
    dir
}

fn file(path: &str) -> (&'static str, String, &'static [u8]) {
    ("100644", path.to_owned(), b"text")
}

#[test]
fn paths_git_refuses_are_rejected_live_and_extracted() {
    let long = format!("{}/file", ["a"; 2100].join("/"));
    for (mode, path, contents, why) in [
        ("120000", ".gitmodules".to_owned(), &b"target"[..], "called .gitmodules"),
        ("120000", "sub/.GITMODULES".to_owned(), b"target", "called .gitmodules"),
        ("120000", "link".to_owned(), b"", "to an invalid path"),
        ("120000", "link".to_owned(), &[b'a'; 5000], "to an invalid path"),
        ("100644", long, b"text", "more than 4095 bytes"),
    ] {
        let repository = imported(&[vec![file("a")], vec![(mode, path.clone(), contents)]]);
        let history = History::open(repository.path(), Order::FirstParent).unwrap();
        for objects in [false, true] {
            let error =
                extract(&history, ExtractOptions { objects, ..ExtractOptions::default() }).unwrap_err();
            assert!(error.contains(why) && error.len() < 600 && !error.contains('\n'), "{error}");
        }
        let (root, scratch) = (testing::dir_in_memory(), testing::dir_in_memory());
        let options = LiveOptions { gc: Gc::Off, scratch: scratch.path().into(), source: None };
        let mut live = Live::begin(&history, root.path(), &options).unwrap();
        live.pull(1).unwrap();
        assert!(live.pull(2).is_err(), "git must refuse {path}");
    }
    // Git truncates such a target, which would not be the link that was committed.
    let repository = imported(&[vec![file("a")], vec![("120000", "link".into(), b"to\0where")]]);
    let history = History::open(repository.path(), Order::FirstParent).unwrap();
    assert!(extract(&history, ExtractOptions::default()).unwrap_err().contains("to an invalid path"));
}

#[test]
fn too_deep_trees_are_rejected() {
    let deep = format!("{}/file", ["a"; 40_000].join("/"));
    let repository = imported(&[vec![file("a")], vec![("100644", deep, b"text")]]);
    let history = History::open(repository.path(), Order::FirstParent).unwrap();
    for objects in [false, true] {
        let error = extract(&history, ExtractOptions { objects, ..ExtractOptions::default() }).unwrap_err();
        assert!(error.contains("more than 4095 bytes"), "{error}");
    }
    assert!(Shape::of_repository(repository.path()).unwrap_err().to_string().contains("4095 bytes"));
}

#[test]
fn commands_of_foreign_repository_are_not_run() {
    let dir = testing::dir_in_memory();
    let repository = imported(&[vec![file("a")], vec![file("sub/b")], vec![file("sub/c")]]);
    let ran = dir.path().join("ran");
    let command = format!("touch {}; false", ran.display());
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", repository.path().to_str().unwrap()),
        ("remote.origin.uploadpack", &command),
        ("core.alternateRefsCommand", &command),
        ("core.fsmonitor", &command),
        ("uploadpack.packObjectsHook", &command),
        ("core.gitProxy", &command),
        ("core.sshCommand", &command),
    ] {
        git(repository.path(), &["config", key, value]);
    }
    assert_eq!(Shape::of_repository(repository.path()).unwrap().files().len(), 3);
    let history = History::open(repository.path(), Order::Full).unwrap();
    // Without this tree git requests it from the promisor, by running the promisor's command.
    let tree = git(repository.path(), &["rev-parse", "HEAD:sub"]);
    unpack(repository.path());
    fs::remove_file(repository.path().join("objects").join(&tree[..2]).join(tree[2..].trim())).unwrap();
    assert!(Shape::of_repository(repository.path()).unwrap_err().to_string().contains("missing"));
    assert!(extract(&history, ExtractOptions::default()).unwrap_err().contains("missing"));
    for order in [Order::FirstParent, Order::Full] {
        let history = History::open(repository.path(), order).unwrap();
        let (root, scratch) = (testing::dir_in_memory(), testing::dir_in_memory());
        let options = LiveOptions { gc: Gc::Every(1), scratch: scratch.path().into(), source: None };
        let mut live = Live::begin(&history, root.path(), &options).unwrap();
        assert!(live.pull(3).is_err());
    }
    assert!(!ran.exists(), "a command of the repository ran");
    // Control: git run inside such a repository does run the command.
    let mut listing = Command::new("git");
    listing.args(["-c", "safe.directory=*", "ls-tree", "-r", "HEAD"]).current_dir(repository.path());
    assert!(!listing.stderr(Stdio::null()).stdout(Stdio::null()).status().unwrap().success());
    assert!(ran.exists(), "control failed: the repository runs no command");
}

/// Unpacks every object of a repository into a loose file.
fn unpack(repository: &Path) {
    let aside = tempfile::tempdir_in(repository).unwrap();
    for pack in fs::read_dir(repository.join("objects/pack")).unwrap() {
        let pack = pack.unwrap();
        fs::rename(pack.path(), aside.path().join(pack.file_name())).unwrap();
        if pack.path().extension().is_some_and(|ending| ending == "pack") {
            let objects = fs::File::open(aside.path().join(pack.file_name())).unwrap();
            let mut unpack = Command::new("git");
            unpack.args(["unpack-objects", "-q"]).current_dir(repository).stdin(objects);
            assert!(unpack.status().unwrap().success());
        }
    }
}

#[test]
fn labels_exist_for_all_operations_of_large_pull() {
    // More files than fit into the batches for which labels outlive their files.
    const FILES: usize = 68 * trace::BATCH / 2;
    let dir = testing::dir_in_memory();
    git(dir.path(), &["init", "--quiet", "--bare", "--initial-branch=main", "."]);
    let mut stream = b"blob\nmark :1\ndata 1\na\n".to_vec();
    for (number, side) in ["old", "new"].iter().enumerate() {
        writeln!(stream, "commit refs/heads/main\ncommitter a <a@a> {number} +0000\ndata 1\na\ndeleteall")
            .unwrap();
        (0..FILES).for_each(|file| writeln!(stream, "M 644 :1 {side}/{}/{file}", file / 1000).unwrap());
    }
    let mut import = Command::new("git");
    import.args(["fast-import", "--quiet"]).current_dir(dir.path()).stdin(Stdio::piped());
    let mut import = import.spawn().unwrap();
    import.stdin.take().unwrap().write_all(&stream).unwrap();
    assert!(import.wait().unwrap().success());
    let history = History::open(dir.path(), Order::FirstParent).unwrap();
    let mut extracted = Extracted::new(&history, ExtractOptions::default()).unwrap();
    let labels = extracted.labels();
    let (mut deleted, mut batch) = (0, Vec::new());
    loop {
        extracted.next_batch(&mut batch).unwrap();
        for op in &batch {
            match *op {
                Op::Delete { file, .. } => {
                    deleted += 1;
                    assert!(labels.file(file).is_some(), "the label of {file:?} is missing");
                }
                Op::Create { file, .. } => assert!(labels.file(file).is_some()),
                Op::Mkdir { dir, .. } | Op::Rmdir { dir, .. } => assert!(labels.dir(dir).is_some()),
                _ => {}
            }
        }
        if batch.is_empty() {
            break;
        }
    }
    assert_eq!(deleted, FILES);
}

#[test]
fn no_files_exist_before_first_pull() {
    let repository = sample_repository(10, 1);
    let history = History::open(repository.path(), Order::FirstParent).unwrap();
    for objects in [false, true] {
        let mut extracted =
            Extracted::new(&history, ExtractOptions { objects, ..ExtractOptions::default() }).unwrap();
        extracted.pause_after(0);
        let mut batch = Vec::new();
        extracted.next_batch(&mut batch).unwrap();
        assert_eq!(batch.iter().any(|op| matches!(op, Op::Mkdir { .. })), objects);
        assert_eq!(extracted.pull(), 0);
    }
}
