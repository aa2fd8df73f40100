//! Private servers under the real binary: measured, missing, killed with it and without it.

use crate::lab::{Finished, Lab, assert_runs, wait_until};
use serde_json::Value;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// Whether the server is installed; where it is not, the test says so and ends.
pub fn is_here(lab: &Lab, engine: &str) -> bool {
    static ENGINES: OnceLock<Value> = OnceLock::new();
    let engines = ENGINES.get_or_init(|| lab.json(&["engines"]));
    let missing = |entry: &Value| entry["engine"] == engine && entry["version"].is_null();
    let is_missing = engines["engines"].as_array().unwrap().iter().any(missing);
    if is_missing {
        eprintln!("skipped: {engine} is not installed");
    }
    !is_missing
}

/// Processes whose command line names a place in the lab.
pub fn servers_in(lab: &Lab) -> Vec<String> {
    let path = lab.path().canonicalize().unwrap();
    let found = Command::new("pgrep").args(["-f", "--", path.to_str().unwrap()]).output().unwrap();
    String::from_utf8(found.stdout).unwrap().split_whitespace().map(str::to_owned).collect()
}

/// A run that goes on until it is ended, when its run file holds some intervals. Its clients pause, so that it is no load to others.
pub fn measuring(lab: &Lab, more: &[&str]) -> Running {
    let engine: &[&str] = if more.is_empty() { &["--engine", "mariadb"] } else { more };
    measuring_as(lab, &[engine, &["--durability", "none"]].concat(), "")
}

/// The same of any server, with a password for one by URL.
fn measuring_as(lab: &Lab, engine: &[&str], password: &str) -> Running {
    measuring_for(lab, "600s", engine, password)
}

/// The same for so long.
fn measuring_for(lab: &Lab, time: &str, engine: &[&str], password: &str) -> Running {
    let load = ["insert", "--step", "l.i1", "--rows", "0", "--rows-per-commit", "1"];
    let more_of_it = ["--think", "20ms", "--time", time, "--interval", "50ms", "--no-report", "--json"];
    let mut command = lab.command(&[&load[..], &more_of_it, engine].concat());
    let mut run = Running(command.env("PLIMSOLL_PASSWORD", password).spawn().unwrap());
    lab.wait_for_load(&mut run.0, 3);
    run
}

/// A process that is killed when nobody waits for it any more.
pub struct Running(pub Child);

impl Running {
    /// Waits for its own end. What it says must fit into its pipes.
    pub fn finished(&mut self) -> Finished {
        let status = self.0.wait().unwrap();
        let mut said = [Vec::new(), Vec::new()];
        self.0.stdout.take().unwrap().read_to_end(&mut said[0]).unwrap();
        self.0.stderr.take().unwrap().read_to_end(&mut said[1]).unwrap();
        let [stdout, stderr] = said;
        Output { status, stdout, stderr }.into()
    }

    pub fn end(&mut self) {
        let _ = self.0.kill(); // it may have gone
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
fn a_server_is_measured_apart_from_the_client_and_is_gone_afterwards() {
    let lab = Lab::new();
    for engine in ["mariadb", "mariadb:rocksdb", "postgres"] {
        if !is_here(&lab, engine.replace("mariadb", "mariadb:innodb").trim_end_matches(":rocksdb")) {
            continue;
        }
        let load = ["oltp", "--engine", engine, "--mix", "read_write", "--table-rows", "500", "--clients", "1,2"];
        // The kernel counts CPU time in ticks, and there may be none of them in few operations.
        let costs_cpu = |point: &Value| point["cost"]["engine_cpu_ns_per_op"].as_f64() > Some(0.0);
        let run = lab.short_with(&[&load[..], &["--interval", "50ms", "--durability", "none"]].concat(), costs_cpu);
        assert_eq!(run["state"], "complete");
        for point in run["points"].as_array().unwrap() {
            assert!(point["ops"].as_u64().unwrap() > 0 && point["failed"] == 0, "{point}");
            // That others took the CPU away is nothing against plimsoll.
            let of_others = |code: &Value| code == "foreign-cpu" || code == "own-gap";
            let spoilt = |finding: &&Value| finding["severity"] == "error" && !of_others(&finding["code"]);
            assert_eq!(point["findings"].as_array().unwrap().iter().find(spoilt), None);
        }
        assert_eq!((servers_in(&lab), lab.left_behind()), (vec![], vec![]));
    }
}

#[test]
fn a_server_that_is_not_installed_is_a_usage_error_that_says_what_to_install() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: needs root: programs cannot be hidden");
    }
    let lab = Lab::new();
    // Empty file systems in the places of the programs, which nobody else sees.
    let hidden = "for place in /usr/sbin /usr/lib/postgresql; do [ ! -d $place ] || mount -t tmpfs none $place; done; \
                  PATH=/nonexistent exec \"$0\" \"$@\"";
    for (engine, package) in [("mariadb", "mariadb-server"), ("postgres", "postgresql")] {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", hidden, env!("CARGO_BIN_EXE_plimsoll"), "insert", "--engine", engine]);
        let finished: Finished = command.current_dir(lab.path()).output().unwrap().into();
        assert_eq!(finished.exit, 2, "{}", finished.stderr);
        assert!(finished.stderr.contains(&format!("apt-get install {package}")), "{}", finished.stderr);
        assert_eq!(lab.run_files().len(), 0);
    }
}

