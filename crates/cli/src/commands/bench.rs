//! `senesce bench`.

mod metadata;

use crate::args::BenchKind;
use anyhow::Result;

pub fn run(kind: &BenchKind) -> Result<()> {
    match kind {
        BenchKind::Metadata(args) => metadata::run(args),
        BenchKind::MetadataRank => Ok(::bench::metadata::member(&disk::interrupted)?),
    }
}
