//! The list of a user's mailboxes, as Dovecot 2.3 maintains it: changes of all mailboxes go to one log, so
//! that a client can learn which mailboxes have changed without a scan of all of them.

use super::files::{FileLocation, Files};
use super::index::{put_or_replace, rotate};
use trace::DirId;

const LOG_HEAD_BYTES: u64 = 40;
/// At this size the log is rotated and the list rewritten.
const LOG_BYTES: u64 = 64 << 10;

/// The log and the list.
pub(super) struct MailboxList {
    log: FileLocation,
    log_bytes: u64,
    old_log: Option<FileLocation>,
    list: Option<FileLocation>,
}

impl MailboxList {
    pub fn create(files: &mut Files, dir: DirId) -> MailboxList {
        let log = files.put(dir, LOG_HEAD_BYTES, false);
        MailboxList { log, log_bytes: LOG_HEAD_BYTES, old_log: None, list: None }
    }

    /// Logs a change of `len` bytes; the list has `mailboxes` mailboxes.
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
