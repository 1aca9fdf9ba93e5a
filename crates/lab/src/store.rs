//! The one place where results land: an SQLite database (write-ahead log), written to as soon as a number is
//! known, so that a run killed at any moment leaves all that it had measured.

use crate::heart::{Heart, Noted};
use crate::{Error, Machine, Watch};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Layout of the tables; a newer one is refused.
const SCHEMA_VERSION: i64 = 1;

const SCHEMA: &str = "
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
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
    error TEXT
) STRICT;
CREATE TABLE measurement (
    run INTEGER NOT NULL REFERENCES run(id),
    subject TEXT NOT NULL,     -- aged, unaged, or empty
    measure TEXT NOT NULL,
    unit TEXT NOT NULL,
    repetition INTEGER NOT NULL, -- from 1
    value REAL NOT NULL,
    at TEXT NOT NULL,          -- RFC 3339, UTC
    PRIMARY KEY (run, subject, measure, repetition)
) STRICT, WITHOUT ROWID;
CREATE TABLE document (
    run INTEGER NOT NULL REFERENCES run(id),
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,        -- JSON
    PRIMARY KEY (run, subject, name)
) STRICT, WITHOUT ROWID;
";

/// How long a reader waits for a writer: in write-ahead mode only while the log is being made or taken back.
const READING_WAITS: Duration = Duration::from_secs(2);

const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')";

/// The result store of a work directory.
pub struct Store {
    // Ends before the connection that syncs what is written.
    heart: Heart,
    path: PathBuf,
    db: Connection,
}

/// The number of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunId(pub i64);

/// What is known of a run when it starts.
pub struct NewRun<'a> {
    /// `age`, `compare` or `probe`.
    pub kind: &'a str,
    /// What is aged or measured.
    pub name: &'a str,
    /// The full command line.
    pub command: &'a str,
    /// Seed of all that is random.
    pub seed: Option<u64>,
    /// All parameters, as JSON.
    pub parameters: serde_json::Value,
}

/// A run as it is stored.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are the columns of the table")]
pub struct Run {
    pub id: RunId,
    pub kind: String,
    pub name: String,
    pub state: String,
    pub started: String,
    pub finished: Option<String>,
    pub tool: String,
    pub command: String,
    pub seed: Option<u64>,
    pub parameters: serde_json::Value,
    pub machine: Machine,
    pub error: Option<String>,
}

/// One measured number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// `aged`, `unaged`, or empty where there is only one.
    pub subject: String,
    /// What was measured.
    pub measure: String,
    /// Its unit.
    pub unit: String,
    /// Which repetition, from 1.
    pub repetition: u64,
    /// The number.
    pub value: f64,
}

/// A measurement by its columns.
pub fn number(subject: &str, measure: &str, unit: &str, repetition: u64, value: f64) -> Measurement {
    Measurement {
        subject: subject.to_owned(),
        measure: measure.to_owned(),
        unit: unit.to_owned(),
        repetition,
        value,
    }
}

impl Store {
    /// Opens the store at `path`, making it if there is none.
    pub fn open(path: &Path) -> Result<Store, Error> {
        let fail = |source| Error::Store { path: path.to_owned(), source };
        let db = Connection::open(path).map_err(fail)?;
        let store = Store { heart: Heart::new(path), path: path.to_owned(), db };
        store.prepare()?;
        Ok(store)
    }

