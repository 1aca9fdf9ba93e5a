//! The registry of interfaces: a submission adds one.

use crate::Recorder;
use senesce_bench::metadata::*;
use std::path::PathBuf;
use std::process::Command;

const TOY: InterfaceKind = InterfaceKind {
    name: "toy",
    aliases: &["plaything"],
    help: "Nothing",
    location: LocationKind::None,
    check: |_, ranks| match ranks {
        Ranks::Threads(_) => Ok(()),
        _ => Err(InterfaceError(String::new())),
    },
    open: Ok(|_| Ok(Box::new(Null))),
};

inventory::submit!(TOY);
inventory::submit!(InterfaceKind { name: "toy-unbuilt", aliases: &[], open: Err("toys"), ..TOY });

#[test]
fn submission_adds_an_interface() {
    let names: Vec<&str> = InterfaceKind::all().iter().map(|kind| kind.name).collect();
    let built_in = ["mongodb", "mpi-io", "null", "object-store", "posix", "postgres"];
    assert_eq!(names, [&built_in[..], &["toy", "toy-unbuilt"]].concat());
    let backend = Backend::new("plaything", ObjectLocation::default()).unwrap();
    assert_eq!(backend.interface(), "toy");
    let sent = serde_json::to_string(&backend).unwrap();
    assert_eq!(serde_json::from_str::<Backend>(&sent).unwrap(), backend);
    let settings = Settings { data_sets: 1, precreate: 3, iterations: 2, repeats: 1, ..Settings::default() };
    let go = |ranks| {
        let task = Task { settings: settings.clone(), ranks, backend: backend.clone(), run_info: None };
        let rank_command = || Command::new("false");
        let launch = Launch { task: &task, interrupted: &|| false, rank_command: &rank_command };
        let mut told = Recorder::default();
        launch.run(&mut told).map(|()| told.0.len())
    };
    assert_eq!(go(Ranks::Threads(2)).unwrap(), 3);
    assert!(go(Ranks::Processes(2)).is_err());
}

#[test]
fn locations_of_another_kind_are_refused() {
    let at = |root: Option<&str>, url: Option<&str>| ObjectLocation {
        root: root.map(PathBuf::from),
        url: url.map(str::to_owned),
        credentials: None,
    };
    for (interface, location, expected) in [
        ("nothing", at(None, None), "only mongodb, mpi-io, null, object-store, posix, postgres, toy"),
        ("toy-unbuilt", at(None, None), "--features toys"),
        ("posix", at(None, None), "--root"),
        ("posix", at(Some("/dir"), Some("s3://bucket")), "--interface"),
        ("postgres", at(Some("/dir"), None), "--url"),
        ("s3", at(None, Some("s3://key:secret@bucket")), "--credentials"),
    ] {
        let why = Backend::new(interface, location).unwrap_err().0;
        assert!(why.contains(expected) && !why.contains("secret"), "{interface}: {why}");
    }
}