/// A directory with links to what the installed MariaDB has, as if it had been unpacked there.
fn unpacked_mariadb(lab: &Lab, name: &str) -> PathBuf {
    let dir = lab.path().join(name);
    std::fs::create_dir(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    let programs = lab.json(&["engines", "mariadb"])["engines"][0]["programs"].clone();
    let server = PathBuf::from(programs["mariadbd"].as_str().unwrap());
    let root = server.parent().unwrap().parent().unwrap();
    for inside in ["bin", "sbin", "scripts", "share", "lib"] {
        symlink(root.join(inside), dir.join(inside)).unwrap();
    }
    dir
}

#[test]
fn two_builds_of_one_server_are_compared_in_one_run_and_told_apart() {
    let lab = Lab::new();
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    unpacked_mariadb(&lab, "build-b");
    let load = ["oltp", "--engine", "mariadb,mariadb@build-b", "--table-rows", "100", "--ops-max", "50"];
    let run = lab.json(&[&load[..], &["--durability", "none", "--time", "60s", "--interval", "50ms"]].concat());
    let points = run["points"].as_array().unwrap();
    let told =
        |key: &str| points.iter().map(|point| point[key].as_str().unwrap_or("none").to_owned()).collect::<Vec<_>>();
    let engines = told("engine");
    assert!(engines[0].starts_with("mariadb:innodb 1") && !engines[0].ends_with("build-b"), "{engines:?}");
    assert_eq!(engines, [engines[0].clone(), format!("{} build-b", engines[0])]);
    let folders: Vec<&Value> = points.iter().map(|point| &point["params"]["programs"]).collect();
    assert_eq!(folders, [&Value::Null, &"build-b".into()]);
    let report = lab.path().join(run["report"].as_str().unwrap()).with_file_name("report.md");
    let report = std::fs::read_to_string(report).unwrap();
    engines.iter().for_each(|engine| assert!(report.contains(engine.as_str()), "{engine}"));
    assert_eq!((servers_in(&lab), lab.left_behind()), (vec![], vec!["build-b".to_owned()]));
}

#[test]
fn a_directory_that_cannot_be_used_is_refused_before_anything_is_measured() {
    let lab = Lab::new();
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let dir = unpacked_mariadb(&lab, "build-a");
    std::fs::create_dir(lab.path().join("empty")).unwrap();
    for (engine, exit, expected) in [
        ("sqlite,mariadb@gone", 2, "engine `mariadb:innodb`: there is no directory `gone`"),
        ("sqlite,mariadb@empty", 2, "`mariadbd` is not in"),
        ("sqlite,postgres@build-a", 2, "`postgres` is not in"),
        ("sqlite,postgres@build-a", 2, "it holds MariaDB: write `mariadb@DIR`"),
        ("sqlite@build-a", 2, "engine `sqlite`: it has no directory of programs: leave out `@build-a`"),
        ("mariadb@", 2, "--engine: `mariadb@` names no folder"),
        ("mariadb@build-a,mariadb@./build-a", 2, "`mariadb:innodb@./build-a` are the same directory; leave one out"),
    ] {
        let refused = lab.run(&["oltp", "--engine", engine, "--time", "100ms"]);
        assert_eq!(refused.exit, exit, "{}", refused.stderr);
        assert!(refused.stderr.contains(expected) && refused.stderr.lines().count() == 1, "{}", refused.stderr);
    }
    std::fs::remove_file(dir.join("bin")).unwrap();
    let refused = lab.run(&["--engine-bin", "build-a", "oltp", "--engine", "mariadb", "--time", "100ms"]);
    assert!(refused.exit == 2 && refused.stderr.contains("`mariadb-install-db` is not in"), "{}", refused.stderr);
    assert_eq!(lab.run_files().len(), 0);
}

#[test]
fn the_parameters_of_an_engine_are_listed_with_its_programs() {
    let lab = Lab::new();
    let sqlite = &lab.json(&["engines", "sqlite"])["engines"][0];
    let names: Vec<&str> =
        sqlite["parameters"].as_array().unwrap().iter().map(|one| one["parameter"].as_str().unwrap()).collect();
    assert_eq!(names, engine::find("sqlite").unwrap().entry.params.iter().map(|def| def.name).collect::<Vec<_>>());
    assert!(sqlite["programs"].is_null());
    assert!(lab.run(&["engines", "mysql://"]).stdout.starts_with("mysql://"), "the server by URL");
    assert!(lab.run(&["engines", "mysql"]).stdout.starts_with("mysql:innodb"));
    let refused = lab.run(&["engines", "sqlight"]);
    assert!(refused.exit == 2 && refused.stderr.contains("did you mean `sqlite`?"), "{}", refused.stderr);
    if is_here(&lab, "mariadb:innodb") {
        assert!(lab.run(&["engines", "mariadb"]).stdout.contains("server: /"));
    }
}

/// Also if errors are counted: only errors can follow. A server by URL is killed where they are not.
#[test]
fn a_server_that_is_killed_fails_the_point_and_what_was_measured_is_kept() {
    let lab = Lab::new();
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let mut child = measuring(&lab, &["--engine", "mariadb", "--on-error", "count"]);
    for server in servers_in(&lab) {
        assert!(Command::new("kill").args(["-9", &server]).status().unwrap().success());
    }
    let finished = child.finished();
    assert_eq!(finished.exit, 4, "{}", finished.stderr);
    assert!(finished.stderr.contains("mariadbd was killed by signal 9"), "{}", finished.stderr);
    assert!(finished.stderr.contains("what was measured is kept"), "{}", finished.stderr);
    let point = &finished.json()["points"][0];
    assert_eq!((&point["state"], &point["validity"]), (&"failed".into(), &"invalid".into()));
    assert_eq!(title_of(point, "restarted"), Some("the server ended while it was measured (signal 9)"));
    assert!(point["ops"].as_u64().unwrap() > 0);
    assert_eq!((servers_in(&lab), lab.left_behind()), (vec![], vec![]));
}

/// The title of the finding with this code, if `point` has it.
fn title_of<'a>(point: &'a Value, code: &str) -> Option<&'a str> {
    point["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == code)?["title"].as_str()
}

