//! Trace files can be read by other tools.

use crate::support::{each_kind, write};

/// Prints the columns, their number of non-empty rows, and some values and metadata.
const SCRIPT: &str = r#"
import sys, pandas, pyarrow.parquet
rows = pandas.read_parquet(sys.argv[1], dtype_backend="pyarrow")
print(*rows.columns)
print(*rows.count())
print(*rows["op"])
print(rows["file"].max(), rows["dir"].max(), rows["content"][2])
print(pyarrow.parquet.read_metadata(sys.argv[1]).metadata[b"senesce.tool"].decode())
"#;

#[test]
fn pandas_reads_a_trace() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.parquet");
    write(&path, &each_kind());
    let Some(printed) = testing::pandas(SCRIPT, &path) else { return };
    let expected = "op file dir size offset to_file to_dir content\n\
        15 10 12 8 2 3 5 1\n\
        mkdir rmdir create write append truncate punch rename link delete fsync checkpoint clone \
        snapshot delete_snapshot\n\
        18446744073709551615 4294967295 hole\n\
        senesce 0.1.0\n";
    assert_eq!(printed, expected);
}
