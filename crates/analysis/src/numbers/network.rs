//! What went over the network between clients and server, and how much of its link that is.
//!
//! In: the counters of the network interface and of TCP, the speed of the link as stated or as the network card reports it. Out: a
//! [`NetworkUse`]. Limits: all that goes over the interface is counted, that of other programs, too; TCP is counted for the whole machine.
//! Loopback has the bytes of both directions in one number, and no speed of its own.

use crate::math::repeats::{Repeated, combined};
use crate::numbers::rates::PerOp;
use crate::recorded::counters::{Growth, done_between, growth_of_all, growth_of_counter, has_role};
use crate::recorded::window::Window;
use model::{CounterRole, LinkSpeed, PointData, StatedLinks};
use serde::{Deserialize, Serialize};

/// What a point sent and received. `None` if nothing counted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkUse {
    /// Bytes per second that the clients sent; over loopback those of both directions.
    pub sent_bytes_per_s: Option<f64>,
    /// Bytes per second that they received; over loopback they are among those sent.
    pub received_bytes_per_s: Option<f64>,
    /// Packets per second in both directions.
    pub packets_per_s: Option<f64>,
    /// Bytes in both directions per operation.
    pub bytes_per_op: Option<f64>,
    /// Packets in both directions per operation.
    pub packets_per_op: Option<f64>,
    /// Packets that the interface or its driver dropped in the run phase.
    pub drops: Option<f64>,
    /// TCP segments of the machine that were sent again, as a share of those sent, from 0 to 1.
    pub retransmitted_share: Option<f64>,
    /// The speed of the link in bits per second and direction: as stated, or as the network card reports it.
    pub link_bits_per_s: Option<f64>,
    /// The part of it that the busier direction used, from 0 to 1. Over loopback both directions are taken for one.
    pub link_share: Option<f64>,
}

/// One network interface over the run phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterfaceUse {
    pub interface: String,
    /// Bytes per second that went out; over loopback those of both directions.
    pub sent_bytes_per_s: Option<f64>,
    /// Bytes per second that came in.
    pub received_bytes_per_s: Option<f64>,
    /// Packets that the interface or its driver dropped.
    pub drops: Option<f64>,
    /// The speed of its link in bits per second and direction: as stated, or as the network card reports it.
    pub link_bits_per_s: Option<f64>,
    /// The part of it that the busier direction used, from 0 to 1.
    pub link_share: Option<f64>,
}

impl NetworkUse {
    /// That of repeats; `None` if no interface was observed in any.
    pub(crate) fn combine(all: &Repeated<NetworkUse>) -> Option<NetworkUse> {
        all.first()?;
        Some(combined!(
            all,
            NetworkUse {
                sent_bytes_per_s: mean,
                received_bytes_per_s: mean,
                packets_per_s: mean,
                bytes_per_op: mean,
                packets_per_op: mean,
                drops: sum,
                retransmitted_share: mean,
                link_bits_per_s: same,
                link_share: mean,
            }
        ))
    }

    /// What the run phase of `point`, cut as `window`, sent and received; `stated` are the speeds of links that a person stated. `None`
    /// if no interface was observed.
    pub fn measure(point: &PointData, window: &Window, stated: StatedLinks<'_>) -> Option<NetworkUse> {
        use CounterRole::{NetworkDrops, NetworkReceivedBytes, NetworkSentBytes, TcpRetransmits, TcpSegmentsSent};
        if !has_role(point, NetworkSentBytes) {
            return None;
        }
        let (start, end) = (window.phase.start, window.phase.end);
        let grown = |role| growth_of_all(point, role, start, end);
        let [sent, received] = [NetworkSentBytes, NetworkReceivedBytes].map(|role| Some(grown(role)?.per_second()));
        let packets = packets_grown(point, window);
        let interfaces = InterfaceUse::of_point(point, window, stated);
        let busiest = InterfaceUse::busiest(&interfaces);
        let segments = grown(TcpRetransmits).zip(grown(TcpSegmentsSent));
        Some(NetworkUse {
            sent_bytes_per_s: sent,
            received_bytes_per_s: received,
            packets_per_s: packets.map(|packets| packets.per_second()),
            bytes_per_op: bytes_grown(point, window).and_then(|bytes| per_op(point, bytes)),
            packets_per_op: packets.and_then(|packets| per_op(point, packets)),
            drops: grown(NetworkDrops).map(|drops| drops.amount),
            retransmitted_share: segments.and_then(|(again, all)| share(again.amount, again.amount + all.amount)),
            link_bits_per_s: busiest.and_then(|one| one.link_bits_per_s),
            link_share: busiest.and_then(|one| one.link_share),
        })
    }
}

