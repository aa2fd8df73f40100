//! The figures of a host, in the order of hosts.csv: what it did, its network interface, the rest of it.

use super::RepeatRule::{Follows, Most, Same, Sum};
use super::Unit::{BitsPerSecond, BytesPerSecond, Count, Nanoseconds, Number, PerSecond, Seconds, Share};
use super::{FigureDef, Figures};
use crate::{HostSummary, InterfaceUse};
use model::QuotedTime;
use std::sync::LazyLock;

type HostFigure = FigureDef<HostSummary>;
type InterfaceFigure = FigureDef<InterfaceUse>;

/// What the clients of a host did, and how its CPUs were used.
#[rustfmt::skip]
pub static HOST_FIGURES: Figures<HostSummary> = LazyLock::new(|| [
    &[
        HostFigure::word("host", "name of the host", |h| Some(h.host.clone())),
        HostFigure::word("role", "`load`, `observe` (a node of the database runs on it) or `load-and-observe`", |h| Some(h.role.as_str().to_owned())),
        HostFigure::word("validity", "how far the numbers of the host can be trusted: `valid`, `indicative` or `invalid`",
            |h| Some(h.validity.as_str().to_owned())),
        HostFigure::number("lost_at_s", Seconds, "when the host was lost, in seconds since the run phase began", |h| h.lost_at_s),
        HostFigure::number("clients", Count, "clients of the host", |h| h.planned.map(|planned| f64::from(planned.clients))),
        HostFigure::number("planned_share", Share, "part of all operations that was planned, from 0 to 1", |h| h.planned.map(|planned| planned.part)),
        HostFigure::number("share", Share, "share of the operations of all hosts, from 0 to 1",
            |h| h.load?.share).repeats(Follows),
        HostFigure::number("ops", Count, "operations that its clients did by the end of the run phase",
            |h| h.load.map(|load| load.ops as f64)).repeats(Sum),
        HostFigure::number("ops_per_s", PerSecond, "operations that they did per second", |h| h.load.map(|load| load.ops_per_s)),
        HostFigure::number("failed", Count, "operations that failed", |h| h.load.map(|load| load.failed as f64)).less().repeats(Sum),
    ][..],
    &HostFigure::times("response", QuotedTime::Mean, "response time (finished - intended)", |h| h.load?.response_ns),
    &[
        HostFigure::number("lag_mean_ns", Nanoseconds, "how late clients woke up for arrivals on average (open loop)",
            |h| h.load?.lag_mean_ns).less(),
        HostFigure::number("lag_max_ns", Nanoseconds, "the longest of it",
            |h| h.load?.lag_max_ns.map(|ns| ns as f64)).less().repeats(Most),
        HostFigure::number("client_cores", Number, "cores that the client threads used", |h| h.load?.cores_used),
        HostFigure::number("cpus", Number, "CPUs of the host", |h| h.cpu.map(|cpu| cpu.cpus)),
        HostFigure::number("cpu_busy_share", Share, "share of its CPU time that was used, from 0 to 1", |h| h.cpu.map(|cpu| cpu.busy)),
        HostFigure::number("cpu_engine_share", Share, "share that the engine used", |h| h.cpu?.engine),
        HostFigure::number("cpu_plimsoll_share", Share, "share that plimsoll used", |h| h.cpu?.plimsoll),
        HostFigure::number("cpu_stolen_share", Share, "share that the hypervisor took", |h| h.cpu?.stolen),
        HostFigure::number("cpu_iowait_share", Share, "share that was idle while a task waited for I/O", |h| h.cpu?.waited_for_io),
    ],
].concat());

/// A network interface of a host.
#[rustfmt::skip]
pub static INTERFACE_FIGURES: &[InterfaceFigure] = &[
    InterfaceFigure::word("interface", "name of the network interface of this row", |i| Some(i.interface.clone())),
    InterfaceFigure::number("sent_bytes_per_s", BytesPerSecond, "bytes per second that went out over it; on loopback those of both directions",
        |i| i.sent_bytes_per_s),
    InterfaceFigure::number("received_bytes_per_s", BytesPerSecond, "bytes per second that came in", |i| i.received_bytes_per_s),
    InterfaceFigure::number("drops", Count, "packets that it or its driver dropped", |i| i.drops).repeats(Sum),
    InterfaceFigure::number("link_bits_per_s", BitsPerSecond, "speed of its link in bits per second and direction", |i| i.link_bits_per_s).repeats(Same),
    InterfaceFigure::number("link_share", Share, "part of it that the busier direction used, from 0 to 1", |i| i.link_share),
];

/// What goes between hosts, the disk of a host, and its clock. A clock may be off by more nanoseconds than a float can count.
#[rustfmt::skip]
pub static HOST_SYSTEM_FIGURES: &[HostFigure] = &[
    HostFigure::number("retransmitted_share", Share, "TCP segments of the host that were sent again, as a share of those sent",
        |h| h.retransmitted_share),
    HostFigure::number("replicated_bytes_per_s", BytesPerSecond, "bytes of write sets per second that its node of a cluster sent to the others",
        |h| h.replicated_bytes_per_s),
    HostFigure::number("replicated_bytes_received_per_s", BytesPerSecond, "the same, received", |h| h.replicated_bytes_received_per_s),
    HostFigure::number("disk_read_bytes_per_s", BytesPerSecond, "bytes per second that its disk read",
        |h| h.disk?.read_bytes_per_s),
    HostFigure::number("disk_write_bytes_per_s", BytesPerSecond, "bytes per second that it wrote", |h| h.disk?.write_bytes_per_s),
    HostFigure::number("disk_busy_share", Share, "share of the time in which it was busy, from 0 to 1", |h| h.disk?.busy_share),
    HostFigure::word("clock_offset_ns", "by this the clock of the bus was ahead of its own", |h| h.clock.map(|clock| clock.offset_ns.to_string())),
    HostFigure::word("clock_bound_ns", "by this that offset may be off, either way", |h| h.clock.map(|clock| clock.bound_ns.to_string())),
    HostFigure::word("start_skew_ns", "how much later than planned it began the run phase, by its own clock",
        |h| h.start_skew_ns.map(|skew| skew.to_string())),
];
