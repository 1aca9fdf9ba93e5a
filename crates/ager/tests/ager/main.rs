//! What the agers promise: from profiles, from histories of Git, with a mail server, and from snapshots.

mod git;
mod golden;
mod mail;
mod profiled;
mod snapshots;
