//! Ctrl-C and its kin set a flag, which long work looks at, so that every run ends by taking down what it made.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on SIGINT, SIGTERM and SIGHUP only set the flag that [`interrupted`] shows, however often they come.
pub fn catch_interrupts() {
    INTERRUPTED.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, flag.clone()).expect("these signals can be caught");
        }
        flag
    });
}

/// Whether the run was asked to end.
pub fn interrupted() -> bool {
    INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};

    #[test]
    fn signals_ask_and_do_not_kill() {
        assert!(!interrupted());
        catch_interrupts();
        assert!(!interrupted());
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            kill_process(getpid(), signal).unwrap();
        }
        // Another thread may be the one that takes the signal.
        while !interrupted() {
            std::thread::yield_now();
        }
    }
}
