//! Tests of the workloads: profiles, git histories, the mail server, and snapshots.

mod churned;
mod git;
mod git_replay;
mod golden;
mod mail;
mod profiled;
mod snapshots;
