//! Ranks started by mpirun: they do the same as threads and processes, and stop together.
//!
//! Most of these tests need a program built with the feature `mpi`; `make soak` builds it.

use crate::common::{Lab, text};

/// Runs the program with the environment variables of a launcher, like its ranks.
fn as_rank(lab: &Lab, line: &str) -> std::process::Output {
    lab.command(line.split_whitespace()).env("OMPI_COMM_WORLD_SIZE", "4").output().unwrap()
}

#[test]
fn single_process_commands_are_refused_for_several_ranks() {
    let lab = Lab::new();
    for line in ["compare --work work", "demo", "probe scan ."] {
        let output = as_rank(&lab, line);
        assert_eq!(output.status.code(), Some(1), "{line}");
        let expected = "4 copies of this program were started";
        assert!(text(&output.stderr).contains(expected), "{line}: {}", text(&output.stderr));
    }
    assert_eq!(lab.entries(), Vec::<String>::new(), "no file must be created");
}

#[cfg(not(feature = "mpi"))]
#[test]
fn several_ranks_without_mpi_are_refused() {
    let lab = Lab::new();
    for line in ["bench metadata --root out", "bench metadata --interface null", "age --dir . --size 64MiB"] {
        let output = as_rank(&lab, line);
        assert_eq!(output.status.code(), Some(1), "{line}");
        let said = text(&output.stderr);
        assert!(said.contains("built without MPI: rebuild it with `--features mpi`"), "{line}: {said}");
        assert!(output.stdout.is_empty());
    }
    assert_eq!(lab.entries(), Vec::<String>::new(), "no file must be created");
    // A single copy is accepted.
    let mut alone =
        lab.command(["bench", "metadata", "--interface", "null", "--precreate", "9", "--iterations", "9"]);
    assert!(alone.env("OMPI_COMM_WORLD_SIZE", "1").status().unwrap().success());
    lab.refused("bench metadata --interface mpi-io --root out", "--features mpi");
}

#[cfg(feature = "mpi")]
mod ranks {
    use crate::common::{Lab, Mounted, Running, document, is_root, text};
    use rustix::process::{Pid, Signal, kill_process};
    use serde_json::Value;
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::process::{Command, Output, Stdio};

    macro_rules! needs_mpirun {
        () => {
            if !testing::has_tool("mpirun") {
                return;
            }
        };
    }