    /// Opens the store at `path` for reading alone, also while a run writes it.
    pub fn read(path: &Path) -> Result<Store, Error> {
        if !path.is_file() {
            return Err(Error::Refused(format!("there is no result store {}", path.display())));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = |name: &Path, flags| {
            let fail = |source| Error::Store { path: path.to_owned(), source };
            let db = Connection::open_with_flags(name, flags).map_err(fail)?;
            db.busy_timeout(READING_WAITS).map_err(fail)?;
            let store = Store { heart: Heart::new(path), path: path.to_owned(), db };
            match store.version()? {
                0 => Err(Error::Refused(format!("result store {} is being made", path.display()))),
                version => store.refuse_newer(version).map(|()| store),
            }
        };
        open(path, flags).or_else(|error| match unchanging(path) {
            // A reader who may write nothing there cannot make the files of the log, which need not be if nobody writes.
            Some(name) if error.is_cannot_open() => open(&name, flags | OpenFlags::SQLITE_OPEN_URI),
            _ => Err(error),
        })
    }

    /// The layout of the tables; 0 before they are made.
    fn version(&self) -> Result<i64, Error> {
        self.try_(|db| db.pragma_query_value(None, "user_version", |row| row.get(0)))
    }

    fn refuse_newer(&self, version: i64) -> Result<(), Error> {
        if version == SCHEMA_VERSION {
            return Ok(());
        }
        Err(Error::Refused(format!(
            "result store {} has layout {version}, this program knows {SCHEMA_VERSION}; use a newer senesce",
            self.path.display()
        )))
    }

    /// What is written from now on waits for no disk: a power cut may lose the last of it, and no more.
    pub(crate) fn relax(&self) -> Result<(), Error> {
        self.try_(|db| db.pragma_update(None, "synchronous", "normal"))
    }

    /// Passes on what `watch` is told, and notes it in the store every few seconds, for the runs that this store has begun.
    pub fn noted<'w>(&self, watch: &'w mut dyn Watch) -> Noted<'w> {
        self.heart.noted(watch)
    }

    fn prepare(&self) -> Result<(), Error> {
        self.try_(|db| {
            db.busy_timeout(Duration::from_secs(30))?;
            db.pragma_update(None, "journal_mode", "wal")?;
            db.pragma_update(None, "synchronous", "full")?;
            db.pragma_update(None, "foreign_keys", true)
        })?;
        match self.version()? {
            0 => self.try_(|db| {
                db.execute_batch(&format!("BEGIN;{SCHEMA}PRAGMA user_version = {SCHEMA_VERSION};COMMIT;"))
            }),
            version => self.refuse_newer(version),
        }
    }

    fn try_<T>(&self, action: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        action(&self.db).map_err(|source| Error::Store { path: self.path.clone(), source })
    }

    /// Records that a run starts.
    pub fn begin(&self, run: &NewRun) -> Result<RunId, Error> {
        let machine = serde_json::to_string(&Machine::this()).expect("plain data");
        let sql = format!(
            "INSERT INTO run (kind, name, state, started, tool, command, seed, parameters, machine)
             VALUES (?1, ?2, 'running', {NOW}, ?3, ?4, ?5, ?6, ?7)"
        );
        let (seed, parameters) = (run.seed.map(|s| s.to_string()), run.parameters.to_string());
        self.try_(|db| {
            db.execute(&sql, params![run.kind, run.name, crate::TOOL, run.command, seed, parameters, machine])
        })?;
        let run = RunId(self.db.last_insert_rowid());
        self.heart.begins(run);
        Ok(run)
    }

    /// Records how a run ended: `done`, `failed` or `interrupted`, and why.
    pub fn end(&self, run: RunId, state: &str, error: Option<&str>) -> Result<(), Error> {
        let sql = format!("UPDATE run SET state = ?2, finished = {NOW}, error = ?3 WHERE id = ?1");
        self.heart.ends(run);
        self.try_(|db| db.execute(&sql, params![run.0, state, error])).map(drop)
    }

    /// Records how a run ended by what came of it.
    pub fn end_by<T>(&self, run: RunId, result: &Result<T, Error>) -> Result<(), Error> {
        match result {
            Ok(_) => self.end(run, "done", None),
            Err(e @ Error::Interrupted(_)) => self.end(run, "interrupted", Some(&e.to_string())),
            Err(e) => self.end(run, "failed", Some(&e.to_string())),
        }
    }

    /// Records that a run goes on.
    pub fn again(&self, run: RunId) -> Result<(), Error> {
        let sql = "UPDATE run SET state = 'running', finished = NULL, error = NULL WHERE id = ?1";
        self.try_(|db| db.execute(sql, params![run.0]))?;
        self.heart.begins(run);
        Ok(())
    }

    /// Records a number, replacing an earlier one of the same repetition.
    pub fn record(&self, run: RunId, m: &Measurement) -> Result<(), Error> {
        let sql = format!("INSERT OR REPLACE INTO measurement VALUES (?1, ?2, ?3, ?4, ?5, ?6, {NOW})");
        self.try_(|db| {
            db.execute(&sql, params![run.0, m.subject, m.measure, m.unit, m.repetition as i64, m.value])
        })
        .map(drop)
    }

    /// Records several numbers at once: all or none.
    pub fn record_all(&self, run: RunId, all: &[Measurement]) -> Result<(), Error> {
        self.try_(|db| db.execute_batch("BEGIN IMMEDIATE"))?;
        let recorded = all.iter().try_for_each(|m| self.record(run, m));
        self.try_(|db| db.execute_batch(if recorded.is_ok() { "COMMIT" } else { "ROLLBACK" }))?;
        recorded
    }

    /// Records what is more than a number, as JSON.
    pub fn record_document(
        &self,
        run: RunId,
        subject: &str,
        name: &str,
        body: &impl Serialize,
    ) -> Result<(), Error> {
        let body = serde_json::to_string(body).expect("plain data");
        let sql = "INSERT OR REPLACE INTO document VALUES (?1, ?2, ?3, ?4)";
        self.try_(|db| db.execute(sql, params![run.0, subject, name, body])).map(drop)
    }

    /// A document, if it was recorded.
    pub fn document<T: DeserializeOwned>(
        &self,
        run: RunId,
        subject: &str,
        name: &str,
    ) -> Result<Option<T>, Error> {
        let sql = "SELECT body FROM document WHERE run = ?1 AND subject = ?2 AND name = ?3";
        let body: Option<String> =
            self.try_(|db| db.query_row(sql, params![run.0, subject, name], |row| row.get(0)).optional())?;
        body.map(|body| {
            serde_json::from_str(&body).map_err(|e| {
                Error::Refused(format!("result store {}: document {name}: {e}", self.path.display()))
            })
        })
        .transpose()
    }

    /// The numbers of a run, in order of subject, measure and repetition.
    pub fn measurements(&self, run: RunId) -> Result<Vec<Measurement>, Error> {
        let sql = "SELECT subject, measure, unit, repetition, value FROM measurement WHERE run = ?1
                   ORDER BY subject, measure, repetition";
        self.try_(|db| {
            let mut statement = db.prepare_cached(sql)?;
            let rows = statement.query_map(params![run.0], |row| {
                Ok(Measurement {
                    subject: row.get(0)?,
                    measure: row.get(1)?,
                    unit: row.get(2)?,
                    repetition: row.get::<_, i64>(3)? as u64,
                    value: row.get(4)?,
                })
            })?;
            rows.collect()
        })
    }

    /// The last run of this kind and name that was done by this version of the program with these parameters.
    pub fn last_done(
        &self,
        kind: &str,
        name: &str,
        parameters: &serde_json::Value,
    ) -> Result<Option<RunId>, Error> {
        let sql = "SELECT id FROM run WHERE kind = ?1 AND name = ?2 AND state = 'done' AND tool = ?3
                   AND parameters = ?4 ORDER BY id DESC LIMIT 1";
        let parameters = parameters.to_string();
        self.try_(|db| {
            db.query_row(sql, params![kind, name, crate::TOOL, parameters], |row| row.get(0).map(RunId))
                .optional()
        })
    }

    /// How many numbers each run has.
    pub fn counts(&self) -> Result<HashMap<i64, u64>, Error> {
        self.try_(|db| {
            let mut statement = db.prepare_cached("SELECT run, count(*) FROM measurement GROUP BY run")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?;
            rows.collect()
        })
    }

    /// All runs, oldest first.
    pub fn runs(&self) -> Result<Vec<Run>, Error> {
        let sql =
            "SELECT id, kind, name, state, started, finished, tool, command, seed, parameters, machine, error
                   FROM run ORDER BY id";
        self.try_(|db| {
            let mut statement = db.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| {
                Ok(Run {
                    id: RunId(row.get(0)?),
                    kind: row.get(1)?,
                    name: row.get(2)?,
                    state: row.get(3)?,
                    started: row.get(4)?,
                    finished: row.get(5)?,
                    tool: row.get(6)?,
                    command: row.get(7)?,
                    seed: row.get::<_, Option<String>>(8)?.and_then(|s| s.parse().ok()),
                    parameters: json(row, 9)?,
                    machine: json(row, 10)?,
                    error: row.get(11)?,
                })
            })?;
            rows.collect()
        })
    }
}

/// The name by which SQLite opens a file that nobody changes while it is read; none while a log lies beside it.
fn unchanging(path: &Path) -> Option<PathBuf> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let name = std::path::absolute(path).ok().filter(|_| !Path::new(&log).exists())?;
    let escaped = name.to_str()?.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    Some(PathBuf::from(format!("file:{escaped}?immutable=1")))
}

fn json<T: DeserializeOwned>(row: &rusqlite::Row, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|e| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(e))
    })
}
