//! The program on a terminal and in scripts: JSON of every command, errors, levels of messages, and defaults of the user.

use crate::common::{Lab, document, error_object, text};
use std::process::Output;

/// The error of a command with `--json`: the last line of standard error.
fn error(output: &Output) -> serde_json::Value {
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    error_object(text(&output.stderr).lines().last().unwrap_or_default())
}

#[test]
fn cheap_commands_print_json() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path().join("tree")).unwrap();
    std::fs::write(lab.path().join("tree/file"), [7; 9000]).unwrap();
    lab.run("disk create disk --size 64MiB");
    lab.run("betreefs mkfs --size 64MiB betree.img");
    let plan = "age --size 64MiB --profile wang_os --plan-only --save-trace a.parquet";
    assert!(lab.json(plan)["expected"].is_null());
    lab.run("snapshot take tree a.snapshot.parquet");
    for line in [
        "doctor",
        "cleanup",
        "profile list",
        "profile show agrawal",
        "profile check agrawal",
        "profile capture tree -o tree.toml",
        "disk models",
        "disk show hdd-7200",
        "disk list disk",
        "betreefs check betree.img",
        "betreefs stat betree.img",
        "snapshot stat a.snapshot.parquet",
        "snapshot diff a.snapshot.parquet a.snapshot.parquet",
        "activity show builtin",
        "trace show a.parquet --first 3",
        "trace stat a.parquet",
        "store measures",
        "image list",
        "reproduce",
        "reproduce --list",
        "ffs --size 16MiB --policy original",
    ] {
        lab.json(line);
    }
    let shown = lab.json("trace show a.parquet --first 3");
    assert_eq!(shown["first"].as_array().unwrap().len(), 3);
    assert_eq!(shown["trace"]["source"], "planned");
}

#[test]
fn demonstration_prints_json() {
    needs!("ext4");
    let lab = Lab::new();
    let line = "demo --size 64MiB --agings 1 --repeat 1 --work demo --json";
    let mut command = lab.command(line.split_whitespace());
    command.env("PATH", lab.only_ext4());
    let output = lab.output(command);
    let demonstrated = document(line, &output);
    let page = lab.path().join("demo/report.html");
    assert!(page.is_file());
    assert_eq!(demonstrated["report"].as_str(), page.to_str());
    assert!(demonstrated["conditions"].as_array().unwrap().len() >= 2);
}

#[test]
fn errors_are_json_if_the_output_is() {
    let lab = Lab::new();
    for (line, status, said) in [
        ("profile check none --json", 1, "none"),
        ("compare --work empty --json", 1, "senesce compare --fs ext4"),
        ("report --work empty --json", 1, "contains no results"),
        ("age --size x --json", 2, "is not a size"),
        ("nonsense --json", 2, "nonsense"),
        ("trace show --json", 2, "required"),
    ] {
        let output = lab.try_run(line);
        assert_eq!(output.status.code(), Some(status), "{line}");
        let error = error(&output);
        assert_eq!(error["status"], status, "{line}");
        assert!(error["error"].as_str().unwrap().contains(said), "{line}: {error}");
    }
    // Behind `--`, the option is one of another command.
    let plain = lab.try_run("profile check none -- --json");
    assert!(text(&plain.stderr).starts_with("error: unexpected argument"), "{}", text(&plain.stderr));
}

#[test]
fn aging_tells_the_next_command_and_obeys_the_level() {
    needs!("ext4");
    let lab = Lab::new();
    let line = "age --size 64MiB --profile wang_os --fullness 0.4 --work work --name";
    let normal = lab.try_run(&format!("{line} a"));
    let (out, err) = (text(&normal.stdout), text(&normal.stderr));
    assert!(out.contains(&format!("aged: {}\n", lab.work().join("a.img").display())), "{out}");
    assert!(out.ends_with("next: senesce compare a --work work\n"), "{out}");
    assert!(err.contains("bound:") && !err.contains("mkfs"), "{err}");
    let verbose = text(&lab.try_run(&format!("{line} b --verbose")).stderr);
    for said in ["mkfs.ext4", "losetup --find", "mount -t ext4", "umount", " s)"] {
        assert!(verbose.contains(said), "{said}: {verbose}");
    }
    let quiet = lab.try_run(&format!("{line} c -q"));
    assert_eq!((text(&quiet.stderr), quiet.status.success()), (String::new(), true));
    assert!(text(&lab.try_run(&format!("{line} c -q")).stderr).contains("was already aged"));
}

