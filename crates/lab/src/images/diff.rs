//! What two saved images differ in.

use super::{Image, Key};
use crate::verify::{distances, lengths};
use crate::{Distances, Error};
use results::Watch;
use saved::{Contents, Difference};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What two saved images differ in.
#[derive(Clone, Debug, Serialize)]
pub struct Differences {
    /// The names of both.
    pub names: [String; 2],
    /// What both hold.
    pub contents: [Contents; 2],
    /// Whether they are the same, to the byte.
    pub same: bool,
    /// How many blocks differ; none where the images are not of one size.
    pub blocks: Option<Blocks>,
    /// What their manifests say otherwise: the fields, and what stands in each. Fields that only one has are null in the other.
    pub fields: BTreeMap<String, [Value; 2]>,
    /// How far the lengths of their free extents are apart, where both tell.
    pub free: Option<Distances>,
}

/// Blocks of 4 KiB that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Blocks {
    /// All of them.
    pub differ: u64,
    /// Those that are zero in the second one.
    pub only_first: u64,
    /// Those that are zero in the first one.
    pub only_second: u64,
}

/// Compares two saved images; with a key, only if both are signed by it.
pub fn diff(a: &Path, b: &Path, key: Option<&Key>, watch: &mut dyn Watch) -> Result<Differences, Error> {
    let images = [Image::open(a, key)?, Image::open(b, key)?];
    let contents = images.each_ref().map(|image| image.saved.manifest().contents);
    let [first, second] = &images;
    let blocks = match contents[0].size_bytes == contents[1].size_bytes {
        true => {
            let progress = &mut super::progress(watch, "comparing blocks");
            let Difference { blocks, only_second, only_first } =
                first.saved.difference(&second.saved, progress)?;
            Some(Blocks { differ: blocks, only_first, only_second })
        }
        false => None,
    };
    let [of_first, of_second] = images.each_ref().map(|image| {
        let mut fields = BTreeMap::new();
        flatten("", &image.saved.manifest().about, &mut fields);
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

/// The fields below a value, by their paths. A list is one field.
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
