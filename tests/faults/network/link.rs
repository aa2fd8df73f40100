//! A link between plimsoll and a server that carries less than both could.
//!
//! In: a rate. Out: a network namespace for plimsoll, whose only link to the rest of the machine has that rate in each direction. Limits: it
//! needs root, `ip` and `tc`.

use crate::database::{MariaDb, PASSWORD, has_mariadb};
use crate::disks::done;
use crate::lab::{Finished, Lab};
use std::process::Command;

/// A namespace behind a slow link.
struct SlowLink {
    name: String,
}

impl SlowLink {
    /// One with `rate`, as `tc` writes it: `20mbit`.
    fn new(rate: &str) -> SlowLink {
        let link = SlowLink { name: format!("plf{}", std::process::id()) };
        let (name, outer, inner) = (link.name.as_str(), link.end('o'), link.end('i'));
        done("ip", &["netns", "add", name]);
        done("ip", &["link", "add", &outer, "type", "veth", "peer", "name", &inner, "netns", name]);
        done("ip", &["addr", "add", &format!("{}/30", link.address(1)), "dev", &outer]);
        done("ip", &["link", "set", &outer, "up"]);
        done("ip", &["-n", name, "addr", "add", &format!("{}/30", link.address(2)), "dev", &inner]);
        done("ip", &["-n", name, "link", "set", &inner, "up"]);
        let limit = ["root", "tbf", "rate", rate, "burst", "64kb", "latency", "50ms"];
        done("tc", &[&["qdisc", "add", "dev", &outer], &limit[..]].concat());
        done("tc", &[&["-n", name, "qdisc", "add", "dev", &inner], &limit[..]].concat());
        link
    }

    fn end(&self, letter: char) -> String {
        format!("{}{letter}", self.name)
    }

    /// The address of an end. Several of these tests may run at a time.
    fn address(&self, nth: u8) -> String {
        format!("10.99.{}.{nth}", 100 + std::process::id() % 100)
    }
}

impl Drop for SlowLink {
    fn drop(&mut self) {
        // With one end goes the other.
        done("ip", &["link", "delete", &self.end('o')]);
        done("ip", &["netns", "delete", &self.name]);
    }
}

pub fn is_full(lab: &Lab) -> Option<Finished> {
    let has_programs = ["ip", "tc"].iter().all(|program| Command::new(program).arg("-V").output().is_ok());
    if !has_mariadb() || !has_programs {
        return None;
    }
    let (server, link) = (MariaDb::start(&["--bind-address=0.0.0.0"]), SlowLink::new("20mbit"));
    let url = format!("mysql://visitor@{}:{}/?ssl-mode=DISABLED", link.address(1), server.port());
    let load = ["oltp", "--engine", &url, "--mix", "read_only", "--table-rows", "1000", "--clients", "4"];
    let times = ["--time", "3s", "--interval", "100ms", "--link", "20Mbit", "--no-report", "--quiet", "--json"];
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &link.name, env!("CARGO_BIN_EXE_plimsoll")]).args([&load[..], &times].concat());
    let finished: Finished =
        command.env("PLIMSOLL_PASSWORD", PASSWORD).current_dir(lab.path()).output().unwrap().into();
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    let run = finished.json();
    let found = run["points"][0]["findings"].as_array().unwrap().iter();
    let causes: Vec<String> = found.filter(|one| one["code"] == "bottleneck").map(ToString::to_string).collect();
    assert!(causes.iter().any(|cause| cause.contains("network")), "{}", run["points"][0]);
    Some(finished)
}
