//! The little that the store asks of a database, so that one text of SQL serves all of them. Parameters are `$1`, `$2` …, numbered
//! in the order in which they first stand in the statement: SQLite numbers them so, and PostgreSQL reads the numbers.

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Real(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::Text(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// Why a database did not do what it was asked.
pub(super) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A row that was asked for.
pub(super) struct Row(pub Vec<Value>);

impl Row {
    pub fn int(&self, column: usize) -> Result<i64, Failure> {
        match &self.0[column] {
            Value::Int(value) => Ok(*value),
            other => Err(format!("column {column} is not an integer but {other:?}").into()),
        }
    }

    pub fn real(&self, column: usize) -> Result<f64, Failure> {
        match &self.0[column] {
            Value::Real(value) => Ok(*value),
            other => Err(format!("column {column} is not a number but {other:?}").into()),
        }
    }

    pub fn text(&self, column: usize) -> Result<String, Failure> {
        self.maybe_text(column)?.ok_or_else(|| format!("column {column} is empty").into())
    }

    pub fn maybe_text(&self, column: usize) -> Result<Option<String>, Failure> {
        match &self.0[column] {
            Value::Text(value) => Ok(Some(value.clone())),
            Value::Null => Ok(None),
            other => Err(format!("column {column} is not text but {other:?}").into()),
        }
    }
}

/// What differs between databases.
pub(super) struct Dialect {
    /// This moment, as RFC 3339 in UTC.
    pub now: &'static str,
    /// A name that nothing else in the world has.
    pub uid: &'static str,
    /// The type of a key that numbers itself.
    pub id: &'static str,
    /// The type of whole numbers of 64 bits.
    pub integer: &'static str,
    /// The type of floating-point numbers of 64 bits.
    pub real: &'static str,
    /// What ends a table.
    pub table: &'static str,
    /// What ends a table that is looked up by its key alone.
    pub keyed_table: &'static str,
    /// What is written from then on waits for no disk.
    pub relax: &'static str,
    /// Begins a transaction that no other writer of the store is in.
    pub begin: &'static str,
}

/// A database, opened.
pub(super) trait Sql {
    /// What differs.
    fn dialect(&self) -> &'static Dialect;

    /// Carries out statements without parameters.
    fn batch(&self, statements: &str) -> Result<(), Failure>;

    /// Carries out a statement; gives how many rows it changed.
    fn change(&self, statement: &str, values: &[Value]) -> Result<u64, Failure>;

    /// The rows that a statement gives.
    fn rows(&self, statement: &str, values: &[Value]) -> Result<Vec<Row>, Failure>;

    /// The layout of the tables; 0 where there are none yet.
    fn layout(&self) -> Result<i64, Failure>;

    /// Says which layout the tables have, within a transaction.
    fn set_layout(&self, layout: i64) -> Result<(), Failure>;

    /// What tells this process, as long as it lives, from all others that ever use the store.
    fn holder(&self) -> Result<String, Failure>;

    /// Whether the process that called itself so still lives.
    fn lives(&self, holder: &str) -> Result<bool, Failure>;
}
