//! The hosts of several repeats of a point together.
//!
//! In: the hosts of each repeat. Out: a [`HostSummary`] for each name. Limits: counts are sums, rates and shares are means, percentiles are of the times
//! of all repeats, and of clocks, starts and validity it is the worst. Nothing is drawn of them.

use super::{HostCpu, HostDisk, HostLoad, HostSummary};
use crate::math::repeats::{Repeated, combined};
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
    let (first, all) = (same[0], Repeated::new(same.iter().copied()));
    let response = all.times(|one| &one.response);
    let networks = first.networks.iter().map(|known| {
        let found = all.parts(|one| one.networks.iter().find(|other| other.interface == known.interface));
        InterfaceUse::combine(&known.interface, &found)
    });
    combined!(
        all,
        HostSummary {
            host: (first.host.clone()),
            incarnation: (first.incarnation.clone()),
            role: (first.role),
            planned: (first.planned),
            load: (merge_load(&all.parts(|one| one.load.as_ref()), &response)),
            cpu: (merge_cpu(&all.parts(|one| one.cpu.as_ref()))),
            networks: (networks.collect()),
            retransmitted_share: mean,
            replicated_bytes_per_s: mean,
            replicated_bytes_received_per_s: mean,
            disk: (merge_disk(&all.parts(|one| one.disk.as_ref()))),
            // The clock that is known worst, and the start that was furthest off.
            clock: (all.iter().filter_map(|one| one.clock).max_by_key(|clock| clock.bound_ns)),
            start_skew_ns: (all.iter().filter_map(|one| one.start_skew_ns).max_by_key(|skew| skew.unsigned_abs())),
            lost_at_s: (all.iter().find_map(|one| one.lost_at_s)),
            validity: (all.iter().map(|one| one.validity).max().unwrap_or(first.validity)),
            course: (HostCourse::default()),
            response: (response),
        }
    )
}

fn merge_load(all: &Repeated<HostLoad>, response: &Times) -> Option<HostLoad> {
    let first = all.first()?;
    Some(combined!(
        all,
        HostLoad {
            ops: sum,
            ops_per_s: mean,
            share: mean,
            failed: sum,
            response_ns: (Quantiles::from_times(response).or(first.response_ns)),
            cores_used: mean,
            lag_mean_ns: mean,
            lag_max_ns: most,
        }
    ))
}

fn merge_cpu(all: &Repeated<HostCpu>) -> Option<HostCpu> {
    all.first()?;
    Some(combined!(
        all,
        HostCpu { busy: mean, plimsoll: mean, engine: mean, stolen: mean, waited_for_io: mean, cpus: mean }
    ))
}

fn merge_disk(all: &Repeated<HostDisk>) -> Option<HostDisk> {
    all.first()?;
    Some(combined!(all, HostDisk { read_bytes_per_s: mean, write_bytes_per_s: mean, busy_share: mean }))
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
