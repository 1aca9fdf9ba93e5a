//! The rows of a page that say how its numbers were taken.

use serde_json::Value;
use std::time::Duration;

/// Merges rows of all comparisons: one row if all values agree, otherwise one per value, with the names of
/// its comparisons.
pub fn merged(each: Vec<(&str, String, String)>) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String, Vec<&str>)> = Vec::new();
    for (name, title, text) in each {
        match rows.iter_mut().find(|row| (&row.0, &row.1) == (&title, &text)) {
            Some((_, _, names)) => names.push(name),
            None => rows.push((title, text, vec![name])),
        }
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    let alone = |title: &str| rows.iter().filter(|row| row.0 == title).count() == 1;
    let said = |(title, text, names): &(String, String, Vec<&str>)| {
        let title = if alone(title) { title.clone() } else { format!("{title}, {}", names.join(", ")) };
        (title, text.clone())
    };
    rows.iter().map(said).collect()
}

/// Parameters in one line with break opportunities, and sizes in human units.
pub fn words(parameters: &Value) -> String {
    match parameters {
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                if let Some((name, told)) = value.as_u64().and_then(|number| quantity(name, number)) {
                    return format!("{} {told}", name.replace('_', " "));
                }
                let name = name.replace('_', " ");
                if value.is_object() {
                    format!("{name} ({})", words(value))
                } else {
                    format!("{name} {}", words(value))
                }
            };
            fields.iter().filter(|(_, value)| !is_empty(value)).map(field).collect::<Vec<_>>().join(", ")
        }
        Value::Array(list) => list.iter().map(words).collect::<Vec<_>>().join(" "),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The name and the value of a parameter whose name ends in a unit, in human units.
fn quantity(name: &str, number: u64) -> Option<(&str, String)> {
    Some(if let Some(name) = name.strip_suffix("_bytes") {
        (name, input::bytes(number))
    } else if let Some(name) = name.strip_suffix("_kb") {
        (name, input::bytes(1024 * number))
    } else {
        let time = humantime::format_duration(Duration::from_nanos(number));
        (name.strip_suffix("_ns")?, time.to_string())
    })
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_are_merged_and_different_ones_named() {
        let each = ["a", "b", "c"].into_iter().flat_map(|name| {
            let reader = if name == "b" { "builtin" } else { "grep" };
            [(name, "Scan".to_owned(), reader.to_owned()), (name, "Cold".to_owned(), "dropped".to_owned())]
        });
        let rows = merged(each.collect());
        let rows: Vec<(&str, &str)> =
            rows.iter().map(|(title, text)| (title.as_str(), text.as_str())).collect();
        assert_eq!(rows, [("Cold", "dropped"), ("Scan, a, c", "grep"), ("Scan, b", "builtin")]);
    }

    #[test]
    fn parameters_are_words() {
        let parameters = serde_json::json!({ "object_bytes": 3900, "ranks": 2, "of": { "data_sets": [1, 2] }, "wait": null, "opts": [],
            "read_ahead_kb": 128, "write_back_ns": 30_000_000_000_u64 });
        assert_eq!(
            words(&parameters),
            "object 3.8 KiB, of (data sets 1 2), ranks 2, read ahead 128 KiB, write back 30s"
        );
    }
}
