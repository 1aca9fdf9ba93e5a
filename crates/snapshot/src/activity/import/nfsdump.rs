//! Parser for NFS requests and replies as printed by nfsdump, the recorder of Ellard and Seltzer (New NFS
//! Tracing Tools and Techniques for System Analysis, LISA 2003). The file `format.txt` of their tools
//! describes the format (Harvard SOS project, www.eecs.harvard.edu/sos/software/format.txt); traces of
//! several months in this format are public (SNIA IOTTA).
//!
//! Each call or reply is one line: time, source, destination, protocol, `C` or `R` with the version of NFS,
//! transaction, number and name of the operation; for replies the status; then field names, each with its
//! value; missing fields are left out. Numbers are hexadecimal, file names are quoted.
//!
//! ```text
//! 1034402400.000110 30.0320 31.0801 U C3 63ad8e5d 8 create fh 6189 name "x" how U …
//! 1034402400.000530 31.0801 30.0320 U R3 63ad8e5d 8 create OK fh 718a ftype 1 … size 0 …
//! ```

use super::{Importer, Zone, local, milliseconds};
use crate::activity::{Collected, Collector, FileNo};
use std::collections::HashMap;

/// Limit of the number of calls that wait for a reply, because replies can be lost.
const WAITING: usize = 1 << 18;

/// A file by the handle of its directory and its name.
type Name = (Box<str>, Box<str>);

pub(super) struct Nfsdump<'z> {
    zone: Zone<'z>,
    /// Calls without a reply, by client and transaction.
    calls: HashMap<(Box<str>, Box<str>), Call>,
    names: HashMap<Name, (FileNo, Option<Box<str>>)>,
    handles: HashMap<Box<str>, FileNo>,
    seen: Collector<Box<str>>,
}

