//! Progress on standard error: a bar with phase, rate and ETA on a terminal, only messages in a pipe.

mod test_stop;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use results::Watch;
use std::time::Duration;
use test_stop::TestStop;

const KNOWN: &str = "{msg:<28} {wide_bar} {human_pos}/{human_len} {per_sec} ETA {eta}";
const UNKNOWN: &str = "{msg:<28} {spinner} {human_pos} {elapsed}";

/// Progress on standard error.
pub struct Progress {
    bar: ProgressBar,
    stop: Option<TestStop>,
}

impl Progress {
    pub fn new() -> Progress {
        Progress { bar: ProgressBar::hidden(), stop: TestStop::from_env() }
    }
}

impl Watch for Progress {
    fn phase(&mut self, name: &str, total: Option<u64>) {
        self.bar.finish_and_clear();
        self.bar = match total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::new_spinner(),
        };
        // indicatif hides the bar if standard error is not a terminal.
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(if total.is_some() { KNOWN } else { UNKNOWN });
        self.bar.set_style(style.expect("the templates are constant"));
        self.bar.set_message(name.to_owned());
        self.bar.enable_steady_tick(Duration::from_millis(200));
        TestStop::begins(&mut self.stop, name);
    }

    fn at(&mut self, done: u64) {
        self.bar.set_position(done);
        TestStop::at(&mut self.stop, done);
    }

    fn say(&mut self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
        TestStop::says(&mut self.stop, line);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
