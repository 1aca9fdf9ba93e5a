//! `senesce disk price`: the time of a request log on a device model.

use crate::output::{self, number, rate};
use anyhow::{Result, bail};
use disk::Model;
use disk::log::LogReader;
use disk::model::Pricing;
use disk::modelled::{is_store, saved_flash};
use disk::{Request, SECTOR_BYTES};
use std::path::Path;

pub fn price(path: &Path, model: &str, size: Option<u64>, json: bool) -> Result<()> {
    // A modelled disk stands for its model and the state of its flash.
    let flash = if is_store(Path::new(model)) { saved_flash(Path::new(model))? } else { None };
    let model = Model::find(model)?;
    let mut log = LogReader::open(path)?;
    let size_bytes = size.unwrap_or(log.info().size_bytes);
    let mut pricing = Pricing::on(&model, size_bytes, flash.as_ref());
    while let Some(requests) = log.next_batch()? {
        // The model would price requests beyond the end of the disk at zero.
        let end_bytes = requests.iter().map(Request::end_sector).max().unwrap_or(0) * SECTOR_BYTES;
        if end_bytes > size_bytes {
            bail!(
                "a request of {} ends at byte {end_bytes}, beyond a disk of {}; give a larger --size",
                path.display(),
                input::bytes(size_bytes)
            );
        }
        pricing.add(&requests);
    }
    let priced = pricing.finish();
    if json {
        return output::json(&serde_json::json!({
            "log": log.info(), "priced": priced, "total_s": priced.total_s(),
        }));
    }
    let kinds = [
        ("reads", priced.reads),
        ("writes", priced.writes),
        ("flushes", priced.flushes),
        ("discards", priced.discards),
    ];
    output::table(
        &["on a modelled disk", "requests", "bytes", "s", "MB/s"],
        kinds.iter().filter(|(_, cost)| cost.requests > 0).map(|(kind, cost)| {
            let seconds = cost.ns as f64 / 1e9;
            let mb_per_s = cost.bytes as f64 / 1e6 / seconds;
            let cells = [
                cost.requests.to_string(),
                input::bytes(cost.bytes),
                number(Some(seconds)),
                rate(Some(mb_per_s)),
            ];
            std::iter::once((*kind).to_owned()).chain(cells).collect()
        }),
    )?;
    output::line(&format!("total {} s on {}, modelled", number(Some(priced.total_s())), priced.model))
}
