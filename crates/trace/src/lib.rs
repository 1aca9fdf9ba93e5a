//! Operations on file systems, and traces of operations.
//!
//! Every workload produces operations of this type, and every engine replays them.

mod atomic_file;
mod blobs;
mod check;
mod columns;
mod digest;
mod error;
mod jsonl;
mod labels;
mod meta;
mod namespace;
mod op;
mod open;
mod reader;
mod row;
mod save;
mod saved_labels;
mod source;
mod stat;
mod writer;

pub use blobs::{BlobPack, BlobPackWriter};
pub use check::ValidatingSource;
pub use digest::{DigestingSource, TraceDigest};
pub use error::Error;
pub use jsonl::{JsonlReader, op_to_json, write_jsonl};
pub use labels::{BlobId, FileLabel, Labels, is_valid_name};
pub use meta::{TraceInfo, TraceSummary};
pub use op::{Content, DirId, FileId, Op, ROOT, dir_name, file_name};
pub use open::{is_jsonl, open};
pub use reader::TraceReader;
pub use save::save_labelled;
pub use saved_labels::{LabelWriter, SavedLabels, blobs_path, labels_path};
pub use source::{BATCH, Source};
pub use stat::{SizeBucket, Stat};
pub use writer::TraceWriter;
