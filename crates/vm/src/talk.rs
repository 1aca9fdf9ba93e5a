//! Messages between the machine and the process outside, one per line.

use std::io::BufRead;
use std::str::FromStr;

/// Interval of the machine's heartbeats.
pub const HEARTBEAT_INTERVAL: std::time::Duration = std::time::Duration::from_secs(1);

/// A message from the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The command starts.
    Up,
    /// A heartbeat.
    Alive,
    /// The command ended with this status.
    Exit(i32),
    /// A signal ended the command.
    Signal(i32),
    /// The command could not be started.
    Failed(String),
}

/// The message from outside: end the command as on Ctrl-C.
pub const INTERRUPT: &str = "interrupt";

impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Message::Up => write!(f, "up"),
            Message::Alive => write!(f, "alive"),
            Message::Exit(status) => write!(f, "exit {status}"),
            Message::Signal(signal) => write!(f, "signal {signal}"),
            Message::Failed(why) => write!(f, "failed {}", why.replace('\n', "; ")),
        }
    }
}

impl FromStr for Message {
    type Err = ();

    fn from_str(line: &str) -> Result<Message, ()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let number = || rest.parse().map_err(|_| ());
        match word {
            "up" => Ok(Message::Up),
            "alive" => Ok(Message::Alive),
            "exit" => number().map(Message::Exit),
            "signal" => number().map(Message::Signal),
            "failed" => Ok(Message::Failed(rest.to_owned())),
            _ => Err(()),
        }
    }
}

/// The messages of a stream until its end. Truncated and unknown lines are ignored.
pub fn messages(mut from: impl BufRead) -> impl Iterator<Item = Message> {
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
    fn messages_round_trip() {
        for said in [
            Message::Up,
            Message::Alive,
            Message::Exit(2),
            Message::Signal(9),
            Message::Failed("no root".to_owned()),
        ] {
            assert_eq!(said.to_string().parse(), Ok(said));
        }
    }

    proptest! {
        #[test]
        fn truncated_message_is_ignored(cut in 0usize..40) {
            let all = [Message::Up, Message::Alive, Message::Failed("no\nroot".to_owned()), Message::Exit(12)];
            let text: String = all.iter().map(|said| format!("{said}\n")).collect();
            let left = &text.as_bytes()[..cut.min(text.len())];
            let whole = left.iter().filter(|byte| **byte == b'\n').count();
            let said: Vec<String> = messages(left).map(|said| said.to_string()).collect();
            prop_assert_eq!(said, all[..whole].iter().map(|said| said.to_string()).collect::<Vec<_>>());
        }

        #[test]
        fn damaged_line_is_ignored(at in 0usize..8, byte in 0x80u8..) {
            let mut text = b"alive\nup\nexit 3\n".to_vec();
            text[at] = byte;
            prop_assert_eq!(messages(&text[..]).last(), Some(Message::Exit(3)));
        }

        #[test]
        fn any_stream_is_handled(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            messages(&bytes[..]).for_each(drop);
        }
    }
}
