//! Completions that know what only the program knows: file systems, profiles, figures, device models, and the names in the work directory.

use crate::config;
use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The command, with its values.
pub fn add(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command.mut_args(|arg| with_values(&name, arg)).mut_subcommands(add)
}

fn with_values(command: &str, arg: Arg) -> Arg {
    let completer = match (command, arg.get_id().as_str()) {
        ("age" | "compare" | "verify", "fs") => named(fs_kinds),
        ("age" | "compare", "profile") | ("show" | "check", "name") => named_or_file(profiles),
        ("reproduce", "figures") => named(figures),
        ("compare" | "report", "names") => named(aged),
        ("save", "name") => named_or_file(aged),
        ("personality", "personality") => named_or_file(personalities),
        ("scan" | "layout" | "warm-scan" | "transfer-size" | "compare" | "age", "disk") => {
            named_or_file(models)
        }
        (_, "model") => named_or_file(models),
        _ => return arg,
    };
    arg.add(completer)
}

/// Completes names.
fn named(names: fn() -> Vec<String>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| matching(&names(), typed))
}

/// Completes names and paths.
fn named_or_file(names: fn() -> Vec<String>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let mut found = matching(&names(), typed);
        found.extend(PathCompleter::any().complete(typed));
        found
    })
}

fn matching(names: &[String], typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    names.iter().filter(|name| name.starts_with(&*typed)).map(CompletionCandidate::new).collect()
}

fn fs_kinds() -> Vec<String> {
    fs::kinds().iter().map(|kind| kind.name().to_owned()).collect()
}

fn profiles() -> Vec<String> {
    profile::builtin().map(str::to_owned).collect()
}

fn figures() -> Vec<String> {
    experiment::Experiment::builtin().chain(["all"]).map(str::to_owned).collect()
}

fn personalities() -> Vec<String> {
    bench::personality::builtin().map(str::to_owned).collect()
}

fn models() -> Vec<String> {
    disk::Model::builtin().map(|model| model.name().to_owned()).collect()
}

/// The names in the work directory: that of `--work` in the typed line, or the default.
fn aged() -> Vec<String> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let given = words.windows(2).find(|pair| pair[0] == "--work").map(|pair| PathBuf::from(&pair[1]));
    let work = given.unwrap_or_else(|| config::work_dir().to_owned());
    crate::commands::complete(&work)
        .map_or_else(|_| Vec::new(), |aged| aged.into_iter().map(|one| one.name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_options_are_completed() {
        let program = add(crate::args::command());
        let complete = |command: &str, id: &str, typed: &str| {
            let command = program.find_subcommand(command).expect(command);
            let arg = command.get_arguments().find(|arg| arg.get_id() == id).expect(id);
            let completer = arg.get::<ArgValueCompleter>().expect("the values are known");
            let found = completer.complete(OsStr::new(typed));
            found.iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(complete("age", "fs", "xf"), ["xfs"]);
        assert_eq!(complete("compare", "profile", "agr"), ["agrawal"]);
        assert!(complete("reproduce", "figures", "fast17").len() > 5);
        assert!(complete("age", "disk", "hdd").len() > 1);
    }
}
