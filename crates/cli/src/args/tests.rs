//! All commands, against the book and against the help that users know.

use std::path::Path;

use clap::CommandFactory as _;
use expect_test::expect_file;

use super::Senesce;

/// Calls `see` with each command as it is typed, those with subcommands too. Commands that the program runs itself are hidden; `help`
/// repeats the others.
fn for_each(command: &clap::Command, above: &str, see: &mut impl FnMut(&str, &clap::Command)) {
    let typed = format!("{above}{}", command.get_name());
    see(&typed, command);
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    shown.for_each(|below| for_each(below, &format!("{typed} "), see));
}

/// The whole command line, as it is when the program runs.
fn program() -> clap::Command {
    let mut program = Senesce::command().term_width(100);
    program.build();
    program
}

#[test]
fn book_lists_every_command() {
    // The introduction has a table of all commands.
    let book = include_str!("../../../../docs/src/introduction.md");
    let mut commands = Vec::new();
    for_each(&Senesce::command(), "", &mut |typed, command| {
        if !command.has_subcommands() {
            commands.push(typed.to_owned());
        }
    });
    assert!(commands.len() > 40, "{commands:?}");
    // The words of a command share a line: `| `senesce disk` | `create` `mount` … |`.
    let is_on = |line: &str, command: &str| command.split(' ').all(|word| line.contains(word));
    commands.retain(|command| !book.lines().any(|line| is_on(line, command)));
    assert_eq!(commands, [""; 0], "not in the book");
}

/// A help that changes is a change for users: `UPDATE_EXPECT=1` writes the new one, to be read in the diff.
#[test]
fn help_of_every_command_matches_golden_file() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/help");
    let mut expected = Vec::new();
    for_each(&program(), "", &mut |typed, command| {
        let file = format!("{}.txt", typed.replace(' ', "-"));
        expect_file![golden.join(&file)].assert_eq(&command.clone().render_long_help().to_string());
        expected.push(file);
    });
    let mut found: Vec<_> = std::fs::read_dir(&golden)
        .expect("the helps are on file")
        .map(|entry| entry.expect("it is listed").file_name().into_string().expect("its name is text"))
        .collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "the help of each command, and of no other");
}
