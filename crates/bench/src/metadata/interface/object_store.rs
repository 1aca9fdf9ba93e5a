//! Objects of an object store: a prefix `PREFIX/RANK_NUMBER/` per data set, with an object `file-ITEM` per object. Prefixes need not be created,
//! so creating a data set costs nothing; removing one lists and deletes its remaining objects.

use super::{InterfaceError, InterfaceKind, LocationKind};
use crate::metadata::{ObjectLocation, Ranks};

inventory::submit!(InterfaceKind {
    name: "object-store",
    aliases: &["s3"],
    help: "Objects of an object store such as S3",
    location: LocationKind::Service,
    check,
    #[cfg(feature = "stores")]
    open: Ok(objects::open),
    #[cfg(not(feature = "stores"))]
    open: Err("stores"),
});

/// Refuses to share a store in memory between processes.
fn check(location: &ObjectLocation, ranks: Ranks) -> Result<(), InterfaceError> {
    let in_memory = location.url.as_deref().is_some_and(|url| url.starts_with("memory:"));
    if in_memory && !matches!(ranks, Ranks::Threads(_)) {
        return Err(InterfaceError(
            "memory:/// exists in one process only; leave --processes and mpirun out".to_owned(),
        ));
    }
    Ok(())
}

#[cfg(feature = "stores")]
mod objects {
    use crate::metadata::interface::{Interface, InterfaceError};
    use crate::metadata::{DataSet, Object, ObjectLocation};
    use futures_util::TryStreamExt as _;
    use object_store::aws::AmazonS3Builder;
    use object_store::local::LocalFileSystem;
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStore, ObjectStoreExt as _, RetryConfig};
    use services::{Client, Timeouts, Variables};
    use std::sync::{Arc, LazyLock};
    use std::time::Duration;

    /// The single store in memory, shared by all threads and visible to no other process.
    static MEMORY: LazyLock<Arc<InMemory>> = LazyLock::new(Arc::default);

    /// Opens `s3://BUCKET/PREFIX`, `file:///DIR` or `memory:///PREFIX`.
    pub fn open(location: &ObjectLocation) -> Result<Box<dyn Interface>, InterfaceError> {
        let (client, variables) = Client::open(location.credentials.as_deref(), Timeouts::default())?;
        let url = location.url.as_deref().ok_or_else(|| InterfaceError(HOW.to_owned()))?;
        let (scheme, rest) = url.split_once("://").ok_or_else(|| InterfaceError(HOW.to_owned()))?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let store: Arc<dyn ObjectStore> = match (scheme, host) {
            ("s3", bucket) if !bucket.is_empty() => Arc::new(s3(&client, &variables, bucket)?),
            ("file", "") => {
                let dir = format!("/{path}");
                let files = LocalFileSystem::new_with_prefix(&dir).map_err(|e| client.redacted_error(&e))?;
                let store: Arc<dyn ObjectStore> = Arc::new(files.with_automatic_cleanup(true));
                return Ok(Box::new(Objects { store, client, prefix: Path::default() }));
            }
            ("memory", "") => MEMORY.clone(),
            _ => return Err(InterfaceError(HOW.to_owned())),
        };
        let prefix = Path::parse(path).map_err(|e| client.redacted_error(&e))?;
        Ok(Box::new(Objects { store, client, prefix }))
    }

    /// The objects of an object store.
    struct Objects {
        // Before the client: connections are closed while the runtime exists.
        store: Arc<dyn ObjectStore>,
        client: Client,
        prefix: Path,
    }

    impl Objects {
        fn set(&self, set: DataSet) -> Path {
            self.prefix.clone().join(format!("{}_{}", set.rank, set.number))
        }

        fn object(&self, object: Object) -> Path {
            self.set(object.set).join(format!("file-{}", object.item))
        }

        fn is_empty(&mut self) -> Result<bool, InterfaceError> {
            let prefix = (!self.prefix.as_ref().is_empty()).then_some(&self.prefix);
            let mut found = self.store.list(prefix);
            Ok(self.client.wait(found.try_next())?.is_none())
        }
    }

    const HOW: &str = "give an object store with --url: s3://BUCKET/PREFIX, file:///DIRECTORY or memory:///";

    fn s3(client: &Client, variables: &Variables, bucket: &str) -> Result<impl ObjectStore, InterfaceError> {
        let mut builder = AmazonS3Builder::new();
        for (name, value) in variables.iter() {
            // Other variables are not settings of the store.
            if name.starts_with("AWS_")
                && let Ok(key) = name.to_ascii_lowercase().parse()
            {
                builder = builder.with_config(key, value);
            }
        }
        let never = RetryConfig { max_retries: 0, retry_timeout: Duration::ZERO, ..RetryConfig::default() };
        builder
            .with_bucket_name(bucket)
            .with_retry(never)
            // Deletes single objects by the request for a single object.
            .with_disable_bulk_delete(true)
            .build()
            .map_err(|error| client.redacted_error(&error).into())
    }

    impl Interface for Objects {
        fn prepare(&mut self) -> Result<(), InterfaceError> {
            if self.is_empty()? {
                return Ok(());
            }
            Err(InterfaceError(
                "the location of the URL is not empty; name another, or delete the objects of an earlier run \
                 with `--phases cleanup`"
                    .to_owned(),
            ))
        }

        fn finish(&mut self) -> Result<(), InterfaceError> {
            // No location needs to be removed. The next run finds objects that could not be deleted.
            if self.is_empty()? {
                Ok(())
            } else {
                Err(InterfaceError("some objects could not be deleted".to_owned()))
            }
        }

        fn make_set(&mut self, _: DataSet) -> Result<(), InterfaceError> {
            Ok(())
        }

        fn remove_set(&mut self, set: DataSet) -> Result<(), InterfaceError> {
            let prefix = self.set(set);
            let mut left = self.store.list(Some(&prefix));
            while let Some(found) = self.client.wait(left.try_next())? {
                if found.location.filename().is_some_and(|name| name.starts_with("file-")) {
                    self.client.wait(self.store.delete(&found.location))?;
                }
            }
            Ok(())
        }

        fn write(&mut self, object: Object, contents: &[u8]) -> Result<(), InterfaceError> {
            let path = self.object(object);
            self.client.wait(self.store.put(&path, contents.to_vec().into()))?;
            Ok(())
        }

        fn stat(&mut self, object: Object) -> Result<u64, InterfaceError> {
            let path = self.object(object);
            Ok(self.client.wait(self.store.head(&path))?.size)
        }

        fn read(&mut self, object: Object, _: u64, into: &mut Vec<u8>) -> Result<(), InterfaceError> {
            let path = self.object(object);
            let contents = self.client.wait(async { self.store.get(&path).await?.bytes().await })?;
            into.extend_from_slice(&contents);
            Ok(())
        }

        fn delete(&mut self, object: Object) -> Result<(), InterfaceError> {
            let path = self.object(object);
            Ok(self.client.wait(self.store.delete(&path))?)
        }
    }
}
