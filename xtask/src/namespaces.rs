//! Network namespaces as hosts: each is joined by a link of its own to a bridge in this namespace.
//!
//! In: a name, the first three numbers of the addresses, for each host the speed of its link. Out: addresses, the words that start a program on a
//! host, links that go down and up. All of it ends when it is dropped. Limits: root on Linux, with `ip` and `tc`; names of interfaces have 15
//! characters at most, so that of a network has 8.

use crate::workspace;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// A bridge, and the hosts behind it.
pub struct HostNetwork {
    name: String,
    /// The first three numbers of all addresses.
    addresses: String,
    hosts: Vec<HostNamespace>,
}

pub struct HostNamespace {
    name: String,
    /// Its end of the link is of this name without the last letter, and `i`.
    link: String,
    address: String,
}

impl HostNetwork {
    /// A bridge `name` with the address `addresses`.1, and no host behind it.
    ///
    /// # Errors
    /// If this is not root, or `ip` or `tc` is missing.
    pub fn make(name: &str, addresses: &str) -> Result<HostNetwork> {
        ensure!(name.len() <= 8, "`{name}` is too long for the names of interfaces");
        remove_all(name);
        let network = HostNetwork { name: name.to_owned(), addresses: addresses.to_owned(), hosts: Vec::new() };
        ip(&format!("link add {name} type bridge"))?;
        ip(&format!("addr add {}/24 dev {name}", network.own_address()))?;
        ip(&format!("link set {name} up"))?;
        Ok(network)
    }

    /// The address of this side.
    pub fn own_address(&self) -> String {
        format!("{}.1", self.addresses)
    }

    /// Adds a host with a link of `rate` each way, in the words of tc (`100mbit`); `None` for as much as the CPU can do.
    pub fn add(&mut self, rate: Option<&str>) -> Result<&HostNamespace> {
        let name = format!("{}-h{}", self.name, self.hosts.len() + 1);
        ip(&format!("netns add {name}"))?;
        ip(&format!("-n {name} link set lo up"))?;
        self.connect(name, rate)
    }

    /// Gives a host of another network a link to this one, too. Returns the host as this network sees it.
    pub fn add_host_of(&mut self, other: &HostNamespace, rate: Option<&str>) -> Result<&HostNamespace> {
        self.connect(other.name.clone(), rate)
    }

    fn connect(&mut self, name: String, rate: Option<&str>) -> Result<&HostNamespace> {
        let (nth, bridge) = (self.hosts.len() + 1, &self.name);
        let (link, address) = (format!("{bridge}{nth}o"), format!("{}.{}", self.addresses, nth + 1));
        let host = HostNamespace { name, link, address };
        let (outer, inner, name) = (&host.link, host.inner(), &host.name);
        ip(&format!("link add {outer} type veth peer name {inner}"))?;
        ip(&format!("link set {inner} netns {name}"))?;
        ip(&format!("link set {outer} master {bridge} up"))?;
        ip(&format!("-n {name} addr add {}/24 dev {inner}", host.address))?;
        ip(&format!("-n {name} link set {inner} up"))?;
        if let Some(rate) = rate {
            let limit = format!("root tbf rate {rate} burst 64kb latency 50ms");
            run("tc", &format!("qdisc add dev {outer} {limit}"))?;
            run("tc", &format!("-n {name} qdisc add dev {inner} {limit}"))?;
        }
        self.hosts.push(host);
        self.hosts.last().context("it was added")
    }

    /// Host number `nth`, from 0.
    pub fn host(&self, nth: usize) -> &HostNamespace {
        &self.hosts[nth]
    }
}

impl HostNamespace {
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The command that starts `program` on it.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(&self.prefix()[1..]).arg(program);
        command
    }

    /// The words in front of a program.
    pub fn prefix(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.name].map(str::to_owned).to_vec()
    }

    /// The interface on the host.
    fn inner(&self) -> String {
        format!("{}i", self.link.trim_end_matches('o'))
    }

    /// Takes its link down or up: nothing comes through while it is down.
    pub fn set_link(&self, is_up: bool) -> Result<()> {
        ip(&format!("link set {} {}", self.link, if is_up { "up" } else { "down" }))
    }
}

impl Drop for HostNetwork {
    fn drop(&mut self) {
        remove_all(&self.name);
    }
}

/// Removes the bridge and its hosts, also those that a killed process left. That there is none is no failure.
fn remove_all(name: &str) {
    let listed = workspace::output_of(Command::new("ip").args(["netns", "list"])).unwrap_or_default();
    let hosts = listed.lines().filter_map(|line| line.split(' ').next());
    for host in hosts.filter(|host| host.strip_prefix(name).is_some_and(|rest| rest.starts_with("-h"))) {
        let _ = ip(&format!("netns delete {host}"));
    }
    let _ = ip(&format!("link delete {name}"));
}

fn ip(arguments: &str) -> Result<()> {
    run("ip", arguments)
}

fn run(program: &str, arguments: &str) -> Result<()> {
    let shown = || format!("`{program} {arguments}`");
    let output = Command::new(program).args(arguments.split(' ')).output();
    let output = output.with_context(|| format!("cannot start {}", shown()))?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} failed: {}", shown(), words.trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_started_behind_the_name_of_its_host() {
        let host = HostNamespace { name: "soak-h2".into(), link: "soak2o".into(), address: "10.99.72.3".into() };
        let command = host.command(Path::new("/bin/true"));
        assert_eq!(command.get_program(), "ip");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["netns", "exec", "soak-h2", "/bin/true"]);
        assert_eq!(host.inner(), "soak2i");
    }
}
