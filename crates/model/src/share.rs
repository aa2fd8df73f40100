//! One load from several hosts: a trial is divided into one trial for each of them.
//!
//! In: a trial, the number of hosts, whose data they use. Out: the trials of the hosts, which together are the trial: their clients,
//! rates and ops add up to its own, constant arrivals of all hosts are those of the trial to the nanosecond, and the clients have the
//! numbers that they have in it. One host gets the trial itself. Limits: each host has at least one client. Rates are equal for all
//! hosts; clients and ops of a closed loop may differ by one.

use crate::trial::{Arrivals, DataOrigin, HostShare, Load, Pacing, SEED_STEP, Trial};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The most hosts of one load.
pub const HOSTS_MAX: u32 = 1_000;

impl HostShare {
    /// Whether it is a share of a trial with `load`, as [`divide_trial`] makes them.
    pub fn fits(&self, load: &Load) -> bool {
        let in_bounds = (2..=HOSTS_MAX.min(self.all.clients)).contains(&self.hosts) && self.host < self.hosts;
        in_bounds && {
            let clients = clients_of(self.all.clients, self.host, self.hosts);
            let pacing = pacing_of_one(self.all.pacing, self.hosts);
            let own = Load { clients: clients.end - clients.start, pacing, ..self.all };
            clients.start == self.clients_before && own == *load
        }
    }
}

/// What identifies a data set that one host of a run has made on a server and that the others use. It travels between hosts; nothing
/// is believed of it before the server has shown the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CommonData {
    /// The schema that holds it.
    pub schema: String,
    /// What plimsoll's marker in the schema must hold: no other run has the same.
    pub token: String,
}

/// A part of something that has `of` equal parts: the `count` parts from number `first` on. What is dealt out one by one goes to the parts
/// in turn, what is cut goes to them in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoadPart {
    first: u32,
    count: u32,
    of: u32,
}

impl LoadPart {
    pub const WHOLE: LoadPart = LoadPart { first: 0, count: 1, of: 1 };

    /// The `count` parts from `first` on, of `of`.
    ///
    /// # Panics
    /// If there are not as many.
    pub const fn new(first: u32, count: u32, of: u32) -> LoadPart {
        assert!(of > 0 && first <= of && count <= of - first, "a part lies within the whole");
        LoadPart { first, count, of }
    }

    /// All of `of` parts.
    pub const fn all_of(of: u32) -> LoadPart {
        LoadPart::new(0, of, of)
    }

    /// The number of the first.
    pub const fn first(self) -> u32 {
        self.first
    }

    /// How many they are.
    pub const fn count(self) -> u32 {
        self.count
    }

    /// How many all hosts have.
    pub const fn of(self) -> u32 {
        self.of
    }

    /// Whether it is all of it.
    pub const fn is_whole(self) -> bool {
        self.count == self.of
    }

    /// Of things that are dealt out in turn, the number among all of the own thing number `own`; both from 0.
    ///
    /// # Panics
    /// If this part is empty: it gets none.
    #[inline]
    pub const fn number_of(self, own: u64) -> u64 {
        let [first, count, of] = [self.first as u64, self.count as u64, self.of as u64];
        own / count * of + first + own % count
    }

    /// How many of the first `total` things that are dealt out in turn it gets.
    pub const fn dealt_of(self, total: u64) -> u64 {
        let [first, count, of] = [self.first as u64, self.count as u64, self.of as u64];
        let in_last_round = (total % of).saturating_sub(first);
        total / of * count + if in_last_round < count { in_last_round } else { count }
    }

    /// Of `total` things that are cut into equal shares, those of this part: next to each other, and together all of them.
    pub const fn cut_of(self, total: u64) -> Range<u64> {
        // 128 bits: the product of a total of bytes and a number of clients may not fit into 64.
        let of = self.of as u128;
        let start = (total as u128 * self.first as u128 / of) as u64;
        let end = (total as u128 * (self.first as u128 + self.count as u128) / of) as u64;
        start..end
    }
}

impl Trial {
    /// The part of this host in what is dealt out by hosts, such as arrivals.
    pub fn host_part(&self) -> LoadPart {
        self.share.map_or(LoadPart::WHOLE, |share| LoadPart::new(share.host, 1, share.hosts))
    }

