//! Points of several hosts with a known answer: whose counters are the point's, what is judged on which host.

use crate::finding::bottleneck::{CausePlace, Limit};
use crate::finding::load::BoundClients;
use crate::simulated::Simulation;
use crate::simulated::hosts::{
    client, counting, node, of_hosts, three_clients, using_cores, with_cpu, with_disk, with_network,
};
use crate::{Code, PointAnalysis, Severity, Validity};
use model::{CounterRole, Event, EventKind, HostData, Tick};

fn analysed(simulation: &Simulation) -> PointAnalysis {
    simulation.analysis().points.remove(0)
}

/// Two hosts with clients, and one on which the database runs.
fn with_database(database: HostData) -> Simulation {
    of_hosts(vec![with_cpu(client(1, 1.0), 0.2, 0.0), with_cpu(client(2, 1.0), 0.3, 0.0), database])
}

fn codes_of(point: &PointAnalysis, host: &str) -> Vec<Code> {
    let own = point.findings.iter().filter(|finding| finding.host.as_deref() == Some(host));
    own.map(|finding| finding.code()).collect()
}

#[test]
fn each_host_has_its_share_of_the_operations_and_its_own_times() {
    let point = analysed(&three_clients([1.0, 0.95, 1.0]));
    let summary = point.summary.as_ref().expect("it ran");
    assert_eq!(summary.ops, 29_500);
    let loads: Vec<_> = point.hosts.iter().map(|host| host.load.expect("it has clients")).collect();
    assert_eq!(loads.iter().map(|load| load.ops).collect::<Vec<_>>(), [10_000, 9_500, 10_000]);
    assert!((loads[1].share.unwrap() - 0.95 / 2.95).abs() < 1e-9);
    let p99 = |place: usize| loads[place].response_ns.unwrap().p99;
    assert!(p99(1) > p99(0) && (p99(0) as f64 / 1.9e6 - 1.0).abs() < 0.01, "{} {}", p99(0), p99(1));
    assert_eq!(point.hosts[0].course.ops_per_s.len(), 10);
    assert_eq!(point.hosts[0].planned.unwrap().clients, 2);
}

#[test]
fn the_machine_of_a_point_is_that_on_which_the_database_runs() {
    let database = with_disk(with_cpu(node(3), 0.5, 0.0), 0.4);
    let point = analysed(&with_database(database));
    let cost = point.summary.as_ref().expect("it ran").cost;
    // Four CPUs at 50 % are 2 s of CPU for 2,000 operations.
    assert!((cost.engine_cpu_ns_per_op.expect("the engine was seen") - 1e6).abs() < 1.0, "{cost:?}");
    let found = point.bottlenecks.as_ref().expect("it is judged");
    let ruled_out = |code| found.ruled_out.iter().find(|one| one.code == code).map(|one| (one.value * 100.0).round());
    assert_eq!((ruled_out(Limit::Cpu), ruled_out(Limit::Disk)), (Some(50.0), Some(40.0)));
    let [first, _, third] = &point.hosts[..] else { panic!("three hosts") };
    assert_eq!((first.cpu.unwrap().busy, third.cpu.unwrap().busy), (0.2, 0.5));
    assert_eq!((first.cpu.unwrap().plimsoll, third.cpu.unwrap().engine), (Some(0.2), Some(0.5)));
    assert_eq!((first.disk, third.disk.unwrap().busy_share), (None, Some(0.4)));
    assert_eq!(third.course.disk_bytes_per_s[0].1, 21e6);
    assert!(third.load.is_none() && third.course.ops_per_s.is_empty());
}

#[test]
fn a_server_that_its_agent_does_not_see_is_no_other_process_on_its_host() {
    let mut database = with_cpu(node(3), 0.9, 0.0);
    database.sources.pop(); // that of the engine's processes
    database.counters = database.counters.samples().into_iter().filter(|sample| sample.source == 0).collect();
    assert_eq!(codes_of(&analysed(&with_database(database)), "n3"), vec![]);
}

#[test]
fn cpu_time_of_several_nodes_adds_up_and_a_full_disk_is_that_of_its_node() {
    let node_of = |id, cpu, disk| with_disk(with_cpu(node(id), cpu, 0.0), disk);
    let hosts = vec![client(1, 1.0), client(2, 1.0), node_of(3, 0.25, 0.3), node_of(4, 0.25, 0.97)];
    let hosts: Vec<HostData> =
        hosts.into_iter().map(|host| counting(host, "x", "", &[(CounterRole::DeviceQueue, 4e9)])).collect();
    let point = analysed(&of_hosts(hosts));
    let cost = point.summary.as_ref().expect("it ran").cost;
    assert!((cost.engine_cpu_ns_per_op.expect("the engine was seen") - 1e6).abs() < 1.0, "{cost:?}");
    let cause = &point.bottlenecks.as_ref().expect("it is judged").causes[0];
    assert_eq!(cause.limit(), Limit::Disk);
    assert_eq!(cause.place, Some(CausePlace { host: "n4".into(), interface: None }));
}

#[test]
fn clients_that_use_up_their_cores_are_named_with_their_host() {
    let hosts = vec![using_cores(client(1, 1.0), 0.4), using_cores(client(2, 1.0), 1.9), client(3, 1.0)];
    let point = analysed(&of_hosts(hosts));
    let bound: Vec<_> = point.findings.iter().filter(|finding| finding.code() == Code::ClientBound).collect();
    let [only] = bound.as_slice() else { panic!("{bound:?}") };
    assert_eq!((only.host.as_deref(), only.severity), (Some("c2"), Severity::Warning));
    let crate::Detail::ClientBound(BoundClients::Busy { threads, cores_share, .. }) = &only.detail else {
        panic!("they are busy")
    };
    assert_eq!((*threads, cores_share.0), (2, 0.95));
    assert_eq!(
        point.hosts.iter().map(|host| host.validity).collect::<Vec<_>>()[..2],
        [Validity::Valid, Validity::Indicative]
    );
    let cause = &point.bottlenecks.as_ref().expect("it is judged").causes[0];
    assert_eq!((cause.limit(), cause.place.as_ref().map(|place| place.host.as_str())), (Limit::Client, Some("c2")));
}