#[test]
fn a_server_by_url_that_is_killed_is_named_as_the_cause_whether_it_is_started_again_or_not() {
    if !is_here(&Lab::new(), "mariadb:innodb") || !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: needs mariadb and root");
    }
    let theirs = MariadbByHand::make();
    for is_started_again in [true, false] {
        let ours = Lab::new();
        let mut server = theirs.start(&[]);
        theirs.ask(&format!("CREATE OR REPLACE USER visitor@localhost IDENTIFIED BY '{CANARY}'"));
        theirs.ask("GRANT ALL ON *.* TO visitor@localhost");
        let mut visitor = measuring_as(&ours, &["--engine", &theirs.url()], CANARY);
        let pid = server.0.id();
        server.end();
        let _again = is_started_again.then(|| theirs.start(&[]));
        let finished = visitor.finished();
        assert_eq!(finished.exit, 4, "{}", finished.stderr);
        let ended = format!("the server (mariadbd, process {pid}) ended; client 0: ");
        assert!(finished.stderr.contains(&ended), "{}", finished.stderr);
        let point = &finished.json()["points"][0];
        assert_eq!((&point["state"], &point["validity"]), (&"failed".into(), &"invalid".into()));
        let title =
            if is_started_again { "the server was restarted 1 time" } else { "the server ended while it was measured" };
        assert_eq!(title_of(point, "restarted"), Some(title), "{point}");
        let verdict = finished.json()["verdict"].to_string();
        assert!(verdict.contains("had a server that ended or was restarted"), "{verdict}");
    }
}

#[test]
fn a_postgresql_that_starts_all_its_processes_again_is_named_as_the_cause() {
    let lab = Lab::new();
    if !is_here(&lab, "postgres") {
        return;
    }
    let mut run = measuring(&lab, &["--engine", "postgres"]);
    let clients = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    let clients = ask_postgres(&socket_of(&lab, ".s.PGSQL.5432"), clients);
    let client = clients.lines().next().expect("a client of plimsoll's");
    assert!(Command::new("kill").args(["-9", client]).status().unwrap().success());
    let finished = run.finished();
    assert_eq!(finished.exit, 4, "{}", finished.stderr);
    let point = &finished.json()["points"][0];
    assert_eq!(title_of(point, "restarted"), Some("the server was restarted 1 time"), "{point}");
}

