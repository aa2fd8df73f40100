//! `network`: what went over the network interface between clients and server.
//!
//! In: the interface's line of `/proc/net/dev`, and the speed of its link. Out: bytes, packets and drops since boot, the speed as it was
//! at the start of the point. Limits: other users of the interface count, too. Bytes are those of the link layer: with the headers of
//! Ethernet, IP and TCP, without what a card adds. A packet over loopback is counted where it leaves and where it arrives: bytes and
//! packets there are of both directions together, and only those sent have a role. Segments that were sent again are in `tcp`.

use crate::interface::NetworkInterface;
use crate::proc_file::{ProcFile, counter, gauge};
use crate::{CounterSource, SamplingSubject, SourceEntry, SourceMissing};
use model::{CounterDef, CounterRole, LinkSpeed, SourceDef};

/// Its entry in [`super::SOURCES`].
pub const ENTRY: SourceEntry = SourceEntry {
    name: "network",
    help: "bytes, packets and drops of the network interface between clients and server, the speed of its link",
    open,
};

/// Where the kernel lists its interfaces.
const DEVICES: &str = "/proc/net/dev";

fn open(subject: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    open_interface(NetworkInterface::on_way(subject.server)?)
}

/// A source for each interface of this machine that has an address, except for loopback: for a host that is observed without a connection of its own.
pub fn open_interfaces() -> Vec<Box<dyn CounterSource>> {
    NetworkInterface::of_machine().into_iter().filter_map(|interface| open_interface(interface).ok()).collect()
}

fn open_interface(interface: NetworkInterface) -> Result<Box<dyn CounterSource>, SourceMissing> {
    let devices = ProcFile::open_with(DEVICES, &interface.name, |text| parse_line(text, &interface.name).is_some())?;
    let speed = interface.link_speed();
    Ok(Box::new(NetworkSource { interface, devices, speed }))
}

struct NetworkSource {
    interface: NetworkInterface,
    devices: ProcFile,
    speed: Option<LinkSpeed>,
}

impl CounterSource for NetworkSource {
    fn describe(&self) -> SourceDef {
        let received = |def: CounterDef, role| if self.interface.is_loopback { def } else { def.read_as(role) };
        SourceDef {
            name: ENTRY.name.into(),
            subject: self.interface.name.clone(),
            counters: vec![
                received(counter("received_bytes", "bytes", "bytes that came in"), CounterRole::NetworkReceivedBytes),
                counter("sent_bytes", "bytes", "bytes that went out; on loopback those of both directions")
                    .read_as(CounterRole::NetworkSentBytes),
                received(
                    counter("received_packets", "count", "packets that came in"),
                    CounterRole::NetworkReceivedPackets,
                ),
                counter("sent_packets", "count", "packets that went out; on loopback those of both directions")
                    .read_as(CounterRole::NetworkSentPackets),
                counter("received_drops", "count", "packets that came in and were dropped")
                    .read_as(CounterRole::NetworkDrops),
                counter("sent_drops", "count", "packets that were to go out and were dropped")
                    .read_as(CounterRole::NetworkDrops),
                counter("errors", "count", "packets that were damaged or could not be sent"),
                gauge(
                    "link_bits_per_s",
                    "bits/s",
                    "speed of the link at the start of the point, if the driver knows it",
                )
                .read_as(CounterRole::LinkSpeed),
            ],
        }
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        let line = self.devices.read_text().ok().and_then(|text| parse_line(text, &self.interface.name));
        let counts = line.map(|line| {
            let errors = line.received_errors + line.sent_errors;
            [
                line.received_bytes,
                line.sent_bytes,
                line.received_packets,
                line.sent_packets,
                line.received_drops,
                line.sent_drops,
                errors,
            ]
            .map(|count| Some(count as f64))
        });
        let speed = self.speed.map(|speed| speed.0);
        counts.unwrap_or_default().into_iter().chain([speed]).collect()
    }
}

/// The fields of an interface's line that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InterfaceLine {
    received_bytes: u64,
    received_packets: u64,
    received_errors: u64,
    received_drops: u64,
    sent_bytes: u64,
    sent_packets: u64,
    sent_errors: u64,
    sent_drops: u64,
}

