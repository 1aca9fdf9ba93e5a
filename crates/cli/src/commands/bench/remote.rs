//! Object stores and databases of the metadata benchmark. They require the feature `stores`.

use crate::args::Metadata;
use anyhow::{Result, anyhow, bail};
use bench::metadata::{Backend, Interface, InterfaceError, Remote, Service};

/// The service that the arguments name.
pub fn backend(args: &Metadata, service: Service) -> Result<Backend> {
    let credentials = args.credentials.as_deref().map(std::path::absolute).transpose()?;
    let remote = Remote::new(service, args.url.as_deref(), credentials.as_deref())
        .map_err(|error| anyhow!("{error}"))?;
    if args.root.is_some() {
        bail!("--root is for files; name the service with --url");
    }
    if cfg!(not(feature = "stores")) {
        bail!("{}", without(service));
    }
    let in_memory = args.url.as_deref().is_some_and(|url| url.starts_with("memory:"));
    if in_memory && args.processes {
        bail!("this interface does not work with --processes; leave it out");
    }
    Ok(Backend::Remote(remote))
}

/// Opens the interface of a service for one rank.
pub fn open(remote: &Remote) -> Result<Box<dyn Interface>, InterfaceError> {
    #[cfg(feature = "stores")]
    return stores::open(remote);
    #[cfg(not(feature = "stores"))]
    Err(InterfaceError(without(remote.service)))
}

fn without(service: Service) -> String {
    format!(
        "this senesce was built without the interface {}; build with `cargo build --release --features stores`",
        service.name()
    )
}
