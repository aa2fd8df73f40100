//! Servers by URL that run on this machine: their processes and the device of their data are found, and nothing else is taken for them.

use crate::lab::{directory, fact, prepared, servers, start, trial};
use crate::schemas::visiting;
use crate::visited::Visited;
use engine::Instance;
use host::filesystem::find_mount;
use model::{Trial, Value};
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;

/// The kinds of servers: of MariaDB one storage engine is enough.
fn kinds() -> impl Iterator<Item = &'static str> {
    servers().map(|engine| engine.entry.name).filter(|name| *name != "mariadb:rocksdb")
}

/// The trial that visits the server of `visiting` through the socket `path`.
fn through(path: &Path, visiting: &Trial) -> Trial {
    let mut trial = visiting.clone();
    let url = trial.target.params.word("url").split_once("socket=").unwrap().0.to_owned();
    trial.target.params.0.insert("url".into(), Value::Word(format!("{url}socket={}", path.display())));
    trial
}

/// The socket in the URL of `visiting`.
fn socket_of(visiting: &Trial) -> String {
    visiting.target.params.word("url").split_once("socket=").unwrap().1.to_owned()
}

#[test]
fn a_server_on_this_machine_is_found_with_the_device_of_its_data() {
    let parent = directory();
    for engine in kinds() {
        let theirs = Visited::of(engine);
        let visitor = start(&visiting(engine, theirs.path()), parent.path()).unwrap();
        let seen = visitor.report();
        assert_eq!(seen.processes, [theirs.process().as_raw_nonzero().get() as u32], "{engine}");
        assert_eq!(seen.device, find_mount(theirs.path()).unwrap().device, "{engine}");
        assert_eq!(fact(&*visitor, "server.unseen"), None, "{engine}");
        visitor.stop().unwrap();
    }
}

/// Passes on what clients of the socket `path` and the server behind `to` have to say, until this process ends.
fn pass_on(path: &Path, to: String) {
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = UnixStream::connect(&to) else { return };
            for (from, into) in [(&client, &server), (&server, &client)] {
                let (mut from, mut into) = (from.try_clone().unwrap(), into.try_clone().unwrap());
                thread::spawn(move || {
                    let _ = io::copy(&mut from, &mut into); // either may hang up
                    let _ = into.shutdown(Shutdown::Both);
                });
            }
        }
    });
}

#[test]
fn a_proxy_is_not_taken_for_the_server_behind_it() {
    let parent = directory();
    for (nth, engine) in kinds().enumerate() {
        let theirs = Visited::of(engine);
        let (direct, proxy) = (visiting(engine, theirs.path()), parent.path().join(format!("proxy{nth}")));
        pass_on(&proxy, socket_of(&direct));
        let visitor = start(&through(&proxy, &direct), parent.path()).unwrap();
        let seen = visitor.report();
        assert_eq!((seen.processes, seen.device), (vec![], None), "{engine}");
        assert_eq!(fact(&*visitor, "server.unseen").as_deref(), Some("other-program"), "{engine}");
        visitor.stop().unwrap();
    }
}

#[test]
fn a_server_that_ends_during_a_point_is_not_followed() {
    let parent = directory();
    for engine in kinds() {
        let theirs = prepared(&trial(engine, "oltp", &[]), parent.path());
        let mut visitor = start(&visiting(engine, parent.path()), parent.path()).unwrap();
        let told = |visitor: &mut Box<dyn Instance>| {
            let facts = visitor.finish_trial();
            let of = |name: &str| facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone());
            [of("engine.process"), of("server.unseen")]
        };
        assert_eq!(told(&mut visitor), [None, None], "{engine}");
        let server = Pid::from_raw(visitor.report().processes[0].try_into().unwrap()).unwrap();
        kill_process(server, Signal::KILL).unwrap();
        // The kernel closes its connections and marks it as ended in its own time.
        while !visitor.report().processes.is_empty() {
            thread::yield_now();
        }
        assert_eq!(told(&mut visitor), [Some("elsewhere".into()), Some("restarted".into())], "{engine}");
        assert!(visitor.stop().is_err(), "its schema cannot be dropped");
        theirs.stop().unwrap();
    }
}