#[test]
fn a_change_of_settings_is_in_the_run_file_of_a_plimsoll_that_is_killed() {
    let lab = Lab::new();
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    // The settings are read halfway through.
    let mut run = measuring_for(&lab, "16s", &["--engine", "mariadb", "--durability", "none"], "");
    let socket = socket_of(&lab, "m.sock");
    asked(Command::new("mariadb").args([
        "-uroot",
        "-S",
        &socket,
        "-e",
        "SET GLOBAL innodb_flush_log_at_trx_commit = 2",
    ]));
    let file = lab.run_files().pop().unwrap();
    let changes = || -> u32 {
        let db = rusqlite::Connection::open_with_flags(&file, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let sql = "SELECT count(*) FROM point, event WHERE event.kind = 'setting' AND facts LIKE '%setting.after.%'";
        db.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    wait_until("the change in the run file", || {
        assert_runs(&mut run.0);
        changes() > 0
    });
    run.end();
    let point = &lab.json(&["show", file.to_str().unwrap()])["points"][0];
    assert_eq!(point["state"], "partial");
    let change = "innodb_flush_log_at_trx_commit from `0` to `2`";
    assert_eq!(changed_settings(point), format!("the server's settings were changed: {change}"));
}

/// A MariaDB in a directory of its own that plimsoll does not start.
pub struct MariadbByHand {
    lab: Lab,
    data: String,
    socket: String,
}

impl MariadbByHand {
    pub fn make() -> MariadbByHand {
        let lab = Lab::new();
        let data = directory_of(&lab, "data", "mysql");
        asked(
            Command::new("mariadb-install-db")
                .args([
                    "--no-defaults",
                    "--user=mysql",
                    "--auth-root-authentication-method=normal",
                    "--skip-test-db",
                    "--debug-no-sync",
                ])
                .arg(format!("--datadir={data}")),
        );
        let socket = format!("{data}/m.sock");
        MariadbByHand { lab, data, socket }
    }

    /// Starts it, with `more` options.
    pub fn start(&self, more: &[&str]) -> Running {
        let (data, socket) = (format!("--datadir={}", self.data), format!("--socket={}", self.socket));
        let is_up =
            || Command::new("mariadb-admin").args(["ping", "-uroot", &socket]).output().unwrap().status.success();
        let own = ["--no-defaults", &data, "--user=mysql", &socket, "--skip-networking"];
        started_by_hand("mysql", "mariadbd", &[&own[..], more].concat(), is_up)
    }

    pub fn ask(&self, sql: &str) -> String {
        ask_mariadb(&self.socket, sql)
    }

    pub fn data(&self) -> &str {
        &self.data
    }

    pub fn socket(&self) -> &str {
        &self.socket
    }

    pub fn url(&self) -> String {
        assert!(self.lab.path().is_dir());
        format!("mysql://visitor@localhost/?socket={}", self.socket)
    }
}

#[test]
fn a_plimsoll_that_is_killed_takes_its_server_with_it_and_the_next_one_removes_the_data() {
    let lab = Lab::new();
    if !is_here(&lab, "mariadb:innodb") {
        return;
    }
    let mut child = measuring(&lab, &[]);
    let refused = lab.run(&["insert", "--engine", "mariadb", "--rows", "0", "--time", "100ms"]);
    assert_eq!(refused.exit, 3, "two at once: {}", refused.stderr);
    child.end();
    wait_until("the end of the server, which the kernel takes down in its own time", || servers_in(&lab).is_empty());
    assert_eq!(lab.left_behind().len(), 1, "its data is still there");
    let next = lab.run(&["oltp", "--engine", "sqlite", "--durability", "none", "--time", "100ms", "--no-report"]);
    assert_eq!(next.exit, 0, "{}", next.stderr);
    assert!(next.stderr.contains("left by a run that was killed"), "{}", next.stderr);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

/// A word that must appear nowhere.
const CANARY: &str = "c4n4ry-in-the-mine";

/// Everything that plimsoll wrote, as far as it is there.
fn written(lab: &Lab, finished: &Finished) -> Vec<u8> {
    let mut all = [finished.stdout.as_bytes(), finished.stderr.as_bytes()].concat();
    let mut waiting = vec![lab.path().join("plimsoll-runs")];
    while let Some(path) = waiting.pop() {
        match std::fs::read_dir(&path) {
            Ok(entries) => waiting.extend(entries.flatten().map(|entry| entry.path())),
            Err(_) => all.extend(std::fs::read(&path).unwrap_or_default()),
        }
    }
    all
}

/// Measures the server at `url`, with the canary as the password.
fn visit(lab: &Lab, url: &str, more: &[&str]) -> Finished {
    let load = ["oltp", "--engine", url, "--mix", "read_write", "--table-rows", "300", "--time", "1s", "--json"];
    let mut command = lab.command(&[&load[..], more].concat());
    let child = command.env("PLIMSOLL_PASSWORD", CANARY).spawn().unwrap();
    // A password that the user gives in an argument can be seen in any case.
    let finished = if url.contains(CANARY) { ended(child) } else { ended_without_showing(child) };
    assert!(!has_canary(&written(lab, &finished)), "the password was told");
    finished
}

fn has_canary(text: &[u8]) -> bool {
    text.windows(CANARY.len()).any(|window| window == CANARY.as_bytes())
}

fn ended(child: Child) -> Finished {
    child.wait_with_output().unwrap().into()
}

/// Waits for the end of `child`, and meanwhile looks at the arguments of it and of all its children, which every user of the machine can read.
fn ended_without_showing(child: Child) -> Finished {
    let pid = child.id();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| ended(child));
        let mut seen = 0;
        while !waiting.is_finished() {
            let arguments = arguments_of_family(pid);
            assert!(!has_canary(&arguments), "{}", String::from_utf8_lossy(&arguments));
            seen += arguments.len();
            std::thread::sleep(Duration::from_millis(20)); // the real time of another process: there is nothing to fake
        }
        let finished = waiting.join().unwrap();
        assert!(finished.exit != 0 || seen > 0, "nothing was seen of it");
        finished
    })
}

