//! The tables, and the migration from older layouts.

use super::sql::{Dialect, Failure, Sql, Value};
use sha2::{Digest, Sha256};

/// Layout of the tables; a newer one is refused.
///
/// 1. `run`, `measurement`, `document`.
/// 2. `run.uid`, a name for a run that is the same in every store, so that stores can be merged; `run.holder`, the process of the
///    run; an index for finding runs.
pub(super) const LAYOUT: i64 = 2;

/// Creates the tables, or migrates them to the current layout. Safe with concurrent processes.
pub(super) fn prepare(db: &dyn Sql, name: &str) -> Result<(), Failure> {
    if known(db.layout()?)? == LAYOUT {
        return Ok(());
    }
    db.batch(db.dialect().begin)?;
    // Another process may have done it before.
    let prepared = db.layout().and_then(|layout| match known(layout)? {
        0 => db.batch(&tables(db.dialect())).and_then(|()| db.set_layout(LAYOUT)),
        1 => from_1(db, name).and_then(|()| db.set_layout(LAYOUT)),
        _ => Ok(()),
    });
    let ended = db.batch(if prepared.is_ok() { "COMMIT" } else { "ROLLBACK" });
    prepared.and(ended)
}

/// Refuses tables with another layout, for readers.
pub(super) fn check(db: &dyn Sql) -> Result<(), Failure> {
    match known(db.layout()?)? {
        0 => Err("it is being created".into()),
        LAYOUT => Ok(()),
        older => Err(format!("it has layout {older}; any run or `senesce report` upgrades it").into()),
    }
}

fn known(layout: i64) -> Result<i64, String> {
    match layout {
        0..=LAYOUT => Ok(layout),
        newer => Err(format!(
            "it has layout {newer}, but this program supports up to {LAYOUT}; use a newer senesce"
        )),
    }
}

fn tables(dialect: &Dialect) -> String {
    let Dialect { id, integer, real, table, keyed_table, .. } = dialect;
    format!(
        "
CREATE TABLE run (
    id {id},
    kind TEXT NOT NULL,        -- age, compare, probe
    name TEXT NOT NULL,        -- what was aged or measured
    state TEXT NOT NULL,       -- running, done, failed, interrupted
    started TEXT NOT NULL,     -- RFC 3339, UTC
    finished TEXT,
    tool TEXT NOT NULL,        -- program and version
    command TEXT NOT NULL,     -- full command line
    seed TEXT,                 -- decimal, up to 2^64 - 1
    parameters TEXT NOT NULL,  -- JSON
    machine TEXT NOT NULL,     -- JSON
    error TEXT,
    uid TEXT,                  -- its name in every store
    holder TEXT                -- the process that it runs in
) {table};
CREATE TABLE measurement (
    run {integer} NOT NULL REFERENCES run(id),
    subject TEXT NOT NULL,     -- aged, unaged, or empty
    measure TEXT NOT NULL,
    unit TEXT NOT NULL,
    repetition {integer} NOT NULL, -- from 1
    value {real} NOT NULL,
    at TEXT NOT NULL,          -- RFC 3339, UTC
    PRIMARY KEY (run, subject, measure, repetition)
) {keyed_table};
CREATE TABLE document (
    run {integer} NOT NULL REFERENCES run(id),
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,        -- JSON
    PRIMARY KEY (run, subject, name)
) {keyed_table};
{INDICES}"
    )
}

const INDICES: &str = "
CREATE UNIQUE INDEX run_by_uid ON run (uid);
CREATE INDEX run_by_name ON run (kind, name);
";

/// Names the runs of a store without names by their contents, so that two copies of one store have the same names.
fn from_1(db: &dyn Sql, name: &str) -> Result<(), Failure> {
    db.batch("ALTER TABLE run ADD COLUMN uid TEXT; ALTER TABLE run ADD COLUMN holder TEXT;")?;
    let columns = "id, kind, name, started, tool, command, seed, parameters, machine";
    for run in db.rows(&format!("SELECT {columns} FROM run"), &[])? {
        let mut digest = Sha256::new();
        for value in &run.0 {
            digest.update(format!("{value:?}\0"));
        }
        let uid: String = digest.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        let id = run.int(0).map_err(|why| format!("{name}: {why}"))?;
        db.change("UPDATE run SET uid = $1 WHERE id = $2", &[Value::from(uid), Value::from(id)])?;
    }
    db.batch(INDICES)
}
