//! The list of a user's mailboxes, as Dovecot 2.3 keeps it: each change of any mailbox goes to one log, so that a client
//! can be told what is new where without a look at all mailboxes.

use super::files::{Files, Place};
use super::index::{put_or_replace, rotate};
use trace::DirId;

const LOG_HEAD_BYTES: u64 = 40;
/// At this size the log is set aside, and the list written anew.
const LOG_BYTES: u64 = 64 << 10;

/// The log and the list.
pub(super) struct MailboxList {
    log: Place,
    log_bytes: u64,
    old_log: Option<Place>,
    list: Option<Place>,
}

impl MailboxList {
    pub fn create(files: &mut Files, dir: DirId) -> MailboxList {
        let log = files.put(dir, LOG_HEAD_BYTES, false);
        MailboxList { log, log_bytes: LOG_HEAD_BYTES, old_log: None, list: None }
    }

    /// Takes note of a change in `len` bytes, with so many mailboxes in the list.
    pub fn log(&mut self, files: &mut Files, len: u64, mailboxes: u64) {
        files.append(self.log, len);
        self.log_bytes += len;
        if self.log_bytes >= LOG_BYTES {
            rotate(files, self.log, &mut self.old_log, LOG_HEAD_BYTES);
            self.log_bytes = LOG_HEAD_BYTES;
            put_or_replace(files, &mut self.list, self.log.parent, 312 + 80 * (mailboxes + 1));
        }
    }
}
