//! Credentials: from environment variables, or from a file that other users cannot read.

use crate::Error;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Parts of the names of variables with secret values.
const SECRET: [&str; 6] = ["SECRET", "PASSWORD", "TOKEN", "MONGODB_URI", "CUSTOMER_KEY", "ACCESS_KEY"];

/// Variables; those of the file override those of the environment.
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// The environment variables of the services, and those of a file with one `NAME=VALUE` per line.
    pub fn load(file: Option<&Path>) -> Result<Variables, Error> {
        let ours = |name: &str| ["AWS_", "PG", "MONGODB_"].iter().any(|prefix| name.starts_with(prefix));
        let environment =
            std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        let mut variables: BTreeMap<_, _> = environment.filter(|(name, _)| ours(name)).collect();
        if let Some(path) = file {
            let fail = |why: &str| Error(format!("{}: {why}", path.display()));
            let text = read_private(path)?;
            for (number, line) in text.lines().enumerate() {
                let line = line.trim();
                if line.is_empty() || line.starts_with('#') {
                    continue;
                }
                // The message does not repeat the line, which may contain a secret.
                let (name, value) = line
                    .split_once('=')
                    .ok_or_else(|| fail(&format!("line {} does not have the form NAME=VALUE", number + 1)))?;
                variables.insert(name.trim().to_owned(), value.trim().trim_matches(['"', '\'']).to_owned());
            }
        }
        Ok(Variables(variables))
    }

    /// The value of a variable, if it is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// All variables.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The values to hide from messages.
    pub fn secrets(&self) -> Vec<String> {
        let secret = |name: &str| SECRET.iter().any(|part| name.contains(part));
        self.iter().filter(|(name, _)| secret(name)).map(|(_, value)| value.to_owned()).collect()
    }
}

/// Reads a file that other users cannot read.
pub(crate) fn read_private(path: &Path) -> Result<String, Error> {
    let fail = |why: &dyn std::fmt::Display| Error(format!("{}: {why}", path.display()));
    let mode = std::fs::metadata(path).map_err(|e| fail(&e))?.mode();
    if mode & 0o077 != 0 {
        return Err(fail(&"other users can read or change it; run `chmod 600` on it"));
    }
    input::read_to_string(path).map_err(|e| fail(&e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn file_overrides_the_environment_and_must_be_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("credentials");
        std::fs::write(&path, "# mine\nPGUSER = me\n\nAWS_SECRET_ACCESS_KEY='geheim'\n").unwrap();
        let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o640);
        let why = Variables::load(Some(&path)).err().unwrap().0;
        assert!(why.contains("chmod 600"), "{why}");
        mode(0o600);
        let variables = Variables::load(Some(&path)).unwrap();
        assert_eq!((variables.get("PGUSER"), variables.get("PGPORT_")), (Some("me"), None));
        assert_eq!(variables.secrets(), ["geheim"]);
        std::fs::write(&path, "PGUSER=me\ngeheim\n").unwrap();
        let why = Variables::load(Some(&path)).err().unwrap().0;
        assert!(why.contains("line 2") && !why.contains("geheim"), "{why}");
    }
}
