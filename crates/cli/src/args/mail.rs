//! Arguments of the mail server workload.

use crate::units;
use clap::Args;
use std::path::PathBuf;

/// Parameters of the mail server; the defaults are the published ones.
#[derive(Args)]
pub struct Mail {
    /// Number of users
    #[arg(long, value_name = "N", default_value_t = workload::mail::Parameters::default().users)]
    pub users: u32,
    /// Mailboxes per user
    #[arg(long, value_name = "N", default_value_t = workload::mail::Parameters::default().mailboxes)]
    pub mailboxes: u32,
    /// Initial messages per mailbox
    #[arg(long, value_name = "N", default_value_t = workload::mail::Parameters::default().messages)]
    pub messages: u32,
    /// Minimum message size
    #[arg(long, value_name = "SIZE", default_value = "1B", value_parser = units::size)]
    pub least: u64,
    /// Maximum message size
    #[arg(long, value_name = "SIZE", default_value = "32KiB", value_parser = units::size)]
    pub most: u64,
    /// Messages inserted or deleted per day
    #[arg(long, value_name = "N", default_value_t = workload::mail::Parameters::default().operations)]
    pub operations: u32,
    /// Days after the initial filling
    #[arg(long, value_name = "N", default_value_t = workload::mail::Parameters::default().days)]
    pub days: u32,
    /// Share of insertions among the operations; the rest are deletions
    #[arg(long, value_name = "SHARE", default_value_t = workload::mail::Parameters::default().insert_share)]
    pub insert_share: f64,
    /// Random seed
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
}

impl Mail {
    /// The plan for these parameters.
    pub fn plan(&self) -> Result<workload::mail::Plan, workload::Error> {
        // Larger sizes become `u32::MAX`, which `Plan::new` rejects.
        let bytes = |size: u64| u32::try_from(size).unwrap_or(u32::MAX);
        let parameters = workload::mail::Parameters {
            users: self.users,
            mailboxes: self.mailboxes,
            messages: self.messages,
            least_bytes: bytes(self.least),
            most_bytes: bytes(self.most),
            operations: self.operations,
            days: self.days,
            insert_share: self.insert_share,
        };
        workload::mail::Plan::new(parameters, self.seed)
    }
}

/// `senesce trace extract-mail`.
#[derive(Args)]
pub struct ExtractMail {
    #[command(flatten)]
    pub mail: Mail,
    /// Trace to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}