/// The arguments of a call.
struct Call {
    op: Op,
    handle: Box<str>,
    name: Box<str>,
    handle2: Box<str>,
    name2: Box<str>,
    /// The end of a write, or the size that is set.
    end: Option<u64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Op {
    Lookup,
    Create,
    Remove,
    Rename,
    Link,
    Write,
    SetAttributes,
}

impl Op {
    fn named(name: &str) -> Option<Op> {
        Some(match name {
            "lookup" => Op::Lookup,
            "create" => Op::Create,
            "remove" => Op::Remove,
            "rename" => Op::Rename,
            "link" => Op::Link,
            "write" => Op::Write,
            "setattr" => Op::SetAttributes,
            _ => return None,
        })
    }
}

impl<'z> Nfsdump<'z> {
    pub fn new(zone: Zone<'z>) -> Nfsdump<'z> {
        Nfsdump {
            zone,
            calls: HashMap::new(),
            names: HashMap::new(),
            handles: HashMap::new(),
            seen: Collector::new(),
        }
    }

    /// Processes a successful call.
    fn done(&mut self, at_ms: i64, call: Call, fields: &[Word]) {
        let name = (call.handle.clone(), call.name);
        let handle: Option<Box<str>> = field(fields, "fh").map(Into::into);
        let size = field(fields, "size").and_then(hexadecimal);
        match call.op {
            Op::Lookup => {
                if let (Some((file, known)), Some(handle)) = (self.names.get_mut(&name), handle) {
                    self.handles.insert(handle.clone(), *file);
                    *known = Some(handle);
                }
            }
            Op::Create => {
                let known = self.names.contains_key(&name)
                    || handle.as_ref().is_some_and(|handle| self.handles.contains_key(handle));
                if !known {
                    let file = self.seen.created(at_ms, call.handle);
                    self.seen.sized(file, size.unwrap_or(0));
                    if let Some(handle) = &handle {
                        self.handles.insert(handle.clone(), file);
                    }
                    self.names.insert(name, (file, handle));
                }
            }
            Op::Remove => self.removed(at_ms, &name),
            Op::Rename => {
                let to = (call.handle2, call.name2);
                if to != name {
                    self.removed(at_ms, &to);
                    if let Some(file) = self.names.remove(&name) {
                        self.names.insert(to, file);
                    }
                }
            }
            Op::Link => {
                if let Some(file) = self.handles.get(&call.handle) {
                    self.seen.linked(*file);
                    self.names.insert((call.handle2, name.1), (*file, Some(call.handle)));
                }
            }
            Op::Write | Op::SetAttributes => {
                if let Some(file) = self.handles.get(&call.handle) {
                    let end = match call.op {
                        // A write never shrinks a file.
                        Op::Write => call.end.map(|end| end.max(self.seen.size(*file))),
                        _ => call.end,
                    };
                    if let Some(size) = size.or(end) {
                        self.seen.sized(*file, size);
                    }
                }
            }
        }
    }

    fn removed(&mut self, at_ms: i64, name: &Name) {
        if let Some((file, _)) = self.names.remove(name) {
            self.seen.unlinked(at_ms, file);
        }
    }
}

impl Importer for Nfsdump<'_> {
    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        let line = str::from_utf8(line).map_err(|_| "it is not text".to_owned())?;
        if line.trim().is_empty() {
            return Ok(());
        }
        let words = words(line)?;
        let [time, from, to, _, way, transaction, _, op, fields @ ..] = &words[..] else {
            return Err("it is truncated".to_owned());
        };
        let at_ms = milliseconds(time.text).ok_or_else(|| format!("{:?} is not a time", time.text))?;
        let at_ms = local(at_ms, self.zone);
        let is_call = match way.text {
            "C2" | "C3" => true,
            "R2" | "R3" => false,
            other => return Err(format!("{other:?} is not a call (C2, C3) or reply (R2, R3)")),
        };
        let Some(op) = Op::named(op.text) else { return Ok(()) };
        let client = if is_call { from } else { to };
        let key = (client.text.into(), transaction.text.into());
        if is_call {
            let call = call(op, fields)?;
            if self.calls.len() == WAITING {
                self.calls.clear();
            }
            self.calls.insert(key, call);
        } else if let Some(call) = self.calls.remove(&key).filter(|call| call.op == op) {
            let Some(status) = fields.first() else { return Err("it has no status".to_owned()) };
            if status.text == "OK" {
                self.done(at_ms, call, &fields[1..]);
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Collected {
        self.seen.finish()
    }
}

fn call(op: Op, fields: &[Word]) -> Result<Call, String> {
    let text = |name: &str| field(fields, name).map(Box::<str>::from);
    let needed = |name: &str| text(name).ok_or_else(|| format!("it has no field {name}"));
    let number = |name: &str| field(fields, name).and_then(hexadecimal);
    let handle = needed("fh")?;
    let name = match op {
        Op::Write | Op::SetAttributes => Box::default(),
        _ => needed("name")?,
    };
    let handle2 = if matches!(op, Op::Rename | Op::Link) { needed("fh2")? } else { Box::default() };
    let name2 = if op == Op::Rename { needed("name2")? } else { Box::default() };
    // Depending on its version, nfsdump writes "off" or "offset".
    let end = match op {
        Op::Write => number("off").or(number("offset")).and_then(|off| off.checked_add(number("count")?)),
        Op::SetAttributes => number("size"),
        _ => None,
    };
    Ok(Call { op, handle, name, handle2, name2, end })
}

/// A word; a quoted one is never a field name.
struct Word<'l> {
    text: &'l str,
    quoted: bool,
}

/// The words of a line. Quotes within a name are escaped.
fn words(line: &str) -> Result<Vec<Word<'_>>, String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (text, quoted, length) = match rest.strip_prefix('"') {
            Some(inner) => {
                let end = end_of_quotes(inner).ok_or("a name has no closing quote")?;
                (&inner[..end], true, end + 2)
            }
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (&rest[..end], false, end)
            }
        };
        words.push(Word { text, quoted });
        rest = rest[length..].trim_start();
    }
    Ok(words)
}

