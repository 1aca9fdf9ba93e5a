//! The location of a store.

use super::sql::{Failure, Sql};
use super::sqlite::Sqlite;
use super::{Store, layout};
use crate::Error;
use std::fmt;
use std::path::{Path, PathBuf};

/// The file name of the store in a work directory.
pub const STORE_FILE: &str = "senesce.db";

/// The location of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// In a file.
    File(PathBuf),
    /// In a PostgreSQL database, given by its URL.
    Postgres(String),
}

impl StoreLocation {
    /// Parses a location given by the user: `postgres://…`, a work directory, or a file.
    pub fn parse(name: &str) -> StoreLocation {
        match name {
            url if URLS.iter().any(|scheme| url.starts_with(scheme)) => {
                StoreLocation::Postgres(url.to_owned())
            }
            dir if Path::new(dir).is_dir() => StoreLocation::of_work_dir(Path::new(dir)),
            file => StoreLocation::File(file.into()),
        }
    }

    /// The store of a work directory.
    pub fn of_work_dir(dir: &Path) -> StoreLocation {
        StoreLocation::File(dir.join(STORE_FILE))
    }

    /// Opens the store. Creates it if it does not exist.
    pub fn open(&self) -> Result<Store, Error> {
        let ready = self.connect().and_then(|db| {
            layout::prepare(db.as_ref(), &self.to_string())?;
            Ok(db)
        });
        Store::of(self, ready)
    }

    /// Opens the store read-only, even while a run writes it. Fails if it does not exist.
    pub fn open_read_only(&self) -> Result<Store, Error> {
        let StoreLocation::File(path) = self else { return self.open() };
        if !path.is_file() {
            return Err(Error::Refused(format!("result store {self} does not exist")));
        }
        let ready = Sqlite::read(path).and_then(|db| {
            layout::check(&db)?;
            Ok(Box::new(db) as Box<dyn Sql>)
        });
        Store::of(self, ready)
    }

    /// Opens the store. Fails if it does not exist or is empty.
    pub fn open_existing(&self) -> Result<Store, Error> {
        let StoreLocation::File(path) = self else { return self.open() };
        let is_store =
            || Sqlite::is_store(path).map_err(|source| Error::Store { store: self.to_string(), source });
        if path.is_file() && is_store()? {
            return self.open();
        }
        Err(Error::Refused(format!(
            "{} contains no results; create some with `senesce age`, `senesce compare` or `senesce \
             reproduce`",
            path.display()
        )))
    }

    fn connect(&self) -> Result<Box<dyn Sql>, Failure> {
        match self {
            StoreLocation::File(path) => Ok(Box::new(Sqlite::open(path)?)),
            #[cfg(feature = "postgres")]
            StoreLocation::Postgres(url) => Ok(Box::new(super::postgres::Postgres::open(url)?)),
            #[cfg(not(feature = "postgres"))]
            StoreLocation::Postgres(_) => {
                Err("this senesce is built without PostgreSQL; rebuild it with `cargo \
                                         build --release --features postgres`"
                    .into())
            }
        }
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            StoreLocation::File(path) => path.display().fmt(f),
            StoreLocation::Postgres(url) => without_secrets(url).fmt(f),
        }
    }
}

/// The prefixes of database URLs.
const URLS: [&str; 2] = ["postgres://", "postgresql://"];
/// The schemes of the URLs of repositories.
const REPOSITORIES: [&str; 4] = ["http", "https", "ssh", "git"];

/// An argument of the command line without secrets, for display and records: a database URL loses its password, which is between the first
/// colon after the user name and the `@`, and its parameters; the URL of a
/// repository loses what is before the `@` of its host, and its parameters.
pub fn without_secrets(argument: &str) -> String {
    let Some(at) = URLS.iter().filter_map(|scheme| Some(argument.find(scheme)? + scheme.len())).min() else {
        let Some((scheme, rest)) = argument.split_once("://") else { return argument.to_owned() };
        if !REPOSITORIES.iter().any(|of| scheme.ends_with(of)) {
            return argument.to_owned();
        }
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let place = format!("{}{path}", host.rsplit('@').next().unwrap_or_default());
        return format!("{scheme}://{}", place.split('?').next().unwrap_or_default());
    };
    let (before, rest) = argument.split_at(at);
    let upto = |text: &str, ends: &[char]| text.split(ends).next().unwrap_or_default().to_owned();
    match rest.rsplit_once('@') {
        // The `@` may belong to the password or to a parameter.
        Some((who, _)) if who.contains('?') => format!("{before}{}@…", upto(who, &[':', '/', '?'])),
        Some((who, place)) => format!("{before}{}@{}", upto(who, &[':', '/']), upto(place, &['?'])),
        None => format!("{before}{}", upto(rest, &['?'])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_is_a_directory_a_file_or_a_url_without_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().to_str().unwrap();
        assert_eq!(StoreLocation::parse(name), StoreLocation::File(dir.path().join(STORE_FILE)));
        assert_eq!(StoreLocation::parse("x/y.db"), StoreLocation::File("x/y.db".into()));
        let url = "postgres://me:geheim@host:5432/lab?password=geheim";
        let at = StoreLocation::parse(url);
        assert_eq!(at, StoreLocation::Postgres(url.to_owned()));
        assert_eq!(at.to_string(), "postgres://me@host:5432/lab");
    }

    #[test]
    fn arguments_are_shown_without_password() {
        for (argument, shown) in [
            ("--store=postgresql://me:geheim@host/lab", "--store=postgresql://me@host/lab"),
            ("postgres://me:ge?heim/@host:5432/lab", "postgres://me@…"),
            ("postgres://me:ge@heim@host", "postgres://me@host"),
            ("postgres://host:5432/lab?password=geheim", "postgres://host:5432/lab"),
            ("postgres://host/lab?user=me&password=ge@heim", "postgres://host@…"),
            ("postgres://me:gehe/im@host/lab", "postgres://me@host/lab"),
            ("postgres://", "postgres://"),
            ("--repo=https://me:geheim@host/a@b.git?token=geheim", "--repo=https://host/a@b.git"),
            ("https://geheim@host", "https://host"),
            ("s3://bucket?region=x", "s3://bucket?region=x"),
            ("me:geheim@host", "me:geheim@host"),
        ] {
            assert_eq!(without_secrets(argument), shown);
        }
    }

    #[test]
    fn reading_does_not_create_a_store() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("none.db");
        let Err(error) = StoreLocation::File(path.clone()).open_existing() else {
            panic!("the store was opened")
        };
        assert!(error.to_string().contains("contains no results"), "{error}");
        assert!(!path.exists());
    }
}
