//! Watching a machine: what it says, what it prints, and whether it lives.

use crate::talk::{INTERRUPT, Said, heard};
use std::io::{BufReader, PipeReader, Read as _, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often is looked for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// Of what the kernel says so much is kept.
const KEPT_BYTES: usize = 1 << 16;

/// How long is waited for a machine before it is taken to hang.
#[derive(Clone, Copy)]
pub struct Patience {
    /// For its kernel to say anything.
    pub first_word: Duration,
    /// For the command to begin.
    pub boot: Duration,
    /// For the next word after that, though it says each second that it lives.
    pub silence: Duration,
}

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
    patience: Patience,
    up: bool,
}

impl<'a> Watched<'a> {
    pub fn new(talk: UnixStream, console: &'a Console, patience: Patience) -> Result<Watched<'a>, Stopped> {
        let hearing =
            talk.try_clone().map_err(|e| Stopped { up: false, why: Some(format!("cannot be read: {e}")) })?;
        let (to, said) = channel();
        std::thread::spawn(move || {
            // Nobody listens any more at the end.
            heard(BufReader::new(hearing)).try_for_each(|said| to.send(said)).ok()
        });
        Ok(Watched { said, talk, console, patience, up: false })
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
                    return Err(self.stopped(format!("cannot start its command: {why}")));
                }
                Ok(said) => {
                    self.up |= said == Said::Up;
                    last = Instant::now();
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.stopped("ended before its command did".to_owned()));
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
        let Patience { first_word, boot, silence } = self.patience;
        let hangs = if self.up {
            (last.elapsed() > silence).then(|| format!("hangs: no message for {} s", silence.as_secs()))
        } else if begun.elapsed() > first_word && self.console.is_silent() {
            Some(format!("hangs: no kernel message for {} s", first_word.as_secs()))
        } else {
            (begun.elapsed() > boot).then(|| format!("did not boot within {} s", boot.as_secs()))
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
    reader: JoinHandle<()>,
}

impl Console {
    /// Begins to read.
    pub fn read(mut from: PipeReader) -> Console {
        let said = Arc::new(Mutex::new(Vec::new()));
        let keep = said.clone();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut buffer) {
                let mut said = keep.lock().unwrap_or_else(PoisonError::into_inner);
                said.extend(&buffer[..n]);
                let over = said.len().saturating_sub(KEPT_BYTES);
                said.drain(..over);
            }
        });
        Console { said, reader }
    }

    fn is_silent(&self) -> bool {
        text(&self.said).is_empty()
    }

    /// What tells most of why the machine ended. It must have ended: all that it said is waited for.
    pub fn telling(self) -> Option<String> {
        let _ = self.reader.join();
        telling(&text(&self.said))
    }
}

fn text(said: &Mutex<Vec<u8>>) -> String {
    String::from_utf8_lossy(&said.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}

/// What a kernel says, and the first process, when things go wrong; the worst first.
const WORST: [&str; 5] = ["Kernel panic", "senesce-init:", "Out of memory", "BUG:", "blocked for more than"];

/// A fault of the kernel's own, which a panic may follow from; where it was is told after it.
const FAULT: [&str; 2] = ["Oops", "[#1]"];
const PLACE: &str = "RIP:";

/// Where it is none of these, so many of the last lines are told.
const LAST: usize = 3;

fn telling(console: &str) -> Option<String> {
    let mut lines: Vec<&str> = console.lines().map(without_time).filter(|line| !line.is_empty()).collect();
    let worst = WORST.iter().find_map(|word| lines.iter().find(|line| line.contains(word)));
    let fault = lines.iter().position(|line| FAULT.iter().any(|word| line.contains(word)));
    let place = fault.and_then(|at| lines[at..].iter().find(|line| line.contains(PLACE)));
    let mut told: Vec<&str> =
        [worst, fault.map(|at| &lines[at]), place].into_iter().flatten().copied().collect();
    if told.is_empty() {
        told = lines.split_off(lines.len().saturating_sub(LAST));
    }
    Some(told.join("; ")).filter(|told| !told.is_empty())
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
    use proptest::prelude::*;

    /// How a machine ends that says this on its port and on its console, and then ends or hangs.
    fn end(said: &[u8], console: &str, hangs: bool) -> Result<i32, String> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (from, mut to) = std::io::pipe().unwrap();
        to.write_all(console.as_bytes()).unwrap();
        theirs.write_all(said).unwrap();
        drop(to);
        let left = hangs.then_some(theirs);
        let console = Console::read(from);
        let long = Duration::from_millis(300);
        let patience = Patience { first_word: long / 2, boot: long, silence: long };
        let end = Watched::new(ours, &console, patience).and_then(|mut watched| watched.until_end());
        drop(left);
        end.map_err(|stopped| stopped.why.unwrap_or_default())
    }

    #[test]
    fn a_machine_that_ends_early_or_hangs_is_told() {
        assert_eq!(end(b"up\nalive\nexit 3\n", "", false), Ok(3));
        for (said, console, hangs, why) in [
            (&b"up\nalive\nexit 3"[..], "", false, "ended before its command did"),
            (b"", "Linux", false, "ended before its command did"),
            (b"up\nsignal 9\n", "", true, "ended its command by signal 9"),
            (b"failed no root\n", "", true, "cannot start its command: no root"),
            (b"", "", true, "hangs: no kernel message for 0 s"),
            (b"", "Linux", true, "did not boot within 0 s"),
            (b"up\nalive\n", "Linux", true, "hangs: no message for 0 s"),
        ] {
            assert_eq!(end(said, console, hangs), Err(why.to_owned()));
        }
    }

    #[test]
    fn of_all_that_a_kernel_says_the_cause_is_told() {
        let console = "[    1.2] Linux version 6.1\n[    9.1] Kernel panic - not syncing: no init\n[    9.2] Rebooting\n\n";
        assert_eq!(telling(console).unwrap(), "Kernel panic - not syncing: no init");
        assert_eq!(telling("a\nb\n\nc\n[    9.2] Rebooting\n").unwrap(), "b; c; Rebooting");
        assert_eq!(telling("\n"), None);
        let fault = "[   93.0] int3: 0000 [#1] PREEMPT SMP NOPTI\n[   93.1] CPU: 1 PID: 211 Comm: mkfs.f2fs\n\
                     [   93.1] RIP: 0010:syscall_trace_enter+0x1/0x90\n[   93.2] RIP: 0033:0x7f\n\
                     [   93.3] Kernel panic - not syncing: Fatal exception in interrupt\n";
        assert_eq!(
            telling(fault).unwrap(),
            "Kernel panic - not syncing: Fatal exception in interrupt; int3: 0000 [#1] PREEMPT SMP NOPTI; \
             RIP: 0010:syscall_trace_enter+0x1/0x90"
        );
        let warned = "[    1.0] RIP: 0010:warns+0x1/0x2\n[    2.0] Out of memory: Killed process 7\n";
        assert_eq!(telling(warned).unwrap(), "Out of memory: Killed process 7", "a warning is no fault");
    }

    proptest! {
        #[test]
        fn any_stream_comes_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = end(&bytes, "", false);
        }
    }
}
