//! Merges stores, such as those of shards and machines. A run has the same `uid` in every store.

use super::sql::{Row, Value};
use super::{Run, RunId, Store};
use crate::Error;
use std::collections::HashMap;

/// The result of a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct MergeCounts {
    /// Runs that were copied, or copied again because they have continued.
    #[serde(rename = "taken")]
    pub copied: u64,
    /// Runs that existed already, unchanged.
    #[serde(rename = "known")]
    pub unchanged: u64,
    /// Runs that are in progress or were killed, and were skipped.
    pub unfinished: u64,
}

/// The action for a run.
enum MergeAction {
    Copy,
    Keep,
    Skip,
}

/// The parameter in which a comparison names the run that aged its file system.
const AGED_RUN: &str = "aged_run";

impl Store {
    /// Copies all ended runs of another store. Runs that exist here are copied again if they have continued there, and otherwise left
    /// alone. A run is copied atomically with all its measurements and documents.
    pub fn merge(&self, from: &Store) -> Result<MergeCounts, Error> {
        let mut merged = MergeCounts::default();
        // The local numbers of the runs of the other store.
        let mut here: HashMap<i64, i64> = HashMap::new();
        for run in from.runs()? {
            // Other processes may merge the same store concurrently.
            let action = self.transaction(|| match self.find_copy(&run)? {
                None if run.state == "running" => Ok((None, MergeAction::Skip)),
                Some((id, gone_on)) if !gone_on || run.state == "running" => {
                    Ok((Some(id), MergeAction::Keep))
                }
                known => {
                    let id = self.copy_run(from, run.id, known.map(|(id, _)| id), &here)?;
                    Ok((Some(id), MergeAction::Copy))
                }
            });
            let (id, action) = action?;
            here.extend(id.map(|id| (run.id.0, id.0)));
            match action {
                MergeAction::Copy => merged.copied += 1,
                MergeAction::Keep => merged.unchanged += 1,
                MergeAction::Skip => merged.unfinished += 1,
            }
        }
        Ok(merged)
    }

    /// The local run of a run of another store, if it exists, and whether the run has continued and ended there.
    fn find_copy(&self, there: &Run) -> Result<Option<(RunId, bool)>, Error> {
        let gone_on = |here: &Run| {
            // A run in progress here is never replaced.
            here.state != "running"
                && (there.finished > here.finished
                    || there.finished == here.finished && there.state != here.state)
        };
        Ok(self.by_uid(&there.uid)?.map(|here| (here.id, gone_on(&here))))
    }

    /// Copies a run. Replaces the existing data of the run.
    fn copy_run(
        &self,
        from: &Store,
        run: RunId,
        before: Option<RunId>,
        here: &HashMap<i64, i64>,
    ) -> Result<RunId, Error> {
        // Copies the columns verbatim, because times and commands must not change.
        let columns =
            "kind, name, state, started, finished, tool, command, seed, parameters, machine, error, uid";
        let rows = from.rows(&format!("SELECT {columns} FROM run WHERE id = $1"), &[run.0.into()])?;
        let Some(Row(mut values)) = rows.into_iter().next() else {
            return Err(from.wrong(&format!("run {} no longer exists", run.0)));
        };
        if let Value::Text(parameters) = &mut values[8]
            && let Ok(mut json) = serde_json::from_str::<serde_json::Value>(parameters)
            && let Some(aged) = json.get(AGED_RUN).and_then(serde_json::Value::as_i64)
        {
            json[AGED_RUN] = here.get(&aged).copied().into();
            *parameters = json.to_string();
        }
        let holes: Vec<String> = (1..=values.len()).map(|at| format!("${at}")).collect();
        let holes = holes.join(", ");
        let statement = match before {
            Some(RunId(id)) => {
                for table in ["measurement", "document"] {
                    self.change(&format!("DELETE FROM {table} WHERE run = $1"), &[id.into()])?;
                }
                format!("UPDATE run SET ({columns}) = ({holes}) WHERE id = {id} RETURNING id")
            }
            None => format!("INSERT INTO run ({columns}) VALUES ({holes}) RETURNING id"),
        };
        let rows = self.rows(&statement, &values)?;
        let id = rows.first().ok_or_else(|| self.wrong("a merged run got no id"))?;
        let id = RunId(self.try_(id.int(0))?);
        for (table, columns) in [
            ("measurement", "subject, measure, unit, repetition, value, at"),
            ("document", "subject, name, body"),
        ] {
            let rows =
                from.rows(&format!("SELECT {columns} FROM {table} WHERE run = $1"), &[run.0.into()])?;
            for some in rows.chunks(super::AT_ONCE) {
                self.copy(table, columns, id, some)?;
            }
        }
        Ok(id)
    }

    /// Adds rows to a run in one statement.
    fn copy(&self, table: &str, columns: &str, run: RunId, rows: &[Row]) -> Result<(), Error> {
        let mut values: Vec<Value> = vec![run.0.into()];
        let mut holes = Vec::new();
        for row in rows {
            let each = row.0.iter().map(|value| {
                values.push(value.clone());
                format!("${}", values.len())
            });
            holes.push(format!("($1, {})", each.collect::<Vec<_>>().join(", ")));
        }
        let statement = format!("INSERT INTO {table} (run, {columns}) VALUES {}", holes.join(", "));
        self.change(&statement, &values).map(drop)
    }
}
