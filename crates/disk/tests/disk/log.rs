//! Request logs round-trip, and other files are refused.

use proptest::prelude::*;
use senesce_disk::log::{LogInfo, LogReader, LogWriter};
use senesce_disk::{Request, RequestKind};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn info() -> LogInfo {
    LogInfo { model: "hdd-7200".into(), size_bytes: 4 << 30, tool: "senesce 9.9.9".into() }
}

fn write(dir: &TempDir, requests: &[Request]) -> PathBuf {
    let path = dir.path().join("log.parquet");
    let mut writer = LogWriter::create(&path, &info()).unwrap();
    for piece in requests.chunks(1000) {
        writer.write(piece).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), requests.len() as u64);
    path
}

fn any_request() -> impl Strategy<Value = Request> {
    let kind = prop_oneof![
        Just(RequestKind::Read),
        Just(RequestKind::Write),
        Just(RequestKind::Flush),
        Just(RequestKind::Discard),
    ];
    (any::<(u64, bool, bool, u32, u32, u64)>(), kind, 0..1u64 << 55).prop_map(|(any, kind, sector)| {
        let (time_ns, metadata, readahead, sectors, queue, service_ns) = any;
        Request { time_ns, kind, metadata, readahead, sector, sectors, queue, service_ns }
    })
}

fn refused(path: &Path) -> String {
    let error = match LogReader::open(path) {
        Ok(log) => log.read_all().unwrap_err(),
        Err(error) => error,
    };
    let error = error.to_string();
    assert!(error.contains(&path.display().to_string()) && !error.contains('\n'), "{error}");
    error
}

#[test]
fn log_of_several_row_groups_is_read_in_batches() {
    let dir = tempfile::tempdir().unwrap();
    let requests: Vec<_> = (0..300_000).map(|n| Request { queue: 3, ..Request::read(n * 8, 8) }).collect();
    let path = write(&dir, &requests);
    let mut log = LogReader::open(&path).unwrap();
    assert_eq!((log.info(), log.requests()), (&info(), 300_000));
    let first = log.next_batch().unwrap().unwrap();
    assert!(first.len() < 300_000 && first[..] == requests[..first.len()]);
    assert!(log.read_all().unwrap()[..] == requests[first.len()..]);
    // Times of 0 and evenly increasing addresses compress to almost nothing.
    assert!(std::fs::metadata(&path).unwrap().len() < 200_000);
}

#[test]
fn empty_log_is_valid() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(LogReader::open(&write(&dir, &[])).unwrap().read_all().unwrap(), []);
}

#[test]
fn unfinished_log_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LogWriter::create(&dir.path().join("log.parquet"), &info()).unwrap();
    writer.write(&[Request::read(0, 8)]).unwrap();
    drop(writer);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn other_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("other");
    assert!(refused(&path).contains("No such file"));
    std::fs::write(&path, "PAR1, and a text that is long enough to hold a seal, but PAR1").unwrap();
    assert!(refused(&path).contains("from another program"));
    std::fs::write(&path, "").unwrap();
    refused(&path);
    // A trace is also a sealed Parquet file.
    let info = trace::TraceInfo {
        tool: "t".into(),
        seed: None,
        source: "s".into(),
        parameters: "{}".into(),
        block_size: 4096,
    };
    trace::TraceWriter::create(&path, &info).unwrap().finish().unwrap();
    assert!(refused(&path).contains("not a request log"));
    assert!(LogWriter::create(Path::new("/no/such/place/log.parquet"), &self::info()).is_err());
}

#[test]
fn pandas_reads_the_columns() {
    let dir = tempfile::tempdir().unwrap();
    let request = Request {
        kind: RequestKind::Write,
        time_ns: u64::MAX,
        queue: u32::MAX,
        metadata: true,
        ..Request::read(5, 3)
    };
    let path = write(&dir, &[request, Request::read(0, 8)]);
    let script = "import sys, pandas\nlog = pandas.read_parquet(sys.argv[1])\n\
                  print(*log.columns)\nprint(*log.iloc[0])\nprint(len(log))";
    let Some(printed) = testing::pandas(script, &path) else { return };
    let expected = "time_ns kind address length service_ns queue metadata readahead\n\
                    18446744073709551615 write 2560 1536 0 4294967295 True False\n2\n";
    assert_eq!(printed, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn log_round_trips(requests in prop::collection::vec(any_request(), 0..200)) {
        let dir = tempfile::tempdir().unwrap();
        prop_assert_eq!(LogReader::open(&write(&dir, &requests)).unwrap().read_all().unwrap(), requests);
    }

    #[test]
    fn damaged_log_is_refused(at in any::<prop::sample::Index>(), bit in 0..8u32, cut: bool) {
        let dir = tempfile::tempdir().unwrap();
        let requests: Vec<_> = (0..50).map(|n| Request::read(n * 8, 8)).collect();
        let path = write(&dir, &requests);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1 << bit;
        }
        std::fs::write(&path, bytes).unwrap();
        refused(&path);
    }
}
