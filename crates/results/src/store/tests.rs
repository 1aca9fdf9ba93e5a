use super::*;
use serde_json::json;

fn number(subject: &str, measure: &str, unit: &str, repetition: u64, value: f64) -> Measurement {
    let [subject, measure, unit] = [subject, measure, unit].map(str::to_owned);
    Measurement { subject, measure, unit, repetition, value }
}

/// The tables of layout 1.
const LAYOUT_1: &str = "
CREATE TABLE run (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, started TEXT NOT NULL, finished TEXT,
    tool TEXT NOT NULL, command TEXT NOT NULL, seed TEXT, parameters TEXT NOT NULL, machine TEXT NOT NULL, error TEXT
) STRICT;
CREATE TABLE measurement (
    run INTEGER NOT NULL REFERENCES run(id), subject TEXT NOT NULL, measure TEXT NOT NULL, unit TEXT NOT NULL,
    repetition INTEGER NOT NULL, value REAL NOT NULL, at TEXT NOT NULL, PRIMARY KEY (run, subject, measure, repetition)
) STRICT, WITHOUT ROWID;
CREATE TABLE document (
    run INTEGER NOT NULL REFERENCES run(id), subject TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (run, subject, name)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = 1;
INSERT INTO run VALUES (3, 'age', 'old', 'done', '2026-01-02T03:04:05Z', '2026-01-02T03:05:00Z', 'senesce 0.0.9', 'senesce age',
    '18446744073709551615', '{\"a\":1}', 'MACHINE', NULL),
    (4, 'checkpoint', 'killed', 'running', '2026-01-02T03:06:00Z', NULL, 'senesce 0.0.9', 'senesce run', NULL, '{}', 'MACHINE', NULL);
INSERT INTO measurement VALUES (3, 'aged', 'layout_score', 'share', 1, 0.75, '2026-01-02T03:04:59Z');
INSERT INTO document VALUES (3, '', 'manifest', '{\"version\":1}');
";

/// Creates a store of an older version.
fn old(path: &Path) {
    let machine = serde_json::to_string(&Machine::this()).unwrap();
    let db = rusqlite::Connection::open(path).unwrap();
    db.execute_batch(&LAYOUT_1.replace("MACHINE", &machine.replace('\'', "''"))).unwrap();
}

fn new<'a>(kind: &'a str, name: &'a str, parameters: serde_json::Value) -> NewRun<'a> {
    NewRun { kind, name, command: "senesce test", seed: Some(u64::MAX), parameters }
}

#[test]
fn older_store_opens_with_all_data() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.db");
    old(&path);
    std::fs::copy(&path, dir.path().join("copy.db")).unwrap();
    let store = Store::open(&path).unwrap();
    let runs = store.runs().unwrap();
    assert_eq!(
        runs.iter().map(|run| (run.id.0, run.name.as_str())).collect::<Vec<_>>(),
        [(3, "old"), (4, "killed")]
    );
    assert_eq!((runs[0].seed, &runs[0].parameters), (Some(u64::MAX), &json!({ "a": 1 })));
    assert_eq!(store.measurements(RunId(3)).unwrap(), [number("aged", "layout_score", "share", 1, 0.75)]);
    assert_eq!(
        store.document::<serde_json::Value>(RunId(3), "", "manifest").unwrap(),
        Some(json!({ "version": 1 }))
    );
    assert!(store.running("checkpoint", "killed").unwrap().is_empty(), "no process holds it");
    let later = store.begin(&new("age", "new", json!({}))).unwrap();
    assert_eq!(later, RunId(5));
    // Copies of an old store hold the same runs, regardless of which one is migrated first.
    let copy = Store::open(&dir.path().join("copy.db")).unwrap();
    assert_eq!(store.merge(&copy).unwrap(), MergeCounts { copied: 0, unchanged: 2, unfinished: 0 });
}

#[test]
fn reading_an_older_store_reports_how_to_upgrade_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.db");
    old(&path);
    let at = StoreLocation::File(path.clone());
    let Err(error) = at.open_read_only() else { panic!("an older store was read") };
    let expected = format!("{}: it has layout 1; any run or `senesce report` upgrades it", path.display());
    assert_eq!(error.to_string(), format!("result store {expected}"));
    drop(at.open().unwrap());
    let read = at.open_read_only().unwrap();
    assert_eq!(read.runs().unwrap().len(), 2);
    assert!(read.begin(&new("age", "new", json!({}))).is_err(), "a read-only store was written");
}

