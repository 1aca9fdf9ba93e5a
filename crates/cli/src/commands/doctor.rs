//! `senesce doctor`: what works on this machine, what does not, and the commands that repair it.

use crate::args::Json;
use crate::output;
use anyhow::Result;
use serde::Serialize;
use std::fmt::Display;
use std::path::Path;

/// The result of one check.
#[derive(Serialize)]
struct Finding {
    what: String,
    works: bool,
    /// What works with it, or what does not work without it and why.
    detail: String,
    /// The command that repairs it; `None` if it works, or if no command is known.
    repair: Option<String>,
}

pub fn run(args: &Json) -> Result<()> {
    let findings = findings();
    if args.json {
        return output::json(&findings);
    }
    let row = |finding: &Finding| {
        let mark = if finding.works { "✓" } else { "✗" };
        [mark, &finding.what, &finding.detail].map(str::to_owned).to_vec()
    };
    output::table(&["", "needs", "for"], findings.iter().map(row))?;
    let broken: Vec<&Finding> = findings.iter().filter(|finding| !finding.works).collect();
    if broken.is_empty() {
        return output::line("\nEverything works.");
    }
    output::line(&format!("\n{} of {} do not work. To repair:", broken.len(), findings.len()))?;
    let repair = |finding: &&Finding| {
        vec![
            finding.what.clone(),
            finding.repair.clone().unwrap_or_else(|| "no command known; see above".to_owned()),
        ]
    };
    output::table(&["", ""], broken.iter().map(repair))
}

fn findings() -> Vec<Finding> {
    let mut findings = machine();
    findings.extend(programs());
    findings.extend(fs::kinds().iter().map(|kind| file_system(*kind)));
    findings
}

/// What the kernel and the container provide.
fn machine() -> Vec<Finding> {
    let root = rustix::process::geteuid().is_root();
    let looped = Path::new("/dev/loop-control").exists();
    let fuse = std::fs::File::options().read(true).write(true).open("/dev/fuse").is_ok();
    // Only computes the expected hardening: applying it would change this process.
    let lacks = disk::modelled::Hardening::expected().lacks();
    let shm = disk::free_bytes(Path::new("/dev/shm"));
    vec![
        check("root", root, "images, devices and cold caches", "only --dir works", Some("sudo -i")),
        check(
            "loop devices",
            looped,
            "file systems in image files",
            "only --dir and --device work",
            Some("modprobe loop"),
        ),
        check(
            "FUSE",
            root && fuse,
            "modelled disks (--disk) and betreefs",
            "neither works",
            Some(if root { "modprobe fuse" } else { "sudo -i" }),
        ),
        tried(
            "protected servers",
            lacks
                .map_or(Ok(()), |lacks| Err(format!("{lacks}; in a container, grant it these capabilities"))),
            "modelled disks when memory is short",
            "modelled disks may hang when memory is short",
        ),
        tried(
            "request traces",
            probe::blocktrace::available(),
            "dynamic layout scores and modelled times",
            "no dynamic layout scores and modelled times",
        ),
        tried(
            "memory limits",
            disk::MemoryLimit::available(),
            "warm scans (probe warm-scan)",
            "no warm scans",
        ),
        Finding {
            what: "/dev/shm".to_owned(),
            works: shm.is_ok(),
            detail: shm.as_ref().map_or_else(
                |_| "no images in memory".to_owned(),
                |free| format!("images in memory (--memory), {} free", input::bytes(*free)),
            ),
            repair: shm.is_err().then(|| "mount -t tmpfs tmpfs /dev/shm".to_owned()),
        },
    ]
}

