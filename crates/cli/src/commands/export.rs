//! `senesce export`.

use crate::args::{self, Export};
use anyhow::{Context as _, Result, bail};
use results::Format;
use std::io::{IsTerminal as _, Write as _};

pub fn run(args: &Export) -> Result<()> {
    let store = args.store.or_of(&args.work).open_existing()?;
    let format = match args.format {
        args::Format::Parquet => Format::Parquet,
        args::Format::Csv => Format::Csv,
        args::Format::Json => Format::Json,
    };
    match &args.output {
        Some(path) => {
            let writing = || format!("writing {}", path.display());
            let mut file = std::io::BufWriter::new(std::fs::File::create(path).with_context(writing)?);
            results::export(&store, format, &mut file)?;
            file.flush().with_context(writing)?;
        }
        None if format == Format::Parquet && std::io::stdout().is_terminal() => {
            bail!("Parquet cannot be printed on a terminal; name a file with --output")
        }
        None => {
            results::export(&store, format, &mut std::io::stdout())?;
        }
    }
    Ok(())
}
