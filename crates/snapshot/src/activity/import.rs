//! Imports profiles from logs of other programs.

mod bpftrace;
mod nfsdump;
mod strace;

use super::{ActivityError, Collected};
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// A bpftrace script; its output is [`Format::Bpftrace`].
pub const BPFTRACE_SCRIPT: &str = include_str!("import/activity.bt");

/// Limit of the line length in bytes.
const LONGEST_LINE: u64 = 1 << 20;

/// The format of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `strace -f -ttt -y`.
    Strace,
    /// [`BPFTRACE_SCRIPT`].
    Bpftrace,
    /// `nfsdump`, the recorder of NFS requests by Ellard and Seltzer.
    Nfsdump,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Strace => "the output of strace",
            Format::Bpftrace => "the output of our bpftrace script",
            Format::Nfsdump => "the output of nfsdump",
        }
    }
}

/// The result of an import.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Imported {
    /// The collected profiles.
    pub collected: Collected,
    /// Number of lines read.
    pub lines: u64,
    /// Number of unterminated last lines, which are ignored: the log was still being written.
    pub incomplete_lines: u64,
}

/// Maps a time in seconds since 1970 to the offset of local time in seconds.
pub(crate) type Zone<'z> = &'z dyn Fn(i64) -> i64;

/// A line-by-line importer. An error says what is wrong with the line.
trait Importer {
    fn line(&mut self, line: &[u8]) -> Result<(), String>;
    fn finish(self: Box<Self>) -> Collected;
}

/// Reads logs of `format`, one after another. `zone` maps a time in seconds since 1970 to the offset of local
/// time in seconds.
///
/// # Errors
/// If a log cannot be read or is damaged.
pub fn import(format: Format, logs: &[PathBuf], zone: Zone<'_>) -> Result<Imported, ActivityError> {
    let mut importer: Box<dyn Importer + '_> = match format {
        Format::Strace => Box::new(strace::Strace::new(zone)),
        Format::Bpftrace => Box::new(bpftrace::Bpftrace::new(zone)),
        Format::Nfsdump => Box::new(nfsdump::Nfsdump::new(zone)),
    };
    let (mut lines, mut incomplete_lines) = (0, 0);
    for log in logs {
        let file = input::open_stream(log).map_err(ActivityError::io("opening", log))?;
        let (read, whole) = feed(&mut *importer, format, BufReader::new(file), log)?;
        lines += read;
        incomplete_lines += u64::from(!whole);
    }
    Ok(Imported { collected: importer.finish(), lines, incomplete_lines })
}

/// Reads one log; returns the number of lines, and whether the last one was complete.
fn feed(
    importer: &mut (dyn Importer + '_),
    format: Format,
    mut input: impl BufRead,
    path: &Path,
) -> Result<(u64, bool), ActivityError> {
    let mut text = Vec::new();
    let mut number = 0;
    loop {
        text.clear();
        let read = (&mut input).take(LONGEST_LINE).read_until(b'\n', &mut text);
        let length = read.map_err(ActivityError::io("reading", path))? as u64;
        if length == 0 {
            return Ok((number, true));
        }
        number += 1;
        let wrong =
            |why| ActivityError::Line { path: path.to_owned(), format: format.name(), line: number, why };
        if text.pop_if(|last| *last == b'\n').is_none() {
            if length == LONGEST_LINE {
                return Err(wrong("it exceeds the maximum line length".to_owned()));
            }
            return Ok((number - 1, false));
        }
        importer.line(&text).map_err(wrong)?;
    }
}

/// Seconds with a fraction, converted to whole milliseconds.
fn milliseconds(text: &str) -> Option<i64> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // More than 12 digits cannot be a valid time.
    if seconds.is_empty() || seconds.len() > 12 || !digits(seconds) || !digits(fraction) {
        return None;
    }
    let thousandths: i64 = format!("{fraction:0<3}")[..3].parse().ok()?;
    Some(seconds.parse::<i64>().ok()? * 1000 + thousandths)
}

/// Converts milliseconds since 1970 from UTC to local time.
fn local(ms: i64, zone: Zone<'_>) -> i64 {
    ms + zone(ms.div_euclid(1000)) * 1000
}

#[cfg(test)]
mod testing {
    use super::*;
    use crate::activity::{Action, ActivityStat};

    /// Imports a text; returns files as (milliseconds of creation and of deletion, bytes), by profile.
    pub fn files(format: Format, text: &str) -> Vec<Vec<(u32, u32, u64)>> {
        read(format, text.as_bytes()).unwrap().collected.profiles.iter().map(profile).collect()
    }

    fn profile(profile: &crate::activity::ActivityProfile) -> Vec<(u32, u32, u64)> {
        let mut files: Vec<(u32, u32, u64)> = Vec::new();
        for event in &profile.events {
            match event.action {
                Action::Create { size, .. } => files.push((event.at_ms, 0, size)),
                Action::Delete { file } => files[file as usize].1 = event.at_ms,
            }
        }
        files
    }

    pub fn read(format: Format, text: &[u8]) -> Result<Imported, ActivityError> {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        std::fs::write(&log, text).unwrap();
        import(format, &[log], &|_| 0)
    }

    /// Damages a log; checks that it is read, or rejected with a one-line error that names the line.
    pub fn damaged(format: Format, text: &str, edits: &[(usize, u8)], cut: usize) {
        let mut bytes = text.as_bytes().to_vec();
        for (place, byte) in edits {
            let place = place % bytes.len();
            bytes[place] = *byte;
        }
        bytes.truncate(bytes.len() - cut % bytes.len());
        match read(format, &bytes) {
            Ok(imported) => {
                let set = crate::activity::ActivitySet {
                    profiles: imported.collected.profiles,
                    source: String::new(),
                };
                ActivityStat::of(&set);
            }
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("line ") && !error.contains('\n'), "{error}");
            }
        }
    }

    #[test]
    fn seconds_convert_to_milliseconds() {
        for (text, ms) in
            [("1.5", Some(1500)), ("1700000000.123999", Some(1_700_000_000_123)), ("7", Some(7000))]
        {
            assert_eq!(milliseconds(text), ms);
        }
        for bad in ["", ".5", "-1", "1e3", "1.x", "9999999999999", "1.5.5"] {
            assert_eq!(milliseconds(bad), None, "{bad}");
        }
    }
}
