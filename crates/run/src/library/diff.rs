//! Differences of two saved images.

use super::{Image, Key};
use crate::verify::{distances, lengths};
use crate::{Distances, Error};
use archive::{ArchiveContents, BlockDiff};
use results::Watch;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The differences of two saved images.
#[derive(Clone, Debug, Serialize)]
pub struct Differences {
    /// The names of both.
    pub names: [String; 2],
    /// The contents of both.
    pub contents: [ArchiveContents; 2],
    /// Whether both are identical in every byte.
    pub same: bool,
    /// The blocks that differ; `None` if the images differ in size.
    pub blocks: Option<Blocks>,
    /// The manifest fields that differ, with both values. A missing field is null.
    pub fields: BTreeMap<String, [Value; 2]>,
    /// The distance of the lengths of their free extents, if both are known.
    pub free: Option<Distances>,
}

/// Blocks of 4 KiB that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Blocks {
    /// All of them.
    pub differ: u64,
    /// Blocks that are zero in the second image.
    pub only_first: u64,
    /// Blocks that are zero in the first image.
    pub only_second: u64,
}

/// Compares two saved images; with a key, only if both are signed with it.
pub fn diff(a: &Path, b: &Path, key: Option<&Key>, watch: &mut dyn Watch) -> Result<Differences, Error> {
    let images = [Image::open(a, key)?, Image::open(b, key)?];
    let contents = images.each_ref().map(|image| image.archive.manifest().contents);
    let [first, second] = &images;
    let blocks = match contents[0].size_bytes == contents[1].size_bytes {
        true => {
            let progress = &mut super::progress(watch, "comparing blocks");
            let BlockDiff { blocks, only_second, only_first } =
                first.archive.diff(&second.archive, progress)?;
            Some(Blocks { differ: blocks, only_first, only_second })
        }
        false => None,
    };
    let [of_first, of_second] = images.each_ref().map(|image| {
        let mut fields = BTreeMap::new();
        flatten("", &image.archive.manifest().about, &mut fields);
        fields
    });
    let names: std::collections::BTreeSet<&String> = of_first.keys().chain(of_second.keys()).collect();
    let field =
        |name: &String| [&of_first, &of_second].map(|fields| fields.get(name).cloned().unwrap_or_default());
    let fields =
        names.into_iter().map(|name| (name.clone(), field(name))).filter(|(_, [a, b])| a != b).collect();
    let free = first.about.scores.free.as_ref().zip(second.about.scores.free.as_ref());
    Ok(Differences {
        names: images.each_ref().map(|image| image.about.name().to_owned()),
        same: contents[0].content_sha256 == contents[1].content_sha256,
        contents,
        blocks,
        fields,
        free: free.map(|(a, b)| distances(&lengths(&a.histogram), &lengths(&b.histogram))),
    })
}

/// The fields below a value, by their paths. A list counts as one field.
fn flatten(path: &str, value: &Value, fields: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(below) => {
            for (name, value) in below {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, value, fields);
            }
        }
        value => drop(fields.insert(path.to_owned(), value.clone())),
    }
}