#[test]
fn files_of_other_programs_are_left_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let foreign = |name: &str, statements: &str| {
        let path = dir.path().join(name);
        rusqlite::Connection::open(&path).unwrap().execute_batch(statements).unwrap();
        path
    };
    let wal = "PRAGMA journal_mode = wal; CREATE TABLE notes (text);";
    let cases = [
        (foreign("notes.db", "CREATE TABLE notes (text); INSERT INTO notes VALUES ('x')"), "tables notes"),
        // One of its tables has the same name as a table of the store.
        (foreign("runs.db", "CREATE TABLE run (id, distance); PRAGMA user_version = 2"), "tables run"),
        (
            foreign("maps.db", "PRAGMA application_id = 1196444487; CREATE TABLE a (b)"),
            "application id 0x47504b47",
        ),
        (foreign("wal.db", wal), "tables notes"),
        (foreign("50%? #.db", wal), "tables notes"),
    ];
    for (path, why) in cases {
        let before = std::fs::read(&path).unwrap();
        let names = || std::fs::read_dir(dir.path()).unwrap().count();
        let files = names();
        let at = StoreLocation::File(path.clone());
        for opened in [at.open(), at.open_read_only(), at.open_existing()] {
            let Err(error) = opened else { panic!("{} was opened", path.display()) };
            let expected = format!(
                "result store {}: it is an SQLite file of another program ({why}); it is left unchanged; name another file",
                path.display()
            );
            assert_eq!(error.to_string(), expected);
        }
        assert!(
            std::fs::read(&path).unwrap() == before && names() == files,
            "{} was touched",
            path.display()
        );
    }
    // The other program has the file open, with changes in its log.
    let path = dir.path().join("open.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(wal).unwrap();
    assert!(StoreLocation::File(path).open().is_err_and(|error| error.to_string().contains("tables notes")));
    let count: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 1);
}

#[test]
fn stores_are_identified_by_application_id_or_tables() {
    let dir = tempfile::tempdir().unwrap();
    let id = |path: &Path| u32::from_be_bytes(std::fs::read(path).unwrap()[68..72].try_into().unwrap());
    let [new_one, old_one, empty, killed] =
        ["new", "old", "empty", "killed"].map(|name| dir.path().join(name));
    old(&old_one);
    std::fs::write(&empty, "").unwrap();
    // Killed between creation of the file and its tables.
    rusqlite::Connection::open(&killed).unwrap().execute_batch("PRAGMA journal_mode = wal").unwrap();
    assert_eq!(id(&old_one), 0);
    for path in [&new_one, &old_one, &empty, &killed] {
        drop(Store::open(path).unwrap());
        assert_eq!(&id(path).to_be_bytes(), b"snsc", "{}", path.display());
        drop(Store::open(path).unwrap());
    }
}

#[test]
fn new_store_that_another_process_changes_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("PRAGMA application_id = 0x736e7363; BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| Store::open(&path).map(drop));
        // Meanwhile it meets the lock; if it comes later, there is nothing to wait for.
        std::thread::sleep(std::time::Duration::from_millis(100));
        other.execute_batch("COMMIT").unwrap();
        opening.join().unwrap().unwrap();
    });
}

#[test]
fn newer_store_is_refused_and_left_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new.db");
    drop(Store::open(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let Err(error) = Store::open(&path) else { panic!("the store was opened") };
    assert!(
        error.to_string().contains("layout 99") && error.to_string().contains("newer senesce"),
        "{error}"
    );
}

#[test]
fn last_recorded_measurements_are_read_back() {
    let dir = tempfile::tempdir().unwrap();
    check_measurements(&Store::open(&dir.path().join("store")).unwrap());
}

/// Checks for every kind of store.
pub(super) fn check_measurements(store: &Store) {
    let run = store.begin(&new("age", "it", json!({ "x": "ä\u{1f40c}'\"" }))).unwrap();
    store.record(run, &number("", "one", "", 1, 1.5)).unwrap();
    let mut all: Vec<Measurement> =
        (1..=1200).map(|n| number("aged", "many", "s", n, n as f64 / 3.0)).collect();
    all.push(number("", "one", "", 1, 2.5));
    all.push(number("", "one", "", 1, 3.5));
    store.record_all(run, &all).unwrap();
    store.record_all(run, &[]).unwrap();
    let read = store.measurements(run).unwrap();
    assert_eq!((read.len(), &read[0]), (1201, &number("", "one", "", 1, 3.5)));
    assert_eq!(read[1200], number("aged", "many", "s", 1200, 400.0));
    store.record_document(run, "", "it", &json!([1])).unwrap();
    store.record_document(run, "", "it", &json!([2, "\u{0}"])).unwrap();
    assert_eq!(store.document::<serde_json::Value>(run, "", "it").unwrap(), Some(json!([2, "\u{0}"])));
    assert_eq!(store.document::<serde_json::Value>(run, "aged", "it").unwrap(), None);
    let parameters = json!({ "x": "ä\u{1f40c}'\"" });
    assert_eq!(store.last_done("age", "it", &parameters).unwrap(), None);
    store.end(run, "done", None).unwrap();
    assert_eq!(store.last_done("age", "it", &parameters).unwrap(), Some(run));
    assert_eq!(store.last_done("age", "it", &json!({})).unwrap(), None);
    let kept = store.runs().unwrap().into_iter().find(|kept| kept.id == run).unwrap();
    assert_eq!((kept.seed, kept.state.as_str(), &kept.parameters), (Some(u64::MAX), "done", &parameters));
    assert!(kept.started.ends_with('Z') && kept.started.len() == 20 && kept.finished >= Some(kept.started));
}

#[test]
fn only_one_process_begins_the_same_work() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    check_begin_exclusive(&Store::open(&path).unwrap(), &Store::open(&path).unwrap());
}

