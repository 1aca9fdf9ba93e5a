//! PostgreSQL rows: a table `senesce.RANK_NUMBER` per data set, with a row per object. A statement is sent with its parameters in one message,
//! so each operation is one round trip.

use crate::client::Client;
use crate::credentials::{Variables, read_private};
use bench::metadata::{DataSet, Interface, InterfaceError, Object};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::types::Type;
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The mark of a schema that this program created and may remove.
const MARK: &str = "made by senesce";

/// The tables of a database.
pub struct Tables {
    // Before the client: the connection is closed while the runtime exists.
    database: tokio_postgres::Client,
    client: Client,
}

impl Tables {
    /// Opens `postgres://HOST:PORT/DATABASE`, or the database of the `PG…` variables.
    pub fn open(
        mut client: Client,
        variables: &Variables,
        url: Option<&str>,
    ) -> Result<Tables, InterfaceError> {
        let database = connect(&mut client, variables, url)?;
        Ok(Tables { database, client })
    }

    /// Executes a statement without a result.
    fn run(&mut self, statement: &str) -> Result<(), InterfaceError> {
        self.client.wait(self.database.batch_execute(statement))
    }

    /// Queries one value of an object.
    fn one<T: tokio_postgres::types::FromSqlOwned>(
        &mut self,
        what: &str,
        object: Object,
    ) -> Result<T, InterfaceError> {
        let statement = format!("SELECT {what} FROM {} WHERE item = $1", table(object.set));
        let item = object.item as i64;
        let rows = self.client.wait(self.database.query_typed(&statement, &[(&item, Type::INT8)]))?;
        let row = rows.first().ok_or_else(missing)?;
        row.try_get(0).map_err(|error| self.client.redacted_error(&error))
    }
}

/// Connects to the database of a URL, or of the `PG…` variables.
pub(crate) fn connect(
    client: &mut Client,
    variables: &Variables,
    url: Option<&str>,
) -> Result<tokio_postgres::Client, InterfaceError> {
    let config = config(client, variables, url)?;
    if let Some(password) = config.get_password() {
        client.hide(&String::from_utf8_lossy(password));
    }
    if config.get_ssl_mode() == SslMode::Disable {
        client.wait(config.connect(NoTls)).map(|(database, connection)| {
            client.spawn(async { connection.await.unwrap_or_default() });
            database
        })
    } else {
        let tls = MakeRustlsConnect::with_native_certs().map_err(|errors| {
            InterfaceError(format!(
                "no trusted certificates found: {errors:?}; install ca-certificates, or set PGSSLMODE=disable"
            ))
        })?;
        client.wait(config.connect(tls.0)).map(|(database, connection)| {
            client.spawn(async { connection.await.unwrap_or_default() });
            database
        })
    }
}

fn missing() -> InterfaceError {
    InterfaceError("no such row".to_owned())
}

fn table(set: DataSet) -> String {
    format!("senesce.\"{}_{}\"", set.rank, set.number)
}

/// The connect timeout, even if answers may take longer.
const CONNECT: Duration = Duration::from_secs(8);

fn config(client: &Client, variables: &Variables, url: Option<&str>) -> Result<Config, InterfaceError> {
    let mut config = match url {
        Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            url.parse().map_err(|error: tokio_postgres::Error| client.redacted_error(&error))?
        }
        Some(_) => {
            return Err(InterfaceError(
                "give a database with --url postgres://HOST:PORT/DATABASE, or with PGHOST and PGDATABASE"
                    .to_owned(),
            ));
        }
        None => Config::new(),
    };
    if config.get_hosts().is_empty() {
        config.host(variables.get("PGHOST").unwrap_or("/var/run/postgresql"));
    }
    if config.get_ports().is_empty()
        && let Some(port) = variables.get("PGPORT")
    {
        config.port(port.parse().map_err(|_| InterfaceError(format!("PGPORT={port} is not a port")))?);
    }
    if config.get_dbname().is_none()
        && let Some(name) = variables.get("PGDATABASE")
    {
        config.dbname(name);
    }
    if let Some(user) = variables.get("PGUSER") {
        config.user(user);
    }
    match variables.get("PGSSLMODE").unwrap_or("prefer") {
        "disable" => config.ssl_mode(SslMode::Disable),
        "allow" | "prefer" => config.ssl_mode(SslMode::Prefer),
        "require" | "verify-ca" | "verify-full" => config.ssl_mode(SslMode::Require),
        other => return Err(InterfaceError(format!("PGSSLMODE={other} is not a mode of PostgreSQL"))),
    };
    config.application_name("senesce").connect_timeout(client.answer_timeout().min(CONNECT));
    match variables.get("PGPASSWORD") {
        Some(password) => config.password(password),
        None => match from_pass_file(&config, variables)? {
            Some(password) => config.password(password),
            None => &mut config,
        },
    };
    Ok(config)
}