/// The arguments of the process `pid`, of its children, theirs, and so on.
fn arguments_of_family(pid: u32) -> Vec<u8> {
    let (mut family, mut all) = (vec![pid.to_string()], Vec::new());
    while let Some(process) = family.pop() {
        all.extend(std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default());
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        lists.for_each(|list| family.extend(list.split_whitespace().map(str::to_owned)));
    }
    all
}

#[test]
fn a_password_in_the_arguments_of_a_child_would_be_seen() {
    let script = "exec 3<&0; sh -c \"sh -c 'read line <&3; : $WORD'; :\" & wait";
    let mut child = Command::new("sh").args(["-c", script]).env("WORD", CANARY).stdin(Stdio::piped()).spawn().unwrap();
    wait_until("its arguments", || {
        assert_runs(&mut child);
        has_canary(&arguments_of_family(child.id()))
    });
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

/// The server at `url` is in use for something else, and nothing is made there.
fn refuses(lab: &Lab, url: &str, why: &str) {
    let refused = visit(lab, url, &[]);
    assert!(refused.exit == 3 && refused.stderr.contains(why), "{}: {}", refused.exit, refused.stderr);
}

/// A server that nobody but a test has started, when it is `ready`: `program` as `user`.
pub fn started_by_hand(user: &str, program: &str, arguments: &[&str], ready: impl Fn() -> bool) -> Running {
    let as_user = format!("--reuid={user}");
    let mut command = Command::new("setpriv");
    command.args([as_user.as_str(), &format!("--regid={user}"), "--clear-groups", program]).args(arguments);
    let mut started = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    wait_until(program, || {
        assert!(started.0.try_wait().unwrap().is_none(), "{program} ended");
        ready()
    });
    started
}

/// A directory in `lab` that belongs to `user`.
pub fn directory_of(lab: &Lab, name: &str, user: &str) -> String {
    let path = lab.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(&path).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    asked(Command::new("chown").args([format!("{user}:{user}").as_str(), &path]));
    path
}

#[test]
fn a_mariadb_that_feeds_replicas_is_refused() {
    let ours = Lab::new();
    if !is_here(&ours, "mariadb:innodb") || !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: needs mariadb and root");
    }
    let theirs = MariadbByHand::make();
    let _server = theirs.start(&["--log-bin=bin", "--server-id=1"]);
    theirs.ask(&format!("CREATE USER visitor@localhost IDENTIFIED BY '{CANARY}'"));
    theirs.ask("GRANT ALL ON *.* TO visitor@localhost");
    let url = theirs.url();
    assert_eq!(visit(&ours, &url, &[]).exit, 0, "as long as nobody follows it");

    let socket_at = format!("--socket={}", theirs.socket);
    let reads = ["--read-from-remote-server", "--stop-never", "-uroot", &socket_at];
    let is_followed =
        || theirs.ask("SELECT count(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'") != "0\n";
    let _replica = started_by_hand("mysql", "mariadb-binlog", &[&reads[..], &["bin.000001"]].concat(), is_followed);
    refuses(&ours, &url, "has replicas");
}

#[test]
fn a_postgresql_that_follows_feeds_or_takes_no_writes_is_refused() {
    let (theirs, ours) = (Lab::new(), Lab::new());
    if !is_here(&ours, "postgres") || !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: needs postgres and root");
    }
    let _server = measuring(&theirs, &["--engine", "postgres"]);
    let socket = socket_of(&theirs, ".s.PGSQL.5432");
    let primary = Path::new(&socket).parent().unwrap().to_str().unwrap().to_owned();
    let ask_at = |directory: &str, sql: &str| {
        let mut psql = Command::new("psql");
        // What the role is set to is for others.
        psql.env("PGOPTIONS", "-c default_transaction_read_only=off");
        psql.args(["-At", "-U", "plimsoll", "-c", sql, "postgres", "-h", directory]).output().unwrap()
    };
    let url = |socket: &str| format!("postgres://plimsoll@localhost/postgres?socket={socket}");
    assert!(ask_at(&primary, "ALTER ROLE plimsoll SET default_transaction_read_only = on").status.success());
    refuses(&ours, &url(&socket), "is read-only");
    assert!(ask_at(&primary, "ALTER ROLE plimsoll RESET default_transaction_read_only").status.success());

    let standby = directory_of(&theirs, "standby", "postgres");
    asked(Command::new("pg_basebackup").args([
        "-h",
        &primary,
        "-U",
        "plimsoll",
        "-D",
        &standby,
        "-R",
        "--no-sync",
        "-c",
        "fast",
    ]));
    asked(Command::new("chown").args(["-R", "postgres:postgres", &standby]));
    // The primary's socket is in its data directory, and the lock of it was copied.
    std::fs::remove_file(format!("{standby}/.s.PGSQL.5432.lock")).unwrap();
    let place = format!("unix_socket_directories={standby}");
    let program = asked(Command::new("sh").args(["-c", "ls /usr/lib/postgresql/*/bin/postgres | tail -1"]));
    let arguments = ["-D", &standby, "-c", &place, "-c", "listen_addresses=", "-c", "max_connections=2000"];
    let is_followed =
        || ask_at(&primary, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'").stdout == b"1\n";
    let is_up = || ask_at(&standby, "SELECT 1").status.success() && is_followed();
    let _standby = started_by_hand("postgres", program.trim(), &arguments, is_up);
    refuses(&ours, &url(&format!("{standby}/.s.PGSQL.5432")), "is a replica");
    refuses(&ours, &url(&socket), "has replicas");
}

