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
            url if input::DATABASES.iter().any(|scheme| url.starts_with(scheme)) => {
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

    /// Opens the store if it exists. A database does.
    pub fn open_if_exists(&self) -> Result<Option<Store>, Error> {
        match self {
            StoreLocation::File(path) if !path.is_file() => Ok(None),
            at => at.open().map(Some),
        }
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
            StoreLocation::Postgres(url) => input::without_secrets(url).fmt(f),
        }
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
