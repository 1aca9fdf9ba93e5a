//! Defaults of the user: `SENESCE_WORK`, and a file with a few keys.

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Arg, Command};
use serde::Deserialize;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The environment variable with the work directory.
pub const WORK_VARIABLE: &str = "SENESCE_WORK";

/// The work directory if nothing else names one.
pub const WORK: &str = "senesce-work";

/// The name of the file, in `$XDG_CONFIG_HOME` or `~/.config`.
pub const FILE: &str = "senesce.toml";

/// The file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Work directory: an absolute path.
    work: Option<PathBuf>,
    /// Device model of modelled times, of `compare` and `probe scan`.
    disk: Option<String>,
    /// Agings of each file system, of `compare`.
    agings: Option<u64>,
}

/// The defaults of options.
pub struct Config {
    work: PathBuf,
    file: File,
}

static WORK_DIR: OnceLock<PathBuf> = OnceLock::new();

/// The default work directory.
pub fn work_dir() -> &'static Path {
    WORK_DIR.get().map_or(Path::new(WORK), PathBuf::as_path)
}

impl Config {
    /// Reads the environment and the file.
    pub fn load() -> Result<Config> {
        let home =
            || Some(PathBuf::from(std::env::var_os("HOME").filter(|home| !home.is_empty())?).join(".config"));
        // The specification ignores relative paths.
        let dir = std::env::var_os("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute())
            .or_else(home);
        let file = dir.map(|dir| dir.join(FILE)).map_or(Ok(File::default()), |path| read(&path))?;
        let work = std::env::var_os(WORK_VARIABLE).filter(|work| !work.is_empty()).map(PathBuf::from);
        let work = work.or_else(|| file.work.clone()).unwrap_or_else(|| WORK.into());
        let _ = WORK_DIR.set(work.clone());
        Ok(Config { work, file })
    }

    /// The command with these defaults.
    pub fn apply(&self, command: Command) -> Command {
        let name = command.get_name().to_owned();
        let command = command.mut_args(|arg| self.default_of(&name, arg));
        command.mut_subcommands(|below| self.apply(below))
    }

    fn default_of(&self, command: &str, arg: Arg) -> Arg {
        let is_work = arg.get_id() == "work" && arg.get_default_values() == [WORK];
        let value: Option<OsString> = match (command, arg.get_id().as_str()) {
            _ if is_work => Some(self.work.clone().into()),
            ("compare" | "scan", "disk") => self.file.disk.clone().map(Into::into),
            ("compare", "agings") => self.file.agings.map(|agings| agings.to_string().into()),
            _ => None,
        };
        match value {
            // clap wants defaults that live as long as the program.
            Some(value) => arg.default_value(&*Box::leak(value.into_boxed_os_str())),
            None => arg,
        }
    }
}

/// The file; empty if it does not exist, or not for this user.
fn read(path: &Path) -> Result<File> {
    let text = match input::read_to_string(path) {
        // sudo and setpriv may keep the home directory of another user.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
            return Ok(File::default());
        }
        text => text.with_context(|| format!("reading {}", path.display()))?,
    };
    parse(&text).with_context(|| format!("{}", path.display()))
}

fn parse(text: &str) -> Result<File> {
    let file: File = toml::from_str(text).map_err(|error| {
        anyhow!("{}; the keys are work, disk and agings", input::toml_error(&error, text))
    })?;
    if let Some(work) = file.work.as_deref().filter(|work| !work.is_absolute()) {
        bail!(
            "work = {:?} depends on the current directory; give an absolute path",
            work.display().to_string()
        );
    }
    if let Some(agings) = file.agings.filter(|agings| !(1..=1000).contains(agings)) {
        bail!("agings = {agings} is not from 1 to 1000");
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_files_are_refused_with_the_keys() {
        for (text, why) in [
            ("wrok = '/a'", "line 1: unknown field `wrok`"),
            ("\nagings = 'x'", "line 2: invalid type: string"),
            ("work = 'a'", "give an absolute path"),
            ("agings = 0", "is not from 1 to 1000"),
            ("=", "the keys are work, disk and agings"),
        ] {
            let error = parse(text).err().expect(text).to_string();
            assert!(error.contains(why) && !error.contains('\n'), "{text}: {error}");
        }
        assert!(parse("").unwrap().work.is_none());
    }

    #[test]
    fn every_default_work_directory_follows() {
        let file = parse("disk = 'ssd-sata'\nagings = 7").unwrap();
        let command = Config { work: "/w".into(), file }.apply(crate::args::command());
        let mut works = 0;
        let mut see = |below: &Command| {
            for arg in below.get_arguments().filter(|arg| arg.get_id() == "work") {
                assert_ne!(arg.get_default_values(), [WORK], "{}", below.get_name());
                works += usize::from(arg.get_default_values() == ["/w"]);
            }
        };
        for below in command.get_subcommands() {
            see(below);
            below.get_subcommands().for_each(&mut see);
        }
        assert!(works >= 6, "{works}");
        let default = |name: &str, id: &str| {
            let compare = command.find_subcommand(name).expect(name);
            let arg = compare.get_arguments().find(|arg| arg.get_id() == id).expect(id);
            arg.get_default_values().to_vec()
        };
        assert_eq!(default("compare", "disk"), ["ssd-sata"]);
        assert_eq!(default("compare", "agings"), ["7"]);
        assert_eq!(default("demo", "work"), ["senesce-demo"]);
    }
}