/// What a client of the server prints.
pub fn asked(client: &mut Command) -> String {
    let output = client.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What the MariaDB at `socket` answers its root.
pub fn ask_mariadb(socket: &str, sql: &str) -> String {
    asked(Command::new("mariadb").args(["-N", "-uroot", "-S", socket, "-e", sql]))
}

/// What the PostgreSQL at `socket`, whose name ends with its port, answers plimsoll's own role.
pub fn ask_postgres(socket: &str, sql: &str) -> String {
    let (directory, port) = (Path::new(socket).parent().unwrap(), socket.rsplit('.').next().unwrap());
    asked(Command::new("psql").args(["-At", "-U", "plimsoll", "-p", port, "-c", sql, "postgres", "-h"]).arg(directory))
}

pub fn socket_of(lab: &Lab, name: &str) -> String {
    let found = asked(Command::new("find").args([lab.path().to_str().unwrap(), "-name", name]));
    found.lines().next().expect("a socket").to_owned()
}

/// The server is on this machine: what it used is in the columns of a private one, and the CPU time of others can be told.
fn has_costs_of_its_server(point: &Value) {
    for cost in ["engine_cpu_ns_per_op", "context_switches_per_op"] {
        assert!(point["cost"][cost].is_number(), "{cost}: {point}");
    }
    // How it writes is known, and the file system of its data was written out; what others write may hide what it wrote.
    assert_eq!(point["cost"]["written_accounts"]["is_synced"], true, "{point}");
    let is_hidden = point["cost"]["written_unknown"] == "others-wrote";
    assert!(point["cost"]["written_bytes_per_op"].is_number() || is_hidden, "{point}");
    let unseen = |finding: &&Value| finding["code"] == "server-unseen" || finding["code"] == "counter-gap";
    assert_eq!(point["findings"].as_array().unwrap().iter().find(unseen), None);
}

#[test]
fn a_server_of_somebody_else_is_measured_in_a_schema_of_its_own_that_goes() {
    let (theirs, ours) = (Lab::new(), Lab::new());
    if !is_here(&ours, "mariadb:innodb") {
        return;
    }
    let _server = measuring(&theirs, &[]);
    let socket = socket_of(&theirs, "m.sock");
    let ask = |sql: &str| ask_mariadb(&socket, sql);
    ask(&format!("CREATE USER visitor@localhost IDENTIFIED BY '{CANARY}'; GRANT ALL ON *.* TO visitor@localhost"));
    let before = ask("SHOW DATABASES");

    let visited = visit(&ours, &format!("mysql://visitor@localhost/?socket={socket}"), &[]);
    assert_eq!(visited.exit, 0, "{}", visited.stderr);
    assert!(visited.stderr.contains("used the server within the last 5 s"), "{}", visited.stderr);
    let point = &visited.json()["points"][0];
    assert!(point["ops"].as_u64().unwrap() > 0, "{point}");
    has_costs_of_its_server(point);
    assert_eq!((ask("SHOW DATABASES"), ours.left_behind()), (before.clone(), vec![]));

    for (url, exit, why) in [
        (format!("mysql://nobody@localhost/?socket={socket}"), 4, "Access denied"),
        (format!("mysql://visitor:{CANARY}@localhost/?socket={socket}"), 2, "PLIMSOLL_PASSWORD"),
        (format!("oracle://visitor:{CANARY}@localhost/"), 2, "use `mysql://` or `postgres://`"),
        ("mysql://visitor@localhost/?socket=/nonexistent".into(), 4, "No such file"),
    ] {
        let refused = visit(&ours, &url, &[]);
        assert!(refused.exit == exit && refused.stderr.contains(why), "{} {}", refused.exit, refused.stderr);
    }
    // A user without rights over the server, who may make schemas of plimsoll's name only.
    ask(&format!(
        "CREATE USER guest@localhost IDENTIFIED BY '{CANARY}'; GRANT ALL ON `plimsoll\\_%`.* TO guest@localhost"
    ));
    let guest = format!("mysql://guest@localhost/?socket={socket}");
    assert_eq!(visit(&ours, &guest, &[]).exit, 0);
    ask("SET GLOBAL read_only = 1");
    refuses(&ours, &format!("mysql://visitor@localhost/?socket={socket}"), "is read-only");
    refuses(&ours, &guest, "is read-only");
    ask("SET GLOBAL read_only = 0, GLOBAL tx_read_only = 1");
    refuses(&ours, &guest, "is read-only");
    ask("SET GLOBAL tx_read_only = 0, GLOBAL read_only = 1");
    ask("SET GLOBAL read_only = 0; CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_USER = 'nobody'");
    refuses(&ours, &format!("mysql://visitor@localhost/?socket={socket}"), "is a replica");
    assert_eq!(ask("SHOW DATABASES"), before);
}

#[test]
fn a_postgresql_of_somebody_else_wants_its_password_and_is_left_as_it_was() {
    let (theirs, ours) = (Lab::new(), Lab::new());
    if !is_here(&ours, "postgres") {
        return;
    }
    let _server = measuring(&theirs, &["--engine", "postgres"]);
    let socket = socket_of(&theirs, ".s.PGSQL.5432");
    let directory = Path::new(&socket).parent().unwrap().to_owned();
    let ask = |sql: &str| ask_postgres(&socket, sql);
    ask(&format!("CREATE ROLE visitor LOGIN PASSWORD '{CANARY}'; GRANT CREATE ON DATABASE postgres TO visitor"));
    let access = directory.join("pg_hba.conf");
    std::fs::write(&access, "local all visitor scram-sha-256\nlocal all all trust\n").unwrap();
    ask("SELECT pg_reload_conf()");

    let url = format!("postgres://visitor@localhost/postgres?socket={socket}");
    let visited = visit(&ours, &url, &[]);
    assert_eq!(visited.exit, 0, "{}", visited.stderr);
    let point = &visited.json()["points"][0];
    assert!(point["ops"].as_u64().unwrap() > 0, "{point}");
    has_costs_of_its_server(point);
    assert_eq!(ask("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'plimsoll%'").trim(), "0");

    let file = ours.path().join("password");
    std::fs::write(&file, "wrong").unwrap();
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, closed).unwrap();
    let refused = visit(&ours, &url, &["--password-file", file.to_str().unwrap()]);
    assert!(refused.exit == 4 && refused.stderr.contains("password authentication failed"), "{}", refused.stderr);
}

