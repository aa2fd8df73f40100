//! The hosts of several repeats of a point together.
//!
//! In: the hosts of each repeat. Out: a [`HostSummary`] for each name. Limits: counts are sums, rates and shares are means, percentiles are of the times
//! of all repeats, and of clocks, starts and validity it is the worst. Nothing is drawn of them.

use super::{HostCpu, HostDisk, HostLoad, HostSummary};
use crate::numbers::network::InterfaceUse;
use crate::{HostCourse, Quantiles};
use model::Times;

/// The hosts of `repeats`, by name, in the order in which they first appear.
pub fn merge_repeats(repeats: &[&[HostSummary]]) -> Vec<HostSummary> {
    let mut names: Vec<&str> = Vec::new();
    for host in repeats.iter().flat_map(|hosts| hosts.iter()) {
        if !names.contains(&host.host.as_str()) {
            names.push(&host.host);
        }
    }
    let of_name = |name: &&str| {
        let same = repeats.iter().flat_map(|hosts| hosts.iter()).filter(|host| host.host == *name);
        merge_host(&same.collect::<Vec<_>>())
    };
    names.iter().map(of_name).collect()
}

/// The same host of several repeats, at least one.
fn merge_host(same: &[&HostSummary]) -> HostSummary {
    let first = same[0];
    let mean_of = |value: fn(&HostSummary) -> Option<f64>| mean(same.iter().filter_map(|one| value(one)));
    let clocks = same.iter().filter_map(|one| one.clock);
    let skews = same.iter().filter_map(|one| one.start_skew_ns);
    let response = Times::merged(same.iter().map(|one| &one.response));
    HostSummary {
        load: merge_load(same, &response),
        cpu: merge_cpu(&same.iter().filter_map(|one| one.cpu).collect::<Vec<_>>()),
        networks: merge_networks(same),
        retransmitted_share: mean_of(|one| one.retransmitted_share),
        replicated_bytes_per_s: mean_of(|one| one.replicated_bytes_per_s),
        replicated_bytes_received_per_s: mean_of(|one| one.replicated_bytes_received_per_s),
        disk: merge_disk(&same.iter().filter_map(|one| one.disk).collect::<Vec<_>>()),
        clock: clocks.max_by_key(|clock| clock.bound_ns),
        start_skew_ns: skews.max_by_key(|skew| skew.unsigned_abs()),
        lost_at_s: same.iter().find_map(|one| one.lost_at_s),
        validity: same.iter().map(|one| one.validity).max().unwrap_or(first.validity),
        course: HostCourse::default(),
        response,
        ..first.clone()
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn merge_load(same: &[&HostSummary], response: &Times) -> Option<HostLoad> {
    let all: Vec<HostLoad> = same.iter().filter_map(|one| one.load).collect();
    let mean_of = |value: fn(&HostLoad) -> Option<f64>| mean(all.iter().filter_map(value));
    let first = all.first()?;
    Some(HostLoad {
        ops: all.iter().map(|one| one.ops).sum(),
        ops_per_s: mean_of(|one| Some(one.ops_per_s)).unwrap_or(first.ops_per_s),
        share: mean_of(|one| one.share),
        failed: all.iter().map(|one| one.failed).sum(),
        response_ns: Quantiles::from_times(response).or(first.response_ns),
        cores_used: mean_of(|one| one.cores_used),
        lag_mean_ns: mean_of(|one| one.lag_mean_ns),
        lag_max_ns: all.iter().filter_map(|one| one.lag_max_ns).max(),
    })
}

fn merge_cpu(all: &[HostCpu]) -> Option<HostCpu> {
    let mean_of = |value: fn(&HostCpu) -> Option<f64>| mean(all.iter().filter_map(value));
    let first = all.first()?;
    Some(HostCpu {
        busy: mean_of(|one| Some(one.busy)).unwrap_or(first.busy),
        plimsoll: mean_of(|one| one.plimsoll),
        engine: mean_of(|one| one.engine),
        stolen: mean_of(|one| one.stolen),
        waited_for_io: mean_of(|one| one.waited_for_io),
        cpus: first.cpus,
    })
}

fn merge_disk(all: &[HostDisk]) -> Option<HostDisk> {
    let mean_of = |value: fn(&HostDisk) -> Option<f64>| mean(all.iter().filter_map(value));
    all.first()?;
    Some(HostDisk {
        read_bytes_per_s: mean_of(|one| one.read_bytes_per_s),
        write_bytes_per_s: mean_of(|one| one.write_bytes_per_s),
        busy_share: mean_of(|one| one.busy_share),
    })
}

/// The interfaces of the first repeat, with what each carried in all of them.
fn merge_networks(same: &[&HostSummary]) -> Vec<InterfaceUse> {
    let merged = same[0].networks.iter().map(|known| {
        let all = same.iter().filter_map(|one| one.networks.iter().find(|other| other.interface == known.interface));
        let all: Vec<&InterfaceUse> = all.collect();
        let mean_of = |value: fn(&InterfaceUse) -> Option<f64>| mean(all.iter().filter_map(|one| value(one)));
        InterfaceUse {
            interface: known.interface.clone(),
            sent_bytes_per_s: mean_of(|one| one.sent_bytes_per_s),
            received_bytes_per_s: mean_of(|one| one.received_bytes_per_s),
            drops: all.iter().filter_map(|one| one.drops).reduce(|sum, one| sum + one),
            link_bits_per_s: known.link_bits_per_s,
            link_share: mean_of(|one| one.link_share),
        }
    });
    merged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Validity;
    use crate::simulated::hosts::three_clients;

    #[test]
    fn a_host_of_several_repeats_is_one_with_sums_means_and_the_worst() {
        let repeats =
            [[1.0, 1.0, 1.0], [1.0, 0.5, 1.0]].map(|kept| three_clients(kept).analysis().points[0].hosts.clone());
        let mut second = repeats[1].clone();
        (second[1].validity, second[1].start_skew_ns) = (Validity::Invalid, Some(-7));
        let merged = merge_repeats(&[&repeats[0], &second]);
        assert_eq!(merged.iter().map(|host| host.host.as_str()).collect::<Vec<_>>(), ["c1", "c2", "c3"]);
        let load = merged[1].load.unwrap();
        assert_eq!((load.ops, load.ops_per_s), (15_000, 750.0));
        assert!((load.share.unwrap() - (1.0 / 3.0 + 0.2) / 2.0).abs() < 1e-9, "{load:?}");
        assert_eq!((merged[1].validity, merged[1].start_skew_ns), (Validity::Invalid, Some(-7)));
        assert_eq!(merged[0].validity, Validity::Valid);
        assert_eq!(merged[1].response.len(), 15_000);
    }

    #[test]
    fn a_host_that_took_part_in_one_repeat_only_is_there_as_well() {
        let hosts = three_clients([1.0, 1.0, 1.0]).analysis().points[0].hosts.clone();
        let merged = merge_repeats(&[&hosts[..2], &hosts]);
        assert_eq!(merged.len(), 3);
        assert_eq!(merged[2].load.unwrap().ops, hosts[2].load.unwrap().ops);
    }
}
