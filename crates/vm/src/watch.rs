//! Monitors a machine: its messages, its output, and whether it is alive.

use crate::talk::{INTERRUPT, Message, messages};
use std::io::{BufReader, PipeReader, Read as _, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval for checking for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// Bytes of kernel messages to keep.
const KEPT_BYTES: usize = 1 << 16;

/// Time limits after which a machine counts as hanging.
#[derive(Clone, Copy)]
pub struct Timeouts {
    /// For the first output of the kernel.
    pub first_output: Duration,
    /// For the start of the command.
    pub boot: Duration,
    /// For the next message after that; heartbeats come every second.
    pub silence: Duration,
}

/// A machine stopped before its command ended.
pub struct MonitorError {
    /// Whether the command had started.
    pub up: bool,
    /// The reason; `None` means Ctrl-C.
    pub why: Option<String>,
}

/// A running machine.
pub struct MonitoredMachine<'a> {
    said: Receiver<Message>,
    talk: UnixStream,
    console: &'a Console,
    timeouts: Timeouts,
    up: bool,
}

impl<'a> MonitoredMachine<'a> {
    pub fn new(
        talk: UnixStream,
        console: &'a Console,
        timeouts: Timeouts,
    ) -> Result<MonitoredMachine<'a>, MonitorError> {
        let hearing = talk
            .try_clone()
            .map_err(|e| MonitorError { up: false, why: Some(format!("cannot be read: {e}")) })?;
        let (to, said) = channel();
        std::thread::spawn(move || {
            // The receiver is gone at the end.
            messages(BufReader::new(hearing)).try_for_each(|said| to.send(said)).ok()
        });
        Ok(MonitoredMachine { said, talk, console, timeouts, up: false })
    }

    /// Waits for the end of the command; returns its exit status.
    pub fn wait(&mut self) -> Result<i32, MonitorError> {
        let begun = Instant::now();
        let mut last = begun;
        let mut asked = false;
        loop {
            match self.said.recv_timeout(LOOK) {
                Ok(Message::Exit(status)) => return Ok(status),
                Ok(Message::Signal(signal)) => {
                    return Err(self.stopped(format!("ended its command by signal {signal}")));
                }
                Ok(Message::Failed(why)) => {
                    return Err(self.stopped(format!("cannot start its command: {why}")));
                }
                Ok(said) => {
                    self.up |= said == Message::Up;
                    last = Instant::now();
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.stopped("ended before its command did".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if disk::interrupted() && !asked {
                if !self.up {
                    return Err(MonitorError { up: false, why: None });
                }
                // If the message cannot be delivered, the machine has ended, which is reported next.
                let _ = writeln!(self.talk, "{INTERRUPT}");
                asked = true;
            }
            self.lives(begun, last)?;
        }
    }

    fn lives(&self, begun: Instant, last: Instant) -> Result<(), MonitorError> {
        let Timeouts { first_output, boot, silence } = self.timeouts;
        let hangs = if self.up {
            (last.elapsed() > silence).then(|| format!("hangs: no message for {} s", silence.as_secs()))
        } else if begun.elapsed() > first_output && self.console.is_silent() {
            Some(format!("hangs: no kernel message for {} s", first_output.as_secs()))
        } else {
            (begun.elapsed() > boot).then(|| format!("did not boot within {} s", boot.as_secs()))
        };
        hangs.map_or(Ok(()), |why| Err(self.stopped(why)))
    }

    fn stopped(&self, why: String) -> MonitorError {
        MonitorError { up: self.up, why: Some(why) }
    }
}

/// The kernel's console.
pub struct Console {
    said: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Console {
    /// Starts reading.
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

    pub fn is_silent(&self) -> bool {
        text(&self.said).is_empty()
    }

    /// The most informative console output. The machine must have ended: waits for all output.
    pub fn cause(self) -> Option<String> {
        let _ = self.reader.join();
        cause(&text(&self.said))
    }
}

fn text(said: &Mutex<Vec<u8>>) -> String {
    String::from_utf8_lossy(&said.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}

/// Messages of the kernel and the first process on failures, the most severe first.
const WORST: [&str; 5] = ["Kernel panic", "senesce-init:", "Out of memory", "BUG:", "blocked for more than"];

/// A kernel fault, which may cause a later panic; its location follows.
const FAULT: [&str; 2] = ["Oops", "[#1]"];
const PLACE: &str = "RIP:";

/// Otherwise, the number of last lines to report.
const LAST: usize = 3;

fn cause(console: &str) -> Option<String> {
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

/// A kernel log line without the time in brackets.
fn without_time(line: &str) -> &str {
    let line = line.trim();
    match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((time, rest)) if time.trim().parse::<f64>().is_ok() => rest.trim(),
        _ => line,
    }
}

/// Reads a stream to its end; passes it on as it comes, or returns it.
pub fn pass_on(mut from: PipeReader, to: Option<impl Write + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let Some(mut to) = to else {
            let _ = from.read_to_end(&mut kept);
            return kept;
        };
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            // If the reader is gone, the machine must not block.
            let _ = to.write_all(&buffer[..n]).and_then(|()| to.flush());
        }
        kept
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NEVER: Timeouts =
        Timeouts { first_output: Duration::MAX, boot: Duration::MAX, silence: Duration::MAX };

    /// The result for a machine with this output on port and console, which then ends or hangs.
    fn end(said: &[u8], console: &str, hangs: bool, timeouts: Timeouts) -> Result<i32, String> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (from, mut to) = std::io::pipe().unwrap();
        to.write_all(console.as_bytes()).unwrap();
        theirs.write_all(said).unwrap();
        drop(to);
        let left = hangs.then_some(theirs);
        let console = Console::read(from);
        let end = MonitoredMachine::new(ours, &console, timeouts).and_then(|mut watched| watched.wait());
        drop(left);
        end.map_err(|stopped| stopped.why.unwrap_or_default())
    }

    #[test]
    fn early_end_and_hang_are_reported() {
        let soon = Duration::from_millis(50);
        let (dumb, slow, silent) = (
            Timeouts { first_output: soon, ..NEVER },
            Timeouts { boot: soon, ..NEVER },
            Timeouts { silence: soon, ..NEVER },
        );
        assert_eq!(end(b"up\nalive\nexit 3\n", "", false, NEVER), Ok(3));
        for (said, console, hangs, timeouts, why) in [
            (&b"up\nalive\nexit 3"[..], "", false, NEVER, "ended before its command did"),
            (b"", "Linux", false, NEVER, "ended before its command did"),
            (b"up\nsignal 9\n", "", true, NEVER, "ended its command by signal 9"),
            (b"failed no root\n", "", true, NEVER, "cannot start its command: no root"),
            (b"", "", true, dumb, "hangs: no kernel message for 0 s"),
            (b"", "Linux", true, slow, "did not boot within 0 s"),
            (b"up\nalive\n", "Linux", true, silent, "hangs: no message for 0 s"),
        ] {
            assert_eq!(end(said, console, hangs, timeouts), Err(why.to_owned()));
        }
    }

    #[test]
    fn cause_is_found_in_console_output() {
        let console = "[    1.2] Linux version 6.1\n[    9.1] Kernel panic - not syncing: no init\n[    9.2] Rebooting\n\n";
        assert_eq!(cause(console).unwrap(), "Kernel panic - not syncing: no init");
        assert_eq!(cause("a\nb\n\nc\n[    9.2] Rebooting\n").unwrap(), "b; c; Rebooting");
        assert_eq!(cause("\n"), None);
        let fault = "[   93.0] int3: 0000 [#1] PREEMPT SMP NOPTI\n[   93.1] CPU: 1 PID: 211 Comm: mkfs.f2fs\n\
                     [   93.1] RIP: 0010:syscall_trace_enter+0x1/0x90\n[   93.2] RIP: 0033:0x7f\n\
                     [   93.3] Kernel panic - not syncing: Fatal exception in interrupt\n";
        assert_eq!(
            cause(fault).unwrap(),
            "Kernel panic - not syncing: Fatal exception in interrupt; int3: 0000 [#1] PREEMPT SMP NOPTI; \
             RIP: 0010:syscall_trace_enter+0x1/0x90"
        );
        let warned = "[    1.0] RIP: 0010:warns+0x1/0x2\n[    2.0] Out of memory: Killed process 7\n";
        assert_eq!(cause(warned).unwrap(), "Out of memory: Killed process 7", "a warning is not a fault");
    }

    proptest! {
        #[test]
        fn any_stream_ends(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = end(&bytes, "", false, NEVER);
        }
    }
}
