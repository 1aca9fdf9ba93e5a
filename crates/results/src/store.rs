//! The result store: an SQLite file, or a PostgreSQL database that many machines fill. Every measurement is written immediately, so that a
//! run killed at any moment leaves everything measured before.

mod layout;
mod location;
mod merge;
#[cfg(feature = "postgres")]
mod postgres;
mod sql;
mod sqlite;

pub use location::{STORE_FILE, StoreLocation};
pub use merge::MergeCounts;

use crate::heartbeat::{Heartbeat, RecordedProgress};
use crate::{Error, Machine, RunError, Watch};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sql::{Failure, Row, Sql, Value};
use std::collections::HashMap;
use std::path::Path;

/// A result store.
pub struct Store {
    // Dropped before `db`, the connection that syncs its writes.
    heartbeat: Heartbeat,
    /// The name in messages.
    name: String,
    db: Box<dyn Sql>,
}

/// The number of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunId(pub i64);

/// The data of a run at its start.
pub struct NewRun<'a> {
    /// `age`, `compare` or `probe`.
    pub kind: &'a str,
    /// The aged or measured subject.
    pub name: &'a str,
    /// The full command line.
    pub command: &'a str,
    /// The random seed.
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
    pub uid: String,
    pub holder: Option<String>,
}

/// A single measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// `aged`, `unaged`, or empty if there is only one side.
    pub subject: String,
    /// Name of the measure.
    pub measure: String,
    /// Its unit.
    pub unit: String,
    /// Number of the repetition, from 1.
    pub repetition: u64,
    /// The value.
    pub value: f64,
}

/// The columns of a run, in the order of [`run_of`].
const RUN: &str =
    "id, kind, name, state, started, finished, tool, command, seed, parameters, machine, error, uid, holder";

/// Number of measurements per statement.
const AT_ONCE: usize = 500;

impl Store {
    /// Opens the store in the file at `path`. Creates it if it does not exist.
    pub fn open(path: &Path) -> Result<Store, Error> {
        StoreLocation::File(path.to_owned()).open()
    }

    /// A store with an opened and prepared database.
    fn of(location: &StoreLocation, ready: Result<Box<dyn Sql>, Failure>) -> Result<Store, Error> {
        let name = location.to_string();
        match ready {
            Ok(db) => Ok(Store { heartbeat: Heartbeat::new(location), name, db }),
            Err(source) => Err(Error::Store { store: name, source }),
        }
    }

    /// Disables syncing for later writes: a power failure may lose the last of them, but nothing else.
    pub(crate) fn disable_sync(&self) -> Result<(), Error> {
        self.try_(self.db.batch(self.db.dialect().disable_sync))
    }

