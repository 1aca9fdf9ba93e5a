//! Processes that end by themselves, sooner or later.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How `child` ended, if it does so within `patience`.
pub fn ended_within(child: &mut Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    let mut wait = Duration::from_millis(1);
    loop {
        let status = child.try_wait()?;
        if status.is_some() || begun.elapsed() >= patience {
            return Ok(status);
        }
        std::thread::sleep(wait);
        wait = (2 * wait).min(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_end_of_a_process_is_told_and_one_that_stays_is_left_alone() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert_eq!(ended_within(&mut child, Duration::from_millis(20)).unwrap(), None);
        // It ends when there is nothing more to read.
        drop(child.stdin.take());
        assert!(ended_within(&mut child, Duration::from_secs(60)).unwrap().unwrap().success());
    }
}
