//! Connections to PostgreSQL, with the settings and the password file of its other clients.

use crate::credentials::read_private;
use crate::{Client, Error, Variables};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The connect timeout, even if answers may take longer.
const CONNECT: Duration = Duration::from_secs(8);

/// Connects to the database of a URL, or of the `PG…` variables.
pub fn connect(
    client: &mut Client,
    variables: &Variables,
    url: Option<&str>,
) -> Result<tokio_postgres::Client, Error> {
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
            Error(format!(
                "no trusted certificates found: {errors:?}; install ca-certificates, or set PGSSLMODE=disable"
            ))
        })?;
        client.wait(config.connect(tls.0)).map(|(database, connection)| {
            client.spawn(async { connection.await.unwrap_or_default() });
            database
        })
    }
}

fn config(client: &Client, variables: &Variables, url: Option<&str>) -> Result<Config, Error> {
    let mut config = match url {
        Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            url.parse().map_err(|error: tokio_postgres::Error| client.redacted_error(&error))?
        }
        Some(_) => {
            return Err(Error(
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
        config.port(port.parse().map_err(|_| Error(format!("PGPORT={port} is not a port")))?);
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
        other => return Err(Error(format!("PGSSLMODE={other} is not a mode of PostgreSQL"))),
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
fn from_pass_file(config: &Config, variables: &Variables) -> Result<Option<String>, Error> {
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
fn find_password(path: &Path, wanted: &[&str; 4]) -> Result<Option<String>, Error> {
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
