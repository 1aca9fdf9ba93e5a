//! SIGINT, SIGTERM and SIGHUP set a flag that long operations poll, so that every run removes its resources before it ends.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Makes SIGINT, SIGTERM and SIGHUP set only the flag that [`interrupted`] returns, however often they arrive.
pub fn catch_interrupts() {
    INTERRUPTED.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, flag.clone()).expect("these signals can be caught");
        }
        flag
    });
}

/// Whether the run was asked to stop.
pub fn interrupted() -> bool {
    INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};

    #[test]
    fn signals_set_flag_and_do_not_kill() {
        assert!(!interrupted());
        catch_interrupts();
        assert!(!interrupted());
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            kill_process(getpid(), signal).unwrap();
        }
        // The signal may be delivered to another thread.
        while !interrupted() {
            std::thread::yield_now();
        }
    }
}
