//! Tests of a point of several hosts: what is of one machine is tested on each of them.
//!
//! In: the parts of the hosts. Out: the answers of a test, each with its host. Limits: a host of which nothing was counted rules nothing
//! out.

use super::LimitTest;
use super::seen::Seen;
use super::tested::Tested;
use crate::evidence::cause::{Cause, CausePlace, Limit};
use crate::evidence::{HostPartView, PointView};

/// Of what a test is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestScope {
    /// The point as a whole.
    Point,
    /// A machine on which the database runs.
    Database,
    /// A machine on which clients run.
    Clients,
    /// Any machine that takes part.
    EveryHost,
}

/// A part of a host, and what the tests look at of it.
pub struct SeenPart<'a> {
    part: &'a HostPartView<'a>,
    seen: Seen<'a>,
}

/// The parts of the hosts of `view` that ran; none if only the recording machine measured it.
pub fn seen_on_hosts<'a>(view: &'a PointView) -> Vec<SeenPart<'a>> {
    let measured = view.parts.iter().filter_map(|part| Some((part, part.view.measured.as_ref()?)));
    measured.map(|(part, measured)| SeenPart { part, seen: Seen::new(&part.view, measured) }).collect()
}

/// The answers of `test`: of the point, or of each host of its scope with the name of the host.
pub fn test_in_scope<'a>(
    scope: TestScope,
    test: LimitTest,
    whole: &Seen,
    hosts: &'a [SeenPart<'a>],
) -> Vec<(Tested, Option<&'a str>)> {
    if hosts.is_empty() || scope == TestScope::Point {
        return vec![(test(whole), None)];
    }
    let tested = hosts.iter().filter(|one| scope.has(one.part));
    tested.map(|one| (test(&one.seen), Some(one.part.host))).collect()
}

/// `cause` at the host on which it was found.
pub fn placed(cause: Cause, host: Option<&str>, view: &PointView) -> Cause {
    let Some(host) = host else { return cause };
    let is_network = cause.limit() == Limit::Network;
    let summary = view.hosts.iter().find(|known| known.host == host).filter(|_| is_network);
    let link = summary.and_then(|summary| summary.busiest_link().or(summary.networks.first()));
    cause.at(CausePlace { host: host.to_owned(), interface: link.map(|link| link.interface.clone()) })
}

impl TestScope {
    fn has(self, part: &HostPartView) -> bool {
        match self {
            TestScope::Point => false,
            TestScope::Database => !part.part.is_load(),
            TestScope::Clients => part.part.is_load(),
            TestScope::EveryHost => part.is_first,
        }
    }
}
