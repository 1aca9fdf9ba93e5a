//! `senesce betreefs stat`.

use crate::output::{self, number};
use anyhow::{Context as _, Result};
use betreefs::image;
use run::TreeLayout;
use std::path::Path;

pub fn run(path: &Path, json: bool) -> Result<()> {
    let stat =
        betree::stat(image::open_read_only(path)?).with_context(|| format!("reading {}", path.display()))?;
    let tree = TreeLayout::from(&stat);
    if json {
        return output::json(&tree);
    }
    output::table(
        &["size", "free", "key-order layout score", "layout score", "leaves full", "inner nodes full"],
        [vec![
            input::bytes(tree.image_bytes),
            input::bytes(tree.free_slots * tree.node_bytes),
            number(tree.key_order_layout_score),
            number(tree.layout_score),
            number(Some(tree.leaf_occupancy)),
            number(tree.inner_node_occupancy),
        ]],
    )?;
    let name = |level: usize| if level == 0 { "leaves".to_owned() } else { level.to_string() };
    let levels = || tree.levels.iter().enumerate();
    output::table(
        &["level", "nodes", "bytes", "in buffers", "written"],
        levels().map(|(level, nodes)| {
            vec![
                name(level),
                nodes.nodes.to_string(),
                input::bytes(nodes.bytes),
                input::bytes(nodes.buffer_bytes),
                input::bytes(nodes.written_bytes),
            ]
        }),
    )?;
    let full = ["10 %", "20 %", "30 %", "40 %", "50 %", "60 %", "70 %", "80 %", "90 %", "100 %"];
    output::table(
        &[&["nodes full to"][..], &full].concat(),
        levels().map(|(level, nodes)| {
            [name(level)].into_iter().chain(nodes.occupancy.iter().map(u64::to_string)).collect()
        }),
    )?;
    let mut written = vec![("all".to_owned(), tree.write_amplification)];
    written.push(("log".to_owned(), tree.log_write_amplification));
    written.extend(levels().map(|(level, nodes)| (name(level), nodes.write_amplification)));
    written.push(("maps and superblocks".to_owned(), tree.frame_write_amplification));
    output::table(
        &["written for", "write amplification"],
        written.into_iter().map(|(what, value)| vec![what, number(value)]),
    )?;
    output::table(
        &["free extents of", "count"],
        tree.free_extents.iter().map(|free| vec![input::bytes(free.bytes), free.count.to_string()]),
    )
}
