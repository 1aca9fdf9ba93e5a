//! Tests of mail traces, which need no mail server.

use crate::common::Lab;

#[test]
fn mail_workload_is_extracted_as_a_trace() {
    let lab = Lab::new();
    let mail = "trace extract-mail --users 2 --mailboxes 3 --messages 10 --operations 50 --days 2";
    lab.run(&format!("{mail} --seed 7 -o mail.parquet"));
    let stat = lab.json("trace stat mail.parquet");
    assert_eq!(stat["by_kind"]["checkpoint"], 3);
    assert_eq!(stat["directories"], 2 * (4 + 3 * 4));
    assert!(stat["files_created"].as_u64().unwrap() > 60 + 50);
    let shown = lab.run("trace show mail.parquet --first 1");
    assert!(shown.contains("mail") && shown.contains("\"mailboxes\":3") && shown.contains('7'), "{shown}");
    lab.run(&format!("{mail} --seed 7 -o mail.jsonl"));
    lab.run("trace convert mail.parquet again.jsonl");
    let read = |name| std::fs::read(lab.path().join(name)).unwrap();
    assert_eq!(read("mail.jsonl"), read("again.jsonl"));
}

#[test]
fn invalid_mail_options_are_refused() {
    let lab = Lab::new();
    for (line, expected) in [
        ("--users 0", "users"),
        ("--mailboxes x", "mailboxes"),
        ("--least 2KiB --most 1KiB", "range"),
        ("--least 0", "at least 1 byte"),
        ("--most 1TiB", "range"),
        ("--insert-share 2", "share"),
        ("--messages 0 --days 0", "no message"),
        ("--days 4294967295", "fewer"),
    ] {
        lab.refused(&format!("trace extract-mail {line} -o mail.parquet"), expected);
    }
}
