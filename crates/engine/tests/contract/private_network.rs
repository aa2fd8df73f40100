//! Private servers over the network of this machine: they listen on loopback only, and let no one in without the password.

use crate::insert::asked;
use crate::lab::{directory, fact, found, names_in, prepared, run, server_programs, servers, start, trial};
use engine::Instance;
use load::LoadEnd;
use model::Phase;
use std::path::Path;
use std::process::{Command, Output};

/// The port on which the server below `parent` listens, as it states it.
fn port_of(engine: &str, parent: &Path) -> u16 {
    let answer = match engine {
        "postgres" => {
            let pid_file = std::fs::read_to_string(found(parent, "postmaster.pid")).unwrap();
            pid_file.lines().nth(3).unwrap().to_owned()
        }
        _ => asked(engine, parent, "SELECT @@port").remove(0),
    };
    answer.parse().unwrap()
}

/// What the server's own client gets that comes to `port` as `user`.
fn other_client(engine: &str, port: u16, user: &str, password: Option<&str>) -> Output {
    let port = port.to_string();
    let mut command = match engine {
        "postgres" => {
            let mut command = Command::new("psql");
            command.args(["-w", "-h", "127.0.0.1", "-p", &port, "-U", user, "-d", "postgres", "-c", "SELECT 1"]);
            command
        }
        _ => {
            let mut command = Command::new("mariadb");
            command.args(["--no-defaults", "--protocol=tcp", "-h", "127.0.0.1", "-P", &port, "-u", user]);
            command.args(["-e", "SELECT 1"]);
            command
        }
    };
    command.env_remove("PGPASSWORD").env_remove("MYSQL_PWD");
    if let Some(password) = password {
        command.env("PGPASSWORD", password).env("MYSQL_PWD", password);
    }
    command.output().unwrap()
}

/// The local addresses on which `port` is listened, in the kernel's spelling.
fn listening_at(port: u16) -> Vec<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
    let rows = tables.iter().flat_map(|table| table.lines().skip(1)).map(|line| line.split_whitespace().collect());
    let rows = rows.filter(|words: &Vec<&str>| words[3] == "0A");
    rows.filter_map(|words| words[1].strip_suffix(&format!(":{port:04X}")).map(str::to_owned)).collect()
}

fn check_closed(engine: &str, parent: &Path, instance: &dyn Instance) {
    let port = port_of(engine, parent);
    assert_eq!(listening_at(port), ["0100007F"], "{engine}: on loopback and nowhere else");
    for user in ["root", "plimsoll", "plimsoll_client", "postgres", "mysql", ""] {
        for password in [None, Some(""), Some("plimsoll")] {
            // psql takes the system's user for none.
            let user = if user.is_empty() && engine == "postgres" { "nobody" } else { user };
            let refused = other_client(engine, port, user, password);
            assert!(!refused.status.success(), "{engine} let `{user}` in with {password:?}");
            let text = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert!(text.contains("denied") || text.contains("password"), "{engine} `{user}`: {text}");
        }
    }
    // Whoever can see the list of processes must not see the password, 192 bits as hexadecimal digits.
    let is_password = |word: &str| word.len() == 48 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    for pid in instance.report().processes {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        let text = String::from_utf8_lossy(&arguments).into_owned();
        assert!(!text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_password), "{engine}: {text}");
    }
    let facts = instance.report().facts;
    let told = |fact: &model::Fact| fact.value.split(|c: char| !c.is_ascii_alphanumeric()).any(is_password);
    assert!(!facts.iter().any(told), "{engine}: {facts:?}");
}

#[test]
fn a_private_server_is_reached_over_its_network_and_lets_no_one_else_in() {
    let parent = directory();
    for engine in server_programs().map(|engine| engine.entry.name) {
        for (via, tls) in [("tcp", "none"), ("tls", "TLSv1.3")] {
            let settings = [("via", via), ("clients", "2"), ("ops_max", "20"), ("time", "60s")];
            let trial = trial(engine, "connect", &settings);
            let mut instance = prepared(&trial, parent.path());
            let (outcome, seen) = run(&mut *instance, &trial).unwrap();
            assert_eq!(outcome.ended, LoadEnd::AsPlanned, "{engine} {via}: {:?}", seen.events);
            assert_eq!(seen.total(Phase::Run), (20, 0), "{engine} {via}: {:?}", seen.events);
            let told = ["connect.via", "server.tls"].map(|name| fact(&*instance, name));
            assert_eq!(told[0].as_deref(), Some(via));
            assert_eq!(told[1].as_deref().unwrap().split(',').next(), Some(tls), "{engine} {via}");
            assert!(fact(&*instance, "backlog.queue_max").is_some() || fact(&*instance, "backlog.queued").is_some());
            check_closed(engine, parent.path(), &*instance);
            instance.stop().unwrap();
            assert_eq!(names_in(parent.path()), Vec::<String>::new());
        }
    }
}

#[test]
fn every_load_goes_the_way_that_was_asked_for_and_a_restart_keeps_it() {
    let parent = directory();
    for engine in server_programs().map(|engine| engine.entry.name) {
        let settings = [("via", "tls"), ("between", "restart"), ("clients", "2"), ("ops_max", "50"), ("time", "60s")];
        let trial = trial(engine, "oltp", &settings);
        let mut instance = prepared(&trial, parent.path());
        for _ in 0..2 {
            instance.reset(engine::ResetFor::NextPoint).unwrap();
            let (outcome, seen) = run(&mut *instance, &trial).unwrap();
            assert_eq!((outcome.ended, seen.total(Phase::Run)), (LoadEnd::AsPlanned, (50, 0)), "{:?}", seen.events);
        }
        if engine != "postgres" {
            let accepts = asked(engine, parent.path(), "SHOW GLOBAL STATUS LIKE 'Ssl_finished_accepts'").remove(0);
            let accepts: u64 = accepts.rsplit('\t').next().unwrap().parse().unwrap();
            assert!(accepts >= 3, "{engine}: {accepts} connections were encrypted");
        }
        // It is known from a handshake only.
        assert!(fact(&*instance, "server.tls").unwrap().starts_with("TLS"));
        instance.stop().unwrap();
    }
}

#[test]
fn what_cannot_go_over_the_network_of_a_private_server_is_refused_in_one_line() {
    let parent = directory();
    for engine in servers().map(|engine| engine.entry.name) {
        let Err(error) = start(&trial(engine, "sql", &[("via", "tcp")]), parent.path()) else {
            panic!("{engine} was started")
        };
        let text = error.to_string();
        assert!(text.contains("are executed over the socket") && text.contains("leave out"), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }
}
