//! Standard output: one JSON document, or text and tables.

use anyhow::{Context as _, Result};
use comfy_table::{Table, presets};
use serde::Serialize;
use std::io::Write as _;

/// Prints `value` as one JSON document.
pub fn json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    line(&text)
}

/// Prints a line.
pub fn line(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{text}").context("writing to standard output")
}

/// Prints rows under headings.
pub fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings);
    for row in rows {
        table.add_row(row.into_iter().map(|cell| printable(&cell)));
    }
    line(&table.trim_fmt())
}

/// Prints rows under headings as a Markdown table.
pub fn markdown(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Result<()> {
    line(&markdown_row(headings.iter().copied()))?;
    line(&markdown_row(headings.iter().map(|_| "---")))?;
    rows.into_iter().try_for_each(|cells| line(&markdown_row(cells.iter().map(String::as_str))))
}

fn markdown_row<'c>(cells: impl Iterator<Item = &'c str>) -> String {
    let cells: Vec<_> = cells.map(|cell| printable(cell).replace('|', "\\|").replace('\n', " ")).collect();
    format!("| {} |", cells.join(" | "))
}

/// Replaces control characters, which could control the terminal: cells may come from untrusted files.
fn printable(cell: &str) -> String {
    cell.replace(|c: char| c.is_control() && c != '\n', "\u{fffd}")
}

/// Formats a number for a table; a dash if there is none.
pub fn number(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(v) if v.abs() >= 1000.0 => format!("{v:.0}"),
        Some(v) => format!("{v:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_cell_is_escaped() {
        assert_eq!(
            markdown_row(["a|b", "two\nlines", "\x1b[2J"].into_iter()),
            "| a\\|b | two lines | \u{fffd}[2J |"
        );
    }
}
