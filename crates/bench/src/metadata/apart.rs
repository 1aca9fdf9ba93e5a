//! A run in a process of its own, so that what limits that process, its memory above all, limits the ranks and nothing else.
//!
//! The two talk in lines of JSON. The process waits for an empty line after each of its own, so that whoever started it can
//! look around between phases while nothing happens.

use super::error::Error;
use super::launch::{Launch, Task};
use super::outcome::PhaseOutcome;
use super::remote::OpenRemote;
use super::run::Watch;
use super::settings::Phase;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How often it is looked whether a signal asked for the end.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// How long a process that was asked to end may take.
const GRACE: Duration = Duration::from_secs(30);

/// What it says.
#[derive(Serialize, Deserialize)]
enum Said {
    Begins(Phase, u32),
    Ended(Box<PhaseOutcome>),
    Done,
    Interrupted,
    Failed(String),
}

/// Carries out `task` in a process that `command` starts, which must call [`apart`]. `watch` is told on the way.
pub fn run_apart(
    command: &mut Command,
    task: &Task,
    interrupted: &dyn Fn() -> bool,
    watch: &mut dyn Watch,
) -> Result<(), Error> {
    task.check()?;
    let mut other = Other::start(command).map_err(|error| lost(&format!("cannot start: {error}")))?;
    other.say(task)?;
    loop {
        match other.hear(interrupted)? {
            Said::Begins(phase, iteration) => watch.begins(phase, iteration),
            Said::Ended(outcome) => watch.ended(&outcome)?,
            Said::Done => return Ok(()),
            Said::Interrupted => return Err(Error::Interrupted),
            Said::Failed(why) => return Err(Error::Settings(why)),
        }
        other.say(&())?;
    }
}

/// Carries out the run that another process asks for, from beginning to end. `remote` opens services, `member` is what its
/// ranks are started with.
pub fn apart(
    remote: &OpenRemote,
    interrupted: &(dyn Fn() -> bool + Sync),
    member: &(dyn Fn() -> Command + Sync),
) -> Result<(), Error> {
    let stranger =
        |why: String| Error::Settings(format!("cannot run alone, only as part of an experiment: {why}"));
    // It must not go on when nobody is left to ask for it.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|e| stranger(e.to_string()))?;
    let task: Task = serde_json::from_str(&line()?).map_err(|e| stranger(e.to_string()))?;
    let mut relay = Relay { failed: None };
    let done = Launch { task: &task, remote, interrupted, member }.run(&mut relay);
    let said = match relay.failed.map_or(done, Err) {
        Ok(()) => Said::Done,
        Err(Error::Interrupted) => Said::Interrupted,
        Err(error) => Said::Failed(error.to_string()),
    };
    say(&said)
}

fn lost(why: &str) -> Error {
    Error::Settings(format!("benchmark process: {why}"))
}

/// The other process, as who started it sees it. It ends with this.
struct Other {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Other {
    fn start(command: &mut Command) -> std::io::Result<Other> {
        // In a group of its own with its ranks, so that a signal reaches them in order: by this process.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let to = child.stdin.take().expect("it is a pipe");
        let from = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Ok(Other { child, to, from })
    }

    fn say(&mut self, message: &impl Serialize) -> Result<(), Error> {
        let mut line = serde_json::to_vec(message).expect("plain data");
        line.push(b'\n');
        self.to.write_all(&line).map_err(|error| self.ended(&error))
    }

    fn hear(&mut self, interrupted: &dyn Fn() -> bool) -> Result<Said, Error> {
        let mut asked: Option<Instant> = None;
        // It says a line and waits for an answer, so that nothing is left in the buffer.
        loop {
            let mut one = [PollFd::from_borrowed_fd(self.from.get_ref().as_fd(), PollFlags::IN)];
            if poll(&mut one, Some(&LOOK)).is_ok_and(|ready| ready > 0) {
                break;
            }
            if interrupted() && asked.is_none() {
                asked = Some(Instant::now());
                let _ = kill_process_group(Pid::from_child(&self.child), Signal::INT);
            }
            if asked.is_some_and(|asked| asked.elapsed() > GRACE) {
                return Err(Error::Interrupted);
            }
        }
        let mut line = String::new();
        let read = self.from.read_line(&mut line).map_err(|error| self.ended(&error))?;
        if read == 0 {
            return Err(self.ended(&std::io::ErrorKind::UnexpectedEof.into()));
        }
        serde_json::from_str(&line).map_err(|error| self.ended(&error.into()))
    }

    /// Why there is no word from it.
    fn ended(&mut self, error: &std::io::Error) -> Error {
        let _ = self.child.kill();
        match self.child.wait() {
            Ok(status) => lost(&format!(
                "it exited early, with {status}; if memory is limited, the limit may be too small"
            )),
            Err(_) => lost(&error.to_string()),
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) && !waited(&mut self.child) {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Whether a process ends by itself, as one does that has said its last word.
fn waited(child: &mut Child) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(500) {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// Tells the process that asked for the run what rank 0 is told.
struct Relay {
    failed: Option<Error>,
}

impl Relay {
    fn tell(&mut self, said: &Said) -> Result<(), Error> {
        say(said)?;
        line().map(drop)
    }
}

impl Watch for Relay {
    fn begins(&mut self, phase: Phase, iteration: u32) {
        // That nobody listens any more is told at the end of the phase.
        self.failed = self.tell(&Said::Begins(phase, iteration)).err();
    }

    fn ended(&mut self, outcome: &PhaseOutcome) -> Result<(), Error> {
        self.tell(&Said::Ended(Box::new(outcome.clone())))
    }
}

fn say(said: &Said) -> Result<(), Error> {
    let mut line = serde_json::to_vec(said).expect("plain data");
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).map_err(|error| lost(&error.to_string()))
}

fn line() -> Result<String, Error> {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(0) => Err(lost("nobody listens any more")),
        Ok(_) => Ok(line),
        Err(error) => Err(lost(&error.to_string())),
    }
}
