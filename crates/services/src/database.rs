//! A PostgreSQL database, with one statement at a time.

use crate::{Client, Error, Timeouts, postgres};
use std::time::Duration;
use tokio_postgres::types::{ToSql, Type};

/// The timeout of an answer: other clients may be writing.
const ANSWER: Duration = Duration::from_secs(60);

/// A column value.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValue {
    /// No value; as a parameter, of a column of type `text`.
    Null,
    /// `bigint`; when read, also `integer`.
    Int(i64),
    /// `double precision`.
    Real(f64),
    /// `text`.
    Text(String),
}

/// A connection. Credentials come from the URL, from `PG…` variables or from the password file, as for all clients of PostgreSQL. No error
/// message contains a secret.
pub struct Database {
    // Before the client: the connection is closed while the runtime exists.
    database: tokio_postgres::Client,
    client: Client,
}

impl Database {
    /// Connects to the database at `postgres://HOST:PORT/DATABASE`.
    pub fn connect(url: &str) -> Result<Database, Error> {
        let timeouts = Timeouts { answer: ANSWER, ..Timeouts::default() };
        let (mut client, variables) = Client::open(None, timeouts)?;
        let database = postgres::connect(&mut client, &variables, Some(url))?;
        Ok(Database { database, client })
    }

    /// Whether the connection is closed, or has not answered for so long that no more requests are sent.
    pub fn is_closed(&self) -> bool {
        self.database.is_closed() || self.client.has_given_up()
    }

    /// Executes statements without parameters.
    pub fn batch(&mut self, statements: &str) -> Result<(), Error> {
        self.client.wait(self.database.batch_execute(statements))
    }

    /// Executes a statement with parameters `$1`, `$2` …; returns the number of changed rows.
    pub fn change(&mut self, statement: &str, cells: &[ColumnValue]) -> Result<u64, Error> {
        self.client.wait(self.database.execute_typed(statement, &parameters(cells)))
    }

    /// The result rows of a statement.
    pub fn rows(&mut self, statement: &str, cells: &[ColumnValue]) -> Result<Vec<Vec<ColumnValue>>, Error> {
        let rows = self.client.wait(self.database.query_typed(statement, &parameters(cells)))?;
        rows.iter().map(|row| (0..row.len()).map(|column| self.cell(row, column)).collect()).collect()
    }

    fn cell(&self, row: &tokio_postgres::Row, column: usize) -> Result<ColumnValue, Error> {
        let kind = row.columns()[column].type_();
        let cell = match *kind {
            Type::INT8 => row.try_get::<_, Option<i64>>(column).map(|value| value.map(ColumnValue::Int)),
            Type::INT4 => {
                row.try_get::<_, Option<i32>>(column).map(|value| value.map(|n| ColumnValue::Int(n.into())))
            }
            Type::FLOAT8 => row.try_get::<_, Option<f64>>(column).map(|value| value.map(ColumnValue::Real)),
            Type::TEXT => row.try_get::<_, Option<String>>(column).map(|value| value.map(ColumnValue::Text)),
            _ => return Err(Error(format!("a column has the unexpected type {kind}"))),
        };
        cell.map(|cell| cell.unwrap_or(ColumnValue::Null)).map_err(|error| self.client.redacted_error(&error))
    }
}

/// A parameter, and its type for the server.
type Parameter<'c> = (&'c (dyn ToSql + Sync), Type);

fn parameters(cells: &[ColumnValue]) -> Vec<Parameter<'_>> {
    cells.iter().map(parameter).collect()
}

fn parameter(cell: &ColumnValue) -> Parameter<'_> {
    match cell {
        ColumnValue::Null => (&None::<String>, Type::TEXT),
        ColumnValue::Int(value) => (value, Type::INT8),
        ColumnValue::Real(value) => (value, Type::FLOAT8),
        ColumnValue::Text(value) => (value, Type::TEXT),
    }
}
