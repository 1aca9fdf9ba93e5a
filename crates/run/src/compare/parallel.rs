//! Ages several file systems at once, each on a processor of its own.

use crate::Error;
use crate::age::{AgeSpec, age_in};
use crate::one_cpu::OneCpu;
use crate::work::Work;
use ranks::Alone;
use results::Watch;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Ages each of them. An error of one is reported when all have ended.
pub(super) fn age_all(agings: &[AgeSpec], work: &Work, watch: &mut dyn Watch) -> Result<(), Error> {
    if let [spec] = agings {
        return age_in(work, spec, &mut Alone, watch).map(drop);
    }
    let (to, events) = channel();
    thread::scope(|scope| {
        let start = |(number, spec)| {
            let mut relay = Relay { number, to: to.clone() };
            scope.spawn(move || {
                let _one_cpu = OneCpu::keep_nth(number);
                let aged = age_in(work, spec, &mut Alone, &mut relay);
                relay.send(Event::Ended);
                aged.map(drop)
            })
        };
        let threads: Vec<_> = agings.iter().enumerate().map(start).collect();
        drop(to);
        forward(&events, agings.len(), watch);
        let ended = threads.into_iter().map(|thread| thread.join().expect("an aging does not panic"));
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}

/// A progress report of one aging.
enum Event {
    Phase(String, Option<u64>),
    At(u64),
    Measured,
    Say(String),
    Ended,
}

/// Passes the progress of one aging on, with its number.
struct Relay {
    number: usize,
    to: Sender<(usize, Event)>,
}

impl Relay {
    fn send(&self, event: Event) {
        // The receiver listens until all agings have ended.
        let _ = self.to.send((self.number, event));
    }
}

impl Watch for Relay {
    fn phase(&mut self, name: &str, total: Option<u64>) {
        self.send(Event::Phase(name.to_owned(), total));
    }

    fn at(&mut self, done: u64) {
        self.send(Event::At(done));
    }

    fn measured(&mut self) {
        self.send(Event::Measured);
    }

    fn say(&mut self, line: &str) {
        self.send(Event::Say(line.to_owned()));
    }
}

/// Shows all messages, and the phases of the first aging that has not ended.
fn forward(events: &Receiver<(usize, Event)>, agings: usize, watch: &mut dyn Watch) {
    let mut phases: Vec<Option<(String, Option<u64>)>> = vec![None; agings];
    let mut has_ended = vec![false; agings];
    let mut shown = 0;
    for (number, event) in events {
        match event {
            Event::Say(line) => watch.say(&line),
            Event::Measured => watch.measured(),
            Event::At(done) if number == shown => watch.at(done),
            Event::At(_) => {}
            Event::Phase(name, total) => {
                if number == shown {
                    watch.phase(&name, total);
                }
                phases[number] = Some((name, total));
            }
            Event::Ended => {
                has_ended[number] = true;
                let next = has_ended.iter().position(|ended| !ended).unwrap_or(shown);
                if next != shown
                    && let Some((name, total)) = &phases[next]
                {
                    watch.phase(name, *total);
                }
                shown = next;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen(Vec<String>);

    impl Watch for Seen {
        fn phase(&mut self, name: &str, _: Option<u64>) {
            self.0.push(format!("phase {name}"));
        }

        fn at(&mut self, done: u64) {
            self.0.push(format!("at {done}"));
        }

        fn say(&mut self, line: &str) {
            self.0.push(line.to_owned());
        }
    }

    #[test]
    fn first_aging_that_has_not_ended_is_shown() {
        let (to, events) = channel();
        let [mut a, mut b] = [0, 1].map(|number| Relay { number, to: to.clone() });
        a.phase("of a", None);
        b.phase("of b", None);
        b.at(1);
        b.say("both are heard");
        a.at(2);
        a.send(Event::Ended);
        b.at(3);
        b.send(Event::Ended);
        drop((a, b, to));
        let mut seen = Seen::default();
        forward(&events, 2, &mut seen);
        assert_eq!(seen.0, ["phase of a", "both are heard", "at 2", "phase of b", "at 3"]);
    }
}
