//! How long work tells how it goes.

/// Someone who watches long work: a terminal, a log, or nobody.
pub trait Watch {
    /// A new phase begins; `total` units of work, where known.
    fn phase(&mut self, name: &str, total: Option<u64>);

    /// So much of the phase is done.
    fn at(&mut self, done: u64);

    /// The first `done` of `of` steps are done, each of them some phases; what has no steps says nothing.
    fn steps(&mut self, done: u64, of: u64) {
        let _ = (done, of);
    }

    /// Something new has been measured, and is in the store.
    fn measured(&mut self) {}

    /// Something worth a line.
    fn say(&mut self, line: &str);
}

/// Nobody watches.
pub struct Unwatched;

impl Watch for Unwatched {
    fn phase(&mut self, _: &str, _: Option<u64>) {}
    fn at(&mut self, _: u64) {}
    fn say(&mut self, _: &str) {}
}
