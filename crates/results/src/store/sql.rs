//! The interface of the store to its databases, which allows the same SQL for all of them. Parameters are `$1`, `$2` …, numbered in the
//! order of their first use in the statement: SQLite numbers them this way, and PostgreSQL reads the numbers.

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

/// A database error.
pub(super) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A row of a result.
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

/// The differences between databases.
pub(super) struct Dialect {
    /// The current time, as RFC 3339 in UTC.
    pub now: &'static str,
    /// A globally unique name.
    pub uid: &'static str,
    /// The type of an automatically numbered key.
    pub id: &'static str,
    /// The type of 64-bit integers.
    pub integer: &'static str,
    /// The type of 64-bit floating-point numbers.
    pub real: &'static str,
    /// The end of a table definition.
    pub table: &'static str,
    /// The end of a definition of a table that is accessed only by its key.
    pub keyed_table: &'static str,
    /// Disables syncing for later writes.
    pub disable_sync: &'static str,
    /// Begins a transaction that excludes other writers of the store.
    pub begin: &'static str,
}

/// An open database.
pub(super) trait Sql {
    /// The properties of this database.
    fn dialect(&self) -> &'static Dialect;

    /// Executes statements without parameters.
    fn batch(&self, statements: &str) -> Result<(), Failure>;

    /// Executes a statement. Returns the number of changed rows.
    fn change(&self, statement: &str, values: &[Value]) -> Result<u64, Failure>;

    /// Executes a query. Returns its rows.
    fn rows(&self, statement: &str, values: &[Value]) -> Result<Vec<Row>, Failure>;

    /// The layout of the tables; 0 if there are none.
    fn layout(&self) -> Result<i64, Failure>;

    /// Sets the layout of the tables, within a transaction.
    fn set_layout(&self, layout: i64) -> Result<(), Failure>;

    /// An identifier of this process while it lives, unique among all processes that ever use the store.
    fn holder(&self) -> Result<String, Failure>;

    /// Whether the process with this identifier is alive.
    fn is_alive(&self, holder: &str) -> Result<bool, Failure>;
}
