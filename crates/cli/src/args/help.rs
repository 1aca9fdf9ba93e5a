//! The order of long help: the options that most users need come first, and alone in the short help (`-h`); the others follow by area.

use clap::{Arg, Command};

/// The options of a command, by heading. The first group is that of the short help.
type Groups = &'static [(&'static str, &'static [&'static str])];

/// The name of the first group, as of clap.
const OPTIONS: &str = "Options";

/// The commands with many options.
const ARRANGED: [(&str, Groups); 6] = [
    ("age", AGE),
    ("compare", COMPARE),
    ("gate", GATE),
    ("reproduce", REPRODUCE),
    ("metadata", METADATA),
    ("personality", PERSONALITY),
];

/// The options of a measurement in virtual time.
const VIRTUAL_TIME: (&str, &[&str]) = ("Virtual time", &["clock", "seeds", "kernel", "modules", "mkfs_opts"]);

const PERSONALITY: Groups = &[
    (
        OPTIONS,
        &[
            "personality",
            "on",
            "against",
            "disk",
            "repeat",
            "time",
            "operations",
            "threads",
            "scale",
            "dirty",
            "seed",
            "work",
            "json",
        ],
    ),
    VIRTUAL_TIME,
];

const AGE: Groups = &[
    (OPTIONS, &["fs", "size", "profile", "fullness", "seed", "work", "name", "resume", "plan_only", "json"]),
    (
        "Profiles",
        &[
            "method",
            "overwrites",
            "churn",
            "time",
            "fit",
            "threads",
            "data",
            "on_full",
            "no_fill",
            "save_trace",
        ],
    ),
    ("Measuring on the way", &["every", "repeat"]),
    (
        "Other workloads",
        &[
            "workload_kind",
            "set",
            "git",
            "mail",
            "intrafile",
            "interfile",
            "filesize",
            "trace",
            "snapshots",
            "files",
            "rounds",
            "live",
            "extracted",
        ],
    ),
    ("Git histories", &["repo", "pulls", "order", "gc", "no_objects"]),
    ("Mail servers", &["days", "users", "mailboxes", "messages", "operations", "port"]),
    ("Snapshots", &["published", "short_lived"]),
    ("File system", &["mkfs_opts", "mount_opts", "read_ahead_kb"]),
    ("Place", &["image_dir", "memory", "disk", "clock", "dir", "device", "erase"]),
    ("Virtual machines", &["kernel", "modules"]),
];

const COMPARE: Groups = &[
    (OPTIONS, &["names", "fs", "agings", "size", "profile", "repeat", "disk", "work", "resume", "json"]),
    ("Matrices", &["matrix", "shard", "recorded"]),
    ("Aging", &["fullness", "overwrites", "churn", "seed", "mkfs_opts", "mount_opts", "name", "memory"]),
    ("Measuring", &["reader", "no_new_file"]),
    ("Virtual machines", &["across", "kernel", "modules"]),
];

const GATE: Groups = &[
    (OPTIONS, &["new", "against", "learn", "fs", "agings", "changed", "measures", "work", "resume", "json"]),
    ("Judging", &["false_alarms"]),
    ("Results for other programs", &["junit", "tap", "markdown"]),
    ("File system", &["mkfs_opts", "mount_opts"]),
    ("Aging, to learn", &["size", "memory", "profile", "fullness", "overwrites", "churn", "seed"]),
    ("Measuring, to learn", &["repeat", "reader", "disk", "no_new_file"]),
    ("Virtual machines", &["kernel", "modules"]),
];

const REPRODUCE: Groups = &[
    (OPTIONS, &["figures", "list", "status", "claims", "scale", "agings", "fs", "resume", "work", "json"]),
    ("More", &["markdown", "shard", "repo", "image_dir", "store"]),
];

const METADATA: Groups = &[
    (
        OPTIONS,
        &[
            "interface",
            "root",
            "on",
            "ranks",
            "data_sets",
            "precreate",
            "iterations",
            "repeats",
            "object_size",
            "work",
            "json",
        ],
    ),
    ("Services", &["url", "credentials"]),
    (
        "Load",
        &[
            "processes",
            "offset",
            "start_item",
            "stonewall",
            "wear_out",
            "waiting",
            "read_only",
            "write_first",
            "set_by_set",
            "seed",
        ],
    ),
    ("Phases", &["phases", "run_info", "ignore_precreate_errors", "no_verify"]),
    ("Memory", &["memory", "free_memory", "free_memory_between"]),
    VIRTUAL_TIME,
    ("Results", &["name", "process_reports", "latencies", "import"]),
];

/// The command, with the options of each command in this order.
pub fn arrange(command: Command) -> Command {
    let groups = ARRANGED.iter().find(|(name, _)| *name == command.get_name()).map(|(_, groups)| *groups);
    let command = match groups {
        Some(groups) => command.mut_args(|arg| arranged(groups, arg)),
        None => command,
    };
    command.mut_subcommands(arrange)
}

fn arranged(groups: Groups, arg: Arg) -> Arg {
    let ids = groups.iter().flat_map(|(heading, ids)| ids.iter().map(move |id| (*heading, *id)));
    let found = ids.enumerate().find(|(_, (_, id))| arg.get_id() == id);
    match found {
        Some((order, (OPTIONS, _))) if arg.is_positional() => arg.display_order(order),
        Some((order, (OPTIONS, _))) => arg.display_order(order).help_heading(None::<&str>),
        Some((order, (heading, _))) => arg.display_order(order).help_heading(heading).hide_short_help(true),
        None => arg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn command(name: &str) -> Command {
        let program = crate::args::command();
        let bench = program.find_subcommand("bench").expect("there are benchmarks");
        program.find_subcommand(name).or_else(|| bench.find_subcommand(name)).expect(name).clone()
    }

    #[test]
    fn every_option_is_in_one_group() {
        for (name, groups) in ARRANGED {
            let listed: Vec<&str> = groups.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
            let unique: BTreeSet<&str> = listed.iter().copied().collect();
            assert_eq!(unique.len(), listed.len(), "{name}");
            let command = command(name);
            let options: BTreeSet<&str> = command.get_arguments().map(|arg| arg.get_id().as_str()).collect();
            assert_eq!(unique, options, "{name}");
        }
    }

    #[test]
    fn short_help_has_one_short_line_for_each_common_option() {
        for (name, groups) in ARRANGED {
            let command = command(name);
            for id in groups[0].1 {
                let arg = command.get_arguments().find(|arg| arg.get_id() == id).expect(id);
                let help = arg.get_help().expect(id).to_string();
                let said = help.split(" [").next().unwrap_or_default();
                assert!(said.chars().count() <= 60, "{name} {id}: {said}");
            }
            let short = command.clone().term_width(100).render_help().to_string();
            assert!(short.lines().count() <= 26, "{name}:\n{short}");
            assert!(short.contains("--help"), "{name}:\n{short}");
        }
    }

    #[test]
    fn commands_are_described_in_a_short_line() {
        fn check(command: &Command) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let length = about.chars().count();
            assert!((1..60).contains(&length), "{}: {about}", command.get_name());
            command.get_subcommands().for_each(check);
        }
        crate::args::command().get_subcommands().for_each(check);
    }
}
