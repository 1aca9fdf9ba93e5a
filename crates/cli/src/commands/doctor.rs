//! `senesce doctor`.

use crate::args::Json;
use crate::output;
use anyhow::Result;
use serde::Serialize;

/// The result of one check.
#[derive(Serialize)]
struct Finding {
    what: String,
    works: bool,
    /// What needs it, or how to install it if it is missing.
    detail: String,
}

pub fn run(args: &Json) -> Result<()> {
    let findings = findings();
    if args.json {
        return output::json(&findings);
    }
    output::table(
        &["", "", ""],
        findings.into_iter().map(|f| vec![if f.works { "✓" } else { "✗" }.to_owned(), f.what, f.detail]),
    )
}

fn findings() -> Vec<Finding> {
    let root = rustix::process::geteuid().is_root();
    let mut findings = vec![
        finding(
            "root",
            root,
            "images, devices and cold caches",
            "run as root; without root only --dir works",
        ),
        finding(
            "loop devices",
            std::path::Path::new("/dev/loop-control").exists(),
            "file systems on images",
            "load the kernel module loop (modprobe loop)",
        ),
    ];
    let fuse = std::fs::File::options().read(true).write(true).open("/dev/fuse");
    findings.push(finding(
        "FUSE",
        root && fuse.is_ok(),
        "modelled disks (--disk)",
        "load the kernel module fuse (modprobe fuse), and run as root",
    ));
    // Only computes the expected hardening: applying it would change this process.
    let lacks = disk::modelled::Hardening::expected().lacks();
    let remedy = format!("{}; in a container, grant the capability", lacks.as_deref().unwrap_or_default());
    findings.push(finding("hardening", lacks.is_none(), "modelled disks outlast want of memory", &remedy));
    let traced = probe::blocktrace::available();
    let detail = traced.clone().err().unwrap_or_default();
    findings.push(finding("block tracepoints", traced.is_ok(), "dynamic layout scores", &detail));
    findings.push(finding(
        "grep",
        on_path("grep"),
        "scans with grep -r",
        "apt install grep, or use --reader builtin",
    ));
    let limited = disk::MemoryLimit::available();
    let remedy = limited.as_ref().err().map(ToString::to_string).unwrap_or_default();
    findings.push(finding("memory limits", limited.is_ok(), "warm scans with little memory", &remedy));
    findings.push(finding("fio", on_path("fio"), "fio jobs on aged images", "apt install fio"));
    findings.push(finding("git", on_path("git"), "git histories, pulled live", "apt install git"));
    findings.push(finding("curl", on_path("curl"), "saved images of remote catalogues", "apt install curl"));
    findings.push(machine());
    for kind in fs::kinds() {
        if !fs::can_mount(*kind) {
            findings.push(in_machine(*kind));
            continue;
        }
        let ready = fs::ready(*kind);
        let remedy = ready.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let what = kind.name();
        let version = if ready.is_ok() { kind.version() } else { String::new() };
        findings.push(finding(what, ready.is_ok(), &version, &remedy));
    }
    let dovecot = workload::mail::find_dovecot();
    let remedy = dovecot.as_ref().err().map(ToString::to_string).unwrap_or_default();
    findings.push(finding("Dovecot", dovecot.is_ok(), "aging by mail, live", &remedy));
    let free = disk::free_bytes(std::path::Path::new("/dev/shm"));
    let detail =
        free.as_ref().map(|f| format!("{} for images (--memory)", input::bytes(*f))).unwrap_or_default();
    findings.push(finding("/dev/shm", free.is_ok(), &detail, "mount a tmpfs there for images in memory"));
    findings
}

/// Whether virtual machines can be started. Does not check KVM; the start of a virtual machine does.
fn machine() -> Finding {
    let (qemu, kernel) = (vm::qemu_version(), vm::Kernel::find(&[]));
    let release = kernel.as_ref().ok().and_then(|kernel| kernel.release().ok());
    let detail = match (&qemu, release) {
        (Ok(qemu), Some(release)) => {
            format!("QEMU {qemu}, Linux {release}: file systems missing in this kernel")
        }
        _ => String::new(),
    };
    let wrong = qemu.err().or(kernel.err()).map(|e| e.to_string());
    finding("virtual machines", wrong.is_none(), &detail, wrong.as_deref().unwrap_or_default())
}

/// Whether a virtual machine can provide a file system that this kernel lacks.
fn in_machine(kind: &dyn fs::FileSystem) -> Finding {
    let release = vm::Kernel::find(&kind.modules()).and_then(|kernel| kernel.release());
    let tools = fs::require_tools(kind);
    let detail = format!(
        "in a virtual machine, Linux {}: {}",
        release.as_deref().unwrap_or_default(),
        kind.version().split(';').next().unwrap_or_default()
    );
    let wrong = release.err().map(|e| e.to_string()).or(tools.err().map(|e| e.to_string()));
    let remedy = format!("not supported by this kernel; {}", wrong.as_deref().unwrap_or_default());
    finding(kind.name(), wrong.is_none(), &detail, &remedy)
}

fn finding(what: &str, works: bool, good_for: &str, remedy: &str) -> Finding {
    Finding { what: what.to_owned(), works, detail: if works { good_for } else { remedy }.to_owned() }
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}
