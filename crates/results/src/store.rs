//! The one place where results land: an SQLite file, or a database of PostgreSQL that many machines fill, written to as soon as a
//! number is known, so that a run killed at any moment leaves all that it had measured.

mod at;
mod layout;
mod merge;
#[cfg(feature = "postgres")]
mod postgres;
mod sql;
mod sqlite;

pub use at::{STORE, StoreAt, without_secrets};
pub use merge::Merged;

use crate::heartbeat::{Heartbeat, RecordedProgress};
use crate::{Error, Machine, RunError, Watch};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sql::{Failure, Row, Sql, Value};
use std::collections::HashMap;
use std::path::Path;

/// A store of results.
pub struct Store {
    // Ends before the connection that syncs what is written.
    heartbeat: Heartbeat,
    /// What it is called in messages.
    name: String,
    db: Box<dyn Sql>,
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
    pub uid: String,
    pub holder: Option<String>,
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

/// The columns of a run, as [`run_of`] reads them.
const RUN: &str =
    "id, kind, name, state, started, finished, tool, command, seed, parameters, machine, error, uid, holder";

/// So many numbers are recorded by one statement.
const AT_ONCE: usize = 500;

impl Store {
    /// Opens the store in the file at `path`, making it if there is none.
    pub fn open(path: &Path) -> Result<Store, Error> {
        StoreAt::File(path.to_owned()).open()
    }

    /// A database that is ready.
    fn of(at: &StoreAt, ready: Result<Box<dyn Sql>, Failure>) -> Result<Store, Error> {
        let name = at.to_string();
        match ready {
            Ok(db) => Ok(Store { heartbeat: Heartbeat::new(at), name, db }),
            Err(source) => Err(Error::Store { store: name, source }),
        }
    }

    /// What is written from now on waits for no disk: a power cut may lose the last of it, and no more.
    pub(crate) fn relax(&self) -> Result<(), Error> {
        self.try_(self.db.batch(self.db.dialect().relax))
    }

    /// Passes on what `watch` is told, and notes it in the store every few seconds, for the runs that this store has begun.
    pub fn noted<'w>(&self, watch: &'w mut dyn Watch) -> RecordedProgress<'w> {
        self.heartbeat.noted(watch)
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

    /// Does all of it or nothing, while no other writer does anything.
    fn as_one<T>(&self, action: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.try_(self.db.batch(self.db.dialect().begin))?;
        let done = action();
        let ended = self.try_(self.db.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }));
        // The error of the action is the one to tell.
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

    /// Records that a run starts, unless one of its kind and name, of which `same` says that it is the same work, is running in a
    /// process that lives: `None` then.
    pub fn begin_alone(&self, run: &NewRun, same: impl Fn(&Run) -> bool) -> Result<Option<RunId>, Error> {
        self.as_one(|| {
            let running = self.running(run.kind, run.name)?;
            if running.iter().any(same) { Ok(None) } else { self.begin(run).map(Some) }
        })
    }

    /// The runs of this kind and name that are running in processes that live.
    pub fn running(&self, kind: &str, name: &str) -> Result<Vec<Run>, Error> {
        let statement = format!(
            "SELECT {RUN} FROM run WHERE kind = $1 AND name = $2 AND state = 'running' AND holder IS NOT NULL"
        );
        let runs = self.runs_of(&statement, &[kind.into(), name.into()])?;
        let mut live = Vec::new();
        for run in runs {
            if self.try_(self.db.lives(run.holder.as_deref().unwrap_or_default()))? {
                live.push(run);
            }
        }
        Ok(live)
    }

    /// Records how a run ended: `done`, `failed` or `interrupted`, and why.
    pub fn end(&self, run: RunId, state: &str, error: Option<&str>) -> Result<(), Error> {
        let now = self.db.dialect().now;
        self.heartbeat.ends(run);
        let statement = format!("UPDATE run SET state = $1, finished = {now}, error = $2 WHERE id = $3");
        self.change(&statement, &[state.into(), error.into(), run.0.into()]).map(drop)
    }

    /// Records how a run ended, by its result.
    pub fn end_by<T>(&self, run: RunId, result: &Result<T, impl RunError>) -> Result<(), Error> {
        let Err(error) = result else { return self.end(run, "done", None) };
        let state = if error.is_interruption() { "interrupted" } else { "failed" };
        self.end(run, state, Some(&error.to_string()))
    }

    /// Records that a run goes on.
    pub fn again(&self, run: RunId) -> Result<(), Error> {
        let holder = self.try_(self.db.holder())?;
        let statement =
            "UPDATE run SET state = 'running', finished = NULL, error = NULL, holder = $1 WHERE id = $2";
        self.change(statement, &[holder.into(), run.0.into()])?;
        self.heartbeat.begins(run);
        Ok(())
    }

    /// Records a number, replacing an earlier one of the same repetition.
    pub fn record(&self, run: RunId, m: &Measurement) -> Result<(), Error> {
        self.insert(run, &[m])
    }

    /// Records several numbers at once: all or none.
    pub fn record_all(&self, run: RunId, all: &[Measurement]) -> Result<(), Error> {
        // Of what is there twice the last counts, as if one were recorded after the other.
        let mut last = std::collections::BTreeMap::new();
        for m in all {
            last.insert((&m.subject, &m.measure, m.repetition), m);
        }
        let all: Vec<&Measurement> = last.into_values().collect();
        match all.chunks(AT_ONCE).collect::<Vec<_>>().as_slice() {
            [one] => self.insert(run, one),
            several => self.as_one(|| several.iter().try_for_each(|some| self.insert(run, some))),
        }
    }

    /// Records numbers of which none is there twice, by one statement.
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

    /// Records what is more than a number, as JSON.
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

    /// A document, if it was recorded.
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

    /// The numbers of a run, in order of subject, measure and repetition.
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
        // Databases order text each in its own way.
        all.sort_by(|a, b| {
            (&a.subject, &a.measure, a.repetition).cmp(&(&b.subject, &b.measure, b.repetition))
        });
        Ok(all)
    }

    /// The last run of this kind and name that was done by this version of the program with these parameters.
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

    /// How many numbers each run has.
    pub fn counts(&self) -> Result<HashMap<i64, u64>, Error> {
        let rows = self.rows("SELECT run, count(*) FROM measurement GROUP BY run", &[])?;
        self.try_(rows.iter().map(|row| Ok((row.int(0)?, row.int(1)? as u64))).collect())
    }

    /// All runs, oldest first.
    pub fn runs(&self) -> Result<Vec<Run>, Error> {
        self.runs_of(&format!("SELECT {RUN} FROM run ORDER BY id"), &[])
    }

    /// The run that has this name in every store, if it is here.
    pub fn by_uid(&self, uid: &str) -> Result<Option<Run>, Error> {
        let runs = self.runs_of(&format!("SELECT {RUN} FROM run WHERE uid = $1"), &[uid.into()])?;
        Ok(runs.into_iter().next())
    }

    /// The name that a run has in every store.
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

    /// Something in the store is not as it was written.
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
