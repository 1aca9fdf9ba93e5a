//! Generates man pages and shell completions from the arguments.

use crate::args::{self, examples};
use crate::config;
use anyhow::{Context as _, Result};
use clap::Command;
use clap_complete::Shell;
use clap_complete::env::Shells;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::io::Write as _;
use std::path::Path;

/// The variable by which a shell asks for completions.
pub const COMPLETE_VARIABLE: &str = "SENESCE_COMPLETE";

/// A heading, and the terms below it.
type Section = (&'static str, &'static [(&'static str, &'static str)]);

/// The sections that all pages share.
const SECTIONS: [Section; 3] = [
    (
        "EXIT STATUS",
        &[
            ("0", "Done."),
            ("1", "Failed; standard error says what, why, and what to do."),
            ("2", "Wrong usage."),
            (
                "3",
                "Worse than before: a measure of a gate, or a claim of an experiment that held in its last run.",
            ),
        ],
    ),
    (
        "ENVIRONMENT",
        &[
            (config::WORK_VARIABLE, "Default work directory."),
            (
                "SENESCE_IMAGES",
                "Library of saved images [default: senesce/images in the data directory of the user].",
            ),
            ("SENESCE_RUN_DIR", "Records of mounts and loop devices [default: /run/senesce for root]."),
        ],
    ),
    (
        "FILES",
        &[
            (
                "~/.config/senesce.toml",
                "Defaults: work (work directory), disk (device model of compare and probe scan), agings (of compare).",
            ),
            ("senesce-work/", "Default work directory: images, manifests and the result store senesce.db."),
            ("/run/senesce/", "Records of mounts and loop devices, for senesce cleanup after a crash."),
        ],
    ),
];

pub fn man(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
    let mut program = args::command().disable_help_subcommand(true);
    program.build();
    pages(&program, "", dir)
}

/// Writes the pages of a command and of those below it. `typed` are its words without `senesce`.
fn pages(command: &Command, typed: &str, dir: &Path) -> Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        pages(below, format!("{typed} {}", below.get_name()).trim_start(), dir)?;
    }
    let man = Man::new(command.clone());
    let path = dir.join(man.get_filename());
    let page = page(&man, command, typed).context("formatting a man page")?;
    std::fs::write(&path, page).with_context(|| format!("writing {}", path.display()))
}

fn page(man: &Man, command: &Command, typed: &str) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut rest = Roff::default();
    let examples = examples::of(typed);
    if !examples.is_empty() {
        rest.control("SH", ["EXAMPLES"]);
    }
    for (what, line) in examples {
        rest.control("PP", []);
        rest.text([roman(format!("{what}:"))]);
        rest.control("PP", []);
        rest.control("RS", ["4"]);
        rest.text([bold(*line)]);
        rest.control("RE", []);
    }
    for (heading, terms) in SECTIONS {
        rest.control("SH", [heading]);
        for (term, meaning) in terms {
            rest.control("TP", []);
            rest.text([bold(*term)]);
            rest.text([roman(*meaning)]);
        }
    }
    page.write_all(rest.to_roff().as_bytes())?;
    Ok(page)
}

/// Prints the script that makes a shell ask this program for completions.
pub fn completions(shell: Shell) -> Result<()> {
    let shells = Shells::builtins();
    let name = shell.to_string();
    let completer = shells.completer(&name).with_context(|| format!("{name} has no completions"))?;
    let mut script = Vec::new();
    completer.write_registration(COMPLETE_VARIABLE, "senesce", "senesce", "senesce", &mut script)?;
    std::io::stdout().write_all(&script).context("writing to standard output")
}