impl InterfaceUse {
    /// The same interface in repeats.
    pub(crate) fn combine(interface: &str, all: &Repeated<InterfaceUse>) -> InterfaceUse {
        combined!(
            all,
            InterfaceUse {
                interface: (interface.to_owned()),
                sent_bytes_per_s: mean,
                received_bytes_per_s: mean,
                drops: sum,
                link_bits_per_s: same,
                link_share: mean,
            }
        )
    }

    /// The interfaces of `point` that were observed, over the run phase that `window` cuts.
    pub fn of_point(point: &PointData, window: &Window, stated: StatedLinks<'_>) -> Vec<InterfaceUse> {
        let with_role = (0u16..).zip(&point.sources).filter(|(_, source)| {
            source.counters.iter().any(|counter| counter.role == Some(CounterRole::NetworkSentBytes))
        });
        with_role.map(|(number, _)| InterfaceUse::measure(point, number, window, stated)).collect()
    }

    /// The one of `all` that used most of its link, or the first if no link is known.
    pub fn busiest(all: &[InterfaceUse]) -> Option<&InterfaceUse> {
        let known = all.iter().filter(|one| one.link_share.is_some());
        known.max_by(|a, b| a.link_share.unwrap_or(0.0).total_cmp(&b.link_share.unwrap_or(0.0))).or(all.first())
    }

    fn measure(point: &PointData, source: u16, window: &Window, stated: StatedLinks<'_>) -> InterfaceUse {
        use CounterRole::{NetworkDrops, NetworkReceivedBytes, NetworkSentBytes};
        let (start, end) = (window.phase.start, window.phase.end);
        let def = &point.sources[usize::from(source)];
        let places = |role| (0..def.counters.len()).filter(move |place| def.counters[*place].role == Some(role));
        let grown = |role| {
            let all = places(role).filter_map(|place| growth_of_counter(point, source, place, start, end));
            all.reduce(|sum, one| Growth { amount: sum.amount + one.amount, ..sum })
        };
        let [sent, received] = [NetworkSentBytes, NetworkReceivedBytes].map(|role| Some(grown(role)?.per_second()));
        let levels = places(CounterRole::LinkSpeed).flat_map(|place| point.counters.of_counter(source, place));
        let reported = levels.map(|(_, bits)| bits).filter(|bits| *bits > 0.0).last();
        let link = stated.of(&def.subject).or(reported.map(LinkSpeed));
        let busier = sent.map(|sent| sent.max(received.unwrap_or(0.0)));
        InterfaceUse {
            interface: def.subject.clone(),
            sent_bytes_per_s: sent,
            received_bytes_per_s: received,
            drops: grown(NetworkDrops).map(|drops| drops.amount),
            link_bits_per_s: link.map(|link| link.0),
            link_share: busier.zip(link).map(|(bytes, link)| bytes / link.bytes_per_s()),
        }
    }
}

/// Bytes in both directions.
pub(super) fn bytes_grown(point: &PointData, window: &Window) -> Option<Growth> {
    both_directions(point, window, [CounterRole::NetworkSentBytes, CounterRole::NetworkReceivedBytes])
}

fn packets_grown(point: &PointData, window: &Window) -> Option<Growth> {
    both_directions(point, window, [CounterRole::NetworkSentPackets, CounterRole::NetworkReceivedPackets])
}

/// What was sent and what was received, together. What loopback sent is both.
fn both_directions(point: &PointData, window: &Window, [sent, received]: [CounterRole; 2]) -> Option<Growth> {
    let grown = |role| growth_of_all(point, role, window.phase.start, window.phase.end);
    let out = grown(sent)?;
    let amount = if has_role(point, received) { grown(received)?.amount } else { 0.0 };
    Some(Growth { amount: out.amount + amount, ..out })
}

