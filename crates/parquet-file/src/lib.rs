//! What all Parquet files of senesce share: schemas, columns through reused buffers, metadata, and a checksum of the whole file.

pub mod column;
pub mod metadata;
pub mod schema;
pub mod seal;