    /// Its clients among those of all hosts.
    pub fn client_part(&self) -> LoadPart {
        let clients = self.load.clients;
        self.share
            .map_or(LoadPart::all_of(clients), |share| LoadPart::new(share.clients_before, clients, share.all.clients))
    }

    /// Its clients among those that use the same data: those of all hosts, or its own.
    pub fn data_part(&self) -> LoadPart {
        match self.share.map(|share| share.data) {
            Some(DataOrigin::MadeByFirst | DataOrigin::MadeByAll) => self.client_part(),
            Some(DataOrigin::Own) | None => LoadPart::all_of(self.load.clients),
        }
    }

    /// The part of the data that this host makes, which may be none.
    pub fn loading_part(&self) -> LoadPart {
        match self.share {
            Some(HostShare { data: DataOrigin::MadeByAll, .. }) => self.host_part(),
            Some(HostShare { data: DataOrigin::MadeByFirst, host: 1.., .. }) => LoadPart::new(0, 0, 1),
            _ => LoadPart::WHOLE,
        }
    }

    /// What decides when the operations of all hosts start. Those of this host are its [`Trial::host_part`] of them.
    pub fn pacing_of_all(&self) -> Pacing {
        self.share.map_or(self.load.pacing, |share| share.all.pacing)
    }

    /// Whether it adds its part to data that other hosts use as well.
    pub fn adds_to_common_data(&self) -> bool {
        self.share.is_some_and(|share| share.data == DataOrigin::MadeByAll)
    }

    /// Whether it uses data that other hosts use as well.
    pub fn has_common_data(&self) -> bool {
        self.share.is_some_and(|share| share.data != DataOrigin::Own)
    }
}

/// Why a trial cannot be divided.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DivisionError {
    /// No host, or more than there can be.
    #[error("a load of {0} hosts is not possible; use 1 to {HOSTS_MAX}")]
    Hosts(u32),
    /// A host would have no client.
    #[error(
        "{hosts} hosts cannot share clients = `{clients}`: each host needs a client of its own; use at least {hosts} clients, or fewer hosts"
    )]
    FewClients {
        /// The clients of the trial.
        clients: u32,
        hosts: u32,
    },
    /// It replays a recording.
    #[error("{0} hosts cannot share the arrivals of one recording; replay it from one host")]
    Recorded(u32),
    /// It is the share of a host.
    #[error("the load is divided already: it is the share of host {} of {}", .0 + 1, .1)]
    Divided(u32, u32),
}

/// Divides `trial` into the trials of `hosts` hosts, in the order of the hosts. One host gets the trial as it is.
///
/// # Errors
/// If a host would have no client, or the trial replays a recording.
pub fn divide_trial(trial: &Trial, hosts: u32, data: DataOrigin) -> Result<Vec<Trial>, DivisionError> {
    if let Some(share) = trial.share {
        return Err(DivisionError::Divided(share.host, share.hosts));
    }
    match hosts {
        1 => return Ok(vec![trial.clone()]),
        2.. if matches!(trial.load.pacing, Pacing::Open { arrivals: Arrivals::Recorded { .. } }) => {
            return Err(DivisionError::Recorded(hosts));
        }
        2..=HOSTS_MAX => {}
        _ => return Err(DivisionError::Hosts(hosts)),
    }
    let clients = trial.load.clients;
    if clients < hosts {
        return Err(DivisionError::FewClients { clients, hosts });
    }
    Ok((0..hosts).map(|host| trial_of(trial, host, hosts, data)).collect())
}

/// The trial of host number `host`.
fn trial_of(trial: &Trial, host: u32, hosts: u32, data: DataOrigin) -> Trial {
    let clients = clients_of(trial.load.clients, host, hosts);
    let share = HostShare { host, hosts, clients_before: clients.start, all: trial.load, data };
    let mut own = Trial { share: Some(share), ..trial.clone() };
    own.load.clients = clients.end - clients.start;
    own.load.pacing = pacing_of_one(trial.load.pacing, hosts);
    own.phases.ops_max = trial.phases.ops_max.map(|ops| ops_of(ops, &own));
    if data == DataOrigin::Own {
        // Otherwise all hosts would do the same at the same moment.
        own.seed = trial.seed.wrapping_add(SEED_STEP.wrapping_mul(host.into()));
    }
    own
}