    fn mpirun(lab: &Lab, ranks: u32, line: &str) -> Command {
        let mut command = Command::new("mpirun");
        command
            .args(["--oversubscribe", "--allow-run-as-root", "-n", &ranks.to_string()])
            .arg(env!("CARGO_BIN_EXE_senesce"))
            .args(line.split_whitespace())
            .current_dir(lab.path())
            .env("SENESCE_RUN_DIR", lab.path().join("run"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs it with mpirun and returns the JSON document that rank 0 printed.
    fn json(lab: &Lab, ranks: u32, line: &str) -> Value {
        let output = mpirun(lab, ranks, &format!("{line} --json")).output().unwrap();
        assert!(output.status.success(), "{ranks} ranks of senesce {line}\n{}", text(&output.stderr));
        document(line, &output)
    }

    /// Everything below a directory: files with their bytes.
    fn tree(root: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
        let mut seen = BTreeMap::new();
        let mut left = vec![root.to_owned()];
        while let Some(dir) = left.pop() {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                let path = entry.path();
                let name = path.strip_prefix(root).unwrap().display().to_string();
                seen.insert(name, path.is_file().then(|| std::fs::read(&path).unwrap()));
                if path.is_dir() {
                    left.push(path);
                }
            }
        }
        seen
    }

    /// The counts of each phase of a benchmark run.
    fn counts(outcome: &Value) -> Vec<String> {
        let phases = outcome["phases"].as_array().unwrap();
        let of = |phase: &Value| {
            let done = |op: &str| format!("{op} {}", phase["operations"][op]["done"]);
            let all: Vec<String> = ["create", "stat", "read", "delete"].map(done).into();
            format!(
                "{} {}: {} objects, {} sets, {} errors, {all:?}",
                phase["phase"], phase["iteration"], phase["objects"], phase["data_sets"], phase["errors"]
            )
        };
        phases.iter().map(of).collect()
    }

    #[test]
    fn threads_processes_and_mpi_ranks_do_the_same() {
        needs_mpirun!();
        let line = "bench metadata --data-sets 2 --precreate 12 --iterations 6 --repeats 2 --root out";
        for ranks in [1, 2, 4] {
            let mut seen = Vec::new();
            for way in ["threads", "processes", "mpi", "mpi-io"] {
                let lab = Lab::new();
                let run = |phase: &str| {
                    let line = format!("{line} --phases {phase}");
                    let outcome = match way {
                        "threads" => lab.json(&format!("{line} --ranks {ranks}")),
                        "processes" => lab.json(&format!("{line} --ranks {ranks} --processes")),
                        "mpi" => json(&lab, ranks, &line),
                        _ => json(&lab, ranks, &format!("{line} --interface mpi-io")),
                    };
                    assert_eq!(outcome["ranks"], ranks, "{way}");
                    (counts(&outcome), tree(&lab.path().join("out")))
                };
                let phases = ["precreate", "benchmark", "cleanup"].map(run);
                assert_eq!(phases[0].1.len() as u32, ranks * 2 * (1 + 12), "{way}");
                assert!(phases[1].1.len() == phases[0].1.len() && phases[1].1 != phases[0].1, "{way}");
                assert!(phases[2].1.is_empty(), "{way} leaves {:?}", phases[2].1.keys());
                let errors = phases.iter().flat_map(|phase| &phase.0).filter(|c| !c.contains(" 0 errors"));
                assert_eq!(errors.count(), 0, "{way}: {phases:?}");
                seen.push((way, phases));
            }
            for other in &seen[1..] {
                assert!(other.1 == seen[0].1, "{ranks} {} must do what threads do", other.0);
            }
        }
    }

    #[test]
    fn aging_shared_by_ranks_gives_the_tree_of_one() {
        needs_mpirun!();
        let line =
            "age --dir place --size 48MiB --profile dabre --fullness 0.5 --overwrites 2 --seed 5 --work work";
        let mut seen = Vec::new();
        for ranks in [0, 1, 2, 3] {
            let lab = Lab::new();
            std::fs::create_dir(lab.path().join("place")).unwrap();
            let aged = if ranks == 0 { lab.json(line) } else { json(&lab, ranks, line) };
            assert_eq!(aged["errors"], 0, "{}", aged["failures"]);
            assert_eq!(aged["ranks"], ranks.max(1));
            let files = tree(&lab.path().join("place/senesce-0001/tree"));
            let live = files.values().filter(|file| file.is_some()).count() as u64;
            assert_eq!(aged["live_files"], live);
            assert!(
                files.values().flatten().any(|bytes| bytes.len() > 100 && bytes[50..].iter().any(|b| *b > 0))
            );
            let figures = [
                "trace_sha256",
                "operations",
                "creations",
                "live_files",
                "fullness",
                "stopped_by",
                "reached",
            ];
            seen.push((figures.map(|name| aged[name].clone()), files));
        }
        for (ranks, other) in seen.iter().enumerate().skip(1) {
            assert!(*other == seen[0], "{ranks} ranks must age like one process");
        }
    }

    #[test]
    fn failures_are_counted_over_all_ranks() {
        needs_mpirun!();
        if !is_root() {
            return;
        }
        let lab = Lab::new();
        let place = lab.path().join("place");
        std::fs::create_dir(&place).unwrap();
        // Enough space for the data, which is checked in advance, but not for so many files.
        let tmpfs = ["-t", "tmpfs", "-o", "nr_inodes=500", "tmpfs"];
        assert!(Command::new("mount").args(tmpfs).arg(&place).status().unwrap().success());
        let mounted = Mounted::at(place);
        let aged = json(
            &lab,
            3,
            "age --dir place --size 48MiB --profile dabre --fullness 0.5 --overwrites 1 --seed 5 --no-fill --work work",
        );
        let failures = aged["failures"].as_array().unwrap();
        let count = |kind: &str, error: &str| {
            let of = |f: &&Value| f["kind"] == kind && f["error"].as_str().unwrap().contains(error);
            failures.iter().filter(of).map(|f| f["count"].as_u64().unwrap()).sum::<u64>()
        };
        let lost = count("create", "ENOSPC");
        assert!(lost > 0, "{failures:?}");
        assert_eq!(aged["errors"], lost + count("delete", "never made"), "{failures:?}");
        let files = tree(&mounted.dir.join("senesce-0001/tree")).into_values().flatten().count() as u64;
        assert_eq!(files, aged["live_files"].as_u64().unwrap() + count("delete", "never made") - lost);
    }

    #[test]
    fn options_that_ranks_cannot_share_are_refused() {
        needs_mpirun!();
        let lab = Lab::new();
        for (line, expected) in [
            ("bench metadata --root out --ranks 2", "leave --ranks"),
            ("bench metadata --root out --free-memory 1GiB", "do not work with MPI"),
            ("age --size 300MiB --work work", "--dir"),
            ("age --dir . --size 64MiB --work work --on-full stop", "--on-full stop"),
            ("age --dir . --intrafile 3 --work work", "start it alone"),
            ("age --dir nowhere --size 64MiB --work work", "nowhere"),
        ] {
            let output = mpirun(&lab, 2, line).output().unwrap();
            assert!(!output.status.success(), "{line}");
            let said = text(&output.stderr);
            assert!(said.contains(expected), "{line}: {said}");
        }
        assert_eq!(lab.entries(), Vec::<String>::new(), "no file must be created");
    }

    /// Starts ranks, waits until the file `busy` exists, and returns the process of one rank.
    fn started(lab: &Lab, ranks: u32, line: &str, victim: u32, busy: &str) -> (Running, Pid) {
        let mut child = Running::new(&mut mpirun(lab, ranks, line));
        child.until(busy, || lab.path().join(busy).exists());
        let rank = format!("OMPI_COMM_WORLD_RANK={victim}");
        let found = ranks_of(lab).into_iter().find(|(_, environ)| environ.split('\0').any(|v| v == rank));
        (child, Pid::from_raw(found.expect("the rank is running").0).unwrap())
    }

    /// The processes that work in the lab's directory, with their environment.
    fn ranks_of(lab: &Lab) -> Vec<(i32, String)> {
        let here = format!("SENESCE_RUN_DIR={}", lab.path().join("run").display());
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let environ = text(&environ);
            if environ.split('\0').any(|v| v == here) {
                found.push((pid, environ));
            }
        }
        found
    }

    /// Waits for the end of a run that would otherwise take hours, and checks that no rank is left.
    fn ended(lab: &Lab, child: Running) -> Output {
        let output = child.wait();
        assert!(!output.status.success());
        // The launcher does not wait for the processes it killed.
        testing::wait_until("the end of all ranks", || ranks_of(lab).is_empty());
        output
    }

    #[test]
    fn killed_rank_is_named_and_ends_the_run() {
        needs_mpirun!();
        let lab = Lab::new();
        let line = "bench metadata --root out --data-sets 3 --precreate 10000000 --iterations 1";
        let (child, rank) = started(&lab, 4, line, 2, "out/2_0/file-9");
        kill_process(rank, Signal::KILL).unwrap();
        let output = ended(&lab, child);
        assert!(text(&output.stderr).contains("rank 2"), "{}", text(&output.stderr));
    }

    #[test]
    fn interrupted_run_ends() {
        needs_mpirun!();
        let lab = Lab::new();
        let line = "bench metadata --root out --data-sets 3 --precreate 10000000 --iterations 1";
        let (child, _) = started(&lab, 3, line, 1, "out/1_0/file-9");
        child.signal(Signal::INT);
        ended(&lab, child);
    }

    #[test]
    fn interrupted_rank_ends_the_others() {
        needs_mpirun!();
        let lab = Lab::new();
        let line = "bench metadata --root out --data-sets 3 --precreate 10000000 --iterations 1";
        let (child, rank) = started(&lab, 3, line, 1, "out/1_0/file-9");
        kill_process(rank, Signal::TERM).unwrap();
        let output = ended(&lab, child);
        assert!(text(&output.stderr).contains("senesce: rank 1 on"), "{}", text(&output.stderr));
    }

    #[test]
    fn shared_aging_resumes_after_a_rank_is_killed() {
        needs_mpirun!();
        let lab = Lab::new();
        std::fs::create_dir(lab.path().join("place")).unwrap();
        let line = "age --dir place --size 1GiB --profile agrawal --fullness 0.02 --overwrites 0.5 --seed 5 --no-fill --work work --name a --data write";
        // Directories other than the root exist as soon as files are created.
        let (child, rank) = started(&lab, 3, line, 1, "place/senesce-0001/tree/d1");
        kill_process(rank, Signal::KILL).unwrap();
        ended(&lab, child);
        let resumed = json(&lab, 2, &format!("{line} --resume"));
        assert_eq!(resumed["errors"], 0, "{}", resumed["failures"]);
        let whole = lab.json(&line.replace("--work work", "--work other"));
        assert_eq!(resumed["trace_sha256"], whole["trace_sha256"]);
        let tree = |number: u32| tree(&lab.path().join(format!("place/senesce-000{number}/tree")));
        assert!(tree(1) == tree(2), "the tree must match an aging that was not killed");
    }
}
