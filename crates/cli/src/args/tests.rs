//! Checks that the documentation lists every command, and compares the help texts with the golden files.

use std::path::Path;

use expect_test::expect_file;

/// Calls `see` with each command and the words that a user types for it, including commands with subcommands. Skips hidden commands, which only the
/// program itself runs, and `help`, which repeats the others.
fn for_each(command: &clap::Command, above: &str, see: &mut impl FnMut(&str, &clap::Command)) {
    let typed = format!("{above}{}", command.get_name());
    see(&typed, command);
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    shown.for_each(|below| for_each(below, &format!("{typed} "), see));
}

/// The root command, built as in a run of the program.
fn program() -> clap::Command {
    let mut program = super::command().term_width(100);
    program.build();
    program
}

#[test]
fn book_lists_every_command() {
    // The introduction contains a table of all commands.
    let book = include_str!("../../../../docs/src/introduction.md");
    let mut commands = Vec::new();
    for_each(&super::command(), "", &mut |typed, command| {
        if !command.has_subcommands() {
            commands.push(typed.to_owned());
        }
    });
    assert!(commands.len() > 40, "{commands:?}");
    // All words of a command are on one line: `| `senesce disk` | `create` `mount` … |`.
    let is_on = |line: &str, command: &str| command.split(' ').all(|word| line.contains(word));
    commands.retain(|command| !book.lines().any(|line| is_on(line, command)));
    assert_eq!(commands, [""; 0], "commands missing in the introduction");
}

/// A changed help text is a change for users. `UPDATE_EXPECT=1` updates the golden files; review their diff.
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
        .expect("directory of golden files is readable")
        .map(|entry| entry.expect("entry is readable").file_name().into_string().expect("file name is UTF-8"))
        .collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "golden files do not match the commands");
}
