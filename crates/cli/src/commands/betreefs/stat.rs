//! `senesce betreefs stat`.

use crate::output::{self, number};
use anyhow::{Context as _, Result};
use betree::{Fill, Stat};
use betreefs::image;
use serde_json::{Value, json};
use std::path::Path;

pub fn run(path: &Path, json: bool) -> Result<()> {
    let stat =
        betree::stat(image::open_read_only(path)?).with_context(|| format!("reading {}", path.display()))?;
    if json {
        return output::json(&document(&stat));
    }
    let share = |part: u64, of: u64| number(Some(part as f64 / of.max(1) as f64));
    output::table(
        &["size", "free", "layout score", "leaves in a row", "write amplification"],
        [vec![
            lab::bytes(stat.image_bytes),
            lab::bytes(stat.free_slots * stat.node_bytes),
            number(Some(stat.layout_score)),
            number(Some(stat.leaves_in_row)),
            number(Some(stat.write_amplification())),
        ]],
    )?;
    output::table(
        &["level", "nodes", "bytes", "full", "in buffers", "written"],
        stat.levels.iter().enumerate().map(|(level, fill)| {
            vec![
                if level == 0 { "leaves".to_owned() } else { level.to_string() },
                fill.nodes.to_string(),
                lab::bytes(fill.bytes),
                share(fill.bytes, fill.nodes * stat.node_bytes),
                lab::bytes(fill.buffer_bytes),
                lab::bytes(fill.written_bytes),
            ]
        }),
    )?;
    let extents = stat.free_extents.iter().chain(&stat.free_holes);
    output::table(
        &["free extents of", "count"],
        extents.map(|(bytes, count)| vec![lab::bytes(*bytes), count.to_string()]),
    )
}

fn document(stat: &Stat) -> Value {
    let level = |fill: &Fill| {
        json!({
            "nodes": fill.nodes,
            "bytes": fill.bytes,
            "children": fill.children,
            "buffer_bytes": fill.buffer_bytes,
            "written_bytes": fill.written_bytes,
        })
    };
    let extents: Vec<Value> = stat
        .free_extents
        .iter()
        .chain(&stat.free_holes)
        .map(|(bytes, count)| json!({"bytes": bytes, "count": count}))
        .collect();
    json!({
        "image_bytes": stat.image_bytes,
        "node_bytes": stat.node_bytes,
        "block_bytes": stat.block_bytes,
        "slots": stat.slots,
        "free_slots": stat.free_slots,
        "slots_of_small_extents": stat.zones,
        "free_extents": extents,
        "levels": stat.levels.iter().map(level).collect::<Vec<_>>(),
        "layout_score": stat.layout_score,
        "leaves_in_row": stat.leaves_in_row,
        "given_bytes": stat.given_bytes,
        "log_bytes": stat.log_bytes,
        "frame_bytes": stat.frame_bytes,
        "write_amplification": stat.write_amplification(),
    })
}
