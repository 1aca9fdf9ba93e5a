//! Runs a benchmark in a subprocess, so that limits of that process, above all of its memory, apply to the ranks only.
//!
//! The processes exchange lines of JSON. After each of its lines the subprocess waits for an empty line, so that the parent can take
//! measurements between phases while the benchmark is idle.

use super::error::Error;
use super::launch::{Launch, Task};
use super::outcome::PhaseOutcome;
use super::run::PhaseObserver;
use super::settings::Phase;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Interval at which interruption by a signal is checked.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// How long an interrupted subprocess may take to exit.
const GRACE: Duration = Duration::from_secs(30);

/// A message of the subprocess.
#[derive(Serialize, Deserialize)]
enum Message {
    Begins(Phase, u32),
    Ended(Box<PhaseOutcome>),
    Done,
    Interrupted,
    Failed(String),
}

/// Runs `task` in a subprocess started with `command`, which must call [`subprocess_main`], and reports progress to `observer`.
pub fn run_in_subprocess(
    command: &mut Command,
    task: &Task,
    interrupted: &dyn Fn() -> bool,
    observer: &mut dyn PhaseObserver,
) -> Result<(), Error> {
    task.check()?;
    let mut other = Subprocess::start(command).map_err(|error| lost(&format!("cannot start: {error}")))?;
    other.say(task)?;
    loop {
        match other.hear(interrupted)? {
            Message::Begins(phase, iteration) => observer.phase_started(phase, iteration),
            Message::Ended(outcome) => observer.phase_ended(&outcome)?,
            Message::Done => return Ok(()),
            Message::Interrupted => return Err(Error::Interrupted),
            Message::Failed(why) => return Err(Error::Settings(why)),
        }
        other.say(&())?;
    }
}

/// Runs the benchmark in the subprocess: reads the task from standard input and reports to standard output.
/// `rank_command` is the command that starts a rank.
pub fn subprocess_main(
    interrupted: &(dyn Fn() -> bool + Sync),
    rank_command: &(dyn Fn() -> Command + Sync),
) -> Result<(), Error> {
    let stranger =
        |why: String| Error::Settings(format!("cannot run alone, only as part of an experiment: {why}"));
    // The subprocess must not outlive its parent.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|e| stranger(e.to_string()))?;
    let task: Task = serde_json::from_str(&line()?).map_err(|e| stranger(e.to_string()))?;
    let mut relay = Relay { failed: None };
    let done = Launch { task: &task, interrupted, rank_command }.run(&mut relay);
    let said = match relay.failed.map_or(done, Err) {
        Ok(()) => Message::Done,
        Err(Error::Interrupted) => Message::Interrupted,
        Err(error) => Message::Failed(error.to_string()),
    };
    say(&said)
}

fn lost(why: &str) -> Error {
    Error::Settings(format!("benchmark process: {why}"))
}

/// The subprocess, as seen by its parent. Dropping this ends it.
struct Subprocess {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Subprocess {
    fn start(command: &mut Command) -> std::io::Result<Subprocess> {
        // The subprocess and its ranks form a process group of their own: the subprocess handles signals and ends its ranks in order.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let to = child.stdin.take().expect("the stream is a pipe");
        let from = BufReader::new(child.stdout.take().expect("the stream is a pipe"));
        Ok(Subprocess { child, to, from })
    }

    fn say(&mut self, message: &impl Serialize) -> Result<(), Error> {
        let mut line = serde_json::to_vec(message).expect("the data is serializable");
        line.push(b'\n');
        self.to.write_all(&line).map_err(|error| self.ended(&error))
    }

    fn hear(&mut self, interrupted: &dyn Fn() -> bool) -> Result<Message, Error> {
        let mut asked: Option<Instant> = None;
        // The subprocess waits for an answer after each line, so the reader's buffer is empty here.
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

    /// The reason why the subprocess does not answer.
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

impl Drop for Subprocess {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) && !waited(&mut self.child) {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Whether the process exits by itself within 500 ms, as it does after its last message.
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

/// Forwards the progress of rank 0 to the parent.
struct Relay {
    failed: Option<Error>,
}

impl Relay {
    fn tell(&mut self, said: &Message) -> Result<(), Error> {
        say(said)?;
        line().map(drop)
    }
}

impl PhaseObserver for Relay {
    fn phase_started(&mut self, phase: Phase, iteration: u32) {
        // A write error is reported at the end of the phase.
        self.failed = self.tell(&Message::Begins(phase, iteration)).err();
    }

    fn phase_ended(&mut self, outcome: &PhaseOutcome) -> Result<(), Error> {
        self.tell(&Message::Ended(Box::new(outcome.clone())))
    }
}

fn say(said: &Message) -> Result<(), Error> {
    let mut line = serde_json::to_vec(said).expect("the data is serializable");
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
