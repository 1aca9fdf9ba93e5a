//! The mail server of Conway et al., "File Systems Fated for Senescence?" (FAST 2017): users whose mailboxes gain
//! and lose messages, day after day.
//!
//! One [`Plan`] says which message comes and goes when. [`Live`] has a real Dovecot do it, over IMAP, in a Maildir on
//! the file system; [`Extracted`] is the same as operations, as Dovecot was seen to do it, for machines without one.

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

pub use extracted::Extracted;
pub use live::Live;
pub use plan::{Parameters, Plan};
pub use script::{Event, Script};
pub use server::{dovecot, ready};
