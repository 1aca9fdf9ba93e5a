//! The JSON schemas of `--json`: `docs/schemas/v1` has a schema for each command, and every document in a test must conform. With
//! `UPDATE_EXPECT=1` the schemas are extended as needed; removing a field or changing its type requires a new version.
//!
//! The schemas use only the keywords `type`, `properties`, `required`, `additionalProperties` and `items`. For objects with variable keys,
//! `additionalProperties` is written by hand and describes each value.

use std::fs::{self, File};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use serde_json::{Map, Value, json};

/// Fails unless the document printed by a command conforms to the schema of the command.
pub fn check(line: &str, document: &Value) {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    check_as(&command(&sources, line), document);
}

/// Fails unless a document conforms to the schema of a command, or to that of errors.
pub fn check_as(name: &str, document: &Value) {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = sources.join("docs/schemas/v1").join(format!("{}.json", name.replace(' ', "-")));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return update(&path, name, document);
    }
    let schema = load(&path).unwrap_or_else(|| panic!("senesce {name} has no schema {}", path.display()));
    let mut wider = schema.clone();
    widen(&mut wider, document);
    assert!(
        wider == schema,
        "senesce {name} does not conform to {}: {}",
        path.display(),
        first_change(&schema, &wider, "$")
    );
}

/// The command of a line: its leading words for which a help file exists.
fn command(sources: &Path, line: &str) -> String {
    // The short form of server benchmarks.
    if line.starts_with("bench ")
        && !["bench metadata", "bench fio"].iter().any(|long| line.starts_with(long))
    {
        return "bench personality".to_owned();
    }
    let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('-')).collect();
    let help =
        |words: &[&str]| sources.join(format!("tests/golden/help/senesce-{}.txt", words.join("-"))).exists();
    let length = (1..=words.len()).take_while(|&length| help(&words[..length])).count();
    assert!(length > 0, "senesce {line}: no command");
    words[..length].join(" ")
}

fn load(path: &Path) -> Option<Value> {
    let text = fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// Extends the schema file to accept a document. Tests run concurrently, so the directory is locked.
fn update(path: &Path, command: &str, document: &Value) {
    let dir = path.parent().expect("schemas are in a directory");
    fs::create_dir_all(dir).unwrap();
    let lock = File::open(dir).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let mut schema = load(path).unwrap_or_else(|| {
        json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "title": format!("senesce {command} --json") })
    });
    widen(&mut schema, document);
    fs::write(path, format!("{schema:#}\n")).unwrap();
}

/// Extends a schema to accept a value. A conforming value changes nothing.
fn widen(schema: &mut Value, value: &Value) {
    let schema = schema.as_object_mut().expect("a schema is an object");
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let kinds = schema.entry("type").or_insert_with(|| json!([])).as_array_mut().expect("types are listed");
    if !kinds.iter().any(|known| known == kind) {
        kinds.push(kind.into());
        kinds.sort_by_key(|kind| kind.to_string());
    }
    match value {
        Value::Array(values) => {
            for value in values {
                widen(schema.entry("items").or_insert_with(|| json!({})), value);
            }
        }
        Value::Object(fields) => widen_object(schema, fields),
        _ => {}
    }
}

fn widen_object(schema: &mut Map<String, Value>, fields: &Map<String, Value>) {
    if let Some(each @ Value::Object(_)) = schema.get_mut("additionalProperties") {
        fields.values().for_each(|value| widen(each, value));
        return;
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    // The fields of the first object are required until an object without them appears.
    let required = schema.entry("required").or_insert_with(|| fields.keys().cloned().collect());
    required
        .as_array_mut()
        .expect("fields are listed")
        .retain(|field| field.as_str().is_some_and(|field| fields.contains_key(field)));
    let known = schema.entry("properties").or_insert_with(|| json!({}));
    for (field, value) in fields {
        let known = known.as_object_mut().expect("fields are an object");
        widen(known.entry(field).or_insert_with(|| json!({})), value);
    }
}

/// The first difference between two schemas.
fn first_change(before: &Value, after: &Value, at: &str) -> String {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let changed = after.iter().find(|(key, value)| before.get(*key) != Some(value));
            let (key, value) = changed.expect("they differ");
            first_change(before.get(key).unwrap_or(&Value::Null), value, &format!("{at}.{key}"))
        }
        _ => format!("{at} is {before}, and would be {after}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(documents: &[Value]) -> Value {
        let mut schema = json!({});
        documents.iter().for_each(|document| widen(&mut schema, document));
        schema
    }

    #[test]
    fn accepted_documents_conform() {
        let documents = [json!({ "a": 1, "b": [{ "c": null }] }), json!({ "a": 2.5, "d": "x" })];
        let schema = of(&documents);
        assert_eq!(schema["required"], json!(["a"]));
        for document in &documents {
            let mut wider = schema.clone();
            widen(&mut wider, document);
            assert_eq!(wider, schema);
        }
    }

    #[test]
    fn new_missing_or_retyped_fields_do_not_conform() {
        let schema = of(&[json!({ "a": 1, "b": { "c": [true] } })]);
        for document in [
            json!({ "a": "x", "b": { "c": [] } }),
            json!({ "b": { "c": [] } }),
            json!({ "a": 1, "b": { "c": [1] } }),
        ] {
            let mut wider = schema.clone();
            widen(&mut wider, &document);
            assert_ne!(wider, schema, "{document}");
        }
        let mut wider = schema.clone();
        widen(&mut wider, &json!({ "a": 1, "b": { "c": [], "d": 1 } }));
        assert_eq!(
            first_change(&schema, &wider, "$"),
            "$.properties.b.properties.d is null, and would be {\"type\":[\"number\"]}"
        );
    }

    #[test]
    fn every_command_that_prints_json_has_a_schema() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for help in fs::read_dir(sources.join("tests/golden/help")).unwrap() {
            let help = help.unwrap().path();
            let name = help.file_stem().unwrap().to_str().unwrap().trim_start_matches("senesce-");
            let schema = sources.join("docs/schemas/v1").join(format!("{name}.json"));
            let prints_json = fs::read_to_string(&help).unwrap().contains("--json");
            assert_eq!(prints_json, schema.exists(), "{}", schema.display());
        }
    }

    #[test]
    fn variable_names_are_a_map() {
        let schema = json!({ "type": ["object"], "additionalProperties": { "type": ["number"] } });
        let mut wider = schema.clone();
        widen(&mut wider, &json!({ "any": 1, "name": 2 }));
        assert_eq!(wider, schema);
    }
}
