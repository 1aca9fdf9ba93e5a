//! `senesce cleanup`.

use crate::args::Json;
use crate::output;
use anyhow::{Result, bail};

pub fn run(args: &Json) -> Result<()> {
    let cleaned = disk::cleanup()?;
    if args.json {
        output::json(&serde_json::json!({
            "undone": cleaned.undone, "running": cleaned.running, "failed": cleaned.failed,
        }))?;
    } else {
        for done in &cleaned.undone {
            output::line(done)?;
        }
        for running in &cleaned.running {
            output::line(&format!("still running, not removed: {running}"))?;
        }
        if cleaned.undone.is_empty() && cleaned.failed.is_empty() {
            output::line("nothing to remove")?;
        }
    }
    if !cleaned.failed.is_empty() {
        bail!("cleanup failed: {}", cleaned.failed.join("; "));
    }
    Ok(())
}