fn per_op(point: &PointData, grown: Growth) -> Option<f64> {
    let per_op = PerOp::from_point(point);
    share(grown.amount, done_between(point, grown.from, grown.to, |kind| per_op.ops(kind)))
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, run_of};

    /// A thousand operations a second, which send 100 bytes each and receive 900, in two packets.
    fn remote() -> Simulation {
        use CounterRole::{NetworkDrops, NetworkReceivedBytes, NetworkReceivedPackets, NetworkSentBytes};
        let counters = ["sent_bytes", "received_bytes", "sent_packets", "received_packets", "drops", "link"];
        let values = |s: f64| vec![1e5 * s, 9e5 * s, 1e3 * s, 1e3 * s, s, 1e8];
        let roles = [
            NetworkSentBytes,
            NetworkReceivedBytes,
            CounterRole::NetworkSentPackets,
            NetworkReceivedPackets,
            NetworkDrops,
            CounterRole::LinkSpeed,
        ];
        with_roles(Simulation::counts(&[1000; 10]).source("network", &counters, values), roles.to_vec())
    }

    /// The counters of the last source, read as these.
    fn with_roles(simulation: Simulation, roles: Vec<CounterRole>) -> Simulation {
        simulation.with(|point| {
            let counters = &mut point.sources.last_mut().unwrap().counters;
            counters.iter_mut().zip(roles).for_each(|(counter, role)| counter.role = Some(role));
        })
    }

    fn found(simulation: Simulation, stated: Option<LinkSpeed>) -> crate::Summary {
        let mut run = run_of(vec![simulation.point()], Vec::new());
        run.meta.machine.link = stated;
        crate::analyse(&run).points.remove(0).summary.expect("it ran")
    }

    #[test]
    fn bytes_and_packets_are_those_of_both_directions_and_the_link_is_used_by_the_busier_one() {
        let summary = found(remote(), None);
        let network = summary.network.expect("an interface was observed");
        assert_eq!((network.sent_bytes_per_s, network.received_bytes_per_s), (Some(1e5), Some(9e5)));
        assert_eq!((network.bytes_per_op, network.packets_per_op), (Some(1_000.0), Some(2.0)));
        assert_eq!((network.packets_per_s, network.drops), (Some(2_000.0), Some(10.0)));
        assert_eq!(network.link_bits_per_s, Some(1e8));
        assert!((network.link_share.unwrap() - 0.072).abs() < 1e-9, "{network:?}");
        assert_eq!(summary.cost.per_op.network_bytes, Some(1_000.0));
    }

    #[test]
    fn a_speed_that_is_stated_for_one_interface_is_that_of_no_other() {
        let of = |interface: &str| {
            let mut run = run_of(vec![remote().point()], Vec::new());
            run.meta.machine.link = Some(LinkSpeed(1e9));
            let own = model::InterfaceLink { interface: interface.into(), speed: LinkSpeed(8e6) };
            run.meta.machine.interface_links = vec![own];
            crate::analyse(&run).points.remove(0).summary.expect("it ran").network.unwrap().link_bits_per_s
        };
        let observed = remote().point().sources.last().unwrap().subject.clone();
        assert_eq!((of(&observed), of("another")), (Some(8e6), Some(1e9)));
    }

    #[test]
    fn a_stated_speed_is_that_of_the_link_whatever_the_card_reports() {
        let network = found(remote(), Some(LinkSpeed(8e6))).network.unwrap();
        assert_eq!((network.link_bits_per_s, network.link_share), (Some(8e6), Some(0.9)));
    }

    #[test]
    fn loopback_has_one_number_for_both_directions_and_no_speed() {
        let counters = ["sent_bytes", "sent_packets"];
        let source = Simulation::counts(&[1000; 10]).source("network", &counters, |s| vec![3e5 * s, 2e3 * s]);
        let roles = vec![CounterRole::NetworkSentBytes, CounterRole::NetworkSentPackets];
        let network = found(with_roles(source, roles), None).network.unwrap();
        assert_eq!((network.bytes_per_op, network.packets_per_op), (Some(300.0), Some(2.0)));
        assert_eq!((network.received_bytes_per_s, network.link_share, network.drops), (None, None, None));
    }

    #[test]
    fn segments_that_were_sent_again_are_a_share_of_all() {
        let tcp = remote().source("tcp", &["retransmits", "sent"], |s| vec![5.0 * s, 95.0 * s]);
        let network = found(with_roles(tcp, vec![CounterRole::TcpRetransmits, CounterRole::TcpSegmentsSent]), None);
        assert_eq!(network.network.unwrap().retransmitted_share, Some(0.05));
    }

    #[test]
    fn without_an_interface_there_is_no_network() {
        let summary = found(Simulation::counts(&[1000; 10]), Some(LinkSpeed(1e9)));
        assert_eq!((summary.network, summary.cost.per_op.network_bytes), (None, None));
    }
}
