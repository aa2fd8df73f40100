//! Several endpoints of one database: the nodes of a Galera cluster, or a primary server and its replicas.
//!
//! In: the addresses of the endpoints, the policy by which clients choose among them. Out: clients that go round the endpoints and move
//! on when one is lost; a counter source for each endpoint. Limits: a client of several endpoints has a thread of its own, and performs
//! statements only: the workload `connect` and variants of a statement take one endpoint. Data is loaded, indexes are built and tables
//! are drained through the first endpoint.

mod driver;
mod health;
mod identity;

pub use driver::endpoint_clients;
pub use health::{ENDPOINT, EndpointHealth, PROBE_PATIENCE, Probe, start_watch};
pub use identity::{EndpointIdentity, check_cluster};

use super::session_options::{self, ClientThreads};
use crate::engine::workload_of;
use host::error::TargetError;
use model::{Family, ParamDef, ParamKind, ParamRole, Params, Phrase, Trial};

/// Which endpoint a client uses.
pub const POLICY: ParamDef = ParamDef {
    help: "which of several endpoints a client uses: `spread` (clients go round the endpoints), `first` (all use the first) or \
           `split` (writes go to the first, reads are spread); if an endpoint is lost, its clients use the next one until it is back",
    phrase: Phrase::Words(&[
        ("spread", "clients on all nodes"),
        ("first", "clients on the first node"),
        ("split", "reads on the replicas"),
    ]),
    ..ParamDef::new("policy", ParamRole::Tuning, ParamKind::OneOf(&["spread", "first", "split"]), "spread")
};

/// How clients choose among endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointPolicy {
    /// Client number n uses endpoint n, counted round.
    Spread,
    /// All use the first.
    First,
    /// Operations that write use the first, the others are spread.
    Split,
}

impl EndpointPolicy {
    pub fn from_params(params: &Params) -> EndpointPolicy {
        match params.0.get(POLICY.name).map(ToString::to_string).as_deref() {
            Some("first") => EndpointPolicy::First,
            Some("split") => EndpointPolicy::Split,
            _ => EndpointPolicy::Spread,
        }
    }

    /// The word of the parameter.
    pub fn as_str(self) -> &'static str {
        match self {
            EndpointPolicy::Spread => "spread",
            EndpointPolicy::First => "first",
            EndpointPolicy::Split => "split",
        }
    }

    /// The endpoint that a client prefers whose turn is `home`, for an operation that `writes` or does not.
    #[inline]
    fn preferred(self, home: usize, writes: bool) -> usize {
        match self {
            EndpointPolicy::Spread => home,
            EndpointPolicy::Split if !writes => home,
            EndpointPolicy::First | EndpointPolicy::Split => 0,
        }
    }
}

/// Refuses what clients of `endpoints` endpoints cannot do; nothing for one.
pub fn check_trial(trial: &Trial, endpoints: usize) -> Result<(), TargetError> {
    let refused = |what: String| Err(TargetError::Unsupported(format!("{what}; the engine has {endpoints} endpoints")));
    if endpoints <= 1 {
        return Ok(());
    }
    let workload = &trial.workload.name;
    if let ClientThreads::Shared(threads) = session_options::client_threads(trial) {
        return refused(format!("threads = `{threads}` works with one endpoint; leave out `threads`"));
    }
    if trial.load.depth > 1 {
        return refused(format!("depth = `{}` works with one endpoint; use depth = `1`", trial.load.depth));
    }
    if workload_of(trial).entry.families.contains(&Family::Connection) {
        return refused(format!("workload `{workload}` works with one endpoint; name one in the URL"));
    }
    if (workload_of(trial).traits)(&trial.workload.params).variant.is_some() {
        return refused(format!("the variants of workload `{workload}` work with one endpoint; name one in the URL"));
    }
    if trial.target.instances > 1 {
        return refused(format!(
            "instances = `{}` works with one endpoint; leave out `instances`",
            trial.target.instances
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Value;

    #[test]
    fn each_policy_prefers_its_endpoint_and_an_old_plan_is_spread() {
        let policy = |word: &str| {
            EndpointPolicy::from_params(&Params([(POLICY.name.to_owned(), Value::Word(word.into()))].into()))
        };
        let seen = ["spread", "first", "split"]
            .map(|word| [policy(word).preferred(2, true), policy(word).preferred(2, false)]);
        assert_eq!(seen, [[2, 2], [0, 0], [0, 2]]);
        assert_eq!(EndpointPolicy::from_params(&Params::default()), EndpointPolicy::Spread);
        assert!(["spread", "first", "split"].iter().all(|word| policy(word).as_str() == *word));
    }
}
