//! `tcp`: connections of this machine that were dropped at a listener, and segments that were sent again.
//!
//! In: `/proc/net/netstat`, `/proc/net/snmp`. Out: counts since boot. Limits: of all programs in this network namespace, both ends of a
//! connection over loopback among them. Of repeated SYN segments and SYN-ACK segments there is one count. A count that a
//! kernel does not have is a gap.

use crate::proc_file::{ProcFile, counter};
use crate::{CounterSource, SamplingSubject, SourceEntry, SourceMissing};
use model::{CounterRole, SourceDef};

/// Its entry in [`super::SOURCES`].
pub const ENTRY: SourceEntry =
    SourceEntry { name: "tcp", help: "TCP connections dropped at listeners, segments sent again", open };

fn open(_subject: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    let counts_drops = |text: &str| numbers_of(text, "TcpExt", EXTENDED).iter().any(Option::is_some);
    let netstat = ProcFile::open_with("/proc/net/netstat", "ListenOverflows", counts_drops)?;
    Ok(Box::new(TcpSource { netstat, snmp: ProcFile::open("/proc/net/snmp")? }))
}

/// The kernel's names of the counters in netstat.
const EXTENDED: [&str; 5] = ["ListenOverflows", "ListenDrops", "TCPReqQFullDrop", "TCPTimeouts", "TCPSynRetrans"];
/// The kernel's names of the counters in snmp.
const BASIC: [&str; 4] = ["RetransSegs", "ActiveOpens", "AttemptFails", "OutSegs"];

struct TcpSource {
    netstat: ProcFile,
    snmp: ProcFile,
}

impl CounterSource for TcpSource {
    fn describe(&self) -> SourceDef {
        SourceDef {
            name: ENTRY.name.into(),
            subject: "machine".into(),
            counters: vec![
                counter("listen_overflows", "count", "connections that found the queue of a listener full")
                    .read_as(CounterRole::ListenOverflows),
                counter("listen_drops", "count", "connection attempts that a listener dropped, for any reason")
                    .read_as(CounterRole::ListenDrops),
                counter("syn_queue_drops", "count", "attempts that found the queue of half-open connections full")
                    .read_as(CounterRole::SynQueueDrops),
                counter("timeouts", "count", "retransmissions that a timer caused").read_as(CounterRole::TcpTimeouts),
                counter("syn_retransmits", "count", "SYN and SYN-ACK segments sent again")
                    .read_as(CounterRole::SynRetransmits),
                counter("retransmits", "count", "segments sent again").read_as(CounterRole::TcpRetransmits),
                counter("opened", "count", "connections that programs of this machine began to open"),
                counter("failed", "count", "connections that were not opened"),
                counter("segments_sent", "count", "segments sent, without those sent again")
                    .read_as(CounterRole::TcpSegmentsSent),
            ],
        }
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        let extended = self.netstat.read_text().map(|text| numbers_of(text, "TcpExt", EXTENDED)).unwrap_or_default();
        let basic = self.snmp.read_text().map(|text| numbers_of(text, "Tcp", BASIC)).unwrap_or_default();
        extended.into_iter().chain(basic).map(|value| value.map(|value| value as f64)).collect()
    }
}

/// The numbers called `names` in the group `group`: a line of names and a line of numbers, each behind the name of the group.
fn numbers_of<const N: usize>(text: &str, group: &str, names: [&str; N]) -> [Option<u64>; N] {
    // Kernels add names in the middle of the line, so a place in it means nothing: each number is found by its name.
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let (Some(heads), Some(values)) = (lines.next(), lines.next()) else { return [None; N] };
    let pairs = || heads.split_whitespace().zip(values.split_whitespace());
    names.map(|name| pairs().find(|(head, _)| *head == name)?.1.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EnginePids;
    use std::net::{TcpListener, TcpStream};

    const NETSTAT_6_18: &str = "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts TCPReqQFullDrop TCPSynRetrans\n\
         TcpExt: 0 12 13 7 2 31\nIpExt: InNoRoutes InTruncatedPkts\nIpExt: 3 0\n";
    /// Written by hand in the format of the kernel of 2009, which did not count repeated SYNs.
    const NETSTAT_2_6_32: &str = "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts\nTcpExt: 0 5 6 9\nIpExt: InNoRoutes\nIpExt: 1\n";

    #[test]
    fn counts_are_found_by_their_names_whatever_their_order() {
        assert_eq!(numbers_of(NETSTAT_6_18, "TcpExt", EXTENDED), [12, 13, 2, 7, 31].map(Some));
    }

    #[test]
    fn an_old_kernel_has_gaps_for_what_it_does_not_count() {
        assert_eq!(numbers_of(NETSTAT_2_6_32, "TcpExt", EXTENDED), [Some(5), Some(6), None, Some(9), None]);
        assert_eq!(numbers_of("", "TcpExt", EXTENDED), [None; 5]);
    }

    #[test]
    fn a_connection_of_this_machine_is_counted() {
        let mut source =
            open(&SamplingSubject { engine_pids: EnginePids::Own, device: None, server: model::ServerWay::Inside })
                .unwrap();
        let opened = |values: Vec<Option<f64>>| values[6].expect("this kernel counts them");
        let before = opened(source.read());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _open = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(opened(source.read()) >= before + 1.0);
    }
}
