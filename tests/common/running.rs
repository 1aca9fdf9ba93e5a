//! Programs that a test has started.

use super::text;
use rustix::process::{Pid, Signal};
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command, ExitStatus, Output};

/// A program started by a test. Killed on drop.
pub struct Running(Option<Child>);

impl Running {
    pub fn new(command: &mut Command) -> Running {
        Running(Some(command.spawn().unwrap()))
    }

    pub fn signal(&self, by: Signal) {
        signal(self, by);
    }

    /// Kills it with SIGKILL.
    pub fn kill(mut self) -> ExitStatus {
        self.signal(Signal::KILL);
        self.0.take().unwrap().wait().unwrap()
    }

    /// Sends a signal and waits for the exit status.
    pub fn end_by(&mut self, by: Signal) -> Option<i32> {
        self.signal(by);
        (**self).wait().unwrap().code()
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }

    /// Waits for an effect of the program, which must not end before.
    pub fn until(&mut self, what: &str, mut done: impl FnMut() -> bool) {
        let mut ended = false;
        testing::wait_until(what, || {
            ended = self.try_wait().unwrap().is_some();
            done() || ended
        });
        if ended {
            let output = self.0.take().unwrap().wait_with_output().unwrap();
            panic!("it ended before {what}: {}{}", text(&output.stdout), text(&output.stderr));
        }
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.0.as_ref().expect("the child is taken only at the end")
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().expect("the child is taken only at the end")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Sends a signal to a program started by the test.
pub fn signal(child: &Child, signal: Signal) {
    rustix::process::kill_process(Pid::from_child(child), signal).unwrap();
}

/// The PID of the child of `parent` whose program name starts with `program`.
pub fn child_named(program: &str, parent: &Child) -> Option<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let is_its = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let Some((name, rest)) = stat.split_once(')') else { return false };
        let is_child = rest.split_whitespace().nth(1) == Some(&parent.id().to_string());
        is_child && name.contains(&format!("({program}"))
    };
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(is_its)
}

/// Waits until a process has ended. A zombie counts as ended.
pub fn wait_for_end(process: u32) {
    let stat = || std::fs::read_to_string(format!("/proc/{process}/stat"));
    testing::wait_until("the end of a process", || !stat().is_ok_and(|stat| !stat.contains(") Z ")));
}
