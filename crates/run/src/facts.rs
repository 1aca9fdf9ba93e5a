//! Facts of JSON documents by their paths.

use serde_json::Value;
use std::collections::BTreeMap;

/// The leaves of a JSON value by their paths. A list of leaves counts as one leaf.
pub(crate) fn flatten(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| flatten(&below(name), value, found)),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            items.iter().enumerate().for_each(|(at, value)| flatten(&below(&at.to_string()), value, found));
        }
        Value::Null => {}
        Value::String(text) => drop(found.insert(path.to_owned(), text.clone())),
        other => drop(found.insert(path.to_owned(), other.to_string())),
    }
}