#[test]
fn plan_has_the_time_of_an_earlier_aging() {
    needs!("ext4");
    let lab = Lab::new();
    let line = "age --size 64MiB --profile wang_os --fullness 0.4 --work work";
    let unknown = lab.run(&format!("{line} --seed 1 --plan-only"));
    assert!(unknown.contains("nothing was aged") && unknown.contains("unknown"), "{unknown}");
    let earlier = lab.json(&format!("{line} --seed 2"));
    let planned = lab.json(&format!("{line} --seed 1 --plan-only"));
    assert_eq!(planned["expected"]["from"], "ext4-wang_os-2");
    let number = |name: &str, of: &serde_json::Value| of[name].as_f64().unwrap();
    let took = number("replay_s", &earlier) + number("fill_s", &earlier);
    let ratio = number("time_s", &planned["expected"]) / took;
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
    let shown = lab.run(&format!("{line} --seed 1 --plan-only"));
    assert!(shown.contains("at the rates of ext4-wang_os-2"), "{shown}");
    // Another profile has other files.
    let other = lab.json(&line.replace("wang_os", "agrawal").replace("work work", "work work --plan-only"));
    assert!(other["expected"].is_null());
}

#[test]
fn defaults_of_the_user_apply_below_options_and_environment() {
    let lab = Lab::new();
    let config = lab.path().join("config");
    std::fs::create_dir(&config).unwrap();
    let said = |environment: Option<&str>, line: &str| {
        let mut command = lab.command(line.split_whitespace());
        command.envs(environment.map(|work| ("SENESCE_WORK", work)));
        text(&command.output().unwrap().stderr)
    };
    let none = "contains no aged file system";
    assert!(said(None, "compare").starts_with(&format!("senesce: senesce-work {none}")));
    std::fs::write(config.join("senesce.toml"), "work = '/nowhere/file'").unwrap();
    assert!(said(None, "compare").starts_with(&format!("senesce: /nowhere/file {none}")));
    assert!(said(Some("environment"), "compare").starts_with(&format!("senesce: environment {none}")));
    assert!(said(Some("environment"), "compare --work w").starts_with(&format!("senesce: w {none}")));
    std::fs::write(config.join("senesce.toml"), "wrok = '/a'").unwrap();
    let wrong = said(None, "compare");
    assert!(
        wrong.contains("senesce.toml: line 1: unknown field `wrok`") && wrong.contains("the keys are work"),
        "{wrong}"
    );
}

#[test]
fn shells_complete_names() {
    let lab = Lab::new();
    let complete = |words: &[&str]| {
        let mut command = lab.command(["--", "senesce"].iter().chain(words));
        let output = command.env("SENESCE_COMPLETE", "fish").output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
            .lines()
            .map(|line| line.split('\t').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(complete(&["age", "--fs", "xf"]), ["xfs"]);
    assert_eq!(complete(&["age", "--profile", "agra"]), ["agrawal"]);
    assert!(complete(&["reproduce", "fast17-fig"]).contains(&"fast17-fig5".to_owned()));
    if crate::common::has("ext4") {
        lab.run("age --size 64MiB --profile wang_os --fullness 0.3 --name mine --work work");
        assert_eq!(complete(&["compare", "--work", "work", "m"]), ["mine"]);
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = lab.run(&format!("completions {shell}"));
        assert!(script.contains("senesce") && script.contains("SENESCE_COMPLETE"), "{shell}: {script}");
    }
}

#[test]
fn long_version_tells_what_was_built() {
    let lab = Lab::new();
    assert_eq!(lab.run("--version").lines().count(), 1);
    let long = lab.run("--version --verbose");
    for said in ["senesce 0.", "commit: ", "features: ", "file systems: bcachefs", "target: "] {
        assert!(long.contains(said), "{said}: {long}");
    }
    assert_eq!(lab.run("-vV"), long);
}
