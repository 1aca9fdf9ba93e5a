//! The index of a mailbox, as Dovecot 2.3 keeps it: a log of all changes, a table that is written anew from it now and
//! then, and a cache of what was once asked about messages.
//!
//! Sizes and thresholds were read off its system calls. They agree with its settings `mail_index_rewrite_min_log_bytes`,
//! `mail_index_rewrite_max_log_bytes`, `mail_index_log_rotate_*` and `mail_cache_purge_*`, which it has by default.

use super::files::{Files, Place};
use trace::DirId;

/// The log begins with this many bytes.
const LOG_HEAD_BYTES: u64 = 40;
/// The table is written when so much of the log is newer and has to be read, for the first time or again after a while ...
const READ_LOG_BYTES: u64 = 8 << 10;
/// ... or when so much is newer in any case.
const NEWER_LOG_BYTES: u64 = 128 << 10;
/// A log of this size is set aside if it is old, ...
const OLD_LOG_BYTES: u64 = 32 << 10;
/// ... or at this size in any case. Old is five minutes; here, begun on an earlier day.
const LOG_BYTES: u64 = 1 << 20;
/// The cache has this many bytes for each message, and at its beginning the two numbers after.
const CACHED_BYTES: u64 = 64;
const CACHE_HEAD_BYTES: u64 = 84;
const FIRST_CACHE_HEAD_BYTES: u64 = 388;
/// A cache of this size is written anew if enough of it, one in this many, is of deleted messages.
const CACHE_BYTES: u64 = 32 << 10;
const CACHE_DELETED_PART: u64 = 5;

/// The three files, of a mailbox that has a log at least.
pub(super) struct Index {
    log: Place,
    log_bytes: u64,
    log_day: u32,
    old_log: Option<Place>,
    table: Option<Place>,
    /// The log has grown by this since the table was written.
    since_table_bytes: u64,
    cache: Option<Place>,
    cache_bytes: u64,
    cache_deleted: u64,
}

impl Index {
    pub fn create(files: &mut Files, dir: DirId, day: u32) -> Index {
        Index {
            log: files.put(dir, LOG_HEAD_BYTES, false),
            log_bytes: LOG_HEAD_BYTES,
            log_day: day,
            old_log: None,
            table: None,
            since_table_bytes: LOG_HEAD_BYTES,
            cache: None,
            cache_bytes: 0,
            cache_deleted: 0,
        }
    }

    /// Takes note of a change in `len` bytes, with so many messages in the mailbox.
    pub fn log(&mut self, files: &mut Files, len: u64, messages: u64, day: u32) {
        files.append(self.log, len);
        self.log_bytes += len;
        self.since_table_bytes += len;
        let old = self.log_day < day && self.log_bytes >= OLD_LOG_BYTES;
        if old || self.log_bytes >= LOG_BYTES {
            rotate(files, self.log, &mut self.old_log, LOG_HEAD_BYTES);
            (self.log_bytes, self.log_day) = (LOG_HEAD_BYTES, day);
            self.write_table(files, messages);
        } else if self.table.is_none() || self.since_table_bytes >= NEWER_LOG_BYTES {
            self.open(files, messages);
        }
    }

    /// Reads the table, and what is newer in the log; where that is much, the table is written anew.
    pub fn open(&mut self, files: &mut Files, messages: u64) {
        if self.since_table_bytes >= READ_LOG_BYTES {
            self.write_table(files, messages);
        }
    }

    fn write_table(&mut self, files: &mut Files, messages: u64) {
        put_or_replace(files, &mut self.table, self.log.parent, 280 + 16 * messages);
        self.since_table_bytes = 0;
    }

    /// A message came: what is known of it goes to the end of the cache, and where that is to its head.
    pub fn cache(&mut self, files: &mut Files) {
        let cache = *self.cache.get_or_insert_with(|| {
            self.cache_bytes = FIRST_CACHE_HEAD_BYTES;
            files.put(self.log.parent, FIRST_CACHE_HEAD_BYTES, false)
        });
        files.append(cache, CACHED_BYTES);
        files.write(cache, 0, 204);
        self.cache_bytes += CACHED_BYTES;
    }

    /// A message is gone: that is counted in the head of the cache.
    pub fn uncache(&mut self, files: &mut Files) {
        if let Some(cache) = self.cache {
            files.write(cache, 0, 32);
            self.cache_deleted += 1;
        }
    }

    /// Writes the cache anew where too much of it is of deleted messages.
    pub fn purge_cache(&mut self, files: &mut Files, messages: u64) {
        let deleted_bytes = self.cache_deleted * CACHED_BYTES;
        if let Some(cache) = self.cache
            && self.cache_bytes >= CACHE_BYTES
            && deleted_bytes * CACHE_DELETED_PART >= self.cache_bytes
        {
            self.cache_bytes = CACHE_HEAD_BYTES + CACHED_BYTES * messages;
            self.cache_deleted = 0;
            files.replace(cache, self.cache_bytes, false);
        }
    }
}

/// Sets a log aside, where the one before it goes, and begins a new one.
pub(super) fn rotate(files: &mut Files, log: Place, old_log: &mut Option<Place>, head_bytes: u64) {
    let new = files.create(log.parent, head_bytes);
    if let Some(older) = old_log.take() {
        files.delete(older);
    }
    *old_log = Some(files.link(log));
    files.rename(new, log);
}

/// Writes a file anew and forces it to disk, whether it is there or not.
pub(super) fn put_or_replace(files: &mut Files, place: &mut Option<Place>, dir: DirId, size: u64) {
    match *place {
        Some(old) => files.replace(old, size, true),
        None => *place = Some(files.put(dir, size, true)),
    }
}
