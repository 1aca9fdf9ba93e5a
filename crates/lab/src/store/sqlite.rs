//! The store in a file: SQLite, with a write-ahead log.

use super::sql::{Dialect, Failure, Row, Sql, Value};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, params_from_iter};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a reader waits for a writer: in write-ahead mode only while the log is being made or taken back.
const READING_WAITS: Duration = Duration::from_secs(2);

/// A file.
pub(super) struct Sqlite(Connection);

impl Sqlite {
    /// Opens the file at `path`, making it if there is none.
    pub fn open(path: &Path) -> Result<Sqlite, Failure> {
        let db = Connection::open(path)?;
        db.busy_timeout(Duration::from_secs(30))?;
        db.pragma_update(None, "journal_mode", "wal")?;
        db.pragma_update(None, "synchronous", "full")?;
        db.pragma_update(None, "foreign_keys", true)?;
        Ok(Sqlite(db))
    }

    /// Opens the file at `path` for reading alone, also while a run writes it.
    pub fn read(path: &Path) -> Result<Sqlite, Failure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = |name: &Path, flags| {
            let db = Connection::open_with_flags(name, flags)?;
            db.busy_timeout(READING_WAITS)?;
            // Files are opened when something is asked for.
            db.pragma_query_value(None, "user_version", |_| Ok(()))?;
            Ok(Sqlite(db))
        };
        let opened = open(path, flags).or_else(|error: rusqlite::Error| match unchanging(path) {
            // A reader who may write nothing there cannot make the files of the log, which need not be if nobody writes.
            Some(name) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
                open(&name, flags | OpenFlags::SQLITE_OPEN_URI)
            }
            _ => Err(error),
        });
        Ok(opened?)
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

const SQLITE: Dialect = Dialect {
    now: "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')",
    uid: "lower(hex(randomblob(16)))",
    id: "INTEGER PRIMARY KEY",
    integer: "INTEGER",
    real: "REAL",
    table: "STRICT",
    keyed_table: "STRICT, WITHOUT ROWID",
    relax: "PRAGMA synchronous = normal",
    begin: "BEGIN IMMEDIATE",
};

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Int(value) => ValueRef::Integer(*value),
            Value::Real(value) => ValueRef::Real(*value),
            Value::Text(value) => ValueRef::Text(value.as_bytes()),
        }))
    }
}

impl Sql for Sqlite {
    fn dialect(&self) -> &'static Dialect {
        &SQLITE
    }

    fn batch(&self, statements: &str) -> Result<(), Failure> {
        Ok(self.0.execute_batch(statements)?)
    }

    fn change(&self, statement: &str, values: &[Value]) -> Result<u64, Failure> {
        let mut statement = self.0.prepare_cached(statement)?;
        Ok(statement.execute(params_from_iter(values))? as u64)
    }

    fn rows(&self, statement: &str, values: &[Value]) -> Result<Vec<Row>, Failure> {
        let mut statement = self.0.prepare_cached(statement)?;
        let columns = statement.column_count();
        let mut found = statement.query(params_from_iter(values))?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let values = (0..columns).map(|column| match row.get_ref(column)? {
                ValueRef::Null => Ok(Value::Null),
                ValueRef::Integer(value) => Ok(Value::Int(value)),
                ValueRef::Real(value) => Ok(Value::Real(value)),
                ValueRef::Text(text) => Ok(Value::Text(std::str::from_utf8(text)?.to_owned())),
                ValueRef::Blob(_) => Err("the store holds no blobs".into()),
            });
            rows.push(Row(values.collect::<Result<_, Failure>>()?));
        }
        Ok(rows)
    }

    fn layout(&self) -> Result<i64, Failure> {
        Ok(self.0.pragma_query_value(None, "user_version", |row| row.get(0))?)
    }

    fn set_layout(&self, layout: i64) -> Result<(), Failure> {
        Ok(self.0.pragma_update(None, "user_version", layout)?)
    }

    /// Only processes of one machine may use one file: its number, and when it began, for numbers come again.
    fn holder(&self) -> Result<String, Failure> {
        let pid = std::process::id();
        Ok(format!("{pid} {}", began(pid).ok_or("/proc does not tell when this process began")?))
    }

    fn lives(&self, holder: &str) -> Result<bool, Failure> {
        let (pid, at) = holder.split_once(' ').unwrap_or((holder, ""));
        Ok(pid.parse().ok().and_then(began).is_some_and(|began| began == at))
    }
}

/// The boot and the tick in which a process began; `None` if there is no such process.
fn began(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything. The 22nd field is the 20th behind it.
    let tick = stat.rsplit_once(") ")?.1.split(' ').nth(19)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{} {tick}", boot.trim()))
}
