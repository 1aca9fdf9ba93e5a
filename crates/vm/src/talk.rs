//! What the machine and the process outside tell each other, a line each.

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
        fn any_line_is_survived(line in ".{0,40}") {
            let _ = line.parse::<Said>();
        }
    }
}
