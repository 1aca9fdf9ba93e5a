//! Progress reports of long operations.

/// Receives progress reports: a terminal, a log, or [`IgnoreProgress`].
pub trait Watch {
    /// A new phase begins; `total` is its size in units of work, if known.
    fn phase(&mut self, name: &str, total: Option<u64>);

    /// `done` units of the phase are complete.
    fn at(&mut self, done: u64);

    /// The first `done` of `of` steps are complete; each step consists of phases. Not called for work without steps.
    fn steps(&mut self, done: u64, of: u64) {
        let _ = (done, of);
    }

    /// A new measurement is in the store.
    fn measured(&mut self) {}

    /// A message for the user.
    fn say(&mut self, line: &str);
}

/// Discards all progress reports.
pub struct IgnoreProgress;

impl Watch for IgnoreProgress {
    fn phase(&mut self, _: &str, _: Option<u64>) {}
    fn at(&mut self, _: u64) {}
    fn say(&mut self, _: &str) {}
}
