//! The store in a file: SQLite with a write-ahead log.

use super::sql::{Dialect, Failure, Row, Sql, Value};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, params_from_iter};
use std::io::{ErrorKind, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a writer waits for another.
const WRITING_WAITS: Duration = Duration::from_secs(30);

/// How long a reader waits for a writer: in write-ahead mode only while the log is created or removed.
const READING_WAITS: Duration = Duration::from_secs(2);

/// The application id of store files: "snsc" in ASCII. SQLite stores it at a fixed position of the first page.
const APPLICATION_ID: u32 = 0x736e_7363;

/// The first bytes of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The position of the application id.
const APPLICATION_ID_AT: usize = 68;

/// The tables and columns of all store versions. They identify stores of versions that set no application id.
const TABLES: [(&str, &[&str]); 3] = [
    ("run", &["id", "kind", "name", "state", "started", "tool", "command", "parameters", "machine"]),
    ("measurement", &["run", "subject", "measure", "unit", "repetition", "value"]),
    ("document", &["run", "subject", "name", "body"]),
];

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The file does not exist or is empty.
    Nothing,
    /// The file is a store.
    Store,
    /// The file is a store of a version that set no application id.
    OlderStore,
}

/// An open store file.
pub(super) struct Sqlite(Connection);

impl Sqlite {
    /// Opens the file at `path`. Creates it if it does not exist.
    pub fn open(path: &Path) -> Result<Sqlite, Failure> {
        let found = look(path)?;
        let db = Connection::open(path)?;
        db.busy_timeout(WRITING_WAITS)?;
        let mark = || db.pragma_update(None, "application_id", APPLICATION_ID);
        match found {
            Found::Nothing => mark()?,
            Found::Store => {}
            // If the file is read-only, the next open identifies it by its tables again.
            Found::OlderStore => drop(mark()),
        }
        write_ahead(&db)?;
        db.pragma_update(None, "synchronous", "full")?;
        db.pragma_update(None, "foreign_keys", true)?;
        Ok(Sqlite(db))
    }

    /// Opens the file at `path` read-only, even while a run writes it.
    pub fn read(path: &Path) -> Result<Sqlite, Failure> {
        look(path)?;
        Sqlite::look_into(path)
    }

    /// Whether the file at `path` is a store. Refuses files of other programs.
    pub fn is_store(path: &Path) -> Result<bool, Failure> {
        Ok(look(path)? != Found::Nothing)
    }

    fn look_into(path: &Path) -> Result<Sqlite, Failure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = |name: &Path, flags| {
            let db = Connection::open_with_flags(name, flags)?;
            db.busy_timeout(READING_WAITS)?;
            // Forces SQLite to open its files now, not at the first query.
            db.pragma_query_value(None, "user_version", |_| Ok(()))?;
            Ok(Sqlite(db))
        };
        let opened = open(path, flags).or_else(|error: rusqlite::Error| match unchanging(path) {
            // Without write permission in the directory, a reader cannot create the files of the log. They are not needed if no process
            // writes.
            Some(name) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
                open(&name, flags | OpenFlags::SQLITE_OPEN_URI)
            }
            _ => Err(error),
        });
        Ok(opened?)
    }
}

/// Turns on the write-ahead log. SQLite itself does not wait for this lock, because two that hold half of it would wait for each other.
fn write_ahead(db: &Connection) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        let done = db.pragma_update(None, "journal_mode", "wal");
        let is_busy = |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
        if !done.as_ref().is_err_and(is_busy) || start.elapsed() >= WRITING_WAITS {
            return done;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Determines the kind of the file at `path`, and refuses files of other programs. Writes nothing to it, and creates nothing next to it
/// unless it already has a log, for which readers share memory.
fn look(path: &Path) -> Result<Found, Failure> {
    let mut head = Vec::new();
    match input::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        file => file?.take(100).read_to_end(&mut head)?,
    };
    let not_ours = "it is left unchanged; name another file";
    let id = match head.get(APPLICATION_ID_AT..APPLICATION_ID_AT + 4) {
        _ if head.is_empty() => return Ok(Found::Nothing),
        Some(id) if head.starts_with(MAGIC) => u32::from_be_bytes(id.try_into()?),
        _ => return Err(format!("it is not an SQLite database; {not_ours}").into()),
    };
    if id == APPLICATION_ID {
        return Ok(Found::Store);
    }
    let foreign =
        |why: String| Failure::from(format!("it is an SQLite file of another program ({why}); {not_ours}"));
    if id != 0 {
        return Err(foreign(format!("application id {id:#010x}")));
    }
    // In write-ahead mode even a reader creates files next to the database, unless it is opened as immutable.
    let db = match unchanging(path) {
        Some(name) => Connection::open_with_flags(
            name,
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI,
        )?,
        None => Sqlite::look_into(path)?.0,
    };
    let mut columns = db.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let mut has = |(table, wanted): &(&str, &[&str])| -> Result<bool, Failure> {
        let found = columns.query_map([table], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        Ok(wanted.iter().all(|wanted| found.iter().any(|found| found == wanted)))
    };
    if TABLES.iter().map(&mut has).collect::<Result<Vec<bool>, Failure>>()?.iter().all(|has| *has) {
        return Ok(Found::OlderStore);
    }
    let mut tables =
        db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name LIMIT 4")?;
    match tables.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()? {
        // A run was killed before it created the tables of a new store, or an empty file was created for it.
        tables if tables.is_empty() => Ok(Found::Nothing),
        tables => Err(foreign(format!("tables {}", tables.join(", ")))),
    }
}

/// The URI by which SQLite opens a file as immutable; `None` if it has a log.
fn unchanging(path: &Path) -> Option<PathBuf> {
    let beside = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        Path::new(&name).exists()
    };
    if beside("-wal") || beside("-journal") {
        return None;
    }
    let name = std::path::absolute(path).ok()?;
    let escaped = name.as_os_str().as_bytes().iter().map(|byte| match byte {
        b'/' | b'-' | b'_' | b'.' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02x}"),
    });
    Some(PathBuf::from(format!("file:{}?immutable=1", escaped.collect::<String>())))
}

const SQLITE: Dialect = Dialect {
    now: "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')",
    uid: "lower(hex(randomblob(16)))",
    id: "INTEGER PRIMARY KEY",
    integer: "INTEGER",
    real: "REAL",
    table: "STRICT",
    keyed_table: "STRICT, WITHOUT ROWID",
    disable_sync: "PRAGMA synchronous = normal",
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
                ValueRef::Blob(_) => Err("the store contains no blobs".into()),
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

    /// Only processes of one machine can use a file. The start time is needed because process numbers are reused.
    fn holder(&self) -> Result<String, Failure> {
        let pid = std::process::id();
        Ok(format!("{pid} {}", began(pid).ok_or("/proc does not show the start time of this process")?))
    }

    fn is_alive(&self, holder: &str) -> Result<bool, Failure> {
        let (pid, at) = holder.split_once(' ').unwrap_or((holder, ""));
        Ok(pid.parse().ok().and_then(began).is_some_and(|began| began == at))
    }
}

/// The boot id and the clock tick of the start of a process; `None` if there is no such process.
fn began(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain any characters. The 22nd field is the 20th after it.
    let tick = stat.rsplit_once(") ")?.1.split(' ').nth(19)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{} {tick}", boot.trim()))
}
