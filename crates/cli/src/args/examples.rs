//! Examples, for long help and man pages.

use clap::Command;

/// A command, without `senesce`, and examples of it: what it does, and the command line.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "",
        &[
            ("See what works on this machine", "senesce doctor"),
            ("Age an image as Windows desktops of 2004 were used", "senesce age --fs ext4 --size 2GiB"),
            ("Measure it beside its unaged copy", "senesce compare"),
            ("Show all results on one page", "senesce report -o report.html"),
        ],
    ),
    ("demo", &[("Run a smaller demonstration", "senesce demo --size 200MiB --agings 1")]),
    (
        "age",
        &[
            ("Show the cost first", "senesce age --fs xfs --size 4GiB --plan-only"),
            (
                "Age a fuller file system by another profile",
                "senesce age --fs xfs --profile meyer --fullness 0.9",
            ),
            ("Age without root", "senesce age --dir /mnt/test --size 1GiB"),
            (
                "Pull a git history, and measure after every 100 pulls",
                "senesce age --git linux.git --every 100",
            ),
            ("Continue after a kill", "senesce age --fs xfs --size 4GiB --resume"),
        ],
    ),
    (
        "compare",
        &[
            ("Compare all aged file systems of the work directory", "senesce compare"),
            (
                "Age and compare two kinds five times each",
                "senesce compare --fs ext4,xfs --agings 5 --size 1GiB",
            ),
            ("Compare options of mkfs", "senesce compare --fs ext4 --mkfs-opts= --mkfs-opts='-O ^flex_bg'"),
            (
                "Compare every combination of file system and mount option",
                "senesce compare --matrix fs=ext4,xfs 'mount=|discard'",
            ),
        ],
    ),
    (
        "gate",
        &[
            (
                "Learn what chance does, on a good kernel",
                "senesce gate --learn 20 --against ext4.json --fs ext4",
            ),
            ("Test another kernel", "senesce gate --against ext4.json --changed kernel"),
            ("Test a mount option", "senesce gate --against ext4.json --mount-opts nodelalloc"),
            (
                "Write a summary for GitHub",
                "senesce gate --against ext4.json --markdown $GITHUB_STEP_SUMMARY",
            ),
        ],
    ),
    (
        "probe",
        &[
            (
                "Read all files of an image from a cold cache",
                "senesce probe scan senesce-work/ext4-agrawal-42.img",
            ),
            ("Show the layout score of a live tree", "senesce probe layout /home"),
        ],
    ),
    (
        "bench",
        &[(
            "Run a file server on an aged file system and its unaged copy",
            "senesce bench fileserver --on senesce-work/ext4-agrawal-42.img",
        )],
    ),
    (
        "bench metadata",
        &[
            (
                "Create, stat, read and delete small files with 4 ranks",
                "senesce bench metadata --root /mnt/test/md --ranks 4",
            ),
            ("Do so on an aged file system", "senesce bench metadata --on senesce-work/ext4-agrawal-42.img"),
        ],
    ),
    ("profile", &[("Capture the profile of a live tree", "senesce profile capture /home -o home.toml")]),
    (
        "image",
        &[
            (
                "Save an aged file system to a compact file",
                "senesce image save ext4-agrawal-42 --to ext4.senesce",
            ),
            ("Restore it elsewhere", "senesce image restore ext4.senesce --work other"),
        ],
    ),
    (
        "reproduce",
        &[
            ("List the figures", "senesce reproduce"),
            ("Reproduce one", "senesce reproduce fast17-fig5"),
            ("Show all verdicts", "senesce reproduce --status"),
        ],
    ),
    (
        "referee",
        &[(
            "Pull the history of a clone, and set the costs beside those of real disks",
            "senesce referee --repo linux.git --pulls 1000",
        )],
    ),
    (
        "report",
        &[(
            "Show two of the compared file systems",
            "senesce report ext4-agrawal-42 xfs-agrawal-42 -o report.html",
        )],
    ),
    ("export", &[("Export all measurements", "senesce export --format csv -o all.csv")]),
    (
        "completions",
        &[("Complete commands, options and names in this shell", "source <(senesce completions bash)")],
    ),
];

/// The examples of a command, by its words without `senesce`.
pub fn of(typed: &str) -> &'static [(&'static str, &'static str)] {
    EXAMPLES.iter().find(|(name, _)| *name == typed).map_or(&[], |(_, examples)| examples)
}

/// The command, with examples behind the long help.
pub fn add(command: Command) -> Command {
    with_examples(command, "")
}

fn with_examples(command: Command, typed: &str) -> Command {
    let text: String = of(typed).iter().map(|(what, line)| format!("\n  {what}:\n    {line}\n")).collect();
    let command = if text.is_empty() {
        command
    } else {
        command.after_long_help(format!("Examples:\n{}", text.trim_start_matches('\n')))
    };
    command.mut_subcommands(|below| {
        let typed = format!("{typed} {}", below.get_name());
        with_examples(below, typed.trim_start())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_of_commands_and_are_accepted() {
        let mut program = crate::args::command();
        for (typed, examples) in EXAMPLES {
            let words = typed.split_whitespace();
            let found = words.clone().try_fold(&program, |command, word| command.find_subcommand(word));
            assert!(found.is_some(), "{typed}");
            for (_, line) in *examples {
                // The shell takes what is around the command of completions.
                let line = line.trim_start_matches("source <(").trim_end_matches(')');
                let line = line
                    .replace("bench fileserver", "bench personality fileserver")
                    .replace("'-O ^flex_bg'", "-O")
                    .replace('\'', "");
                if let Err(error) = program.try_get_matches_from_mut(line.split_whitespace()) {
                    panic!("{line}: {error}");
                }
            }
        }
    }
}
