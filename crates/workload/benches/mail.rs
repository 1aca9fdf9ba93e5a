//! Mail workload speed: a live Dovecot in a directory, and extraction of the same operations without a server.
//!
//! `cargo bench -p senesce-workload --bench mail [-- DIR]`; DIR holds the mail, by default a temporary directory.

use senesce_workload::mail::{Extracted, Live, Parameters, Plan};
use std::path::PathBuf;
use std::time::Instant;
use testing::Table;
use trace::{Op, Source};

const SEED: u64 = 42;

fn main() {
    let dir = std::env::args().skip(1).find(|word| !word.starts_with("--")).map(PathBuf::from);
    let small = Parameters { mailboxes: 8, messages: 100, operations: 800, days: 5, ..Parameters::default() };
    let table = Table::begin(["mail", "messages so far", "done/s"]);
    live(&table, small, dir.unwrap_or_else(std::env::temp_dir));
    if disk::interrupted() {
        return;
    }
    extracted(&table, "operations, small", small);
    extracted(&table, "operations, as published", Parameters::default());
}

/// Measures inserted and deleted messages per second, for each day.
fn live(table: &Table<3>, parameters: Parameters, dir: PathBuf) {
    let plan = Plan::new(parameters, SEED).expect("the parameters are valid");
    // On Ctrl-C the mail and its server are removed too.
    disk::catch_interrupts();
    let dir = tempfile::tempdir_in(dir).expect("the directory is writable");
    let session = disk::Session::begin().expect("the run directory is writable");
    let mut live = match Live::begin(&plan, &dir.path().join("mail"), None, &session) {
        Ok(live) => live,
        Err(error) => return println!("live       skipped: {error}"),
    };
    let filling = u64::from(parameters.users * parameters.mailboxes * parameters.messages);
    for day in 0..=parameters.days {
        if disk::interrupted() {
            break;
        }
        let begun = Instant::now();
        live.run_day(day).expect("the day succeeds");
        let messages = if day == 0 { filling } else { parameters.operations.into() };
        let so_far = filling + u64::from(day * parameters.operations);
        row(table, &format!("live, day {day}"), so_far, messages, begun);
    }
    live.end().expect("the server stops");
}

/// Measures generated file operations per second.
fn extracted(table: &Table<3>, name: &str, parameters: Parameters) {
    let plan = Plan::new(parameters, SEED).expect("the parameters are valid");
    let mut source = Extracted::new(&plan);
    let mut batch: Vec<Op> = Vec::new();
    let mut operations = 0;
    let begun = Instant::now();
    loop {
        source.next_batch(&mut batch).expect("the source does no I/O");
        if batch.is_empty() {
            return row(table, name, plan.operations(), operations, begun);
        }
        operations += batch.len() as u64;
    }
}

fn row(table: &Table<3>, name: &str, messages: u64, done: u64, begun: Instant) {
    table.row([
        name.into(),
        messages.to_string(),
        format!("{:.0}", done as f64 / begun.elapsed().as_secs_f64()),
    ]);
}