    /// Forwards the progress reported to `watch`, and records it in the store every few seconds for the runs that this store has started.
    pub fn record_progress<'w>(&self, watch: &'w mut dyn Watch) -> RecordedProgress<'w> {
        self.heartbeat.record_progress(watch)
    }

    fn try_<T>(&self, result: Result<T, Failure>) -> Result<T, Error> {
        result.map_err(|source| Error::Store { store: self.name.clone(), source })
    }

    fn change(&self, statement: &str, values: &[Value]) -> Result<u64, Error> {
        self.try_(self.db.change(statement, values))
    }

    fn rows(&self, statement: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        self.try_(self.db.rows(statement, values))
    }

    /// Runs `action` as an atomic transaction without concurrent writers.
    fn transaction<T>(&self, action: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.try_(self.db.batch(self.db.dialect().begin))?;
        let done = action();
        let ended = self.try_(self.db.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }));
        // The error of the action takes precedence.
        done.and_then(|done| ended.map(|()| done))
    }

    /// Records that a run starts.
    pub fn begin(&self, run: &NewRun) -> Result<RunId, Error> {
        let machine = serde_json::to_string(&Machine::this()).expect("plain data");
        let sql::Dialect { now, uid, .. } = self.db.dialect();
        let holder = self.try_(self.db.holder())?;
        let statement = format!(
            "INSERT INTO run (kind, name, state, started, tool, command, seed, parameters, machine, uid, holder)
             VALUES ($1, $2, 'running', {now}, $3, $4, $5, $6, $7, {uid}, $8) RETURNING id"
        );
        let seed = run.seed.map(|seed| seed.to_string());
        let values: [Value; 8] = [
            run.kind.into(),
            run.name.into(),
            crate::TOOL.into(),
            run.command.into(),
            seed.into(),
            run.parameters.to_string().into(),
            machine.into(),
            holder.into(),
        ];
        let rows = self.rows(&statement, &values)?;
        let row = rows.first().ok_or_else(|| self.wrong("a new run got no id"))?;
        let run = RunId(self.try_(row.int(0))?);
        self.heartbeat.begins(run);
        Ok(run)
    }

    /// Records that a run starts. Returns `None` if a live process is already running one of the same kind and name for which `same`
    /// returns true.
    pub fn begin_exclusive(&self, run: &NewRun, same: impl Fn(&Run) -> bool) -> Result<Option<RunId>, Error> {
        self.transaction(|| {
            let running = self.running(run.kind, run.name)?;
            if running.iter().any(same) { Ok(None) } else { self.begin(run).map(Some) }
        })
    }

    /// The runs of this kind and name in live processes.
    pub fn running(&self, kind: &str, name: &str) -> Result<Vec<Run>, Error> {
        let statement = format!(
            "SELECT {RUN} FROM run WHERE kind = $1 AND name = $2 AND state = 'running' AND holder IS NOT NULL"
        );
        let runs = self.runs_of(&statement, &[kind.into(), name.into()])?;
        let mut live = Vec::new();
        for run in runs {
            if self.try_(self.db.is_alive(run.holder.as_deref().unwrap_or_default()))? {
                live.push(run);
            }
        }
        Ok(live)
    }

    /// Records the end of a run: `done`, `failed` or `interrupted`, and the reason.
    pub fn end(&self, run: RunId, state: &str, error: Option<&str>) -> Result<(), Error> {
        let now = self.db.dialect().now;
        self.heartbeat.ends(run);
        let statement = format!("UPDATE run SET state = $1, finished = {now}, error = $2 WHERE id = $3");
        self.change(&statement, &[state.into(), error.into(), run.0.into()]).map(drop)
    }

    /// Records the end of a run according to its result.
    pub fn end_with<T>(&self, run: RunId, result: &Result<T, impl RunError>) -> Result<(), Error> {
        let Err(error) = result else { return self.end(run, "done", None) };
        let state = if error.is_interruption() { "interrupted" } else { "failed" };
        self.end(run, state, Some(&error.to_string()))
    }

    /// Records that a run resumes.
    pub fn resume(&self, run: RunId) -> Result<(), Error> {
        let holder = self.try_(self.db.holder())?;
        let statement =
            "UPDATE run SET state = 'running', finished = NULL, error = NULL, holder = $1 WHERE id = $2";
        self.change(statement, &[holder.into(), run.0.into()])?;
        self.heartbeat.begins(run);
        Ok(())
    }

    /// Records a measurement. Replaces an earlier one of the same repetition.
    pub fn record(&self, run: RunId, m: &Measurement) -> Result<(), Error> {
        self.insert(run, &[m])
    }

    /// Records several measurements atomically.
    pub fn record_all(&self, run: RunId, all: &[Measurement]) -> Result<(), Error> {
        // Of duplicates the last one counts, as with separate calls.
        let mut last = std::collections::BTreeMap::new();
        for m in all {
            last.insert((&m.subject, &m.measure, m.repetition), m);
        }
        let all: Vec<&Measurement> = last.into_values().collect();
        match all.chunks(AT_ONCE).collect::<Vec<_>>().as_slice() {
            [one] => self.insert(run, one),
            several => self.transaction(|| several.iter().try_for_each(|some| self.insert(run, some))),
        }
    }

    /// Records measurements without duplicates in one statement.
    fn insert(&self, run: RunId, all: &[&Measurement]) -> Result<(), Error> {
        let now = self.db.dialect().now;
        let row = |at: usize| {
            let [a, b, c, d, e, f] = [1, 2, 3, 4, 5, 6].map(|column| 6 * at + column);
            format!("(${a}, ${b}, ${c}, ${d}, ${e}, ${f}, {now})")
        };
        let rows: Vec<String> = (0..all.len()).map(row).collect();
        let statement = format!(
            "INSERT INTO measurement (run, subject, measure, unit, repetition, value, at) VALUES {}
             ON CONFLICT (run, subject, measure, repetition) DO UPDATE
             SET unit = excluded.unit, value = excluded.value, at = excluded.at",
            rows.join(", ")
        );
        let values: Vec<Value> = all
            .iter()
            .flat_map(|m| -> [Value; 6] {
                [
                    run.0.into(),
                    m.subject.as_str().into(),
                    m.measure.as_str().into(),
                    m.unit.as_str().into(),
                    (m.repetition as i64).into(),
                    m.value.into(),
                ]
            })
            .collect();
        self.change(&statement, &values).map(drop)
    }

    /// Records a document as JSON.
    pub fn record_document(
        &self,
        run: RunId,
        subject: &str,
        name: &str,
        body: &impl Serialize,
    ) -> Result<(), Error> {
        let body = serde_json::to_string(body).expect("plain data");
        let statement = "INSERT INTO document (run, subject, name, body) VALUES ($1, $2, $3, $4)
                         ON CONFLICT (run, subject, name) DO UPDATE SET body = excluded.body";
        self.change(statement, &[run.0.into(), subject.into(), name.into(), body.into()]).map(drop)
    }

    /// Reads a document, if it was recorded.
    pub fn document<T: DeserializeOwned>(
        &self,
        run: RunId,
        subject: &str,
        name: &str,
    ) -> Result<Option<T>, Error> {
        let statement = "SELECT body FROM document WHERE run = $1 AND subject = $2 AND name = $3";
        let rows = self.rows(statement, &[run.0.into(), subject.into(), name.into()])?;
        let Some(row) = rows.first() else { return Ok(None) };
        let body = self.try_(row.text(0))?;
        serde_json::from_str(&body)
            .map(Some)
            .map_err(|e| self.wrong(&format!("document {name} of run {}: {e}", run.0)))
    }

    /// The measurements of a run, ordered by subject, measure and repetition.
    pub fn measurements(&self, run: RunId) -> Result<Vec<Measurement>, Error> {
        let statement = "SELECT subject, measure, unit, repetition, value FROM measurement WHERE run = $1";
        let rows = self.rows(statement, &[run.0.into()])?;
        let read = |row: &Row| {
            Ok(Measurement {
                subject: row.text(0)?,
                measure: row.text(1)?,
                unit: row.text(2)?,
                repetition: row.int(3)? as u64,
                value: row.real(4)?,
            })
        };
        let mut all = self.try_(rows.iter().map(read).collect::<Result<Vec<Measurement>, Failure>>())?;
        // The order of text differs between databases.
        all.sort_by(|a, b| {
            (&a.subject, &a.measure, a.repetition).cmp(&(&b.subject, &b.measure, b.repetition))
        });
        Ok(all)
    }

    /// The last run of this kind and name with these parameters that this version of the program completed.
    pub fn last_done(
        &self,
        kind: &str,
        name: &str,
        parameters: &serde_json::Value,
    ) -> Result<Option<RunId>, Error> {
        let statement = "SELECT id FROM run WHERE kind = $1 AND name = $2 AND state = 'done' AND tool = $3
                         AND parameters = $4 ORDER BY id DESC LIMIT 1";
        let values = [kind.into(), name.into(), crate::TOOL.into(), parameters.to_string().into()];
        let rows = self.rows(statement, &values)?;
        rows.first().map(|row| self.try_(row.int(0)).map(RunId)).transpose()
    }

    /// The number of measurements of each run.
    pub fn measurement_counts(&self) -> Result<HashMap<i64, u64>, Error> {
        let rows = self.rows("SELECT run, count(*) FROM measurement GROUP BY run", &[])?;
        self.try_(rows.iter().map(|row| Ok((row.int(0)?, row.int(1)? as u64))).collect())
    }

    /// All runs, oldest first.
    pub fn runs(&self) -> Result<Vec<Run>, Error> {
        self.runs_of(&format!("SELECT {RUN} FROM run ORDER BY id"), &[])
    }

    /// A run by its number in this store.
    pub fn run(&self, run: RunId) -> Result<Run, Error> {
        let runs = self.runs_of(&format!("SELECT {RUN} FROM run WHERE id = $1"), &[run.0.into()])?;
        runs.into_iter().next().ok_or_else(|| self.wrong(&format!("run {} no longer exists", run.0)))
    }

    /// Finds a run by the name that is the same in every store.
    pub fn by_uid(&self, uid: &str) -> Result<Option<Run>, Error> {
        let runs = self.runs_of(&format!("SELECT {RUN} FROM run WHERE uid = $1"), &[uid.into()])?;
        Ok(runs.into_iter().next())
    }

    /// The name of a run, which is the same in every store.
    pub fn uid(&self, run: RunId) -> Result<String, Error> {
        let rows = self.rows("SELECT uid FROM run WHERE id = $1", &[run.0.into()])?;
        let row = rows.first().ok_or_else(|| self.wrong(&format!("run {} no longer exists", run.0)))?;
        self.try_(row.text(0))
    }

    /// The runs of this kind, oldest first.
    pub fn runs_of_kind(&self, kind: &str) -> Result<Vec<Run>, Error> {
        self.runs_of(&format!("SELECT {RUN} FROM run WHERE kind = $1 ORDER BY id"), &[kind.into()])
    }

    fn runs_of(&self, statement: &str, values: &[Value]) -> Result<Vec<Run>, Error> {
        let rows = self.rows(statement, values)?;
        self.try_(rows.iter().map(run_of).collect())
    }

    /// The error for unexpected content of the store.
    fn wrong(&self, why: &str) -> Error {
        Error::Refused(format!("result store {}: {why}", self.name))
    }
}

fn run_of(row: &Row) -> Result<Run, Failure> {
    let id = row.int(0)?;
    let json = |column: usize| row.text(column);
    Ok(Run {
        id: RunId(id),
        kind: row.text(1)?,
        name: row.text(2)?,
        state: row.text(3)?,
        started: row.text(4)?,
        finished: row.maybe_text(5)?,
        tool: row.text(6)?,
        command: row.text(7)?,
        seed: row.maybe_text(8)?.and_then(|seed| seed.parse().ok()),
        parameters: serde_json::from_str(&json(9)?).map_err(|e| format!("parameters of run {id}: {e}"))?,
        machine: serde_json::from_str(&json(10)?).map_err(|e| format!("machine of run {id}: {e}"))?,
        error: row.maybe_text(11)?,
        uid: row.text(12)?,
        holder: row.maybe_text(13)?,
    })
}

#[cfg(test)]
mod tests;