/// The password from the password file of PostgreSQL clients, if there is one.
fn from_pass_file(config: &Config, variables: &Variables) -> Result<Option<String>, InterfaceError> {
    let named = variables.get("PGPASSFILE").map(PathBuf::from);
    let usual = || std::env::home_dir().map(|home| home.join(".pgpass"));
    let Some(path) = named.or_else(|| usual().filter(|path| path.is_file())) else { return Ok(None) };
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.as_str(),
        Some(Host::Unix(_)) | None => "localhost",
    };
    let port = config.get_ports().first().unwrap_or(&5432).to_string();
    let user = config.get_user().unwrap_or_default();
    let wanted = [host, &port, config.get_dbname().unwrap_or(user), user];
    find_password(&path, &wanted)
}

/// The password of the first matching line `HOST:PORT:DATABASE:USER:PASSWORD`, where `*` matches everything.
fn find_password(path: &Path, wanted: &[&str; 4]) -> Result<Option<String>, InterfaceError> {
    let text = read_private(path)?;
    let fits = |line: &&str| {
        let fields = fields(line);
        fields.len() == 5 && fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted)
    };
    Ok(text.lines().filter(|line| !line.starts_with('#')).find(fits).and_then(|line| fields(line).pop()))
}

/// The fields of a line, separated by colons; a backslash quotes the next character.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.last_mut().expect("at least one field").extend(rest.next()),
            c => fields.last_mut().expect("at least one field").push(c),
        }
    }
    fields
}

impl Interface for Tables {
    fn prepare(&mut self) -> Result<(), InterfaceError> {
        let tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'senesce' LIMIT 1";
        if !self.client.wait(self.database.query_typed(tables, &[]))?.is_empty() {
            return Err(InterfaceError(
                "schema senesce of this database is not empty; name another database, or delete the objects \
                 of an earlier run with `--phases cleanup`"
                    .to_owned(),
            ));
        }
        let schema = "SELECT FROM pg_namespace WHERE nspname = 'senesce'";
        if !self.client.wait(self.database.query_typed(schema, &[]))?.is_empty() {
            return Ok(());
        }
        self.run(&format!("CREATE SCHEMA senesce; COMMENT ON SCHEMA senesce IS '{MARK}'"))
    }

    fn finish(&mut self) -> Result<(), InterfaceError> {
        let ours = "SELECT FROM pg_namespace WHERE nspname = 'senesce' AND obj_description(oid) = $1";
        if self.client.wait(self.database.query_typed(ours, &[(&MARK, Type::TEXT)]))?.is_empty() {
            return Ok(());
        }
        self.run("DROP SCHEMA senesce")
    }

    fn make_set(&mut self, set: DataSet) -> Result<(), InterfaceError> {
        self.run(&format!("CREATE TABLE {} (item bigint PRIMARY KEY, contents bytea NOT NULL)", table(set)))
    }

    fn remove_set(&mut self, set: DataSet) -> Result<(), InterfaceError> {
        self.run(&format!("DROP TABLE {}", table(set)))
    }

    fn write(&mut self, object: Object, contents: &[u8]) -> Result<(), InterfaceError> {
        // Replaces an existing object, as a file would be.
        let statement = format!(
            "INSERT INTO {} VALUES ($1, $2) ON CONFLICT (item) DO UPDATE SET contents = excluded.contents",
            table(object.set)
        );
        let item = object.item as i64;
        let values: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 2] =
            [(&item, Type::INT8), (&contents, Type::BYTEA)];
        self.client.wait(self.database.execute_typed(&statement, &values))?;
        Ok(())
    }

    fn stat(&mut self, object: Object) -> Result<u64, InterfaceError> {
        Ok(self.one::<i32>("octet_length(contents)", object)? as u64)
    }

    fn read(&mut self, object: Object, _: u64, into: &mut Vec<u8>) -> Result<(), InterfaceError> {
        *into = self.one("contents", object)?;
        Ok(())
    }

    fn delete(&mut self, object: Object) -> Result<(), InterfaceError> {
        let statement = format!("DELETE FROM {} WHERE item = $1", table(object.set));
        let item = object.item as i64;
        let deleted = self.client.wait(self.database.execute_typed(&statement, &[(&item, Type::INT8)]))?;
        if deleted == 1 { Ok(()) } else { Err(missing()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn password_lookup_matches_other_clients() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pgpass");
        std::fs::write(&path, "# h:1:d:u:no\nh:1:d:other:no\n*:1:d:u:a\\:b\\\\c:d\n*:*:*:*:rest\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let found = |wanted| find_password(&path, &wanted).unwrap();
        assert_eq!(found(["h", "1", "d", "u"]).as_deref(), Some("a:b\\c:d"));
        assert_eq!(found(["h", "2", "d", "u"]).as_deref(), Some("rest"));
        std::fs::write(&path, "h:1:d:u:a").unwrap();
        assert_eq!(found(["h", "2", "d", "u"]), None);
    }
}
