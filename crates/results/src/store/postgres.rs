//! The store in a PostgreSQL database, in a separate schema: many machines can fill it concurrently.

use super::sql::{Dialect, Failure, Row, Sql, Value};
use services::{ColumnValue, Database};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// A database.
pub(super) struct Postgres {
    url: String,
    database: RefCell<Database>,
    /// Whether a transaction is open; a lost connection ends it.
    within: Cell<bool>,
    /// The holder of the runs of this process.
    held_by: RefCell<Option<String>>,
}

/// How long to wait for a server that restarts.
const PATIENCE: Duration = Duration::from_secs(60);

/// The database lock that excludes other writers; the number is arbitrary.
macro_rules! lock {
    () => {
        "pg_advisory_xact_lock(7318349394477056)"
    };
}

/// Creates the schema of this program, and uses it. The server notices within two minutes if a machine has vanished.
const PREPARE: &str = concat!(
    "BEGIN; SELECT ",
    lock!(),
    "; CREATE SCHEMA IF NOT EXISTS senesce_store; SET search_path TO senesce_store;
    CREATE TABLE IF NOT EXISTS layout (layout BIGINT NOT NULL); COMMIT; SET search_path TO senesce_store;
    SET tcp_keepalives_idle = 60; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 6"
);

const POSTGRES: Dialect = Dialect {
    now: "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')",
    uid: "replace(gen_random_uuid()::text, '-', '')",
    id: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    integer: "BIGINT",
    real: "DOUBLE PRECISION",
    table: "",
    keyed_table: "",
    disable_sync: "SET synchronous_commit TO off",
    begin: concat!("BEGIN; SELECT ", lock!()),
};

/// The server process of a connection and its start time, which identify the connection.
const HOLDER: &str = "pid::text || ' ' || extract(epoch FROM backend_start)::text";

impl Postgres {
    /// Connects to the database at `url`.
    pub fn open(url: &str) -> Result<Postgres, Failure> {
        let database = RefCell::new(connect(url)?);
        Ok(Postgres { url: url.to_owned(), database, within: Cell::new(false), held_by: RefCell::default() })
    }

    /// Sends a request to the database, and repeats it if the connection was lost between two statements: figures take hours, and a server
    /// may be restarted meanwhile.
    fn ask<T>(&self, action: impl Fn(&mut Database) -> Result<T, services::Error>) -> Result<T, Failure> {
        let done = action(&mut self.database.borrow_mut());
        if done.is_ok() || self.within.get() || !self.database.borrow().is_closed() {
            return done.map_err(failure);
        }
        self.database.replace(connect_again(&self.url)?);
        // The runs in progress continue on the new connection.
        let before = self.held_by.borrow().clone();
        if let Some(before) = before {
            let statement = "UPDATE run SET holder = $1 WHERE holder = $2 AND state = 'running'";
            let cells = cells(&[self.holder()?.into(), before.into()]);
            self.database.borrow_mut().change(statement, &cells).map_err(failure)?;
        }
        action(&mut self.database.borrow_mut()).map_err(failure)
    }
}

fn connect(url: &str) -> Result<Database, Failure> {
    let mut database = Database::connect(url).map_err(failure)?;
    database.batch(PREPARE).map_err(failure)?;
    Ok(database)
}

/// Connects to a server that may be restarting.
fn connect_again(url: &str) -> Result<Database, Failure> {
    let begun = Instant::now();
    loop {
        match connect(url) {
            Err(_) if begun.elapsed() < PATIENCE && !disk::interrupted() => {
                std::thread::sleep(Duration::from_millis(500));
            }
            connected => return connected,
        }
    }
}

fn failure(failure: services::Error) -> Failure {
    failure.0.into()
}

fn cells(values: &[Value]) -> Vec<ColumnValue> {
    let cell = |value: &Value| match value {
        Value::Null => ColumnValue::Null,
        Value::Int(value) => ColumnValue::Int(*value),
        Value::Real(value) => ColumnValue::Real(*value),
        Value::Text(value) => ColumnValue::Text(value.clone()),
    };
    values.iter().map(cell).collect()
}

fn row(cells: Vec<ColumnValue>) -> Row {
    let value = |cell| match cell {
        ColumnValue::Null => Value::Null,
        ColumnValue::Int(value) => Value::Int(value),
        ColumnValue::Real(value) => Value::Real(value),
        ColumnValue::Text(value) => Value::Text(value),
    };
    Row(cells.into_iter().map(value).collect())
}

impl Sql for Postgres {
    fn dialect(&self) -> &'static Dialect {
        &POSTGRES
    }

    fn batch(&self, statements: &str) -> Result<(), Failure> {
        let done = self.ask(|database| database.batch(statements));
        match statements {
            begin if begin == POSTGRES.begin => self.within.set(done.is_ok()),
            "COMMIT" | "ROLLBACK" => self.within.set(false),
            _ => {}
        }
        done
    }

    fn change(&self, statement: &str, values: &[Value]) -> Result<u64, Failure> {
        let cells = cells(values);
        self.ask(|database| database.change(statement, &cells))
    }

    fn rows(&self, statement: &str, values: &[Value]) -> Result<Vec<Row>, Failure> {
        let cells = cells(values);
        Ok(self.ask(|database| database.rows(statement, &cells))?.into_iter().map(row).collect())
    }

    fn layout(&self) -> Result<i64, Failure> {
        self.rows("SELECT layout FROM layout", &[])?.first().map_or(Ok(0), |row| row.int(0))
    }

    fn set_layout(&self, layout: i64) -> Result<(), Failure> {
        self.batch("DELETE FROM layout")?;
        self.change("INSERT INTO layout VALUES ($1)", &[layout.into()]).map(drop)
    }

    /// The connection, which ends with the process.
    fn holder(&self) -> Result<String, Failure> {
        let statement = format!("SELECT {HOLDER} FROM pg_stat_activity WHERE pid = pg_backend_pid()");
        let rows = self.rows(&statement, &[])?;
        let holder = rows.first().ok_or("the server does not report the id of this connection")?.text(0)?;
        self.held_by.replace(Some(holder.clone()));
        Ok(holder)
    }

    fn is_alive(&self, holder: &str) -> Result<bool, Failure> {
        let statement = format!("SELECT 1 FROM pg_stat_activity WHERE {HOLDER} = $1");
        Ok(!self.rows(&statement, &[holder.into()])?.is_empty())
    }
}
