//! Pulls by the real git: the source stays unchanged, a failure is one line, and no process is left behind.

use super::*;

#[test]
fn gc_keeps_reference_logs() {
    let repository = sample_repository(20, 7);
    let (root, scratch) = (testing::dir_in_memory(), testing::dir_in_memory());
    let history = History::open(repository.path(), Order::FirstParent).unwrap();
    let options = LiveOptions { gc: Gc::Every(3), scratch: scratch.path().into(), source: None };
    let mut live = Live::begin(&history, root.path(), &options).unwrap();
    live.pull(7).unwrap();
    let log = fs::read_to_string(root.path().join(".git/logs/HEAD")).unwrap();
    assert_eq!(log.lines().count(), 7, "{log}");
}

#[test]
fn git_collects_garbage_at_the_limit_of_loose_objects() {
    // Git estimates the loose objects from one of their 256 directories, so it takes some hundreds to be above the least limit.
    let repository = sample_repository(260, 7);
    let history = History::open(repository.path(), Order::FirstParent).unwrap();
    let (root, scratch) = (testing::dir_in_memory(), testing::dir_in_memory());
    let options = LiveOptions { gc: Gc::Loose(1), scratch: scratch.path().into(), source: None };
    Live::begin(&history, root.path(), &options).unwrap().pull(200).unwrap();
    let packs = fs::read_dir(root.path().join(".git/objects/pack")).unwrap();
    let is_pack = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|ending| ending == "pack");
    let packs = packs.map(Result::unwrap).filter(is_pack).count();
    assert!(packs > 1, "only the pack of the first pull");
}

