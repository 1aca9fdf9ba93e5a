//! The events of a plan, in order.

use super::plan::Plan;
use crate::random::Random;

/// An event. Users are counted from 0, and so are the mailboxes of each user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the fields are explained by the variant")]
pub enum Event {
    /// A user creates a mailbox.
    Create { user: u32, mailbox: u32 },
    /// A message of `size_bytes`, as a file, is inserted into a mailbox and gets the UID `uid`.
    Insert { user: u32, mailbox: u32, uid: u32, size_bytes: u32 },
    /// The message `uid` of a mailbox is deleted.
    Delete { user: u32, mailbox: u32, uid: u32 },
    /// A day ends; day 0 is the filling.
    DayEnds { day: u32 },
}

/// All events of a [`Plan`]. Memory use depends on the number of existing messages, not on the number of days.
pub struct Script {
    plan: Plan,
    random: Random,
    day: u32,
    /// Events of the current day so far.
    over: u64,
    /// The contents of all mailboxes, user by user.
    mailboxes: Vec<Contents>,
}

#[derive(Clone, Default)]
struct Contents {
    uids: Vec<u32>,
    /// The largest UID so far; IMAP never reuses a UID (RFC 3501, §2.3.1.1).
    last_uid: u32,
}

impl Script {
    pub(super) fn new(plan: Plan) -> Script {
        let p = &plan.parameters;
        let mailboxes = vec![Contents::default(); (p.users * p.mailboxes) as usize];
        Script { plan, random: Random::new(plan.seed, 0), day: 0, over: 0, mailboxes }
    }

    /// Creates and fills one mailbox after another: the most orderly layout that a file system gets from mail.
    fn fill(&mut self) -> Option<Event> {
        let boxes = self.mailboxes.len() as u64;
        match self.over.checked_sub(boxes) {
            None => {
                let (user, mailbox) = self.place(self.over as usize);
                Some(Event::Create { user, mailbox })
            }
            Some(nth) if nth < boxes * u64::from(self.plan.parameters.messages) => {
                Some(self.insert((nth / u64::from(self.plan.parameters.messages)) as usize))
            }
            Some(_) => None,
        }
    }

    /// Draws a mailbox and an event. In an empty mailbox the event is an insertion.
    fn change(&mut self) -> Option<Event> {
        if self.over == u64::from(self.plan.parameters.operations) {
            return None;
        }
        let at = self.random.below(self.mailboxes.len());
        let inserts = self.random.unit() < self.plan.parameters.insert_share;
        Some(if inserts || self.mailboxes[at].uids.is_empty() { self.insert(at) } else { self.delete(at) })
    }

    fn insert(&mut self, at: usize) -> Event {
        let p = &self.plan.parameters;
        let size_bytes =
            p.least_bytes + self.random.below((p.most_bytes - p.least_bytes) as usize + 1) as u32;
        let contents = &mut self.mailboxes[at];
        contents.last_uid += 1;
        contents.uids.push(contents.last_uid);
        let uid = contents.last_uid;
        let (user, mailbox) = self.place(at);
        Event::Insert { user, mailbox, uid, size_bytes }
    }

    fn delete(&mut self, at: usize) -> Event {
        let contents = &mut self.mailboxes[at];
        let uid = contents.uids.swap_remove(self.random.below(contents.uids.len()));
        let (user, mailbox) = self.place(at);
        Event::Delete { user, mailbox, uid }
    }

    fn place(&self, at: usize) -> (u32, u32) {
        let mailboxes = self.plan.parameters.mailboxes;
        (at as u32 / mailboxes, at as u32 % mailboxes)
    }
}

impl Iterator for Script {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if self.day > self.plan.parameters.days {
            return None;
        }
        let event = if self.day == 0 { self.fill() } else { self.change() };
        self.over += 1;
        event.or_else(|| {
            let day = self.day;
            self.day += 1;
            self.over = 0;
            Some(Event::DayEnds { day })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::Parameters;
    use std::collections::HashSet;

    fn plan(parameters: Parameters, seed: u64) -> Plan {
        Plan::new(parameters, seed).unwrap()
    }

    #[test]
    fn script_depends_only_on_seed() {
        let small =
            Parameters { mailboxes: 3, messages: 5, operations: 50, days: 3, ..Parameters::default() };
        let events = |seed| plan(small, seed).script().collect::<Vec<_>>();
        assert_eq!(events(1), events(1));
        assert_ne!(events(1), events(2));
        assert_eq!(events(1).len(), 6 + 30 + 150 + 4);
        assert_eq!(events(1).last(), Some(&Event::DayEnds { day: 3 }));
    }

    #[test]
    fn deletions_are_valid_and_shares_match() {
        for insert_share in [0.5, 0.3, 1.0] {
            let p =
                Parameters { messages: 200, mailboxes: 10, insert_share, days: 5, ..Parameters::default() };
            let mut there = HashSet::new();
            let (mut inserted, mut deleted, mut size_sum) = (0u64, 0u64, 0u64);
            for event in plan(p, 42).script() {
                match event {
                    Event::Insert { user, mailbox, uid, size_bytes } => {
                        assert!(user < p.users && mailbox < p.mailboxes);
                        assert!((p.least_bytes..=p.most_bytes).contains(&size_bytes));
                        assert!(there.insert((user, mailbox, uid)));
                        inserted += 1;
                        size_sum += u64::from(size_bytes);
                    }
                    Event::Delete { user, mailbox, uid } => {
                        assert!(there.remove(&(user, mailbox, uid)));
                        deleted += 1;
                    }
                    Event::Create { .. } | Event::DayEnds { .. } => {}
                }
            }
            let mean = size_sum as f64 / inserted as f64;
            assert!((mean / 16_384.5 - 1.0).abs() < 0.02, "sizes have a mean of {mean}");
            let share = (inserted - 4000) as f64 / (inserted - 4000 + deleted) as f64;
            // With a share of 0.3 the mailboxes run empty; deletions from empty mailboxes become insertions.
            let expected =
                if insert_share == 0.3 { 0.3..0.5 } else { insert_share - 0.01..insert_share + 0.01 };
            assert!(expected.contains(&share), "requested share {insert_share}, got {share}");
        }
    }
}
