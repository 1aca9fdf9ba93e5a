//! A small S3 server for tests: objects are files below a directory, a bucket is a directory in it.
//!
//! `s3-server PORT DIRECTORY`, with the accepted key as `ACCESS_KEY=SECRET_KEY` on standard input.

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(port), Some(dir)) = (args.next(), args.next()) else {
        return Err("usage: s3-server PORT DIRECTORY <KEYS".into());
    };
    let keys = std::io::read_to_string(std::io::stdin())?;
    let (key, secret) = keys.trim().split_once('=').ok_or("no ACCESS_KEY=SECRET_KEY on standard input")?;
    let files = s3s_fs::FileSystem::new(dir).map_err(|error| format!("{error:?}"))?;
    let mut service = S3ServiceBuilder::new(files);
    service.set_auth(SimpleAuth::from_single(key, secret));
    let service = service.build().into_shared();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
        loop {
            let (socket, _) = listener.accept().await?;
            let serve = Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(socket), service.clone())
                .into_owned();
            tokio::spawn(async {
                let _ = serve.await;
            });
        }
    })
}
