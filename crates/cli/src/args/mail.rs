//! How much mail there is, and how it changes.

use crate::units;
use clap::Args;
use std::path::PathBuf;

/// The parameters of the mail server; as published unless told otherwise.
#[derive(Args)]
pub struct Mail {
    /// Users with mail
    #[arg(long, value_name = "N", default_value_t = ager::mail::Parameters::default().users)]
    pub users: u32,
    /// Mailboxes of each user
    #[arg(long, value_name = "N", default_value_t = ager::mail::Parameters::default().mailboxes)]
    pub mailboxes: u32,
    /// Messages that each mailbox is filled with
    #[arg(long, value_name = "N", default_value_t = ager::mail::Parameters::default().messages)]
    pub messages: u32,
    /// Size of the smallest message
    #[arg(long, value_name = "SIZE", default_value = "1KiB", value_parser = units::size)]
    pub least: u64,
    /// Size of the largest message
    #[arg(long, value_name = "SIZE", default_value = "32KiB", value_parser = units::size)]
    pub most: u64,
    /// Messages that come or go on a day
    #[arg(long, value_name = "N", default_value_t = ager::mail::Parameters::default().operations)]
    pub operations: u32,
    /// Days after the filling
    #[arg(long, value_name = "N", default_value_t = ager::mail::Parameters::default().days)]
    pub days: u32,
    /// Share of the operations that insert a message; the others delete one
    #[arg(long, value_name = "SHARE", default_value_t = ager::mail::Parameters::default().insert_share)]
    pub insert_share: f64,
    /// Seed of all that is random
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
}

impl Mail {
    /// The plan that is asked for.
    pub fn plan(&self) -> Result<ager::mail::Plan, ager::Error> {
        // A size beyond 32 bits is beyond what a plan takes, and so is the greatest of 32 bits.
        let bytes = |size: u64| u32::try_from(size).unwrap_or(u32::MAX);
        let parameters = ager::mail::Parameters {
            users: self.users,
            mailboxes: self.mailboxes,
            messages: self.messages,
            least_bytes: bytes(self.least),
            most_bytes: bytes(self.most),
            operations: self.operations,
            days: self.days,
            insert_share: self.insert_share,
        };
        ager::mail::Plan::new(parameters, self.seed)
    }
}

/// `senesce trace extract-mail`.
#[derive(Args)]
pub struct ExtractMail {
    #[command(flatten)]
    pub mail: Mail,
    /// The trace to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}
