//! What a user of traces notices: files come back as they went in, damage and nonsense are refused.

mod check;
mod damage;
mod digest;
mod jsonl;
mod labels;
mod pandas;
mod parquet;
mod stat;
mod support;
