//! MongoDB documents: a collection `senesce_RANK_NUMBER` per data set, with a document per object.

use super::{InterfaceKind, LocationKind};

inventory::submit!(InterfaceKind {
    name: "mongodb",
    aliases: &[],
    help: "Documents of MongoDB",
    location: LocationKind::Service,
    check: |_, _| Ok(()),
    #[cfg(feature = "stores")]
    open: Ok(collections::open),
    #[cfg(not(feature = "stores"))]
    open: Err("stores"),
});

#[cfg(feature = "stores")]
mod collections {
    use crate::metadata::interface::{Interface, InterfaceError};
    use crate::metadata::{DataSet, Object, ObjectLocation};
    use futures_util::TryStreamExt as _;
    use mongodb::bson::spec::BinarySubtype;
    use mongodb::bson::{Binary, Document, doc};
    use mongodb::options::ClientOptions;
    use mongodb::{Collection, Database};
    use services::{Client, Timeouts};

    /// The database, unless the URL names one.
    const DATABASE: &str = "senesce";

    /// Opens `mongodb://HOST:PORT/DATABASE`, or the URI in MONGODB_URI.
    pub fn open(location: &ObjectLocation) -> Result<Box<dyn Interface>, InterfaceError> {
        let (mut client, variables) = Client::open(location.credentials.as_deref(), Timeouts::default())?;
        let url = location.url.as_deref();
        let uri = url.or_else(|| variables.get("MONGODB_URI")).ok_or_else(|| {
            InterfaceError(
                "give a database with --url mongodb://HOST:PORT/DATABASE, or with MONGODB_URI".to_owned(),
            )
        })?;
        // The driver's message about an invalid URI may repeat a part of it.
        let parsed = client.wait(readable_errors(ClientOptions::parse(uri)));
        let mut options = parsed.map_err(|error| match url {
            Some(_) => error,
            None => services::Error("MONGODB_URI is invalid, or its host was not found".to_owned()),
        })?;
        if let Some(password) = options.credential.as_ref().and_then(|who| who.password.as_deref()) {
            client.hide(password);
        }
        options.retry_reads = Some(false);
        options.retry_writes = Some(false);
        options.max_pool_size = Some(1);
        options.app_name = Some("senesce".to_owned());
        // The driver searches for a server this long, and then reports why there is none.
        options.server_selection_timeout = Some(client.answer_timeout() * 3 / 4);
        let name = options.default_database.clone().unwrap_or_else(|| DATABASE.to_owned());
        let connected = client.wait(readable_errors(async { mongodb::Client::with_options(options) }))?;
        Ok(Box::new(Collections { database: connected.database(&name), client }))
    }

    /// The documents of a database.
    struct Collections {
        // Before the client: the connection is closed while the runtime exists.
        database: Database,
        client: Client,
    }

    impl Collections {
        fn is_empty(&mut self) -> Result<bool, InterfaceError> {
            Ok(self.client.wait(readable_errors(self.database.list_collection_names()))?.is_empty())
        }

        fn collection(&self, set: DataSet) -> Collection<Document> {
            self.database.collection(&name(set))
        }
    }

    /// A readable error message. The driver's own message is a dump of its internal state.
    #[derive(Debug)]
    struct ReadableError(String);

    impl std::fmt::Display for ReadableError {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(&self.0)
        }
    }

    impl std::error::Error for ReadableError {}

    /// Sends a request, with readable errors.
    async fn readable_errors<T>(
        request: impl IntoFuture<Output = mongodb::error::Result<T>>,
    ) -> Result<T, ReadableError> {
        request.await.map_err(|error| ReadableError(error.kind.to_string()))
    }

    fn name(set: DataSet) -> String {
        format!("senesce_{}_{}", set.rank, set.number)
    }

    fn missing() -> InterfaceError {
        InterfaceError("no such document".to_owned())
    }

    fn key(object: Object) -> Document {
        doc! { "_id": object.item as i64 }
    }

    impl Interface for Collections {
        fn prepare(&mut self) -> Result<(), InterfaceError> {
            if self.is_empty()? {
                return Ok(());
            }
            Err(InterfaceError(format!(
                "database {} is not empty; name another, or delete the objects of an earlier run with `--phases \
                 cleanup`",
                self.database.name()
            )))
        }

        fn finish(&mut self) -> Result<(), InterfaceError> {
            // A database disappears with its last collection.
            if self.is_empty()? {
                Ok(())
            } else {
                Err(InterfaceError("some collections could not be removed".to_owned()))
            }
        }

        fn make_set(&mut self, set: DataSet) -> Result<(), InterfaceError> {
            Ok(self.client.wait(readable_errors(self.database.create_collection(name(set))))?)
        }

        fn remove_set(&mut self, set: DataSet) -> Result<(), InterfaceError> {
            let collection = self.collection(set);
            Ok(self.client.wait(readable_errors(collection.drop()))?)
        }

        fn write(&mut self, object: Object, contents: &[u8]) -> Result<(), InterfaceError> {
            let collection = self.collection(object.set);
            let contents = Binary { subtype: BinarySubtype::Generic, bytes: contents.to_vec() };
            let document = doc! { "_id": object.item as i64, "contents": contents };
            // Replaces an existing object, as a file would be.
            let replaced = collection.replace_one(key(object), document).upsert(true);
            self.client.wait(readable_errors(replaced))?;
            Ok(())
        }

        fn stat(&mut self, object: Object) -> Result<u64, InterfaceError> {
            let collection = self.collection(object.set);
            let size = doc! { "$project": { "size": { "$binarySize": "$contents" } } };
            let found = self.client.wait(readable_errors(async {
                collection.aggregate([doc! { "$match": key(object) }, size]).await?.try_next().await
            }))?;
            let size = found.ok_or_else(missing)?;
            let size = size.get_i32("size").map_err(|error| self.client.redacted_error(&error))?;
            Ok(size as u64)
        }

        fn read(&mut self, object: Object, _: u64, into: &mut Vec<u8>) -> Result<(), InterfaceError> {
            let collection = self.collection(object.set);
            let found = self.client.wait(readable_errors(collection.find_one(key(object))))?;
            let document = found.ok_or_else(missing)?;
            let contents = document
                .get_binary_generic("contents")
                .map_err(|error| self.client.redacted_error(&error))?;
            into.extend_from_slice(contents);
            Ok(())
        }

        fn delete(&mut self, object: Object) -> Result<(), InterfaceError> {
            let collection = self.collection(object.set);
            let deleted = self.client.wait(readable_errors(collection.delete_one(key(object))))?;
            if deleted.deleted_count == 1 { Ok(()) } else { Err(missing()) }
        }
    }
}
