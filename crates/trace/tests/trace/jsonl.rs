//! JSON lines: round trips, lines written by hand, and errors that name the line.

use std::io;

use proptest::prelude::*;
use senesce_trace::{Content, DirId, Error, FileId, JsonlReader, Op, write_jsonl};

use crate::support::{any_op, drain, each_kind};

fn read(text: impl AsRef<[u8]>) -> Result<Vec<Op>, Error> {
    drain(JsonlReader::new(text.as_ref(), "a.jsonl"))
}

proptest! {
    #[test]
    fn operations_round_trip(ops in prop::collection::vec(any_op(), 0..99)) {
        let mut text = Vec::new();
        prop_assert_eq!(write_jsonl(ops.clone().into_iter(), &mut text).unwrap(), ops.len() as u64);
        prop_assert_eq!(text.iter().filter(|&&byte| byte == b'\n').count(), ops.len());
        prop_assert_eq!(read(text).unwrap(), ops);
    }

    #[test]
    fn noise_is_read_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
        let _ = read(bytes);
    }

    #[test]
    fn damaged_lines_are_read_or_rejected(
        ops in prop::collection::vec(any_op(), 1..9),
        place: prop::sample::Index,
        value: u8,
    ) {
        let mut text = Vec::new();
        write_jsonl(ops.into_iter(), &mut text).unwrap();
        *place.get_mut(&mut text) = value;
        let _ = read(text);
    }
}

#[test]
fn lines_match_format() {
    let mut text = Vec::new();
    write_jsonl(each_kind().into_iter(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], r#"{"op":"mkdir","dir":4294967295,"to_dir":2}"#);
    let create =
        r#"{"op":"create","file":18446744073709551615,"dir":4294967295,"size":4096,"content":"hole"}"#;
    assert_eq!(lines[2], create);
    assert_eq!(lines[11], r#"{"op":"checkpoint","size":7}"#);
}

#[test]
fn handwritten_file_is_read() {
    let text = "\n{\"content\":\"auto\", \"op\":\"create\", \"size\":1, \"dir\":0, \"file\":2}\r\n\n \
                {\"op\":\"checkpoint\",\"size\":3}";
    let create = Op::Create { file: FileId(2), parent: DirId(0), size: 1, content: Content::Auto };
    assert_eq!(read(text).unwrap(), [create, Op::Checkpoint { number: 3 }]);
}

#[test]
fn errors_name_line() {
    for (line, why) in [
        (r#"{"op":"shred","file":1,"dir":0}"#, "unknown operation \"shred\""),
        (r#"{"op":"delete","dir":0}"#, "delete has no file"),
        (r#"{"op":"delete","file":1,"dir":0,"size":1}"#, "delete has an extra field"),
        (r#"{"op":"delete","file":1,"dir":4294967296}"#, "invalid value: integer `4294967296`, expected u32"),
        (r#"{"op":"delete","file":-1,"dir":0}"#, "invalid value: integer `-1`, expected u64"),
        (r#"{"op":"delete","file":1,"dir":0,"mood":1}"#, "unknown field `mood`"),
        (r#"{"op":"create","file":1,"dir":0,"size":1,"content":"lead"}"#, "unknown content \"lead\""),
        (r#"{"file":1}"#, "missing field `op` at column 10"),
        (r#"{"op":"delete","fi"#, "EOF while parsing"),
        ("delete 1", "expected value at column 1"),
    ] {
        let error = read(format!("{{\"op\":\"checkpoint\",\"size\":3}}\n{line}\n")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read a.jsonl as a senesce trace: line 2: "), "{error}");
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn foreign_file_does_not_fill_memory() {
    // Fails to end if the reader searches for the end of the line.
    let endless = io::BufReader::new(io::repeat(b'{'));
    let error = drain(JsonlReader::new(endless, "a.jsonl")).unwrap_err().to_string();
    assert!(error.ends_with("line 1: it exceeds 1024 bytes"), "{error}");
}

#[test]
fn full_disk_is_reported() {
    let mut room = [0; 10];
    let error = write_jsonl(each_kind().into_iter(), &mut room[..]).unwrap_err().to_string();
    assert!(error.starts_with("writing operations as JSON lines: "), "{error}");
}
