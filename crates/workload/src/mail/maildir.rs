//! A mailbox in a Maildir, as Dovecot 2.3 maintains it: one file per message, written in `tmp`, moved to
//! `new`, and to `cur` once a client has seen it; a list of UIDs; and an index.

use super::files::{FileLocation, Files};
use super::index::Index;
use super::message::wire_bytes;
use std::collections::HashMap;
use trace::DirId;

/// Length of the first line of the UID list.
const UIDLIST_HEAD_BYTES: u64 = 51;

/// When at most this fraction of the lines, three quarters, belongs to existing messages, the list is
/// rewritten without the others.
const LIVE_LINES: (u64, u64) = (3, 4);

/// A mailbox and its messages.
pub(super) struct Mailbox {
    dir: DirId,
    cur: DirId,
    new: DirId,
    tmp: DirId,
    uidlist: FileLocation,
    /// The size of the list, including lines of deleted messages.
    uidlist_bytes: u64,
    lines: u64,
    deleted_bytes: u64,
    /// Whether the next unseen message causes a rewrite of the list.
    rewrite_due: bool,
    index: Index,
    messages: HashMap<u32, Message>,
    /// The messages in `new`, in order of arrival.
    unseen: Vec<u32>,
}

struct Message {
    place: FileLocation,
    line_bytes: u64,
}

impl Mailbox {
    pub fn create(files: &mut Files, user: DirId, day: u32) -> Mailbox {
        let dir = files.mkdir(user);
        let [cur, new, tmp] = [(); 3].map(|()| files.mkdir(dir));
        files.create(dir, 0); // `maildirfolder`, which says that this is not a user's own Maildir
        let index = Index::create(files, dir, day);
        let lock = files.lock(dir);
        let uidlist = files.put(dir, UIDLIST_HEAD_BYTES, true);
        files.replace(uidlist, UIDLIST_HEAD_BYTES, true);
        files.delete(lock);
        Mailbox {
            dir,
            cur,
            new,
            tmp,
            uidlist,
            uidlist_bytes: UIDLIST_HEAD_BYTES,
            lines: 0,
            deleted_bytes: 0,
            rewrite_due: false,
            index,
            messages: HashMap::new(),
            unseen: Vec::new(),
        }
    }

    /// Opens a mailbox that the server has not cached.
    pub fn open(&mut self, files: &mut Files) {
        self.index.open(files, self.messages.len() as u64);
    }

    /// IMAP's APPEND. If the client has the mailbox open, it sees the message at once.
    pub fn insert(&mut self, files: &mut Files, uid: u32, size_bytes: u32, open: bool, day: u32) {
        let written = files.create(self.tmp, size_bytes.into());
        files.fsync(written);
        let lock = files.lock(self.dir);
        let place = files.move_to(written, self.new);
        // Dovecot syncs the directory here. Traces have no such operation; an fsync of the file also persists
        // its name.
        files.fsync(place);
        let line_bytes = uidlist_line_bytes(uid, size_bytes);
        files.append(self.uidlist, line_bytes);
        files.fsync(self.uidlist);
        self.uidlist_bytes += line_bytes;
        self.lines += 1;
        self.messages.insert(uid, Message { place, line_bytes });
        self.unseen.push(uid);
        self.log(files, 104, day);
        self.index.cache(files);
        self.log(files, 112, day);
        files.delete(lock);
        if open {
            self.see(files, day);
        } else if self.rewrite_due {
            let lock = files.lock(self.dir);
            files.replace(self.uidlist, self.uidlist_bytes, true);
            files.delete(lock);
            self.rewrite_due = false;
        } else {
            self.rewrite_due = true;
        }
        self.index.purge_cache(files, self.messages.len() as u64);
    }

    /// Moves the messages in `new` to `cur`, as when a client sees them. Returns whether there were any.
    pub fn see(&mut self, files: &mut Files, day: u32) -> bool {
        let lock = files.lock(self.dir);
        let seen = self.unseen.len() as u64;
        for uid in self.unseen.drain(..) {
            let message = self.messages.get_mut(&uid).expect("unseen messages exist");
            message.place = files.move_to(message.place, self.cur);
        }
        let live = self.messages.len() as u64;
        if live * LIVE_LINES.1 <= self.lines * LIVE_LINES.0 {
            self.uidlist_bytes -= self.deleted_bytes;
            (self.lines, self.deleted_bytes) = (live, 0);
            files.replace(self.uidlist, self.uidlist_bytes, true);
        }
        if seen > 0 {
            self.log(files, 120, day);
        }
        files.delete(lock);
        seen > 0
    }

    /// IMAP's STORE of the flag `\Deleted`: renames the message, because the name of the file contains the
    /// flags.
    pub fn mark_deleted(&mut self, files: &mut Files, uid: u32, day: u32) {
        self.log(files, 20, day);
        let lock = files.lock(self.dir);
        let message = self.messages.get_mut(&uid).expect("deleted messages exist");
        message.place = files.move_to(message.place, self.cur);
        self.log(files, 104, day);
        files.delete(lock);
    }

    /// IMAP's EXPUNGE.
    pub fn expunge(&mut self, files: &mut Files, uid: u32, day: u32) {
        self.log(files, 28, day);
        let lock = files.lock(self.dir);
        let message = self.messages.remove(&uid).expect("the message was marked deleted before");
        files.delete(message.place);
        self.deleted_bytes += message.line_bytes;
        self.log(files, 132, day);
        self.index.uncache(files);
        files.delete(lock);
        self.rewrite_due = true;
    }

    fn log(&mut self, files: &mut Files, len: u64, day: u32) {
        self.index.log(files, len, self.messages.len() as u64, day);
    }
}

/// The length of a message's line: its UID, and its name, such as `1500000000.M123456P1234.vm,S=1024,W=1040`,
/// where S is the size on disk and W the size on the wire.
fn uidlist_line_bytes(uid: u32, size_bytes: u32) -> u64 {
    let digits = |number: u32| u64::from(number.max(1).ilog10() + 1);
    digits(uid)
        + digits(size_bytes)
        + digits(wire_bytes(size_bytes))
        + " :1500000000.M123456P1234.vm,S=,W=\n".len() as u64
}
