//! `senesce serve`.

use crate::args::Serve;
use crate::output;
use anyhow::Result;
use report::live::{Place, Server, Token};
use results::StoreLocation;
use std::path::Path;

pub fn run(args: &Serve) -> Result<()> {
    let mut places: Vec<Place> = args.work.iter().map(|dir| Place::work(dir)).collect();
    places.extend(args.store.iter().map(|store| Place::store(StoreLocation::parse(store))));
    if places.is_empty() {
        places.push(Place::work(Path::new("senesce-work")));
    }
    for place in places.iter().filter(|place| !place.is_there()) {
        eprintln!("{} contains no results yet; the page shows them as they come", place.shown());
    }
    let token = match &args.token_file {
        Some(file) => Some(Token::read(file)?),
        None if args.listen.ip().is_loopback() => None,
        None => Some(Token::random()?),
    };
    let server = Server::listen(places, args.listen, token)?;
    disk::catch_interrupts();
    output::line(server.url())?;
    server.serve(disk::interrupted);
    Ok(())
}
