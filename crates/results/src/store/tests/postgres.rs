//! The same checks for a database, with a separate server for the test.

use super::*;
use cluster::server;
use server::{SECRET, Server, USER};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::channel;

#[path = "../../../../services/tests/services/cluster.rs"]
mod cluster;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../../../../services/tests/services/server.rs"]
mod server;

fn url(server: &Server, secret: &str) -> StoreLocation {
    let secret = secret.replace('/', "%2F").replace('+', "%2B");
    StoreLocation::parse(&format!("postgres://{USER}:{secret}@127.0.0.1:{}/postgres", server.port))
}

#[test]
fn database_behaves_like_a_file() {
    let Some(mut server) = server() else { return };
    let at = url(&server, SECRET);
    let (store, other) = (at.open().unwrap(), at.open().unwrap());
    check_measurements(&store);
    check_begin_exclusive(&store, &other);
    let dir = tempfile::tempdir().unwrap();
    let file = Store::open(&dir.path().join("file")).unwrap();
    check_merge(&store, &file);
    check_merge(&Store::open(&dir.path().join("back")).unwrap(), &store);

    // A closed connection holds no run.
    let work = || new("experiment", "gone", json!({}));
    other.begin(&work()).unwrap();
    assert_eq!(store.running("experiment", "gone").unwrap().len(), 1);
    drop(other);
    testing::wait_until("a run that nobody holds", || {
        store.running("experiment", "gone").unwrap().is_empty()
    });

    // After a restart of the server between two statements, the store reconnects, repeats the request, and its runs continue.
    let ((begun, wait), (gone, go)) = (channel(), channel());
    std::thread::scope(|scope| {
        let at = &at;
        scope.spawn(move || {
            let store = at.open().unwrap();
            let mine = store.begin(&work()).unwrap();
            begun.send(()).unwrap();
            go.recv().unwrap();
            store.record_all(mine, &[number("", "x", "s", 1, 0.5)]).unwrap();
            assert_eq!(at.open().unwrap().running("experiment", "gone").unwrap().len(), 1);
        });
        wait.recv().unwrap();
        server.kill();
        gone.send(()).unwrap();
        server.let_one_down();
        server.restart();
    });
}

#[test]
fn many_machines_fill_one_database() {
    let Some(server) = server() else { return };
    let at = url(&server, SECRET);
    const MACHINES: u32 = 8;
    let ready = AtomicU32::new(0);
    // Each machine opens the store; the tables are created once.
    let all: Vec<usize> = std::thread::scope(|scope| {
        let machines: Vec<_> = (0..MACHINES)
            .map(|machine| {
                let (at, ready) = (at.clone(), &ready);
                scope.spawn(move || {
                    let store = at.open().unwrap();
                    let same = |_: &Run| true;
                    let mut done = 0;
                    for figure in 0..10 {
                        let name = format!("figure {figure}");
                        let work = new("experiment", &name, json!({ "machine": machine }));
                        if let Some(run) = store.begin_exclusive(&work, same).unwrap() {
                            store.record_all(run, &[number("", "x", "s", 1, figure as f64)]).unwrap();
                            done += 1;
                        }
                    }
                    // A thread that ends releases its runs, so all wait for each other.
                    ready.fetch_add(1, Relaxed);
                    testing::wait_until("all machines", || ready.load(Relaxed) == MACHINES);
                    done
                })
            })
            .collect();
        machines.into_iter().map(|machine| machine.join().unwrap()).collect()
    });
    assert_eq!(all.iter().sum::<usize>(), 10, "each figure was done by exactly one machine: {all:?}");
    let store = at.open().unwrap();
    assert_eq!(store.runs_of_kind("experiment").unwrap().len(), 10);
}

#[test]
fn authentication_errors_do_not_show_the_password() {
    let Some(server) = server() else { return };
    let Err(error) = url(&server, "not/the+password").open() else { panic!("the store was opened") };
    let message = error.to_string();
    assert!(message.contains("authentication failed") && message.contains("127.0.0.1"), "{message}");
    assert!(!message.contains("the+password") && !message.contains("the%2Bpassword"), "{message}");
}
