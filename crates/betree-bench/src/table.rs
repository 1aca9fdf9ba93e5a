//! Prints the results.

use crate::backing::PhaseResult;
use crate::stores::Kind;
use crate::work::ENTRY_BYTES;
use testing::{Table, verdict};

pub struct Row {
    pub store: Kind,
    pub inserts: PhaseResult,
    pub scan: PhaseResult,
}

/// Prints rates and amplification of each store as measured, and its rates on each modelled disk.
pub fn print(rows: &[Row], count: u64) {
    let table = Table::begin(["store", "inserts/s", "written/inserted", "read/inserted", "scanned/s", "MiB"]);
    let inserted = (count * ENTRY_BYTES) as f64;
    for row in rows {
        let Row { store, inserts, scan } = row;
        let per_byte = |bytes: u64| format!("{:.2}", bytes as f64 / inserted);
        let rate = |seconds: f64| format!("{:.0}", count as f64 / seconds);
        table.row([
            format!("{store:?}"),
            rate(inserts.seconds),
            per_byte(inserts.moved.written_bytes),
            per_byte(inserts.moved.read_bytes),
            rate(scan.seconds),
            inserts.memory_mib.max(scan.memory_mib).to_string(),
        ]);
        for (inserts, scan) in inserts.priced.iter().zip(&scan.priced) {
            let on = format!("{store:?}, {}", inserts.model);
            let blank = String::new;
            table.row([on, rate(inserts.total_s()), blank(), blank(), rate(scan.total_s()), blank()]);
        }
    }
}

/// Prints whether the Bε-tree store reaches its limits: inserts with at least the rate and at most the write amplification of RocksDB, and scans
/// with twice the rate of RocksDB and redb.
pub fn print_verdicts(rows: &[Row]) {
    let find = |kind: Kind| rows.iter().find(|row| row.store == kind);
    let Some(ours) = find(Kind::Betree) else { return };
    let table = Table::begin(["betree over", "ratio", "limit", "verdict"]);
    let print = |what: String, ratio: f64, limit: f64| {
        table.row([what, format!("{ratio:.2}"), limit.to_string(), verdict(ratio >= limit).into()]);
    };
    if let Some(other) = find(Kind::RocksDb) {
        print("RocksDb, inserts/s".into(), other.inserts.seconds / ours.inserts.seconds, 1.0);
        let written = |row: &Row| row.inserts.moved.written_bytes as f64;
        print("RocksDb, bytes written there / here".into(), written(other) / written(ours), 1.0);
        for (ours, other) in ours.inserts.priced.iter().zip(&other.inserts.priced) {
            print(format!("RocksDb, inserts/s, {}", ours.model), other.total_s() / ours.total_s(), 1.0);
        }
    }
    for kind in [Kind::RocksDb, Kind::Redb] {
        let Some(other) = find(kind) else { continue };
        print(format!("{kind:?}, scanned/s"), other.scan.seconds / ours.scan.seconds, 2.0);
        for (ours, other) in ours.scan.priced.iter().zip(&other.scan.priced) {
            print(format!("{kind:?}, scanned/s, {}", ours.model), other.total_s() / ours.total_s(), 2.0);
        }
    }
}
