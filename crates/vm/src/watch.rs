//! Watching a machine: what it says, what it prints, and whether it lives.

use crate::qemu::Accelerator;
use crate::talk::{INTERRUPT, Said};
use std::io::{BufRead as _, BufReader, PipeReader, Read as _, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A machine that is silent for so long, though it says each second that it lives, hangs.
const SILENCE: Duration = Duration::from_secs(180);

/// How often is looked for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// Of what the kernel says so much is kept.
const KEPT_BYTES: usize = 1 << 16;

/// Why a machine was, or must be, stopped before its command had ended.
pub struct Stopped {
    /// Whether the command had begun.
    pub up: bool,
    /// What happened; `None` is Ctrl-C.
    pub why: Option<String>,
}

/// A machine that runs.
pub struct Watched<'a> {
    said: Receiver<Said>,
    talk: UnixStream,
    console: &'a Console,
    accelerator: Accelerator,
    up: bool,
}

impl<'a> Watched<'a> {
    pub fn new(
        talk: UnixStream,
        console: &'a Console,
        accelerator: Accelerator,
    ) -> Result<Watched<'a>, Stopped> {
        let hearing = talk
            .try_clone()
            .map_err(|e| Stopped { up: false, why: Some(format!("cannot be heard: {e}")) })?;
        let (to, said) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(hearing).lines().map_while(Result::ok);
            // What is not understood was not said by us; nobody listens any more at the end.
            lines.filter_map(|line| line.parse().ok()).try_for_each(|said| to.send(said)).ok()
        });
        Ok(Watched { said, talk, console, accelerator, up: false })
    }

    /// Waits for the end of the command; its exit status.
    pub fn until_end(&mut self) -> Result<i32, Stopped> {
        let begun = Instant::now();
        let mut last = begun;
        let mut asked = false;
        loop {
            match self.said.recv_timeout(LOOK) {
                Ok(Said::Exit(status)) => return Ok(status),
                Ok(Said::Signal(signal)) => {
                    return Err(self.stopped(format!("ended its command by signal {signal}")));
                }
                Ok(Said::Failed(why)) => {
                    return Err(self.stopped(format!("could not start its command: {why}")));
                }
                Ok(said) => {
                    self.up |= said == Said::Up;
                    last = Instant::now();
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.stopped("came to an end before its command did".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if disk::interrupted() && !asked {
                if !self.up {
                    return Err(Stopped { up: false, why: None });
                }
                // Where it does not arrive the machine has ended, and that is told next.
                let _ = writeln!(self.talk, "{INTERRUPT}");
                asked = true;
            }
            self.lives(begun, last)?;
        }
    }

    fn lives(&self, begun: Instant, last: Instant) -> Result<(), Stopped> {
        let (first_word, boot) = (self.accelerator.first_word(), self.accelerator.boot());
        let hangs = if self.up {
            (last.elapsed() > SILENCE).then(|| format!("hangs: it said nothing for {} s", SILENCE.as_secs()))
        } else if begun.elapsed() > first_word && self.console.is_silent() {
            Some(format!("hangs: its kernel said nothing for {} s", first_word.as_secs()))
        } else {
            (begun.elapsed() > boot).then(|| format!("did not come up in {} s", boot.as_secs()))
        };
        hangs.map_or(Ok(()), |why| Err(self.stopped(why)))
    }

    fn stopped(&self, why: String) -> Stopped {
        Stopped { up: self.up, why: Some(why) }
    }
}

/// What the kernel says.
pub struct Console {
    said: Arc<Mutex<Vec<u8>>>,
}

impl Console {
    /// Begins to read.
    pub fn read(mut from: PipeReader) -> Console {
        let said = Arc::new(Mutex::new(Vec::new()));
        let keep = said.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut buffer) {
                let mut said = keep.lock().unwrap_or_else(PoisonError::into_inner);
                said.extend(&buffer[..n]);
                let over = said.len().saturating_sub(KEPT_BYTES);
                said.drain(..over);
            }
        });
        Console { said }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.said.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    fn is_silent(&self) -> bool {
        self.text().is_empty()
    }

    /// The line that tells most of why the machine ended.
    pub fn telling(&self) -> Option<String> {
        telling(&self.text())
    }
}

/// What a kernel says, and the first process, when things go wrong; the worst first.
const WORST: [&str; 5] = ["Kernel panic", "senesce-init:", "Out of memory", "BUG:", "blocked for more than"];

fn telling(console: &str) -> Option<String> {
    let lines = || console.lines().map(without_time).filter(|line| !line.is_empty());
    let worst = WORST.iter().find_map(|word| lines().find(|line| line.contains(word)));
    worst.or_else(|| lines().last()).map(str::to_owned)
}

/// A line of the kernel's log without the time in brackets.
fn without_time(line: &str) -> &str {
    let line = line.trim();
    match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((time, rest)) if time.trim().parse::<f64>().is_ok() => rest.trim(),
        _ => line,
    }
}

/// Reads all of a stream and passes it on as it comes, or keeps it.
pub fn pass_on(mut from: PipeReader, to: Option<impl Write + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let Some(mut to) = to else {
            let _ = from.read_to_end(&mut kept);
            return kept;
        };
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            // Where nobody reads any more, the machine is not to wait.
            let _ = to.write_all(&buffer[..n]).and_then(|()| to.flush());
        }
        kept
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_all_that_a_kernel_says_the_cause_is_told() {
        let console = "[    1.2] Linux version 6.1\n[    9.1] Kernel panic - not syncing: no init\n[    9.2] Rebooting\n\n";
        assert_eq!(telling(console).unwrap(), "Kernel panic - not syncing: no init");
        assert_eq!(telling("a\n[    9.2] Rebooting\n").unwrap(), "Rebooting");
        assert_eq!(telling("\n"), None);
    }
}