/// Checks for every kind of store.
pub(super) fn check_begin_exclusive(a: &Store, b: &Store) {
    let work = |scale: &str| new("experiment", "alone", json!({ "scale": scale }));
    let same = |run: &Run| run.parameters["scale"] == "small";
    let first = a.begin_exclusive(&work("small"), same).unwrap().expect("no process runs it yet");
    assert_eq!(b.begin_exclusive(&work("small"), same).unwrap(), None);
    assert_eq!(b.running("experiment", "alone").unwrap().len(), 1);
    let other = b.begin_exclusive(&work("paper"), |run| run.parameters["scale"] == "paper").unwrap();
    assert!(other.is_some(), "another scale is different work");
    a.end(first, "interrupted", None).unwrap();
    assert!(b.begin_exclusive(&work("small"), same).unwrap().is_some());
}

#[test]
fn killed_process_holds_no_run() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("store")).unwrap();
    let run = store.begin(&new("experiment", "it", json!({}))).unwrap();
    assert_eq!(store.running("experiment", "it").unwrap().len(), 1);
    // The number of this process, with another start time.
    let holder = format!("{} 0123 1", std::process::id());
    store.change("UPDATE run SET holder = $1 WHERE id = $2", &[holder.into(), run.0.into()]).unwrap();
    assert!(store.running("experiment", "it").unwrap().is_empty());
}

#[test]
fn shards_are_merged_once_with_references_to_agings() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| Store::open(&dir.path().join(name)).unwrap());
    check_merge(&a, &b);
}

/// Checks for every kind of store.
pub(super) fn check_merge(into: &Store, from: &Store) {
    let done = |store: &Store, kind: &str, parameters| {
        let run = store.begin(&new(kind, "it", parameters)).unwrap();
        store.record_all(run, &[number("", "x", "s", 1, 0.1)]).unwrap();
        store.record_document(run, "", "outcome", &json!({ "of": kind })).unwrap();
        store.end(run, "done", None).unwrap();
        run
    };
    done(into, "age", json!({}));
    let before = into.runs().unwrap().len();
    let aged = done(from, "age", json!({}));
    done(from, "compare", json!({ "aged_run": aged.0 }));
    from.begin(&new("age", "killed", json!({}))).unwrap();
    let merged = into.merge(from).unwrap();
    let running = from.runs().unwrap().iter().filter(|run| run.state == "running").count();
    let ended = from.runs().unwrap().len() - running;
    assert_eq!((merged.copied as usize, merged.unfinished as usize), (ended, running));
    let runs = into.runs().unwrap();
    assert_eq!(runs.len(), before + ended);
    let compared = runs.iter().rfind(|run| run.kind == "compare").unwrap();
    let aged = runs.iter().rfind(|run| run.kind == "age").unwrap();
    assert_eq!(compared.parameters["aged_run"], aged.id.0);
    assert_eq!(into.measurements(compared.id).unwrap(), [number("", "x", "s", 1, 0.1)]);
    assert_eq!(into.document(compared.id, "", "outcome").unwrap(), Some(json!({ "of": "compare" })));
    let kept = from.runs().unwrap();
    assert!(kept.iter().any(|run| run.started == compared.started && run.uid == compared.uid));
    assert_eq!(into.merge(from).unwrap().copied, 0, "existing runs are not copied again");
    let all = from.runs().unwrap().len() as u64;
    assert_eq!(
        from.merge(from).unwrap(),
        MergeCounts { copied: 0, unchanged: all, unfinished: 0 },
        "into itself"
    );

    // Runs that have continued are copied again, with their current data, to the same place.
    let left = from.begin(&new("age", "left", json!({}))).unwrap();
    from.record_all(left, &[number("", "x", "s", 1, 0.1), number("", "y", "s", 1, 0.2)]).unwrap();
    from.end(left, "interrupted", Some("by hand")).unwrap();
    assert_eq!(into.merge(from).unwrap().copied, 1);
    from.resume(left).unwrap();
    from.record(left, &number("", "x", "s", 1, 0.3)).unwrap();
    assert_eq!(into.merge(from).unwrap().copied, 0, "the run has not ended");
    from.end(left, "done", None).unwrap();
    assert_eq!(into.merge(from).unwrap().copied, 1);
    assert_eq!(into.merge(from).unwrap().copied, 0);
    let uid = from.runs().unwrap().into_iter().find(|run| run.id == left).unwrap().uid;
    let here: Vec<Run> = into.runs().unwrap().into_iter().filter(|run| run.uid == uid).collect();
    assert_eq!((here.len(), here[0].state.as_str(), &here[0].error), (1, "done", &None));
    assert_eq!(into.measurements(here[0].id).unwrap(), from.measurements(left).unwrap());
    // And in the other direction, with no changes.
    assert_eq!(from.merge(into).unwrap().unchanged, into.runs().unwrap().len() as u64 - before as u64);
}

#[cfg(feature = "postgres")]
mod postgres;