/// Every file below `root` with its size and modification time.
fn listing(root: &Path) -> Vec<String> {
    let output = Command::new("find").arg(root).args(["-printf", "%p %s %T@\n"]).output().unwrap();
    let mut lines: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn pull_keeps_source_unchanged_and_rejects_nonempty_root() {
    let repository = sample_repository(20, 7);
    let before = listing(repository.path());
    let (root, scratch) = (testing::dir_in_memory(), testing::dir_in_memory());
    let history = History::open(repository.path(), Order::FirstParent).unwrap();
    let options = LiveOptions { gc: Gc::Every(3), scratch: scratch.path().into(), source: None };
    let mut live = Live::begin(&history, &root.path().join("tree"), &options).unwrap();
    live.pull(7).unwrap();
    assert_eq!(live.pulls(), 7);
    assert!(live.pull(100).unwrap_err().to_string().contains("commit 100 does not exist"));
    drop(live);
    assert_eq!(before, listing(repository.path()));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    let error = Live::begin(&history, root.path(), &options).err().unwrap().to_string();
    assert!(error.contains("not empty"), "{error}");
}

#[test]
fn first_pull_brings_skipped_commits_along() {
    let repository = sample_repository(20, 9);
    let history = History::open(repository.path(), Order::FirstParent).unwrap();
    let shorter = history.clone().without_first(5);
    assert_eq!(shorter.count(), history.count() - 5);
    assert_eq!(shorter.commit(1), history.commit(6));
    let tree = |history: &History, pulls| {
        let (root, scratch) = (testing::dir_in_memory(), testing::dir_in_memory());
        let options = LiveOptions { gc: Gc::Off, scratch: scratch.path().into(), source: None };
        Live::begin(history, root.path(), &options).unwrap().pull(pulls).unwrap();
        git(root.path(), &["ls-tree", "-r", "HEAD"])
    };
    assert_eq!(tree(&shorter, 1), tree(&history, 6));
    // None is left, and more than any history has.
    assert_eq!(history.clone().without_first(u64::MAX).count(), 0);
    let workload = Git { repository: Some(repository.path().into()), skip: 15, ..Git::default() };
    let error = workload.check(42, &[8]).unwrap_err().to_string();
    assert!(error.contains("commits in that order after the first 15"), "{error}");
    workload.check(42, &[3]).unwrap();
}

#[test]
fn source_is_a_whole_clone_beside() {
    let repository = sample_repository(20, 10);
    let before = listing(repository.path());
    let history = History::open(repository.path(), Order::FirstParent).unwrap();
    let (root, scratch) = (testing::dir_in_memory(), testing::dir_in_memory());
    let source = root.path().join("source");
    let options = LiveOptions { gc: Gc::Off, scratch: scratch.path().into(), source: Some(source.clone()) };
    let mut live = Live::begin(&history, &root.path().join("tree"), &options).unwrap();
    live.pull(3).unwrap();
    assert_eq!(git(&source, &["rev-parse", "HEAD"]).trim(), history.commit(history.count()).unwrap());
    assert_eq!(git(&source, &["status", "--porcelain"]), "");
    // It needs nothing of the repository: its objects are its own.
    assert!(!source.join(".git/objects/info/alternates").exists());
    git(&source, &["fsck", "--full"]);
    assert_eq!(before, listing(repository.path()));
    drop(live);
    let workload = Git { source: true, ..Git::default() };
    let error = workload.check(42, &[3]).unwrap_err().to_string();
    assert!(error.contains("live = true"), "{error}");
}

#[test]
fn missing_object_fails_pull_with_one_line() {
    let repository = sample_repository(20, 8);
    let history = History::open(repository.path(), Order::FirstParent).unwrap();
    let (root, scratch) = (testing::dir_in_memory(), testing::dir_in_memory());
    let options = LiveOptions { gc: Gc::Off, scratch: scratch.path().into(), source: None };
    let mut live = Live::begin(&history, root.path(), &options).unwrap();
    // A clone of all says what is missing: a blob of the last commit.
    let blob = git(repository.path(), &["rev-parse", "HEAD:attributed/lines.crlf"]);
    unpack(repository.path());
    fs::remove_file(repository.path().join("objects").join(&blob[..2]).join(blob[2..].trim())).unwrap();
    let beside = LiveOptions { source: Some(root.path().join("source")), ..options.clone() };
    let error = Live::begin(&history, &root.path().join("tree"), &beside).err().unwrap().to_string();
    assert!(error.contains(blob.trim()) && !error.contains('\n'), "{error}");
    fs::remove_dir_all(repository.path().join("objects")).unwrap();
    let error = live.pull(1).unwrap_err();
    assert!(matches!(error, Error::Git { .. }) && !error.to_string().contains('\n'), "{error}");
}

/// Set for the child process of the test below, which pulls until it is killed.
const PULL_FOR: &str = "SENESCE_TEST_PULL";

#[test]
fn kill_leaves_no_process_behind() {
    if let Some(dir) = std::env::var_os(PULL_FOR) {
        let dir = Path::new(&dir);
        let history = History::open(&dir.join("repository"), Order::FirstParent).unwrap();
        let options = LiveOptions { gc: Gc::Every(1), scratch: dir.into(), source: None };
        let mut live = Live::begin(&history, &dir.join("tree"), &options).unwrap();
        fs::write(dir.join("begun"), "").unwrap();
        live.pull(history.count()).unwrap();
        return;
    }
    let dir = testing::dir_in_memory();
    sample::make(&dir.path().join("repository"), 300, 9).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "git::live::kill_leaves_no_process_behind"]).env(PULL_FOR, dir.path());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap();
    testing::wait_until("a process of Git that pulls", || {
        assert_eq!(child.try_wait().unwrap(), None, "the child has ended early");
        dir.path().join("begun").exists() && !processes_in(dir.path()).is_empty()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    // The kernel kills the descendants asynchronously.
    testing::wait_until("the end of all processes", || processes_in(dir.path()).is_empty());
}

/// The processes whose current directory is below `dir`.
fn processes_in(dir: &Path) -> Vec<String> {
    let working = |process: &fs::DirEntry| {
        fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir))
    };
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter(working);
    processes.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}
