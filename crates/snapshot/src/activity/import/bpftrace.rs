//! Parser for the output of [our bpftrace script](super::BPFTRACE_SCRIPT).

use super::{Importer, Zone, local};
use crate::activity::{Collected, Collector, FileNo};
use std::collections::HashMap;

/// The first words of the output, with its version.
const HEAD: &str = "senesce-activity 1 ";

pub(super) struct Bpftrace<'z> {
    zone: Zone<'z>,
    /// The offset from the script's times to milliseconds since 1970, known after the first line.
    since_1970_ms: Option<i64>,
    /// Live files by device and inode.
    files: HashMap<(u64, u64), FileNo>,
    seen: Collector<(u64, u64)>,
}

impl<'z> Bpftrace<'z> {
    pub fn new(zone: Zone<'z>) -> Bpftrace<'z> {
        Bpftrace { zone, since_1970_ms: None, files: HashMap::new(), seen: Collector::new() }
    }
}

impl Importer for Bpftrace<'_> {
    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        let line = str::from_utf8(line).map_err(|_| "it is not text".to_owned())?;
        // bpftrace prints the number of attached probes, and a final empty line.
        if line.is_empty() || line.starts_with("Attach") {
            return Ok(());
        }
        if let Some(moment) = line.strip_prefix(HEAD) {
            let mut words = moment.split(' ').map(|word| word.parse::<u64>().ok());
            let (Some(Some(nanoseconds)), Some(Some(seconds)), None) =
                (words.next(), words.next(), words.next())
            else {
                return Err("it does not give the same moment by both clocks".to_owned());
            };
            let offset = (seconds as i64)
                .checked_mul(1000)
                .and_then(|ms| ms.checked_sub((nanoseconds / 1_000_000) as i64));
            self.since_1970_ms = Some(offset.filter(plausible).ok_or("its clock is implausible")?);
            return Ok(());
        }
        let since_1970_ms = self.since_1970_ms.ok_or(
            "the first line of the script is missing; print the script of this version with `senesce \
             activity script`",
        )?;
        let words: Vec<&str> = line.split(' ').collect();
        let [at, what, numbers @ ..] = &words[..] else { return Err("it is truncated".to_owned()) };
        let numbers: Option<Vec<u64>> = numbers.iter().map(|word| word.parse().ok()).collect();
        let (Ok(nanoseconds), Some(&[device, inode, directory, bytes])) =
            (at.parse::<u64>(), numbers.as_deref())
        else {
            return Err("it is not NANOSECONDS create|delete DEVICE INODE DIRECTORY BYTES".to_owned());
        };
        let at_ms = local(since_1970_ms + (nanoseconds / 1_000_000) as i64, self.zone);
        match *what {
            "create" => {
                let file = self.seen.created(at_ms, (device, directory));
                self.files.insert((device, inode), file);
            }
            "delete" => {
                if let Some(file) = self.files.remove(&(device, inode)) {
                    self.seen.sized(file, bytes);
                    self.seen.unlinked(at_ms, file);
                }
            }
            _ => return Err(format!("{what:?} is not create or delete")),
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Collected {
        self.seen.finish()
    }
}

/// Whether a time is within some thousand years of 1970.
fn plausible(ms: &i64) -> bool {
    ms.abs() < 1 << 47
}

#[cfg(test)]
mod tests {
    use crate::activity::Format::Bpftrace;
    use crate::activity::import::testing::{damaged, files, read};
    use proptest::prelude::*;

    const LOG: &str = "Attaching 7 probes...\n\
        senesce-activity 1 5000000000 86400\n\
        5500000000 create 8 12 2 0\n\
        5600000000 create 8 13 2 0\n\
        5700000000 create 9 12 2 0\n\
        6000000000 delete 8 12 2 4096\n\
        6100000000 create 8 12 2 0\n\
        6200000000 delete 8 77 2 1\n\
        6300000000 delete 9 12 2 7\n\
        6400000000 delete 8 12 2 5\n\n";

    #[test]
    fn script_output_is_parsed() {
        assert_eq!(files(Bpftrace, LOG), [vec![(500, 1000, 4096), (1100, 1400, 5)], vec![(700, 1300, 7)]]);
    }

    #[test]
    fn foreign_log_is_rejected() {
        let error = read(Bpftrace, b"5 create 8 12 2 0\n").unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("senesce activity script"), "{error}");
    }

    proptest! {
        #[test]
        fn damaged_log_is_read_or_rejected(
            edits in prop::collection::vec(any::<(usize, u8)>(), 0..4),
            cut in prop_oneof![Just(0), any::<usize>()],
        ) {
            damaged(Bpftrace, LOG, &edits, cut);
        }
    }
}
