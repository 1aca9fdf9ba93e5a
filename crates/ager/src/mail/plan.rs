//! What happens in the mailboxes: parameters and a seed, from which everything else follows.

use super::message::LEAST_BYTES;
use super::script::Script;
use crate::Error;
use serde::{Deserialize, Serialize};

/// Each user has a connection, and Dovecot takes 100 unless told otherwise.
const MOST_USERS: u32 = 100;
/// Messages are numbered with 32 bits in IMAP; their events are all looked at, one by one.
const MOST_EVENTS: u64 = 1 << 32;
/// Mailboxes are four directories each.
const MOST_MAILBOXES: u64 = 1 << 20;
/// A message is held in memory.
const MOST_BYTES: u32 = 64 << 20;

/// How much mail there is, and how it changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// How many users have mail.
    pub users: u32,
    /// How many mailboxes each user has, beside the inbox, which stays empty.
    pub mailboxes: u32,
    /// How many messages each mailbox is filled with.
    pub messages: u32,
    /// The size of the smallest message.
    pub least_bytes: u32,
    /// The size of the largest message; all from the smallest to the largest have the same chance.
    pub most_bytes: u32,
    /// How many messages come or go on a day, in all mailboxes together.
    pub operations: u32,
    /// How many days follow the filling.
    pub days: u32,
    /// The chance, from 0 to 1, that an operation inserts a message instead of deleting one.
    pub insert_share: f64,
}

impl Default for Parameters {
    /// As published.
    fn default() -> Parameters {
        Parameters {
            users: 2,
            mailboxes: 80,
            messages: 1000,
            least_bytes: 1 << 10,
            most_bytes: 32 << 10,
            operations: 8000,
            days: 100,
            insert_share: 0.5,
        }
    }
}

/// What happens in every mailbox: the same with the same parameters and seed, everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    pub(super) parameters: Parameters,
    pub(super) seed: u64,
}

impl Plan {
    /// Plans, or says which parameter cannot be.
    pub fn new(parameters: Parameters, seed: u64) -> Result<Plan, Error> {
        let p = &parameters;
        let all_mailboxes = u64::from(p.users) * u64::from(p.mailboxes);
        let refuse = |why: String| Err(Error::Conditions(why));
        if p.users == 0 || p.mailboxes == 0 {
            return refuse(format!(
                "{} users with {} mailboxes each get no mail; at least one of each is required",
                p.users, p.mailboxes
            ));
        }
        if p.users > MOST_USERS || all_mailboxes > MOST_MAILBOXES {
            return refuse(format!(
                "{} users with {} mailboxes each are too many: the limits are {MOST_USERS} users and \
                 {MOST_MAILBOXES} mailboxes in total",
                p.users, p.mailboxes
            ));
        }
        if p.least_bytes < LEAST_BYTES || p.least_bytes > p.most_bytes || p.most_bytes > MOST_BYTES {
            return refuse(format!(
                "messages of {} to {} bytes: the range must ascend, from {LEAST_BYTES} or more to \
                 {MOST_BYTES} or less",
                p.least_bytes, p.most_bytes
            ));
        }
        if !(0.0..=1.0).contains(&p.insert_share) {
            return refuse(format!("{} is not a share of insertions, from 0 to 1", p.insert_share));
        }
        match all_mailboxes.checked_mul(p.messages.into()).and_then(|fill| fill.checked_add(churn(p))) {
            None | Some(MOST_EVENTS..) => refuse(format!(
                "the plan needs more than {MOST_EVENTS} messages; use fewer mailboxes, messages, operations \
                 or days"
            )),
            Some(0) => {
                refuse("the plan has no messages: give some for the filling, or operations and days".into())
            }
            Some(_) => Ok(Plan { parameters, seed }),
        }
    }

    /// What was planned with.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// What is drawn at random is drawn from this.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many messages come or go: those of the filling, and those of all days.
    pub fn operations(&self) -> u64 {
        let p = &self.parameters;
        u64::from(p.users) * u64::from(p.mailboxes) * u64::from(p.messages) + churn(p)
    }

    /// All that happens, in its order.
    pub fn script(&self) -> Script {
        Script::new(*self)
    }
}

fn churn(p: &Parameters) -> u64 {
    u64::from(p.operations) * u64::from(p.days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_run_is_the_default() {
        let plan = Plan::new(Parameters::default(), 42).unwrap();
        assert_eq!(plan.operations(), 160_000 + 800_000);
    }

    #[test]
    fn nonsense_is_refused() {
        let good = Parameters { users: 1, mailboxes: 1, messages: 1, ..Parameters::default() };
        assert!(Plan::new(good, 0).is_ok());
        assert!(Plan::new(Parameters { days: 0, ..good }, 0).is_ok());
        for wrong in [
            Parameters { users: 0, ..good },
            Parameters { users: 101, ..good },
            Parameters { mailboxes: 0, ..good },
            Parameters { mailboxes: u32::MAX, ..good },
            Parameters { users: 100, mailboxes: 10_000, messages: 5000, ..good },
            Parameters { operations: u32::MAX, days: u32::MAX, ..good },
            Parameters { messages: 0, days: 0, ..good },
            Parameters { least_bytes: 0, ..good },
            Parameters { least_bytes: 2048, most_bytes: 2047, ..good },
            Parameters { most_bytes: u32::MAX, ..good },
            Parameters { insert_share: 1.1, ..good },
            Parameters { insert_share: -0.1, ..good },
            Parameters { insert_share: f64::NAN, ..good },
        ] {
            let error = Plan::new(wrong, 0).expect_err(&format!("{wrong:?}")).to_string();
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