/// Finds the line of `interface`: its name and a colon, then 8 numbers of what came in and 8 of what went out.
fn parse_line(devices: &str, interface: &str) -> Option<InterfaceLine> {
    // The first number may follow the colon without a space.
    let own = devices.lines().find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'))?;
    let fields: Vec<u64> = own.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
    let &[received_bytes, received_packets, received_errors, received_drops, _, _, _, _, ref sent @ ..] =
        fields.as_slice()
    else {
        return None;
    };
    let &[sent_bytes, sent_packets, sent_errors, sent_drops, ..] = sent else { return None };
    Some(InterfaceLine {
        received_bytes,
        received_packets,
        received_errors,
        received_drops,
        sent_bytes,
        sent_packets,
        sent_errors,
        sent_drops,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EnginePids;
    use model::ServerWay;
    use std::io::{Read, Write};
    use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};

    const LINUX_6_18: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    3193      37    0    0    0     0          0         0     3193      37    0    0    0     0       0          0
  eth0: 341420047  244035    1    2    0     0          0         0 13521345   96012    3    4    0     0       0          0
eth0.7: 11 12 13 14 0 0 0 0 15 16 17 18 0 0 0 0
";
    /// Written by hand in the format of the kernel of 2009, which left no space behind the colon of a large number.
    const LINUX_2_6_32: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
  eth0:9876543210 8000000    0    7    0     0          0         0 1234567890 4000000    0    0    0     0       0          0
";

    #[test]
    fn a_line_is_found_by_its_whole_name_whether_a_space_follows_or_not() {
        let line = parse_line(LINUX_6_18, "eth0").unwrap();
        assert_eq!((line.received_bytes, line.received_packets, line.sent_bytes), (341_420_047, 244_035, 13_521_345));
        assert_eq!((line.received_errors, line.received_drops, line.sent_errors, line.sent_drops), (1, 2, 3, 4));
        assert_eq!(parse_line(LINUX_6_18, "eth0.7").unwrap().sent_drops, 18);
        let old = parse_line(LINUX_2_6_32, "eth0").unwrap();
        assert_eq!((old.received_bytes, old.received_drops, old.sent_packets), (9_876_543_210, 7, 4_000_000));
        assert_eq!(parse_line(LINUX_6_18, "eth"), None);
        assert_eq!(parse_line("eth0: 1 2 3\n", "eth0"), None);
    }

    fn loopback() -> Box<dyn CounterSource> {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let server = ServerWay::Network { client: here, server: here };
        open(&SamplingSubject { engine_pids: EnginePids::Own, device: None, server }).unwrap()
    }

    #[test]
    fn loopback_counts_both_directions_once_and_has_no_speed() {
        let mut source = loopback();
        let def = source.describe();
        let roles: Vec<CounterRole> = def.counters.iter().filter_map(|counter| counter.role).collect();
        assert!(!roles.contains(&CounterRole::NetworkReceivedBytes) && roles.contains(&CounterRole::NetworkSentBytes));
        let values = source.read();
        assert_eq!((values.len(), values[7]), (def.counters.len(), None));
    }

    #[test]
    fn what_is_sent_over_loopback_is_counted() {
        let mut source = loopback();
        let before = source.read()[1].unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut served, _) = listener.accept().unwrap();
        client.write_all(&[7; 5_000]).unwrap();
        served.read_exact(&mut [0; 5_000]).unwrap();
        let sent = source.read()[1].unwrap() - before;
        assert!(sent >= 5_000.0, "{sent}");
    }

    #[test]
    fn a_unix_socket_has_no_interface_and_says_so() {
        let missing = |server| {
            let subject = SamplingSubject { engine_pids: EnginePids::Own, device: None, server };
            crate::open_all(&subject).1.into_iter().find(|note| note.contains("`network`"))
        };
        let note = missing(ServerWay::UnixSocket).expect("a note");
        assert_eq!(note, "no `network` counters: clients reach the server over a unix socket, which is on no network");
        assert_eq!(missing(ServerWay::Inside), None, "there is nothing to count");
    }

    #[test]
    fn each_interface_of_the_machine_but_loopback_has_a_source_of_its_own() {
        let mut sources = open_interfaces();
        let names: Vec<String> = sources.iter().map(|source| source.describe().subject).collect();
        let mut others = names.clone();
        others.dedup();
        assert!(names == others && !names.contains(&"lo".to_owned()), "{names:?}");
        for source in &mut sources {
            let (values, places) = (source.read(), source.describe().counters.len());
            assert_eq!(values.len(), places);
            assert!(values[0].is_some() && values[1].is_some(), "bytes that came in and went out: {values:?}");
        }
    }
}
