//! Formats the results.

use std::fmt::Write;

use crate::backing::PhaseResult;
use crate::stores::Kind;
use crate::work::ENTRY_BYTES;

pub struct Row {
    pub store: Kind,
    pub inserts: PhaseResult,
    pub scan: PhaseResult,
}

impl Row {
    fn inserted_bytes(&self, count: u64) -> f64 {
        (count * ENTRY_BYTES) as f64
    }

    fn amplification(&self, count: u64) -> f64 {
        self.inserts.moved.written_bytes as f64 / self.inserted_bytes(count)
    }

    pub fn line(&self, count: u64) -> String {
        let mut line = format!(
            "{:<8?} inserts {:>8.0}/s, {:.2} written and {:.2} read per byte, {} MiB; scan {:>8.0}/s, {:.2} \
             read per byte, {} MiB",
            self.store,
            count as f64 / self.inserts.seconds,
            self.amplification(count),
            self.inserts.moved.read_bytes as f64 / self.inserted_bytes(count),
            self.inserts.memory_mib,
            count as f64 / self.scan.seconds,
            self.scan.moved.read_bytes as f64 / self.inserted_bytes(count),
            self.scan.memory_mib,
        );
        for (inserts, scan) in self.inserts.priced.iter().zip(&self.scan.priced) {
            let (inserts, name, scan) = (inserts.total_s(), &inserts.model, scan.total_s());
            write!(line, "\n         on {name}: inserts {inserts:.1} s, scan {scan:.1} s")
                .expect("text grows");
        }
        line
    }
}

/// Prints whether the Bε-tree store reaches its limits: inserts with at least the rate and at most the write amplification of RocksDB, and scans
/// with twice the rate of RocksDB and redb.
pub fn verdicts(rows: &[Row]) {
    let find = |kind: Kind| rows.iter().find(|row| row.store == kind);
    let Some(ours) = find(Kind::Betree) else { return };
    let print_verdict = |what: &str, ratio: f64, limit: f64| {
        println!("{} {what}: {ratio:.2}, limit {limit}", if ratio >= limit { "PASS" } else { "MISS" });
    };
    if let Some(other) = find(Kind::RocksDb) {
        print_verdict("inserts/s relative to RocksDB", other.inserts.seconds / ours.inserts.seconds, 1.0);
        let written = |row: &Row| row.inserts.moved.written_bytes as f64;
        print_verdict(
            "write amplification of RocksDB relative to betree",
            written(other) / written(ours),
            1.0,
        );
        for (ours, other) in ours.inserts.priced.iter().zip(&other.inserts.priced) {
            let what = format!("inserts/s relative to RocksDB on {}", ours.model);
            print_verdict(&what, other.total_s() / ours.total_s(), 1.0);
        }
    }
    for kind in [Kind::RocksDb, Kind::Redb] {
        let Some(other) = find(kind) else { continue };
        print_verdict(&format!("scan relative to {kind:?}"), other.scan.seconds / ours.scan.seconds, 2.0);
        for (ours, other) in ours.scan.priced.iter().zip(&other.scan.priced) {
            let what = format!("scan relative to {kind:?} on {}", ours.model);
            print_verdict(&what, other.total_s() / ours.total_s(), 2.0);
        }
    }
}