/// The clients of host number `host` of `hosts`, of `clients` in all: the first hosts have one more if there is a rest.
fn clients_of(clients: u32, host: u32, hosts: u32) -> Range<u32> {
    let (each, rest) = (clients / hosts, clients % hosts);
    let start = host * each + host.min(rest);
    start..start + each + u32::from(host < rest)
}

fn pacing_of_one(all: Pacing, hosts: u32) -> Pacing {
    let hosts = f64::from(hosts);
    match all {
        Pacing::Closed { think } => Pacing::Closed { think },
        Pacing::Open { arrivals: Arrivals::Constant { per_s } } => {
            Pacing::Open { arrivals: Arrivals::Constant { per_s: per_s / hosts } }
        }
        // The superposition of independent Poisson processes is one, and its rate is the sum of theirs.
        Pacing::Open { arrivals: Arrivals::Poisson { per_s } } => {
            Pacing::Open { arrivals: Arrivals::Poisson { per_s: per_s / hosts } }
        }
        // Refused above: each of them is one operation of the whole.
        Pacing::Open { arrivals: Arrivals::Recorded { per_s } } => {
            Pacing::Open { arrivals: Arrivals::Recorded { per_s: per_s / hosts } }
        }
    }
}

/// What the host of `own` performs of `ops` operations.
fn ops_of(ops: u64, own: &Trial) -> u64 {
    match own.load.pacing {
        // In proportion to the clients, so that the hosts end at the same time.
        Pacing::Closed { .. } => {
            let cut = own.client_part().cut_of(ops);
            cut.end - cut.start
        }
        // One for each of its arrivals.
        Pacing::Open { .. } => own.host_part().dealt_of(ops),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Nanos, Phases};
    use proptest::prelude::*;

    const ALL_DATA: [DataOrigin; 3] = [DataOrigin::Own, DataOrigin::MadeByFirst, DataOrigin::MadeByAll];

    fn trial(clients: u32, pacing: Pacing, ops_max: Option<u64>) -> Trial {
        let simple = Trial::simple("null", "oltp");
        let phases = Phases { warmup: Nanos::from_secs(1), run: Nanos::from_secs(10), ops_max, ..simple.phases };
        Trial { load: Load { clients, depth: 3, pacing }, phases, seed: 7, ..simple }
    }

    const CLOSED: Pacing = Pacing::Closed { think: Nanos(5) };

    fn constant(per_s: f64) -> Pacing {
        Pacing::Open { arrivals: Arrivals::Constant { per_s } }
    }

    fn clients(trials: &[Trial]) -> Vec<u32> {
        trials.iter().map(|trial| trial.load.clients).collect()
    }

    #[test]
    fn several_hosts_do_not_replay_one_recording() {
        let recorded = trial(4, Pacing::Open { arrivals: Arrivals::Recorded { per_s: 10.0 } }, None);
        assert_eq!(divide_trial(&recorded, 1, DataOrigin::Own), Ok(vec![recorded.clone()]));
        assert_eq!(divide_trial(&recorded, 2, DataOrigin::Own), Err(DivisionError::Recorded(2)));
    }

    #[test]
    fn one_host_gets_the_trial_itself() {
        for pacing in [CLOSED, constant(100.0)] {
            let trial = trial(7, pacing, Some(5));
            for data in ALL_DATA {
                assert_eq!(divide_trial(&trial, 1, data).unwrap(), std::slice::from_ref(&trial));
            }
            assert_eq!((trial.host_part(), trial.client_part()), (LoadPart::WHOLE, LoadPart::all_of(7)));
            assert_eq!((trial.data_part(), trial.loading_part()), (LoadPart::all_of(7), LoadPart::WHOLE));
            assert_eq!((trial.pacing_of_all(), trial.arrival_seed()), (pacing, 7));
            assert!(!serde_json::to_string(&trial).unwrap().contains("share"), "it is recorded as before");
        }
    }

    #[test]
    fn clients_are_dealt_evenly_and_the_first_hosts_have_the_rest() {
        let of = |all, hosts| clients(&divide_trial(&trial(all, CLOSED, None), hosts, DataOrigin::Own).unwrap());
        assert_eq!((of(64, 4), of(10, 4)), (vec![16; 4], vec![3, 3, 2, 2]));
    }

    #[test]
    fn fewer_clients_than_hosts_and_a_share_of_a_share_are_refused() {
        let few = divide_trial(&trial(3, CLOSED, None), 4, DataOrigin::Own).unwrap_err();
        assert_eq!(
            few.to_string(),
            "4 hosts cannot share clients = `3`: each host needs a client of its own; use at least 4 clients, or fewer hosts"
        );
        let shares = divide_trial(&trial(4, CLOSED, None), 2, DataOrigin::Own).unwrap();
        assert_eq!(divide_trial(&shares[1], 2, DataOrigin::Own), Err(DivisionError::Divided(1, 2)));
        for hosts in [0, HOSTS_MAX + 1] {
            assert_eq!(
                divide_trial(&trial(9_999, CLOSED, None), hosts, DataOrigin::Own),
                Err(DivisionError::Hosts(hosts))
            );
        }
    }

    #[test]
    fn hosts_with_common_data_have_its_seed_and_arrivals_of_their_own() {
        let seeds = |data| -> Vec<(u64, u64)> {
            let shares = divide_trial(&trial(4, constant(8.0), None), 3, data).unwrap();
            shares.iter().map(|share| (share.seed, share.arrival_seed())).collect()
        };
        let [of_0, of_1, of_2] = [7, 7 + SEED_STEP, 7 + 2 * SEED_STEP];
        assert_eq!(seeds(DataOrigin::Own), [(of_0, of_0), (of_1, of_1), (of_2, of_2)]);
        assert_eq!(seeds(DataOrigin::MadeByFirst), [(7, of_0), (7, of_1), (7, of_2)]);
        assert_eq!(seeds(DataOrigin::MadeByAll), seeds(DataOrigin::MadeByFirst));
    }

    #[test]
    fn the_data_is_made_by_each_host_by_the_first_or_by_parts() {
        let parts = |data| -> Vec<(LoadPart, LoadPart)> {
            let shares = divide_trial(&trial(5, CLOSED, None), 2, data).unwrap();
            shares.iter().map(|share| (share.loading_part(), share.data_part())).collect()
        };
        let (first, second) = (LoadPart::new(0, 3, 5), LoadPart::new(3, 2, 5));
        let none = LoadPart::new(0, 0, 1);
        let [half, other_half] = [LoadPart::new(0, 1, 2), LoadPart::new(1, 1, 2)];
        assert_eq!(
            parts(DataOrigin::Own),
            [(LoadPart::WHOLE, LoadPart::all_of(3)), (LoadPart::WHOLE, LoadPart::all_of(2))]
        );
        assert_eq!(parts(DataOrigin::MadeByFirst), [(LoadPart::WHOLE, first), (none, second)]);
        assert_eq!(parts(DataOrigin::MadeByAll), [(half, first), (other_half, second)]);
    }

    #[test]
    fn a_share_travels_as_text_and_one_that_was_changed_does_not_fit() {
        let shares = divide_trial(&trial(5, constant(1_000.0), None), 3, DataOrigin::MadeByFirst).unwrap();
        for own in &shares {
            let text = serde_json::to_string(own).unwrap();
            assert_eq!(serde_json::from_str::<Trial>(&text).unwrap(), *own);
            let (share, load) = (own.share.unwrap(), own.load);
            assert!(share.fits(&load));
            let wrong = [
                HostShare { host: 3, ..share },
                HostShare { hosts: 1, host: 0, ..share },
                HostShare { hosts: HOSTS_MAX + 1, ..share },
                HostShare { clients_before: u32::MAX, ..share },
                HostShare { clients_before: share.clients_before + 1, ..share },
                HostShare { all: Load { clients: 2, ..share.all }, ..share },
                HostShare { all: Load { depth: 1, ..share.all }, ..share },
                HostShare { all: Load { pacing: constant(9.0), ..share.all }, ..share },
            ];
            assert!(wrong.iter().all(|share| !share.fits(&load)));
            assert!(!share.fits(&Load { clients: 0, ..load }));
        }
    }

    /// A closed loop, or an open one.
    fn any_pacing() -> impl Strategy<Value = Pacing> {
        prop_oneof![
            Just(CLOSED),
            (0.01f64..1e6).prop_map(constant),
            (0.01f64..1e6).prop_map(|per_s| Pacing::Open { arrivals: Arrivals::Poisson { per_s } }),
        ]
    }

    fn any_data() -> impl Strategy<Value = DataOrigin> {
        prop::sample::select(&ALL_DATA[..])
    }

    proptest! {
        #[test]
        fn the_shares_of_all_hosts_are_the_whole(
            clients in 1u32..2_000, hosts in 2u32..60, pacing in any_pacing(), ops in prop::option::of(0u64..1 << 50),
            data in any_data()
        ) {
            let whole = trial(clients, pacing, ops);
            let Ok(shares) = divide_trial(&whole, hosts, data) else {
                prop_assert!(clients < hosts);
                return Ok(());
            };
            prop_assert_eq!(shares.iter().map(|own| own.load.clients).sum::<u32>(), clients);
            prop_assert_eq!(shares.iter().map(|own| own.phases.ops_max).sum::<Option<u64>>(), ops);
            let mut next = 0;
            for own in &shares {
                let part = own.client_part();
                prop_assert_eq!((part.first(), part.of()), (next, clients));
                next += part.count();
                prop_assert!(part.count() == clients / hosts || part.count() == clients / hosts + 1);
                prop_assert_eq!((own.load.depth, own.pacing_of_all()), (whole.load.depth, pacing));
                prop_assert!(own.share.unwrap().fits(&own.load));
            }
            if let Pacing::Open { arrivals } = pacing {
                let sum: f64 = shares.iter().map(|own| match own.load.pacing {
                    Pacing::Open { arrivals } => arrivals.per_s(),
                    Pacing::Closed { .. } => f64::NAN,
                }).sum();
                prop_assert!((sum / arrivals.per_s() - 1.0).abs() < 1e-12);
            }
        }

        #[test]
        fn what_is_dealt_out_in_turn_goes_to_one_part_each(of in 1u32..40, cuts in prop::collection::vec(0u32..40, 0..5), total in 0u64..2_000) {
            let mut seen = vec![0u32; total as usize];
            let mut cut = 0;
            for part in parts(of, cuts) {
                let own = part.dealt_of(total);
                let numbers: Vec<u64> = (0..own).map(|nth| part.number_of(nth)).collect();
                prop_assert!(numbers.is_sorted() && numbers.iter().all(|number| *number < total));
                prop_assert!(part.count() == 0 || part.number_of(own) >= total);
                numbers.into_iter().for_each(|number| seen[number as usize] += 1);
                let range = part.cut_of(total);
                prop_assert_eq!(range.start, cut);
                cut = range.end;
            }
            prop_assert_eq!(cut, total);
            prop_assert!(seen.iter().all(|times| *times == 1));
        }
    }

    /// Neighbouring parts that are all of `of`, with borders at `cuts`.
    fn parts(of: u32, cuts: Vec<u32>) -> Vec<LoadPart> {
        let mut ends: Vec<u32> = cuts.into_iter().filter(|end| *end <= of).chain([of]).collect();
        ends.sort_unstable();
        let starts = std::iter::once(0).chain(ends.clone());
        starts.zip(ends).map(|(start, end)| LoadPart::new(start, end - start, of)).collect()
    }

    #[test]
    fn large_numbers_do_not_overflow() {
        let part = LoadPart::new(999, 1, 1_000);
        assert_eq!(part.cut_of(u64::MAX).end, u64::MAX);
        assert_eq!(part.dealt_of(u64::MAX), u64::MAX / 1_000);
        assert_eq!(LoadPart::WHOLE.number_of(u64::MAX), u64::MAX);
    }
}
