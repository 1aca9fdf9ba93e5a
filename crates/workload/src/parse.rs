//! Workloads as users write them: the kind with parameters, or a TOML file as in an experiment.

use crate::{Error, Workload};
use input::one_line;
use std::path::Path;
use std::sync::Arc;
use toml::{Table, Value};

/// The workload of a kind, or in a file whose name ends in `.toml`, with `parameters` that replace or complete those of the file. A parameter
/// within a table is named `TABLE.KEY`; its value is one of TOML, or text.
pub fn parse(kind_or_file: &str, parameters: &[(String, String)]) -> Result<Arc<dyn Workload>, Error> {
    let refuse = |why: String| Error::Refused(format!("workload {kind_or_file}: {why}"));
    let mut table = match kind_or_file.ends_with(".toml") {
        true => {
            let path = Path::new(kind_or_file);
            let text = input::read_to_string(path).map_err(Error::io("reading the workload", path))?;
            text.parse().map_err(|error: toml::de::Error| refuse(one_line(&error.to_string())))?
        }
        false => Table::from_iter([("kind".to_owned(), kind_or_file.into())]),
    };
    for (key, value) in parameters {
        set(&mut table, key, value).map_err(refuse)?;
    }
    from_table(table).map_err(refuse)
}

/// The workload that a table in an experiment file describes.
pub fn from_table(table: Table) -> Result<Arc<dyn Workload>, String> {
    Value::Table(table).try_into().map_err(|error: toml::de::Error| one_line(&error.to_string()))
}

/// Sets a parameter.
fn set(table: &mut Table, key: &str, value: &str) -> Result<(), String> {
    match key.split_once('.') {
        Some((outer, inner)) => {
            let within = table.entry(outer).or_insert_with(|| Value::Table(Table::new()));
            let within = within.as_table_mut().ok_or_else(|| format!("{outer} is not a table"))?;
            set(within, inner, value)
        }
        None => {
            let parsed = format!("it = {value}").parse::<Table>().ok();
            let value = parsed.and_then(|mut table| table.remove("it")).unwrap_or_else(|| value.into());
            table.insert(key.to_owned(), value);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(kind: &str, parameters: &[(&str, &str)]) -> Result<String, String> {
        let parameters: Vec<_> =
            parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let workload = parse(kind, &parameters).map_err(|error| error.to_string())?;
        Ok(serde_json::to_string(&workload).unwrap())
    }

    #[test]
    fn parameters_complete_a_kind() {
        assert!(parsed("git", &[]).unwrap().starts_with("{\"kind\":\"git\",\"live\":false"));
        let git = parsed("git", &[("live", "true"), ("repository", "some where")]).unwrap();
        assert!(git.contains("\"live\":true") && git.contains("\"repository\":\"some where\""), "{git}");
        assert!(parsed("mail", &[("mail.users", "3")]).unwrap().contains("\"users\":3"));
        assert!(parsed("profile", &[("profile", "meyer")]).unwrap().contains("\"name\":\"meyer\""));
    }

    #[test]
    fn parameters_replace_those_of_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("it.toml");
        std::fs::write(&path, "kind = \"intrafile\"\nfiles = 3\nunit_bytes = 8192").unwrap();
        let found = parsed(path.to_str().unwrap(), &[("files", "4")]).unwrap();
        assert!(found.contains("\"files\":4") && found.contains("\"unit_bytes\":8192"), "{found}");
    }

    #[test]
    fn unknown_kinds_and_parameters_are_refused() {
        for (kind, parameters, said) in [
            ("sails", &[][..], "`git`"),
            ("git", &[("sails", "3")][..], "sails"),
            ("git", &[("live", "3")][..], "boolean"),
            ("git", &[("live.it", "3"), ("live", "1")][..], "boolean"),
            ("git", &[("live", "true"), ("live.it", "3")][..], "live is not a table"),
            ("trace", &[][..], "file"),
            ("profile", &[("profile", "nobody")][..], "nobody"),
            ("nowhere.toml", &[][..], "nowhere.toml"),
        ] {
            let refused = parsed(kind, parameters).unwrap_err();
            assert!(refused.contains(said), "{kind}: {refused}");
        }
    }

    proptest! {
        #[test]
        fn any_parameter_is_parsed_or_refused(key in "\\PC{0,20}", value in "(\\PC|\n){0,40}") {
            let _ = parse("git", &[(key, value)]);
        }
    }
}
