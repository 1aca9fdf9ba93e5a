//! Filters, sorts and paginates the list of runs.

use super::query::Query;
use super::stores::{Opened, RunAt};
use results::Progress;
use std::cmp::Ordering;

/// Runs per page of the list.
pub const PAGE: usize = 100;

/// One run of the list.
#[derive(Clone, Debug)]
pub struct Row {
    pub at: RunAt,
    pub kind: String,
    pub name: String,
    pub fs: String,
    pub state: String,
    /// Number of measurements.
    pub numbers: u64,
    pub started: String,
    pub finished: Option<String>,
    pub progress: Option<Progress>,
}

/// The rows of a store.
pub fn rows(place: usize, opened: &Opened) -> Result<Vec<Row>, run::Error> {
    let counts = opened.store.measurement_counts()?;
    let row = |run: &results::Run| Row {
        at: RunAt { place, run: run.id },
        kind: run.kind.clone(),
        name: run.name.clone(),
        fs: opened.file_systems(run),
        state: opened.state(run).to_owned(),
        numbers: counts.get(&run.id.0).copied().unwrap_or(0),
        started: run.started.clone(),
        finished: run.finished.clone(),
        progress: opened.progress(run),
    };
    Ok(opened.runs.iter().map(row).collect())
}

/// The sort keys: the name in URLs, and the heading of the column.
pub const ORDERS: [(&str, &str); 7] = [
    ("run", "Run"),
    ("state", "State"),
    ("kind", "Kind"),
    ("name", "Name"),
    ("fs", "File system"),
    ("numbers", "Numbers"),
    ("started", "Started"),
];

/// The selected part of the list.
pub struct Selection<'q> {
    text: Option<String>,
    state: Option<&'q str>,
    /// The kind of runs; `all` for all; `None` for all except checkpoints, which are parts of other runs.
    kind: Option<&'q str>,
    /// A sort key of [`ORDERS`].
    pub order: &'q str,
    /// Whether the order is descending.
    pub falling: bool,
    page: usize,
}

impl<'q> Selection<'q> {
    pub fn of(query: &'q Query) -> Selection<'q> {
        let asked = query.get("sort").unwrap_or("-started");
        let order = asked.strip_prefix('-').unwrap_or(asked);
        let known = ORDERS.iter().find(|(name, _)| *name == order).map(|(name, _)| *name);
        Selection {
            text: query.get("q").map(str::to_lowercase),
            state: query.get("state"),
            kind: query.get("kind"),
            order: known.unwrap_or("started"),
            falling: known.is_none() || asked.starts_with('-'),
            page: query.get("page").and_then(|page| page.parse().ok()).unwrap_or(1),
        }
    }

    fn shows(&self, row: &Row) -> bool {
        let kind = match self.kind {
            None => row.kind != "checkpoint",
            Some("all") => true,
            Some(kind) => row.kind == kind,
        };
        let named = |text: &String| {
            [&row.name, &row.kind, &row.fs].iter().any(|part| part.to_lowercase().contains(text))
        };
        kind && self.state.is_none_or(|state| row.state == state) && self.text.as_ref().is_none_or(named)
    }

    fn compare(&self, a: &Row, b: &Row) -> Ordering {
        let order = match self.order {
            "state" => a.state.cmp(&b.state),
            "kind" => a.kind.cmp(&b.kind),
            "name" => a.name.cmp(&b.name),
            "fs" => a.fs.cmp(&b.fs),
            "numbers" => a.numbers.cmp(&b.numbers),
            "started" => a.started.cmp(&b.started),
            _ => Ordering::Equal,
        };
        let order = order.then_with(|| (a.at.place, a.at.run.0).cmp(&(b.at.place, b.at.run.0)));
        if self.falling { order.reverse() } else { order }
    }

    /// The rows of the requested page, the number of the page, the number of pages, and the total number of
    /// rows.
    pub fn page(&self, rows: &[Row]) -> (Vec<Row>, usize, usize, usize) {
        let mut shown: Vec<&Row> = rows.iter().filter(|row| self.shows(row)).collect();
        shown.sort_by(|a, b| self.compare(a, b));
        let (all, pages) = (shown.len(), shown.len().div_ceil(PAGE).max(1));
        let page = self.page.clamp(1, pages);
        let rows = shown.into_iter().skip((page - 1) * PAGE).take(PAGE).cloned();
        (rows.collect(), page, pages, all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::RunId;

    fn many() -> Vec<Row> {
        let row = |id: i64| Row {
            at: RunAt { place: 0, run: RunId(id) },
            kind: if id % 10 == 0 { "checkpoint" } else { "age" }.to_owned(),
            name: format!("name-{id:04}"),
            fs: ["ext4", "xfs", "Btrfs"][id as usize % 3].to_owned(),
            state: "done".to_owned(),
            numbers: (id * 7 % 1000) as u64,
            started: "2026-01-01T00:00:00Z".to_owned(),
            finished: None,
            progress: None,
        };
        (1..=1000).map(row).collect()
    }

    fn asked(query: &str) -> (Vec<i64>, usize, usize, usize) {
        let query = Query::parse(query);
        let (rows, page, pages, all) = Selection::of(&query).page(&many());
        (rows.iter().map(|row| row.at.run.0).collect(), page, pages, all)
    }

    #[test]
    fn list_is_paginated_newest_first() {
        let (ids, page, pages, all) = asked("");
        assert_eq!((ids[0], ids.len(), page, pages, all), (999, 100, 1, 9, 900));
        let (ids, page, ..) = asked("page=9");
        assert_eq!((*ids.last().unwrap(), page), (1, 9));
        assert_eq!(asked("page=77").1, 9);
        assert_eq!(asked("page=x").1, 1);
        assert_eq!(asked("kind=all").3, 1000);
    }

    #[test]
    fn rows_are_filtered_and_sorted() {
        assert_eq!(asked("q=NAME-0007").0, [7]);
        assert_eq!(asked("q=btrfs&kind=checkpoint&sort=run").0[..2], [20, 50]);
        assert_eq!(asked("state=running").3, 0);
        assert_eq!(asked("sort=-numbers&kind=all").0[0], 857);
        assert_eq!(asked("sort=name").0[0], 1);
        assert_eq!(asked("sort=nonsense").0[0], 999);
    }
}
