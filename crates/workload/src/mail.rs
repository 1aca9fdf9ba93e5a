//! The mail server workload of Conway et al., "File Systems Fated for Senescence?" (FAST 2017): users whose
//! mailboxes gain and lose messages, day after day.
//!
//! A [`Plan`] determines every insertion and deletion. [`Live`] executes it with a real Dovecot over IMAP, in
//! a Maildir on the file system; [`Extracted`] produces the file operations that Dovecot was observed to
//! perform, for machines without one.

mod extracted;
mod files;
mod imap;
mod index;
mod list;
mod live;
mod maildir;
mod message;
mod plan;
mod script;
mod server;
mod workload;

pub use extracted::Extracted;
pub use live::Live;
pub use plan::{Parameters, Plan};
pub use script::{Event, Script};
pub use server::{find_dovecot, ready};
pub use workload::Mail;