/// Holds connections to the server at `url`, with `password`.
fn held_at(lab: &Lab, url: &str, password: &str) -> Finished {
    let mut command =
        lab.command(&["connect", "--engine", url, "--hold", "connections", "--json", "--no-report", "--quiet"]);
    command.env("PLIMSOLL_PASSWORD", password).output().unwrap().into()
}

/// Holds connections over TCP at `plain` and over TLS at `encrypted` until the server has all 40 that it takes.
fn is_filled_by_url(lab: &Lab, [plain, encrypted]: [String; 2], denied: &str) {
    for url in [&plain, &encrypted] {
        let held = held_at(lab, url, CANARY);
        assert_eq!(held.exit, 0, "{url}: {}", held.stderr);
        let hold = &held.json()["points"][0]["hold"];
        assert_eq!((&hold["limit"], &hold["connections_max"]), (&"engine".into(), &40.into()), "{url}: {hold}");
        assert!((20..40).contains(&hold["reached"].as_u64().unwrap()), "{url}: {hold}");
        let refused = held_at(lab, url, "wrong");
        assert!(refused.exit == 4 && refused.stderr.contains(denied), "{url}: {} {}", refused.exit, refused.stderr);
        assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    }
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn connections_to_a_mariadb_by_url_are_held_over_tcp_and_tls_and_a_wrong_password_leaves_nothing() {
    let (theirs, ours) = (Lab::new(), Lab::new());
    if !is_here(&ours, "mariadb:innodb") {
        return;
    }
    let own = ["--engine", "mariadb", "--via", "tls", "--set", "mariadb.max_connections=40"];
    let _server = measuring(&theirs, &own);
    let socket = socket_of(&theirs, "m.sock");
    let ask = |sql: &str| ask_mariadb(&socket, sql);
    ask(&format!("CREATE USER visitor@'127.0.0.1' IDENTIFIED BY '{CANARY}'"));
    ask("GRANT ALL ON `plimsoll\\_%`.* TO visitor@'127.0.0.1'");
    let before = ask("SHOW DATABASES");
    let url = format!("mysql://visitor@127.0.0.1:{}/?ssl-mode=", ask("SELECT @@port").trim());
    is_filled_by_url(&ours, [format!("{url}DISABLED"), format!("{url}REQUIRED")], "Access denied");
    assert_eq!(ask("SHOW DATABASES"), before);
}

#[test]
fn connections_to_a_postgresql_by_url_are_held_over_tcp_and_tls_and_a_wrong_password_leaves_nothing() {
    let (theirs, ours) = (Lab::new(), Lab::new());
    if !is_here(&ours, "postgres") {
        return;
    }
    let own = ["--engine", "postgres", "--via", "tls", "--set", "postgres.max_connections=40"];
    let _server = measuring(&theirs, &own);
    let socket = socket_of(&theirs, ".s.PGSQL.*[0-9]");
    let port = socket.rsplit('.').next().unwrap();
    let ask = |sql: &str| ask_postgres(&socket, sql);
    ask(&format!("CREATE ROLE visitor LOGIN PASSWORD '{CANARY}'; GRANT CREATE ON DATABASE postgres TO visitor"));
    let url = format!("postgres://visitor@127.0.0.1:{port}/postgres?sslmode=");
    is_filled_by_url(&ours, [format!("{url}disable"), format!("{url}require")], "password authentication failed");
    assert_eq!(ask("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'plimsoll%'").trim(), "0");
}

/// Ends the run by Ctrl-C, and returns its point.
pub fn point_of_interrupted(run: &mut Running) -> Value {
    assert!(Command::new("kill").args(["-s", "INT", &run.0.id().to_string()]).status().unwrap().success());
    let finished = run.finished();
    assert_eq!(finished.exit, 130, "{}", finished.stderr);
    finished.json()["points"][0].clone()
}

/// The title of the finding about changed settings, which makes `point` invalid.
pub fn changed_settings(point: &Value) -> &str {
    let found = point["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == "settings-changed");
    assert_eq!(point["validity"], "invalid", "{point}");
    found.unwrap_or_else(|| panic!("{point}"))["title"].as_str().unwrap()
}

#[test]
fn a_setting_of_a_mariadb_that_changes_voids_the_point_of_each_that_measures_it() {
    let (theirs, ours) = (Lab::new(), Lab::new());
    if !is_here(&ours, "mariadb:innodb") {
        return;
    }
    let mut private = measuring(&theirs, &[]);
    let socket = socket_of(&theirs, "m.sock");
    let ask = |sql: &str| ask_mariadb(&socket, sql);
    ask(&format!("CREATE USER visitor@localhost IDENTIFIED BY '{CANARY}'; GRANT ALL ON *.* TO visitor@localhost"));
    let url = format!("mysql://visitor@localhost/?socket={socket}");
    let mut visitor = measuring_as(&ours, &["--engine", &url], CANARY);
    ask("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    let index = ask(
        "SELECT CONCAT(table_schema, '.', table_name, ' DROP INDEX ', index_name) FROM information_schema.statistics \
                     WHERE table_schema LIKE 'plimsoll\\_%' AND index_name <> 'PRIMARY' LIMIT 1",
    );
    ask(&format!("ALTER TABLE {index}"));
    for (run, changed) in [(&mut visitor, "settings and tables"), (&mut private, "settings")] {
        let point = point_of_interrupted(run);
        let title = changed_settings(&point);
        let change = "innodb_flush_log_at_trx_commit from `0` to `2`";
        assert!(
            title.starts_with(&format!("the server's {changed} were changed: ")) && title.ends_with(change),
            "{title}"
        );
        assert_eq!(title.contains(": index "), changed != "settings", "{title}");
    }
}

#[test]
fn a_setting_of_a_postgresql_that_changes_voids_the_point_of_each_that_measures_it() {
    let (theirs, ours) = (Lab::new(), Lab::new());
    if !is_here(&ours, "postgres") {
        return;
    }
    let mut private = measuring(&theirs, &["--engine", "postgres"]);
    let socket = socket_of(&theirs, ".s.PGSQL.5432");
    let ask = |sql: &str| ask_postgres(&socket, sql);
    let url = format!("postgres://plimsoll@localhost/postgres?socket={socket}");
    let mut visitor = measuring_as(&ours, &["--engine", &url], "");
    // What the command line of the server sets, such as durability, this does not change.
    ask("ALTER SYSTEM SET log_min_duration_statement = 777");
    ask("SELECT pg_reload_conf()");
    wait_until("the new setting", || ask("SHOW log_min_duration_statement").trim() == "777ms");
    let index = ask("SELECT schemaname || '.' || indexname FROM pg_indexes WHERE schemaname LIKE 'plimsoll\\_%' \
                     AND indexdef NOT LIKE '% UNIQUE %' LIMIT 1");
    ask(&format!("DROP INDEX {index}"));
    for (run, changed) in [(&mut visitor, "settings and tables"), (&mut private, "settings")] {
        let point = point_of_interrupted(run);
        let title = changed_settings(&point);
        let change = "log_min_duration_statement from `-1` to `777`";
        assert!(
            title.starts_with(&format!("the server's {changed} were changed: ")) && title.ends_with(change),
            "{title}"
        );
        assert_eq!(title.contains(": index "), changed != "settings", "{title}");
    }
}
