//! The machine as a plan asks for it: CPUs of clients and servers, and the I/O scheduler of a disk, which is put back in every case.
//!
//! In: the processes of a run, and the scheduler of a loop device made for the test. Out: each runs where it should, and the scheduler is what
//! it was. Limits: schedulers need root; elsewhere those tests say so on stderr and pass there only.

use crate::disks::{Disk, Mounted};
use crate::lab::{Finished, Lab, NULL, is_so, one_of, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::process::Child;
use std::sync::{Mutex, MutexGuard};

/// A disk with a file system, whose scheduler may be changed, and the tests of this file one at a time: only one plimsoll changes settings.
struct SchedulerLab {
    lab: Lab,
    disk: Mounted,
    name: String,
    _alone: MutexGuard<'static, ()>,
}

impl SchedulerLab {
    fn new() -> Option<SchedulerLab> {
        static ALONE: Mutex<()> = Mutex::new(());
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root: a disk cannot be made, nor its scheduler changed");
            return None;
        }
        let alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let disk = Disk::with(2048, "mkfs.ext4", &["-q"]).mount();
        let name = disk.disk().node.strip_prefix("/dev/").unwrap().to_owned();
        let lab = SchedulerLab { lab: Lab::new(), disk, name, _alone: alone };
        if !lab.text().contains("kyber") || !lab.text().contains("mq-deadline") {
            eprintln!("skipped: this kernel has no kyber, or no mq-deadline");
            return None;
        }
        lab.set("none");
        Some(lab)
    }

    fn file(&self) -> String {
        format!("/sys/class/block/{}/queue/scheduler", self.name)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    fn set(&self, word: &str) {
        fs::write(self.file(), word).unwrap();
    }

    fn scheduler(&self) -> String {
        let text = self.text();
        text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).expect("one is chosen").0.to_owned()
    }

    fn arguments<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let own = ["file", "--dir", self.disk.text(), "--file-size", "16MiB", "--no-report"];
        [&own[..], more].concat()
    }

    fn run(&self, more: &[&str]) -> Finished {
        self.lab.run(&self.arguments(more))
    }

    /// A long run that has set the scheduler to kyber and measures.
    fn start_with_kyber(&self) -> Child {
        let more = ["--scheduler", "kyber", "--allow-system-change", "--time", "10m", "--interval", "50ms"];
        let mut child = self.lab.command(&self.arguments(&more)).spawn().unwrap();
        self.lab.wait_for_load(&mut child, 2);
        assert_eq!(self.scheduler(), "kyber");
        child
    }
}

fn facts(lab: &Lab, nth: i64) -> Vec<(String, String)> {
    let run = rusqlite::Connection::open(lab.run_files().pop().unwrap()).unwrap();
    let text: String = run.query_row("SELECT facts FROM point WHERE id = ?1", [nth + 1], |row| row.get(0)).unwrap();
    let facts: Vec<Value> = serde_json::from_str(&text).unwrap();
    let word = |fact: &Value, key: &str| fact[key].as_str().unwrap().to_owned();
    facts.iter().map(|fact| (word(fact, "name"), word(fact, "value"))).collect()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_scheduler_is_changed_only_if_that_is_allowed() {
    let Some(lab) = SchedulerLab::new() else { return };
    let refused = lab.run(&["--scheduler", "none,kyber", "--time", "300ms"]);
    assert_eq!((refused.exit, refused.stdout.as_str()), (3, ""));
    let change = format!("I/O scheduler of `{}` (`kyber` instead of `none`); add --allow-system-change", lab.name);
    assert!(refused.stderr.contains(&change) && refused.stderr.lines().count() == 1, "{}", refused.stderr);
    let same = lab.run(&["--scheduler", "none", "--time", "300ms", "--quiet"]);
    assert_eq!((same.exit, same.stderr.as_str()), (0, ""), "nothing is changed");
    assert_eq!(lab.lab.left_behind(), [""; 0]);
}

#[test]
fn schedulers_are_a_dimension_and_the_disk_gets_its_own_back() {
    let Some(lab) = SchedulerLab::new() else { return };
    let words = "mq-deadline,kyber,keep,none";
    let done = lab.run(&["--scheduler", words, "--allow-system-change", "--time", "300ms", "--json"]);
    assert_eq!(done.exit, 0, "{}", done.stderr);
    let left_out = "plimsoll: scheduler = `none` is left out: it is the same as `keep` here";
    assert_eq!(done.stderr.lines().next(), Some(left_out));
    let run = done.json();
    let asked: Vec<&Value> =
        run["points"].as_array().unwrap().iter().map(|point| &point["params"]["scheduler"]).collect();
    assert_eq!(asked, [&Value::from("mq-deadline"), &Value::from("kyber"), &Value::Null]);
    let set = |nth| facts(&lab.lab, nth).into_iter().find(|(name, _)| *name == format!("set.scheduler.{}", lab.name));
    assert_eq!(
        [0, 1, 2].map(|nth| set(nth).map(|(_, value)| value)),
        [Some("mq-deadline".into()), Some("kyber".into()), None]
    );
    assert_eq!(lab.scheduler(), "none");
}

#[test]
fn what_a_killed_run_has_changed_is_put_back_by_the_next_start_and_said() {
    let Some(lab) = SchedulerLab::new() else { return };
    // Any plimsoll of the machine puts it back, and other tests start some, too.
    one_of(5, || {
        let mut child = lab.start_with_kyber();
        child.kill().unwrap();
        child.wait().unwrap();
        let is_changed = lab.scheduler() == "kyber";
        let next = lab.lab.run(&[NULL, &["--time", "300ms"]].concat());
        assert_eq!(next.exit, 0, "{}", next.stderr);
        let is_back = lab.scheduler() == "none";
        let said = format!(
            "plimsoll: put back what a run that was killed had changed: I/O scheduler of `{}` from `kyber` to `none`",
            lab.name
        );
        let is_said = next.stderr.lines().next() == Some(&said);
        is_so(is_changed && is_back && is_said, || format!("{is_changed}, {is_back}: {}", next.stderr))
    });
    let again = lab.lab.run(&[NULL, &["--time", "300ms"]].concat());
    assert!(again.exit == 0 && !again.stderr.contains("put back"), "{}", again.stderr);
}

#[test]
fn an_interrupted_run_puts_the_scheduler_back_and_only_one_plimsoll_changes_settings() {
    let Some(lab) = SchedulerLab::new() else { return };
    let mut child = lab.start_with_kyber();
    let (other, elsewhere) = (Disk::with(2048, "mkfs.ext4", &["-q"]).mount(), Lab::new());
    let more = ["--scheduler", "kyber", "--allow-system-change", "--time", "300ms", "--quiet"];
    let second = elsewhere.run(&[&["file", "--dir", other.text(), "--file-size", "16MiB"], &more[..]].concat());
    assert_eq!(second.exit, 3, "{}", second.stderr);
    assert!(second.stderr.contains("another plimsoll has changed settings of the kernel"), "{}", second.stderr);
    assert_eq!(lab.scheduler(), "kyber", "the second left it");
    signal(&child, Signal::INT);
    assert_eq!((child.wait().unwrap().code(), lab.scheduler().as_str()), (Some(130), "none"));
}

#[test]
fn a_scheduler_that_another_program_has_set_meanwhile_is_left() {
    let Some(lab) = SchedulerLab::new() else { return };
    let child = lab.start_with_kyber();
    lab.set("mq-deadline");
    signal(&child, Signal::INT);
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    let left = format!("I/O scheduler of `{}` was left at `mq-deadline`: another program has changed it", lab.name);
    assert!(said.contains(&left), "{said}");
    assert_eq!(lab.scheduler(), "mq-deadline");
}

/// The CPUs that the threads of a process may use, each list once.
fn cpus_of(pid: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let status = threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok());
    let of = |text: String| {
        text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:").map(|list| list.trim().to_owned()))
    };
    let mut all: Vec<String> = status.filter_map(of).collect();
    all.sort();
    all.dedup();
    all
}

