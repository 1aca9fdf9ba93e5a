//! PostgreSQL rows: a table `senesce.RANK_NUMBER` per data set, with a row per object. A statement is sent with its parameters in one message,
//! so each operation is one round trip.

use super::{InterfaceKind, LocationKind};

inventory::submit!(InterfaceKind {
    name: "postgres",
    aliases: &[],
    help: "Rows of PostgreSQL",
    location: LocationKind::Service,
    check: |_, _| Ok(()),
    #[cfg(feature = "stores")]
    open: Ok(tables::open),
    #[cfg(not(feature = "stores"))]
    open: Err("stores"),
});

#[cfg(feature = "stores")]
mod tables {
    use crate::metadata::interface::{Interface, InterfaceError};
    use crate::metadata::{DataSet, Object, ObjectLocation};
    use services::{Client, Timeouts, postgres};
    use tokio_postgres::types::{FromSqlOwned, ToSql, Type};

    /// The mark of a schema that this program created and may remove.
    const MARK: &str = "made by senesce";

    /// Opens `postgres://HOST:PORT/DATABASE`, or the database of the `PG…` variables.
    pub fn open(location: &ObjectLocation) -> Result<Box<dyn Interface>, InterfaceError> {
        let (mut client, variables) = Client::open(location.credentials.as_deref(), Timeouts::default())?;
        let database = postgres::connect(&mut client, &variables, location.url.as_deref())?;
        Ok(Box::new(Tables { database, client }))
    }

    /// The tables of a database.
    struct Tables {
        // Before the client: the connection is closed while the runtime exists.
        database: tokio_postgres::Client,
        client: Client,
    }

    impl Tables {
        /// Executes a statement without a result.
        fn run(&mut self, statement: &str) -> Result<(), InterfaceError> {
            Ok(self.client.wait(self.database.batch_execute(statement))?)
        }

        /// Queries one value of an object.
        fn one<T: FromSqlOwned>(&mut self, what: &str, object: Object) -> Result<T, InterfaceError> {
            let statement = format!("SELECT {what} FROM {} WHERE item = $1", table(object.set));
            let item = object.item as i64;
            let rows = self.client.wait(self.database.query_typed(&statement, &[(&item, Type::INT8)]))?;
            let row = rows.first().ok_or_else(missing)?;
            Ok(row.try_get(0).map_err(|error| self.client.redacted_error(&error))?)
        }
    }

    fn missing() -> InterfaceError {
        InterfaceError("no such row".to_owned())
    }

    fn table(set: DataSet) -> String {
        format!("senesce.\"{}_{}\"", set.rank, set.number)
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
            self.run(&format!(
                "CREATE TABLE {} (item bigint PRIMARY KEY, contents bytea NOT NULL)",
                table(set)
            ))
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
            let values: [(&(dyn ToSql + Sync), Type); 2] = [(&item, Type::INT8), (&contents, Type::BYTEA)];
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
            let deleted =
                self.client.wait(self.database.execute_typed(&statement, &[(&item, Type::INT8)]))?;
            if deleted == 1 { Ok(()) } else { Err(missing()) }
        }
    }
}