fn end_of_quotes(inner: &str) -> Option<usize> {
    let mut escaped = false;
    inner.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })
}

/// The value of a field.
fn field<'l>(fields: &[Word<'l>], name: &str) -> Option<&'l str> {
    let place = fields.iter().position(|word| !word.quoted && word.text == name)?;
    fields.get(place + 1).map(|word| word.text)
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use crate::activity::Format::Nfsdump;
    use crate::activity::import::testing::{damaged, files, read};
    use proptest::prelude::*;

    const LOG: &str = r#"100.000110 30.0320 31.0801 U C3 a1 8 create fh 6189 name "x y" how U mode 1a4 euid 0 egid 0 con = 82 len = 82
100.200000 31.0801 30.0320 U R3 a1 8 create OK fh 718a ftype 1 mode 1a4 nlink 1 size 0 used 0 con = 70 len = 70
100.300000 30.0320 31.0801 U C3 a2 7 write fh 718a off 0 count 2000 stable F con = 82 len = 82
100.300000 32.0320 31.0801 U C3 a2 8 create fh 6189 name "other" how U con = 82 len = 82
100.400000 31.0801 30.0320 U R3 a2 7 write OK ftype 1 size 2000 count 2000 con = 70 len = 70
100.500000 31.0801 32.0320 U R3 a2 8 create OK fh 9999 size 0 con = 70 len = 70
101.000000 30.0320 31.0801 U C3 a3 c remove fh 6189 name "x y" con = 82 len = 82
101.500000 31.0801 30.0320 U R3 a3 c remove OK con = 70 len = 70
102.000000 32.0320 31.0801 U C2 a4 e rename fh 6189 name "other" fh2 7777 name2 ".nfs1" con = 82 len = 82
102.100000 31.0801 32.0320 U R2 a4 e rename OK con = 70 len = 70
102.200000 32.0320 31.0801 U C2 a5 8 write fh 9999 offset 10 count 8 con = 82 len = 82
102.300000 31.0801 32.0320 U R2 a5 8 write OK con = 70 len = 70
103.000000 32.0320 31.0801 U C3 a6 c remove fh 7777 name ".nfs1" con = 82 len = 82
103.100000 31.0801 32.0320 U R3 a6 c remove 5 con = 70 len = 70
104.000000 32.0320 31.0801 U C3 a7 c remove fh 7777 name ".nfs1" con = 82 len = 82
104.100000 31.0801 32.0320 U R3 a7 c remove OK con = 70 len = 70
104.200000 31.0801 32.0320 U R3 a7 1 getattr OK size 0
"#;

    #[test]
    fn files_are_tracked_by_name_and_handle() {
        let ms = |seconds: f64| (seconds * 1000.0) as u32;
        let expected = [vec![(ms(100.2), ms(101.5), 0x2000), (ms(100.5), ms(104.1), 0x18)]];
        assert_eq!(files(Nfsdump, LOG), expected);
    }

    #[test]
    fn foreign_log_is_rejected() {
        for (text, expected) in [
            ("hello\n", "truncated"),
            ("x a b U C3 1 8 create fh 1 name \"a\"\n", "not a time"),
            ("1.0 a b U C9 1 8 create fh 1 name \"a\"\n", "not a call"),
            ("1.0 a b U C3 1 8 create fh 1 name \"a\n", "closing quote"),
            ("1.0 a b U C3 1 8 create fh 1\n", "no field name"),
        ] {
            let error = read(Nfsdump, text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("line 1") && error.contains(expected), "{error}");
        }
    }

    proptest! {
        #[test]
        fn damaged_log_is_read_or_rejected(
            edits in prop::collection::vec(any::<(usize, u8)>(), 0..4),
            cut in prop_oneof![Just(0), any::<usize>()],
        ) {
            damaged(Nfsdump, LOG, &edits, cut);
        }
    }
}