fn children_of(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children.split_ascii_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// The first and the last CPU that this process may use.
fn two_cpus() -> Option<(String, String)> {
    let own = rustix::thread::sched_getaffinity(None).unwrap();
    let usable: Vec<usize> = (0..1024).filter(|number| own.is_set(*number)).collect();
    match usable[..] {
        [first, .., last] => Some((first.to_string(), last.to_string())),
        _ => {
            eprintln!("skipped: there is only one CPU to run on");
            None
        }
    }
}

#[test]
fn clients_and_server_run_on_the_cpus_that_they_are_given() {
    let lab = Lab::new();
    let engines = lab.json(&["engines"]);
    let is_here = |entry: &Value| entry["engine"] == "postgres" && entry["version"].is_string();
    let (Some((one, two)), true) = (two_cpus(), engines["engines"].as_array().unwrap().iter().any(is_here)) else {
        return eprintln!("skipped: needs PostgreSQL and two CPUs");
    };
    let cpus = format!("client={one}+engine={two}");
    let sweep = ["oltp", "--engine", "postgres", "--table-rows", "1000", "--cpus", &cpus, "--clients", "2"];
    let mut child =
        lab.command(&[&sweep[..], &["--time", "10m", "--interval", "50ms", "--no-report"]].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 2);
    let servers = children_of(child.id());
    let backends: Vec<u32> = servers.iter().flat_map(|server| children_of(*server)).collect();
    assert!(servers.len() == 1 && backends.len() >= 2, "{servers:?} {backends:?}");
    assert_eq!(cpus_of(child.id()), [one.as_str()]);
    servers.iter().chain(&backends).for_each(|pid| assert_eq!(cpus_of(*pid), [two.as_str()]));
    signal(&child, Signal::INT);
    wait_until("the end", || child.try_wait().unwrap().is_some());
    let facts = facts(&lab, 0);
    for expected in [("cpus.clients", &one), ("cpus.engine", &two)] {
        assert!(facts.iter().any(|(name, value)| (name.as_str(), value) == expected), "{facts:?}");
    }
}

#[test]
fn an_engine_inside_plimsoll_moves_to_the_cpus_of_the_next_point() {
    let Some((one, two)) = two_cpus() else { return };
    let lab = Lab::new();
    let cpus = format!("{one},{two},{one}+{two}");
    let run = lab.short(&["oltp", "--engine", "sqlite", "--table-rows", "1000", "--cpus", &cpus]);
    assert_eq!(run["points"].as_array().unwrap().len(), 3);
    let pinned = |nth| facts(&lab, nth).into_iter().find(|(name, _)| name == "cpus.clients").unwrap().1;
    assert_eq!([pinned(0), pinned(1)], [one, two]);
}
