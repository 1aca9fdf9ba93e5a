//! Where a store is.

use super::sql::{Failure, Sql};
use super::sqlite::Sqlite;
use super::{Store, layout};
use crate::Error;
use std::fmt;
use std::path::{Path, PathBuf};

/// The name of the store's file in a work directory.
pub const STORE: &str = "senesce.db";

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAt {
    /// In a file.
    File(PathBuf),
    /// In a database of PostgreSQL, by its URL.
    Postgres(String),
}

impl StoreAt {
    /// What a user names: `postgres://…`, a work directory, or a file.
    pub fn named(name: &str) -> StoreAt {
        match name {
            url if URLS.iter().any(|scheme| url.starts_with(scheme)) => StoreAt::Postgres(url.to_owned()),
            dir if Path::new(dir).is_dir() => StoreAt::of_work(Path::new(dir)),
            file => StoreAt::File(file.into()),
        }
    }

    /// That of a work directory.
    pub fn of_work(dir: &Path) -> StoreAt {
        StoreAt::File(dir.join(STORE))
    }

    /// Opens it, making it if there is none.
    pub fn open(&self) -> Result<Store, Error> {
        let ready = self.connect().and_then(|db| {
            layout::prepare(db.as_ref(), &self.to_string())?;
            Ok(db)
        });
        Store::of(self, ready)
    }

    /// Opens it for reading alone, also while a run writes it; refused if it is not there.
    pub fn read(&self) -> Result<Store, Error> {
        let StoreAt::File(path) = self else { return self.open() };
        if !path.is_file() {
            return Err(Error::Refused(format!("result store {self} does not exist")));
        }
        let ready = Sqlite::read(path).and_then(|db| {
            layout::check(&db)?;
            Ok(Box::new(db) as Box<dyn Sql>)
        });
        Store::of(self, ready)
    }

    /// Opens it; refused if it is not there, or empty.
    pub fn open_there(&self) -> Result<Store, Error> {
        let StoreAt::File(path) = self else { return self.open() };
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
            StoreAt::File(path) => Ok(Box::new(Sqlite::open(path)?)),
            #[cfg(feature = "postgres")]
            StoreAt::Postgres(url) => Ok(Box::new(super::postgres::Postgres::open(url)?)),
            #[cfg(not(feature = "postgres"))]
            StoreAt::Postgres(_) => Err("this senesce is built without PostgreSQL; rebuild it with `cargo \
                                         build --release --features postgres`"
                .into()),
        }
    }
}

impl fmt::Display for StoreAt {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            StoreAt::File(path) => path.display().fmt(f),
            StoreAt::Postgres(url) => without_secrets(url).fmt(f),
        }
    }
}

/// How the URL of a database begins, after `postgres`.
const URLS: [&str; 2] = ["postgres://", "postgresql://"];

/// An argument of the command line as it may be shown and kept: where there is the URL of a database in it, this is without its
/// password, which stands between the first colon of who comes in and the `@`, and without its parameters.
pub fn without_secrets(argument: &str) -> String {
    let Some(at) = URLS.iter().filter_map(|scheme| Some(argument.find(scheme)? + scheme.len())).min() else {
        return argument.to_owned();
    };
    let (before, rest) = argument.split_at(at);
    let upto = |text: &str, ends: &[char]| text.split(ends).next().unwrap_or_default().to_owned();
    match rest.rsplit_once('@') {
        // Whether it is the password or a parameter that holds it cannot be told.
        Some((who, _)) if who.contains('?') => format!("{before}{}@…", upto(who, &[':', '/', '?'])),
        Some((who, place)) => format!("{before}{}@{}", upto(who, &[':', '/']), upto(place, &['?'])),
        None => format!("{before}{}", upto(rest, &['?'])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_named_by_a_directory_a_file_or_a_url_and_its_name_holds_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().to_str().unwrap();
        assert_eq!(StoreAt::named(name), StoreAt::File(dir.path().join(STORE)));
        assert_eq!(StoreAt::named("x/y.db"), StoreAt::File("x/y.db".into()));
        let url = "postgres://me:geheim@host:5432/lab?password=geheim";
        let at = StoreAt::named(url);
        assert_eq!(at, StoreAt::Postgres(url.to_owned()));
        assert_eq!(at.to_string(), "postgres://me@host:5432/lab");
    }

    #[test]
    fn no_argument_shows_a_password() {
        for (argument, shown) in [
            ("--store=postgresql://me:geheim@host/lab", "--store=postgresql://me@host/lab"),
            ("postgres://me:ge?heim/@host:5432/lab", "postgres://me@…"),
            ("postgres://me:ge@heim@host", "postgres://me@host"),
            ("postgres://host:5432/lab?password=geheim", "postgres://host:5432/lab"),
            ("postgres://host/lab?user=me&password=ge@heim", "postgres://host@…"),
            ("postgres://me:gehe/im@host/lab", "postgres://me@host/lab"),
            ("postgres://", "postgres://"),
            ("me:geheim@host", "me:geheim@host"),
        ] {
            assert_eq!(without_secrets(argument), shown);
        }
    }

    #[test]
    fn a_store_that_is_not_there_is_not_made_by_who_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("none.db");
        let Err(error) = StoreAt::File(path.clone()).open_there() else { panic!("it opens") };
        assert!(error.to_string().contains("contains no results"), "{error}");
        assert!(!path.exists());
    }
}
