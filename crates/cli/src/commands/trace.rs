//! `senesce trace`.

mod extract;
mod from_snapshots;

use crate::args::{ExtractMail, TraceAction};
use crate::output;
use ::trace::{BATCH, Op, Source, Stat, TraceInfo, TraceWriter, is_jsonl, op_to_json, open, write_jsonl};
use anyhow::{Context as _, Result, bail};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

pub fn run(action: &TraceAction) -> Result<()> {
    match action {
        TraceAction::Extract(extract) => extract::run(extract),
        TraceAction::FromSnapshots(args) => from_snapshots::run(args),
        TraceAction::Show { file, first, json } => show(file, *first, *json),
        TraceAction::Convert { from, to } => convert(from, to),
        TraceAction::ExtractMail(args) => extract_mail(args),
        TraceAction::Stat { file, json } => stat(file, *json),
    }
}

/// Rejects file names that a trace with labels cannot have, before a long operation.
fn check_labelled(path: &Path) -> Result<()> {
    if is_jsonl(path) {
        bail!(
            "writing {}: JSON lines cannot hold file names; write a .parquet file, and convert it with `senesce trace convert`",
            path.display()
        );
    }
    if path.is_dir() {
        bail!("writing {}: it is a directory; name a file", path.display());
    }
    Ok(())
}

fn show(path: &Path, first: u64, json: bool) -> Result<()> {
    let (mut source, info) = open(path)?;
    if json {
        let info = info.map(|info| {
            serde_json::json!({
                "tool": info.tool, "source": info.source, "seed": info.seed, "block_size": info.block_size,
                "parameters": info.parameters, "operations": source.remaining(),
            })
        });
        let mut operations = Vec::new();
        each_of_first(&mut source, first, &mut |op| {
            operations.push(op_to_json(op));
            Ok(())
        })?;
        return output::json(&serde_json::json!({ "trace": info, "first": operations }));
    }
    if let Some(info) = info {
        let seed = info.seed.map_or_else(|| "none".to_owned(), |s| s.to_string());
        let fields = [
            ("made by", info.tool),
            ("source", info.source),
            ("seed", seed),
            ("block size", format!("{} B", info.block_size)),
            ("parameters", info.parameters),
            ("operations", source.remaining().map_or_else(String::new, |n| n.to_string())),
        ];
        output::table(&["", ""], fields.map(|(name, value)| vec![name.to_owned(), value]))?;
    }
    each_of_first(&mut source, first, &mut |op| output::line(&op.to_string()))
}

/// Calls `see` with the first operations of a trace.
fn each_of_first(
    source: &mut impl Source,
    first: u64,
    see: &mut impl FnMut(&Op) -> Result<()>,
) -> Result<()> {
    let mut batch = Vec::with_capacity(BATCH);
    let mut seen = 0;
    while seen < first {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        batch.iter().take((first - seen) as usize).try_for_each(&mut *see)?;
        seen += batch.len() as u64;
    }
    Ok(())
}

fn convert(from: &Path, to: &Path) -> Result<()> {
    let (source, info) = open(from)?;
    let info = info.unwrap_or_else(|| TraceInfo {
        tool: results::TOOL.to_owned(),
        seed: None,
        source: "jsonl".to_owned(),
        parameters: "{}".to_owned(),
        block_size: workload::BLOCK_BYTES,
    });
    write(source, &info, to)
}

fn extract_mail(args: &ExtractMail) -> Result<()> {
    let plan = args.mail.plan()?;
    let info = TraceInfo {
        tool: results::TOOL.to_owned(),
        seed: Some(plan.seed()),
        source: "mail".to_owned(),
        parameters: serde_json::to_string(plan.parameters())?,
        block_size: workload::BLOCK_BYTES,
    };
    write(workload::mail::Extracted::new(&plan), &info, &args.output)
}

/// Writes a trace: JSON lines, without the trace information, if the file name says so, otherwise Parquet.
fn write(mut source: impl Source, info: &TraceInfo, to: &Path) -> Result<()> {
    if is_jsonl(to) {
        let writing = || format!("writing {}", to.display());
        let mut file = BufWriter::new(File::create(to).with_context(writing)?);
        write_jsonl(&mut source, &mut file)?;
        return file.flush().with_context(writing);
    }
    let mut writer = TraceWriter::create(to, info)?;
    let mut batch: Vec<Op> = Vec::with_capacity(BATCH);
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        writer.write(&batch)?;
    }
    writer.finish()?;
    Ok(())
}

fn stat(path: &Path, json: bool) -> Result<()> {
    let (source, _) = open(path)?;
    let stat = Stat::of(source)?;
    if json {
        return output::json(&stat);
    }
    let value = serde_json::to_value(&stat)?;
    let rows =
        value.as_object().into_iter().flatten().map(|(name, value)| vec![name.clone(), value.to_string()]);
    output::table(&["", ""], rows)
}