#[test]
fn a_full_link_is_named_with_its_host_and_its_interface() {
    let near = with_network(with_network(node(3), "eth0", 10e6), "eth1", 119e6);
    let point = analysed(&of_hosts(vec![with_network(client(1, 1.0), "ens1", 30e6), client(2, 1.0), near]));
    let cause = &point.bottlenecks.as_ref().expect("it is judged").causes[0];
    assert_eq!(cause.limit(), Limit::Network);
    assert_eq!(cause.place, Some(CausePlace { host: "n3".into(), interface: Some("eth1".into()) }));
    assert_eq!((cause.share.0 * 1_000.0).round(), 952.0);
    let names: Vec<&str> = point.hosts[2].networks.iter().map(|one| one.interface.as_str()).collect();
    assert_eq!((names, point.hosts[2].networks[1].drops), (vec!["eth0", "eth1"], Some(20.0)));
    let network = point.summary.as_ref().expect("it ran").network.expect("clients sent");
    assert_eq!((network.sent_bytes_per_s, network.link_bits_per_s), (Some(30e6), Some(1e9)));
    assert!((network.link_share.unwrap() - 0.24).abs() < 1e-9, "the link of the clients");
}

#[test]
fn a_link_that_an_agent_states_is_that_of_its_host_only() {
    let mut slow = with_network(client(1, 1.0), "ens1", 6e6);
    slow.host.facts.push(model::Fact::new(model::LINK_FACT, model::LinkSpeed(50e6).fact_value()));
    let point = analysed(&of_hosts(vec![slow, with_network(client(2, 1.0), "ens1", 6e6)]));
    let cause = &point.bottlenecks.as_ref().expect("it is judged").causes[0];
    assert_eq!((cause.limit(), cause.place.as_ref().map(|place| place.host.as_str())), (Limit::Network, Some("c1")));
    assert_eq!(point.hosts[0].networks[0].link_bits_per_s, Some(50e6));
    assert_eq!(point.hosts[1].networks[0].link_bits_per_s, Some(1e9));
}

#[test]
fn what_a_node_reports_is_of_the_host_on_which_it_runs() {
    let asked_by_client = || {
        let nodes = [("n3:3306", 1e6), ("n4:3306", 2e6)];
        nodes.into_iter().fold(client(1, 1.0), |host, (endpoint, bytes)| {
            counting(host, "wsrep", endpoint, &[(CounterRole::ReplicatedBytes, bytes)])
        })
    };
    let replicated = |nodes: [HostData; 2]| {
        let point = analysed(&of_hosts([asked_by_client(), client(2, 1.0)].into_iter().chain(nodes).collect()));
        point.hosts.iter().map(|host| host.replicated_bytes_per_s).collect::<Vec<_>>()
    };
    let at = |id, endpoint| {
        let mut host = node(id);
        host.host.facts.push(model::PointHost::endpoint_fact(endpoint));
        host
    };
    assert_eq!(replicated([at(3, "n3:3306"), at(4, "n4:3306")]), [None, None, Some(1e6), Some(2e6)]);
    assert_eq!(replicated([at(3, "n3:3306"), node(4)]), [Some(2e6), None, Some(1e6), None]);
    assert_eq!(replicated([node(3), node(4)]), [Some(3e6), None, None, None], "it is not known where they run");
}

#[test]
fn a_host_that_is_invalid_makes_the_point_invalid() {
    let stolen = with_cpu(client(2, 1.0), 0.3, 0.2);
    let point = analysed(&of_hosts(vec![with_cpu(client(1, 1.0), 0.3, 0.0), stolen]));
    assert_eq!((codes_of(&point, "c1"), codes_of(&point, "c2")), (vec![], vec![Code::ForeignCpu]));
    assert_eq!((point.validity, point.hosts[0].validity), (Validity::Invalid, Validity::Valid));
}

#[test]
fn a_host_on_which_plimsoll_did_not_run_is_named() {
    let mut gone = client(2, 1.0);
    gone.events.push(Event::new(Tick(3_500_000_000), EventKind::ClockGap, "2.0 s between two ticks"));
    let point = analysed(&of_hosts(vec![client(1, 1.0), gone]));
    assert_eq!(codes_of(&point, "c2"), [Code::ClockGap]);
    assert_eq!(point.validity, Validity::Invalid);
}

#[test]
fn write_sets_between_nodes_are_those_that_a_node_counts() {
    let sets = [(CounterRole::ReplicatedBytes, 5e6), (CounterRole::ReplicatedBytesReceived, 7e6)];
    let point = analysed(&with_database(counting(with_cpu(node(3), 0.5, 0.0), "wsrep", "", &sets)));
    let node = &point.hosts[2];
    assert_eq!((node.replicated_bytes_per_s, node.replicated_bytes_received_per_s), (Some(5e6), Some(7e6)));
    assert_eq!(point.hosts[0].replicated_bytes_per_s, None);
}

#[test]
fn a_point_of_one_machine_has_no_hosts() {
    assert!(analysed(&Simulation::counts(&[1_000; 10])).hosts.is_empty());
}
