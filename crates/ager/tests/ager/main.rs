//! Tests of the agers: profiles, git histories, the mail server, and snapshots.

mod git;
mod golden;
mod mail;
mod profiled;
mod snapshots;
