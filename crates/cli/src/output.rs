//! Standard output: one JSON document, or text and tables.

use anyhow::{Context as _, Result};
use comfy_table::{ContentArrangement, Table, presets};
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

/// Prints rows under headings. On a terminal, cells are wrapped to its width; in a pipe, each row is one line, for programs such as grep.
pub fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Result<()> {
    line(&laid_out(headings, rows, terminal_width()))
}

/// The narrowest table: below it, columns of a letter or two would be unreadable.
const LEAST_WIDTH: u16 = 40;

/// The width of the terminal on standard output, if it is one.
fn terminal_width() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then(|| size.ws_col.max(LEAST_WIDTH))
}

fn laid_out(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>, width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if headings.iter().any(|heading| !heading.is_empty()) {
        table.set_header(headings);
    }
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for row in rows {
        table.add_row(row.into_iter().map(|cell| printable(&cell)));
    }
    table.trim_fmt()
}

/// Prints rows under headings as a Markdown table.
pub fn markdown(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Result<()> {
    line(&as_markdown(headings, rows))
}

/// Rows under headings as a Markdown table.
pub fn as_markdown(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let head = [markdown_row(headings.iter().copied()), markdown_row(headings.iter().map(|_| "---"))];
    let rows = rows.into_iter().map(|cells| markdown_row(cells.iter().map(String::as_str)));
    head.into_iter().chain(rows).collect::<Vec<_>>().join("\n")
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

/// Formats a rate with three significant digits; a dash if there is none. More digits change with each run.
pub fn rate(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else { return "–".to_owned() };
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounding may add a digit, so it comes first.
    let rounded: f64 = format!("{value:.2e}").parse().expect("a formatted number is a number");
    let magnitude = rounded.abs().log10().floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 12.0) as usize;
    let text = format!("{rounded:.decimals$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    format!("{sign}{}{fraction}", input::grouped(digits, ","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.012_345, "0.0123"),
            (1.0, "1.00"),
            (9.999, "10.0"),
            (45.67, "45.7"),
            (999.6, "1,000"),
            (4523.4, "4,520"),
            (12_345_678.9, "12,300,000"),
            (-123_456.0, "-123,000"),
        ] {
            assert_eq!(rate(Some(value)), text);
        }
        assert_eq!((rate(None), rate(Some(f64::INFINITY))), ("–".to_owned(), "–".to_owned()));
    }

    #[test]
    fn table_fits_the_terminal_and_is_whole_in_a_pipe() {
        let rows = || [vec!["name".to_owned(), "one two three four five six seven ".repeat(6)]];
        let narrow = laid_out(&["what", "words"], rows(), Some(80));
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        assert!(narrow.lines().count() > 3, "{narrow}");
        assert_eq!(laid_out(&["what", "words"], rows(), None).lines().count(), 2);
    }

    #[test]
    fn markdown_cell_is_escaped() {
        assert_eq!(
            markdown_row(["a|b", "two\nlines", "\x1b[2J"].into_iter()),
            "| a\\|b | two lines | \u{fffd}[2J |"
        );
    }
}
