//! Waiting for child processes.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Waits up to `timeout` for `child` to exit. Returns its exit status, or `None` if it is still running.
pub fn wait_timeout(child: &mut Child, timeout: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    let mut wait = Duration::from_millis(1);
    loop {
        let status = child.try_wait()?;
        if status.is_some() || begun.elapsed() >= timeout {
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
    fn exit_is_reported_and_running_child_is_left_alone() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert_eq!(wait_timeout(&mut child, Duration::from_millis(20)).unwrap(), None);
        // `cat` exits at end of file.
        drop(child.stdin.take());
        assert!(wait_timeout(&mut child, Duration::from_secs(60)).unwrap().unwrap().success());
    }
}
