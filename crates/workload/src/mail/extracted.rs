//! The plan as file operations: those that Dovecot 2.3 was observed to perform for each event.

use super::files::Files;
use super::list::MailboxList;
use super::maildir::Mailbox;
use super::plan::Plan;
use super::script::{Event, Script};
use std::collections::VecDeque;
use trace::{BATCH, DirId, Op, ROOT, Source};

/// The operations of a mail server that follows a [`Plan`]. Each day ends with a checkpoint with the number
/// of the day; the filling is day 0.
pub struct Extracted {
    script: Script,
    files: Files,
    users: Vec<User>,
    day: u32,
}

/// The number of mailboxes whose indexes the server caches.
const AT_HAND: usize = 3;

/// The mailboxes of a user, and the one that the client has open.
struct User {
    dir: DirId,
    list: MailboxList,
    mailboxes: Vec<Mailbox>,
    open: Option<u32>,
    /// The most recently used mailboxes, the last one at the end.
    at_hand: VecDeque<u32>,
}

impl Extracted {
    /// All operations of a plan, starting from an empty directory.
    pub fn new(plan: &Plan) -> Extracted {
        Extracted { script: plan.script(), files: Files::default(), users: Vec::new(), day: 0 }
    }

    fn play(&mut self, event: Event) {
        match event {
            Event::Create { user, .. } => {
                if self.users.len() == user as usize {
                    self.users.push(User::create(&mut self.files));
                }
                self.users[user as usize].make_mailbox(&mut self.files, self.day);
            }
            Event::Insert { user, mailbox, uid, size_bytes } => {
                self.users[user as usize].insert(&mut self.files, mailbox, uid, size_bytes, self.day);
            }
            Event::Delete { user, mailbox, uid } => {
                self.users[user as usize].delete(&mut self.files, mailbox, uid, self.day);
            }
            Event::DayEnds { day } => {
                // The server stops for the measurement, so no mailbox stays open.
                for user in &mut self.users {
                    user.open = None;
                    user.at_hand.clear();
                }
                self.files.ops.push_back(Op::Checkpoint { number: day.into() });
                self.day = day + 1;
            }
        }
    }
}

impl User {
    /// Creates the Maildir of a user, with an empty inbox.
    fn create(files: &mut Files) -> User {
        let dir = files.mkdir(ROOT);
        let _inbox = [(); 3].map(|()| files.mkdir(dir));
        let list = MailboxList::create(files, dir);
        User { dir, list, mailboxes: Vec::new(), open: None, at_hand: VecDeque::new() }
    }

    fn make_mailbox(&mut self, files: &mut Files, day: u32) {
        self.mailboxes.push(Mailbox::create(files, self.dir, day));
        self.note(files, 56);
        self.note(files, 224);
    }

    /// Caches a mailbox and evicts the least recently used one.
    fn take(&mut self, files: &mut Files, mailbox: u32) -> &mut Mailbox {
        let known = self.at_hand.contains(&mailbox);
        self.at_hand.retain(|&other| other != mailbox);
        self.at_hand.push_back(mailbox);
        if self.at_hand.len() > AT_HAND {
            self.at_hand.pop_front();
        }
        let taken = &mut self.mailboxes[mailbox as usize];
        if !known {
            taken.open(files);
        }
        taken
    }

    fn insert(&mut self, files: &mut Files, mailbox: u32, uid: u32, size_bytes: u32, day: u32) {
        let open = self.open == Some(mailbox);
        self.take(files, mailbox).insert(files, uid, size_bytes, open, day);
        self.note(files, 180);
    }

    fn delete(&mut self, files: &mut Files, mailbox: u32, uid: u32, day: u32) {
        let reopens = self.open != Some(mailbox);
        self.open = Some(mailbox);
        let taken = self.take(files, mailbox);
        if reopens && taken.see(files, day) {
            self.note(files, 132);
        }
        self.mailboxes[mailbox as usize].mark_deleted(files, uid, day);
        self.note(files, 124);
        self.mailboxes[mailbox as usize].expunge(files, uid, day);
        self.note(files, 180);
    }

    fn note(&mut self, files: &mut Files, len: u64) {
        self.list.log(files, len, self.mailboxes.len() as u64);
    }
}

impl Source for Extracted {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), trace::Error> {
        batch.clear();
        while self.files.ops.len() < BATCH {
            match self.script.next() {
                Some(event) => self.play(event),
                None => break,
            }
        }
        let taken = self.files.ops.len().min(BATCH);
        batch.extend(self.files.ops.drain(..taken));
        Ok(())
    }
}
