//! Progress on standard error: a bar with phase, rate and remaining time on a terminal, only messages in a pipe.

mod test_stop;

use crate::messages;
use crate::output::rate;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use results::{Pace, Watch};
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use test_stop::TestStop;

const KNOWN: &str = "{msg:<28} {wide_bar} {human_pos}/{human_len}{pace}";
const UNKNOWN: &str = "{msg:<28} {spinner} {human_pos}{pace} {elapsed}";

/// Progress on standard error.
pub struct Progress {
    bar: ProgressBar,
    pace: Arc<Mutex<Pace>>,
    stop: Option<TestStop>,
}

impl Progress {
    pub fn new() -> Progress {
        let pace = Arc::new(Mutex::new(Pace::begin(Instant::now())));
        Progress { bar: ProgressBar::hidden(), pace, stop: TestStop::from_env() }
    }

    /// The bar of a phase.
    fn shown(&self, name: &str, total: Option<u64>) -> ProgressBar {
        let (bar, template) = match total {
            Some(total) => (ProgressBar::new(total), KNOWN),
            None => (ProgressBar::new_spinner(), UNKNOWN),
        };
        // indicatif hides the bar if standard error is not a terminal.
        bar.set_draw_target(ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(template).expect("the templates are constant");
        let pace = Arc::clone(&self.pace);
        let show = move |_: &ProgressState, to: &mut dyn Write| {
            let pace = pace.lock().unwrap_or_else(PoisonError::into_inner);
            // The bar shows nothing if this fails.
            let _ = to.write_str(&in_words(&pace, Instant::now(), total));
        };
        bar.set_style(style.with_key("pace", show));
        bar.set_message(name.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }

    fn end_phase(&self) {
        self.bar.finish_and_clear();
        messages::set_bar(None);
    }
}

impl Watch for Progress {
    fn phase(&mut self, name: &str, total: Option<u64>) {
        self.end_phase();
        *self.pace.lock().unwrap_or_else(PoisonError::into_inner) = Pace::begin(Instant::now());
        if messages::is_quiet() {
            self.bar = ProgressBar::hidden();
        } else {
            self.bar = self.shown(name, total);
            messages::set_bar(Some(self.bar.clone()));
        }
        TestStop::begins(&mut self.stop, name);
    }

    fn at(&mut self, done: u64) {
        self.bar.set_position(done);
        self.pace.lock().unwrap_or_else(PoisonError::into_inner).at(Instant::now(), done);
        TestStop::at(&mut self.stop, done);
    }

    fn say(&mut self, line: &str) {
        messages::note(line);
        TestStop::says(&mut self.stop, line);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end_phase();
    }
}

/// The recent rate of a phase and, once that is steady, the time to its end. Later phases have other rates, so their time is unknown.
fn in_words(pace: &Pace, now: Instant, total: Option<u64>) -> String {
    let rate = pace.per_s(now).map(|per_s| format!(" {}/s", rate(Some(per_s))));
    let left = total.and_then(|total| pace.left(now, total));
    let left = left.map(|left| format!(", phase ends in {}", about(left)));
    [rate, left].into_iter().flatten().collect()
}

/// A time as precise as an estimate is.
pub fn about(time: Duration) -> String {
    match time.as_secs() {
        s @ ..=20 => format!("{} s", s.max(1)),
        s @ ..=90 => format!("{} s", s.div_ceil(5) * 5),
        s @ ..=5400 => format!("{} min", s.div_ceil(60)),
        s => format!("{:.1} h", s as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_is_shown_once_the_pace_is_steady() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut pace = Pace::begin(begun);
        assert_eq!(in_words(&pace, after(1), Some(300_000)), "");
        pace.at(after(2), 9_047);
        assert_eq!(in_words(&pace, after(2), Some(300_000)), " 4,520/s");
        for second in 3..=40 {
            pace.at(after(second), second * 4_523);
        }
        assert_eq!(in_words(&pace, after(40), Some(300_000)), " 4,520/s, phase ends in 30 s");
        assert_eq!(in_words(&pace, after(40), None), " 4,520/s");
    }

    #[test]
    fn times_are_rounded_up() {
        let texts = [0, 17, 21, 89, 91, 3600, 9000].map(|s| about(Duration::from_secs(s)));
        assert_eq!(texts, ["1 s", "17 s", "25 s", "90 s", "2 min", "60 min", "2.5 h"]);
    }
}
