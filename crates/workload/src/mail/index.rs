//! The index of a mailbox, as Dovecot 2.3 maintains it: a log of all changes, a table that is rewritten from
//! the log occasionally, and a cache of requested message fields.
//!
//! Sizes and thresholds were derived from its system calls. They agree with the defaults of its settings
//! `mail_index_rewrite_min_log_bytes`, `mail_index_rewrite_max_log_bytes`, `mail_index_log_rotate_*` and
//! `mail_cache_purge_*`.

use super::files::{FileLocation, Files};
use trace::DirId;

/// Size of the log's header.
const LOG_HEAD_BYTES: u64 = 40;
/// The table is rewritten when a mailbox is opened, for the first time or again, and this much of the log is
/// newer ...
const READ_LOG_BYTES: u64 = 8 << 10;
/// ... or as soon as this much of the log is newer.
const NEWER_LOG_BYTES: u64 = 128 << 10;
/// A log of this size is rotated if it is old, ...
const OLD_LOG_BYTES: u64 = 32 << 10;
/// ... and a log of this size always. Dovecot's limit of age is five minutes; here, a log from an earlier day
/// is old.
const LOG_BYTES: u64 = 1 << 20;
/// Cache bytes per message; the two constants that follow are sizes of the cache's header.
const CACHED_BYTES: u64 = 64;
const CACHE_HEAD_BYTES: u64 = 84;
const FIRST_CACHE_HEAD_BYTES: u64 = 388;
/// A cache of this size is rewritten if this fraction (one in so many bytes) belongs to deleted messages.
const CACHE_BYTES: u64 = 32 << 10;
const CACHE_DELETED_PART: u64 = 5;

/// The three files of an index. Only the log always exists.
pub(super) struct Index {
    log: FileLocation,
    log_bytes: u64,
    log_day: u32,
    old_log: Option<FileLocation>,
    table: Option<FileLocation>,
    /// Growth of the log since the table was written.
    since_table_bytes: u64,
    cache: Option<FileLocation>,
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

    /// Logs a change of `len` bytes to a mailbox of `messages` messages.
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

    /// Reads the table and the newer part of the log; rewrites the table if that part is large.
    pub fn open(&mut self, files: &mut Files, messages: u64) {
        if self.since_table_bytes >= READ_LOG_BYTES {
            self.write_table(files, messages);
        }
    }

    fn write_table(&mut self, files: &mut Files, messages: u64) {
        put_or_replace(files, &mut self.table, self.log.parent, 280 + 16 * messages);
        self.since_table_bytes = 0;
    }

    /// A message was inserted: appends its fields to the cache, and updates the header.
    pub fn cache(&mut self, files: &mut Files) {
        let cache = *self.cache.get_or_insert_with(|| {
            self.cache_bytes = FIRST_CACHE_HEAD_BYTES;
            files.put(self.log.parent, FIRST_CACHE_HEAD_BYTES, false)
        });
        files.append(cache, CACHED_BYTES);
        files.write(cache, 0, 204);
        self.cache_bytes += CACHED_BYTES;
    }

    /// A message was deleted: updates the count in the header of the cache.
    pub fn uncache(&mut self, files: &mut Files) {
        if let Some(cache) = self.cache {
            files.write(cache, 0, 32);
            self.cache_deleted += 1;
        }
    }

    /// Rewrites the cache if too much of it belongs to deleted messages.
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

/// Rotates a log: renames it over the previous old log, and starts a new one.
pub(super) fn rotate(
    files: &mut Files,
    log: FileLocation,
    old_log: &mut Option<FileLocation>,
    head_bytes: u64,
) {
    let new = files.create(log.parent, head_bytes);
    if let Some(older) = old_log.take() {
        files.delete(older);
    }
    *old_log = Some(files.link(log));
    files.rename(new, log);
}

/// Writes and syncs a new version of a file, which may or may not exist.
pub(super) fn put_or_replace(files: &mut Files, place: &mut Option<FileLocation>, dir: DirId, size: u64) {
    match *place {
        Some(old) => files.replace(old, size, true),
        None => *place = Some(files.put(dir, size, true)),
    }
}
