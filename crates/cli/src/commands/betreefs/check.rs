//! `senesce betreefs check`.

use crate::output;
use anyhow::{Context as _, Result, bail};
use betreefs::{CheckReport, image};
use serde_json::json;
use std::path::Path;

pub fn run(path: &Path, json: bool) -> Result<()> {
    let found = betreefs::check(image::open_read_only(path)?)
        .with_context(|| format!("checking {}", path.display()))?;
    let CheckReport { problems, more_problems, closed, directories, files, orphans, data_bytes } = &found;
    if json {
        output::json(&json!({
            "clean": problems.is_empty(),
            "problems": problems,
            "more_problems": more_problems,
            "unmounted": closed,
            "directories": directories,
            "files": files,
            "files_without_a_name": orphans,
            "data_bytes": data_bytes,
        }))?;
    } else {
        problems.iter().try_for_each(|problem| output::line(problem))?;
        output::table(
            &["directories", "files", "without a name", "data", "unmounted"],
            [vec![
                directories.to_string(),
                files.to_string(),
                orphans.to_string(),
                input::bytes(*data_bytes),
                if *closed { "yes" } else { "no: the log is read at the next mount" }.to_owned(),
            ]],
        )?;
    }
    if !problems.is_empty() {
        bail!("{} is damaged: {} problems", path.display(), problems.len() as u64 + more_problems);
    }
    Ok(())
}
