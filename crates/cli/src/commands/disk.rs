//! `senesce disk`.

mod models;
mod price;
mod served;

use crate::args::DiskAction;
use anyhow::Result;

pub use served::clock;

pub fn run(action: &DiskAction) -> Result<()> {
    match action {
        DiskAction::Served(disk) => served::run(disk),
        DiskAction::Models(args) => models::list(args.json),
        DiskAction::Show { model, curve: true, size, seed, json } => {
            models::curve(model, *size, *seed, *json)
        }
        DiskAction::Show { model, json, .. } => models::show(model, *json),
        DiskAction::Check { file, json } => models::check(file, *json),
        DiskAction::Price { log, model, size, json } => price::price(log, model, *size, *json),
    }
}
