//! The subcommands, one file each.

mod activity;
mod age;
mod aged;
mod bench;
mod betreefs;
mod cleanup;
mod compare;
mod compare_layout;
mod demo;
mod disk;
mod doctor;
mod experiment;
mod export;
mod ffs;
mod gate;
mod generate;
mod image;
mod probe;
mod profile;
mod report;
mod serve;
mod snapshot;
mod store;
mod trace;
mod verify;
mod vm_dispatch;

pub use compare::complete;
pub use generate::COMPLETE_VARIABLE;
pub use vm_dispatch::FailedInVm;

use crate::args::{Command, DiskAction, Senesce, ServedDisk};
use crate::messages;
use anyhow::{Result, bail};

/// Runs the given command.
pub fn run(args: Senesce) -> Result<()> {
    messages::set_level(args.level.level());
    let runs = matches!(
        args.command,
        Command::Age(_)
            | Command::Bench(_)
            | Command::Compare(_)
            | Command::Demo(_)
            | Command::Gate(_)
            | Command::Image(_)
            | Command::Probe(_)
            | Command::CompareLayout(_)
            | Command::Run(_)
            | Command::Reproduce(_)
            | Command::Referee(_)
            | Command::Verify(_)
    );
    // Probes and commands for saved images accept any file name.
    if runs && !matches!(args.command, Command::Image(_) | Command::Probe(_)) {
        check_utf8_arguments()?;
    }
    // Runs before any thread starts, so that every mount is private to this process and disappears with it.
    if runs {
        ::disk::isolate()?;
        ::disk::catch_interrupts();
    }
    if matches!(
        args.command,
        Command::Compare(_)
            | Command::Demo(_)
            | Command::Gate(_)
            | Command::Probe(_)
            | Command::CompareLayout(_)
            | Command::Run(_)
            | Command::Reproduce(_)
            | Command::Referee(_)
    ) {
        ranks::mpi::require_single_process()?;
    }
    // `disk mount` stays in the mount namespace of the caller, because other processes use the mount.
    if let Command::Disk(disk) = &args.command
        && matches!(disk.action, DiskAction::Served(ServedDisk::Mount { .. }))
    {
        ::disk::catch_interrupts();
    }
    match args.command {
        Command::Doctor(json) => doctor::run(&json),
        Command::Demo(demo) => demo::run(&demo),
        Command::Age(age) => age::run(&age),
        Command::Bench(bench) => self::bench::run(&bench.bench),
        Command::Probe(probe) => probe::run(&probe.probe),
        Command::Compare(compare) => compare::run(&compare),
        Command::CompareLayout(compare_layout) => self::compare_layout::run(&compare_layout),
        Command::Verify(verify) => self::verify::run(&verify),
        Command::Run(run) => experiment::run(&run),
        Command::Reproduce(reproduce) => experiment::reproduce(&reproduce),
        Command::Referee(referee) => experiment::referee(&referee),
        Command::Disk(disk) => self::disk::run(&disk.action),
        Command::Betreefs(betreefs) => self::betreefs::run(&betreefs.action),
        Command::Gate(gate) => gate::run(&gate),
        Command::Image(image) => self::image::run(&image.action),
        Command::Ffs(ffs) => self::ffs::run(&ffs),
        Command::Profile(profile) => profile::run(&profile.action),
        Command::Activity(activity) => self::activity::run(&activity.action),
        Command::Snapshot(snapshot) => self::snapshot::run(&snapshot.action),
        Command::Trace(trace) => trace::run(&trace.action),
        Command::Store(store) => self::store::run(&store.action),
        Command::Report(report) => report::run(&report),
        Command::Serve(serve) => self::serve::run(&serve),
        Command::Export(export) => export::run(&export),
        Command::Cleanup(json) => cleanup::run(&json),
        Command::Man { dir } => generate::man(&dir),
        Command::Completions { shell } => generate::completions(shell),
    }
}

/// Rejects arguments and a current directory that are not UTF-8, because run records store paths and the command line as text.
fn check_utf8_arguments() -> Result<()> {
    if let Some(argument) = std::env::args_os().skip(1).find(|argument| argument.to_str().is_none()) {
        bail!("argument {argument:?} is not UTF-8, but run records are text; choose another name");
    }
    match std::env::current_dir() {
        Ok(dir) if dir.to_str().is_none() => {
            bail!(
                "current directory {dir:?} is not UTF-8, but run records are text; change to another directory"
            )
        }
        _ => Ok(()),
    }
}

/// The command line in shell syntax, without secrets, for the run record.
fn command_line() -> String {
    let quoted = |arg: std::ffi::OsString| {
        let arg = input::without_secrets(&arg.to_string_lossy());
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
        if !arg.is_empty() && arg.chars().all(plain) {
            arg
        } else {
            format!("'{}'", arg.replace('\'', "'\\''"))
        }
    };
    let args = std::env::args_os().skip(1).map(quoted);
    std::iter::once("senesce".to_owned()).chain(args).collect::<Vec<_>>().join(" ")
}
