//! `senesce serve`.

use crate::args::Serve;
use crate::config;
use crate::messages::note;
use crate::output;
use anyhow::Result;
use report::live::{Place, Server, Token};
use results::StoreLocation;

pub fn run(args: &Serve) -> Result<()> {
    let mut places: Vec<Place> = args.work.iter().map(|dir| Place::work(dir)).collect();
    places.extend(args.store.iter().map(|store| Place::store(StoreLocation::parse(store))));
    if places.is_empty() {
        places.push(Place::work(config::work_dir()));
    }
    for place in places.iter().filter(|place| !place.is_there()) {
        note(&format!("{} contains no results yet; the page shows them as they come", place.shown()));
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
