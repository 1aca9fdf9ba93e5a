//! Integration tests of traces: round trips, damaged files and invalid operations.

mod check;
mod damage;
mod digest;
mod jsonl;
mod labels;
mod pandas;
mod parquet;
mod stat;
mod support;
