//! How a listener queues connections: the kernel's settings, and the queue itself.
//!
//! In: `/proc/sys/net`, `/proc/net/tcp`, a port. Out: facts `backlog.*`. Limits: of this machine and this network namespace; the kernel shows in
//! `/proc` how many connections wait in a listener's queue, and how many may wait by netlink only: `ss -l` asks for it and prints it as
//! `Send-Q`, so that program is run if it is installed.

use host::deadline::output_within;
use model::Fact;
use std::net::IpAddr;
use std::process::Command;
use std::time::Duration;

const SETTINGS: [(&str, &str); 4] = [
    ("somaxconn", "/proc/sys/net/core/somaxconn"),
    ("tcp_max_syn_backlog", "/proc/sys/net/ipv4/tcp_max_syn_backlog"),
    ("tcp_syncookies", "/proc/sys/net/ipv4/tcp_syncookies"),
    ("tcp_abort_on_overflow", "/proc/sys/net/ipv4/tcp_abort_on_overflow"),
];

/// How long `ss` may take, which asks the kernel once.
const LISTED_WITHIN: Duration = Duration::from_secs(5);

/// The kernel's settings, and the queue of the listener on `host` and `port` if it is on this machine.
pub fn backlog_facts(host: &str, port: u16) -> Vec<Fact> {
    let settings = SETTINGS.iter().filter_map(|(name, path)| {
        let value = std::fs::read_to_string(path).ok()?;
        Some(Fact::new(format!("backlog.{name}"), value.trim()))
    });
    let is_here = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    settings.chain(is_here.then(|| queue_facts(port)).into_iter().flatten()).collect()
}

/// How many connections wait in the queue of the listener on `port`, and how many may.
fn queue_facts(port: u16) -> Vec<Fact> {
    let listed = output_within(Command::new("ss").args(["-Hltn", &format!("sport = :{port}")]), LISTED_WITHIN);
    let listed = listed.ok().filter(|output| output.status.success());
    let queue = listed.and_then(|output| parse_ss(&String::from_utf8_lossy(&output.stdout)));
    if let Some([queued, most]) = queue {
        return vec![Fact::new("backlog.queued", queued.to_string()), Fact::new("backlog.queue_max", most.to_string())];
    }
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
    let queued = tables.iter().find_map(|table| queued_in(table, port));
    queued.map(|queued| Fact::new("backlog.queued", queued.to_string())).into_iter().collect()
}

/// `LISTEN 2 1 127.0.0.1:4000 0.0.0.0:*`: of a listener these are the connections that wait, and the most that may.
fn parse_ss(text: &str) -> Option<[u64; 2]> {
    let mut words = text.lines().next()?.split_whitespace().skip(1);
    Some([words.next()?.parse().ok()?, words.next()?.parse().ok()?])
}

/// The connections that wait at the listener on `port`, by a table of the kernel. A socket that listens has state 0A, and its receive queue
/// is theirs (<https://www.kernel.org/doc/Documentation/networking/proc_net_tcp.txt>).
fn queued_in(table: &str, port: u16) -> Option<u64> {
    let suffix = format!(":{port:04X}");
    table.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, local, _, "0A", queues, ..] = words[..] else { return None };
        let (_, received) = queues.split_once(':').filter(|_| local.ends_with(&suffix))?;
        u64::from_str_radix(received, 16).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_listener_is_found_by_its_port_in_both_forms() {
        assert_eq!(parse_ss("LISTEN 2      1          127.0.0.1:4000       0.0.0.0:*\n"), Some([2, 1]));
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n   \
                     0: 0100007F:0FA0 00000000:0000 0A 00000000:00000002 00:00000000 00000000     0        0 1 1\n   \
                     1: 0100007F:0FA1 0100007F:0FA0 01 00000000:00000009 00:00000000 00000000     0        0 2 1\n";
        assert_eq!((queued_in(table, 4000), queued_in(table, 4001)), (Some(2), None));
    }

    #[test]
    fn this_machine_has_the_settings_and_a_listener_of_its_own() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let facts = backlog_facts("127.0.0.1", listener.local_addr().unwrap().port());
        let value = |name: &str| facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str());
        assert_eq!(value("backlog.queued"), Some("0"), "{facts:?}");
        assert!(value("backlog.somaxconn").is_some_and(|text| text.parse::<u64>().is_ok()), "{facts:?}");
        assert!(!backlog_facts("192.0.2.1", 1).iter().any(|fact| fact.name == "backlog.queued"));
    }
}
