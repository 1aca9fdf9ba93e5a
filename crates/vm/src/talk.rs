//! What the machine and the process outside tell each other, a line each.

use std::io::BufRead;
use std::str::FromStr;

/// How often the machine says that it lives.
pub const BEAT: std::time::Duration = std::time::Duration::from_secs(1);

/// What the machine says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// The command begins.
    Up,
    /// The machine lives.
    Alive,
    /// The command ended with this status.
    Exit(i32),
    /// A signal ended the command.
    Signal(i32),
    /// The command could not be started.
    Failed(String),
}

/// What the process outside says: the command is to end as on Ctrl-C.
pub const INTERRUPT: &str = "interrupt";

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Said::Up => write!(f, "up"),
            Said::Alive => write!(f, "alive"),
            Said::Exit(status) => write!(f, "exit {status}"),
            Said::Signal(signal) => write!(f, "signal {signal}"),
            Said::Failed(why) => write!(f, "failed {}", why.replace('\n', "; ")),
        }
    }
}

impl FromStr for Said {
    type Err = ();

    fn from_str(line: &str) -> Result<Said, ()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let number = || rest.parse().map_err(|_| ());
        match word {
            "up" => Ok(Said::Up),
            "alive" => Ok(Said::Alive),
            "exit" => number().map(Said::Exit),
            "signal" => number().map(Said::Signal),
            "failed" => Ok(Said::Failed(rest.to_owned())),
            _ => Err(()),
        }
    }
}

/// What is said on a stream until its end. A line that is cut off was not said, nor one that is not understood.
pub fn heard(mut from: impl BufRead) -> impl Iterator<Item = Said> {
    let lines = std::iter::from_fn(move || {
        let mut line = Vec::new();
        let read = from.read_until(b'\n', &mut line).ok()?;
        (read > 0).then_some(line)
    });
    let understood = |line: Vec<u8>| std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?.parse().ok();
    lines.filter_map(understood)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_said_is_understood() {
        for said in
            [Said::Up, Said::Alive, Said::Exit(2), Said::Signal(9), Said::Failed("no root".to_owned())]
        {
            assert_eq!(said.to_string().parse(), Ok(said));
        }
    }

    proptest! {
        #[test]
        fn what_is_cut_off_was_not_said(cut in 0usize..40) {
            let all = [Said::Up, Said::Alive, Said::Failed("no\nroot".to_owned()), Said::Exit(12)];
            let text: String = all.iter().map(|said| format!("{said}\n")).collect();
            let left = &text.as_bytes()[..cut.min(text.len())];
            let whole = left.iter().filter(|byte| **byte == b'\n').count();
            let said: Vec<String> = heard(left).map(|said| said.to_string()).collect();
            prop_assert_eq!(said, all[..whole].iter().map(|said| said.to_string()).collect::<Vec<_>>());
        }

        #[test]
        fn damage_costs_no_more_than_its_line(at in 0usize..8, byte in 0x80u8..) {
            let mut text = b"alive\nup\nexit 3\n".to_vec();
            text[at] = byte;
            prop_assert_eq!(heard(&text[..]).last(), Some(Said::Exit(3)));
        }

        #[test]
        fn any_stream_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            heard(&bytes[..]).for_each(drop);
        }
    }
}