/// Programs of other packages, and virtual machines.
fn programs() -> Vec<Finding> {
    let program = |name: &'static str, works, fails| {
        let repair = format!("apt install {name}");
        check(name, disk::require_tool(name, name).is_ok(), works, fails, Some(&repair))
    };
    let dovecot = workload::mail::find_dovecot();
    let repair = match &dovecot {
        Err(workload::Error::Disk(error)) => install(error),
        _ => None,
    };
    vec![
        program("grep", "cold scans", "scans need --reader builtin"),
        program("fio", "fio jobs (bench fio)", "no fio jobs"),
        program("git", "real git (age --git --live)", "no aging by the real git"),
        program("curl", "images of catalogues (image fetch)", "no images of remote catalogues"),
        Finding {
            repair,
            ..tried(
                "Dovecot",
                dovecot,
                "a real mail server (age --mail --live)",
                "no aging by a real mail server",
            )
        },
        virtual_machines(),
    ]
}

/// Whether virtual machines can be started. Does not check KVM; the start of a virtual machine does.
fn virtual_machines() -> Finding {
    let (qemu, kernel) = (vm::qemu_version(), vm::Kernel::find(&[]));
    let repair = qemu.as_ref().err().or(kernel.as_ref().err()).and_then(repair_of_machine);
    let release = kernel.and_then(|kernel| kernel.release());
    let (works, detail) = match (qemu, release) {
        (Ok(qemu), Ok(release)) => {
            (true, format!("file systems that this kernel lacks (QEMU {qemu}, Linux {release})"))
        }
        (Err(why), _) | (_, Err(why)) => (false, format!("no other kernels: {why}")),
    };
    Finding { what: "virtual machines".to_owned(), works, detail, repair }
}

/// Whether a file system can be made, here or in a virtual machine.
fn file_system(kind: &dyn fs::FileSystem) -> Finding {
    let what = kind.name().to_owned();
    let aging = |version: &str| format!("--fs {what} ({version})");
    let broken = |why: String, repair| Finding { what: what.clone(), works: false, detail: why, repair };
    let tools = if fs::can_mount(kind) { fs::ready(kind) } else { fs::require_tools(kind) };
    if let Err(why) = tools {
        let repair = match &why {
            fs::Error::Disk(error) => install(error),
            fs::Error::NeedsRoot(_) => Some("sudo -i".to_owned()),
            _ => None,
        };
        return broken(why.to_string(), repair);
    }
    let version = kind.version();
    if fs::can_mount(kind) {
        return Finding { what: what.clone(), works: true, detail: aging(&version), repair: None };
    }
    match vm::Kernel::find(&kind.modules()).and_then(|kernel| kernel.release()) {
        Ok(release) => {
            let tool = version.split(';').next().unwrap_or_default();
            let detail = aging(&format!("{tool}; in a virtual machine, Linux {release}"));
            Finding { what: what.clone(), works: true, detail, repair: None }
        }
        Err(why) => broken(format!("not in this kernel; {why}"), repair_of_machine(&why)),
    }
}

/// The command that repairs virtual machines.
fn repair_of_machine(error: &vm::Error) -> Option<String> {
    match error {
        vm::Error::Disk(error) => install(error),
        vm::Error::NoKernel { wanted, .. } => Some(format!("scripts/setup {}", vm::setup_part(wanted))),
        _ => None,
    }
}

/// The command that installs a missing program.
fn install(error: &disk::Error) -> Option<String> {
    match error {
        disk::Error::MissingTool { package, .. } => Some(format!("apt install {package}")),
        _ => None,
    }
}

fn check(what: &str, works: bool, good_for: &str, broken: &str, repair: Option<&str>) -> Finding {
    Finding {
        what: what.to_owned(),
        works,
        detail: if works { good_for } else { broken }.to_owned(),
        repair: repair.filter(|_| !works).map(str::to_owned),
    }
}

/// A check that says why it failed. No command is known that repairs it.
fn tried<T, E: Display>(
    what: &str,
    result: std::result::Result<T, E>,
    good_for: &str,
    broken: &str,
) -> Finding {
    let works = result.is_ok();
    let detail = result.map_or_else(|why| format!("{broken}: {why}"), |_| good_for.to_owned());
    Finding { what: what.to_owned(), works, detail, repair: None }
}
