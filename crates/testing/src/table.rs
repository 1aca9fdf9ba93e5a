//! Tables that benchmarks print, in Markdown: `scripts/bench` copies them into the book.

/// A table of `N` columns. Prints its head when it begins, and each row as it is measured.
pub struct Table<const N: usize> {
    widths: [usize; N],
}

impl<const N: usize> Table<N> {
    /// Prints the head. A column is as wide as its title, and at least ten characters.
    pub fn begin(titles: [&str; N]) -> Table<N> {
        let table = Table { widths: titles.map(|title| title.chars().count().max(10)) };
        println!();
        table.row(titles.map(str::to_owned));
        table.row(table.widths.map(|width| "-".repeat(width)));
        table
    }

    /// Prints a row.
    pub fn row(&self, cells: [String; N]) {
        let cells: Vec<String> =
            cells.iter().zip(self.widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        println!("| {} |", cells.join(" | "));
    }
}

/// Whether a limit is met, in a word.
pub fn verdict(met: bool) -> &'static str {
    if met { "PASS" } else { "MISS" }
}

/// The middle of some numbers, the upper one of two.
///
/// # Panics
/// Without any number.
pub fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
