//! Whether several endpoints are one database.
//!
//! In: what each endpoint reports of itself. Out: a refusal in one line, before anything is made. Limits: two names of the same server are
//! not found out; servers that replicate outside of the server's own knowledge (by a proxy, by triggers) count as no cluster.

use super::EndpointPolicy;
use host::error::TargetError;

/// What an endpoint reports of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointIdentity {
    /// The version of the server.
    pub version: String,
    /// What all servers of its cluster have in common and others have not; `None` if it is in no cluster.
    pub cluster: Option<String>,
    /// Whether it takes no writes.
    pub is_read_only: bool,
    /// Whether it performs statements: a node that has left its cluster answers and performs none.
    pub is_ready: bool,
}

/// Refuses endpoints, each with its name, that are not one cluster, or that clients of `policy` cannot use.
pub fn check_cluster(found: &[(String, EndpointIdentity)], policy: EndpointPolicy) -> Result<(), TargetError> {
    let Some(((first, base), others)) = found.split_first() else { return Ok(()) };
    for (name, identity) in found {
        check_member(name, identity)?;
    }
    for (name, other) in others {
        let differs = |what: &str, one: &str, another: &str| {
            let text = format!("endpoints `{first}` and `{name}` are not one cluster: {what} `{one}` and `{another}`");
            Err(TargetError::Unsupported(text))
        };
        if other.version != base.version {
            return differs("they run versions", &base.version, &other.version);
        }
        if let (Some(one), Some(another)) = (&base.cluster, &other.cluster)
            && one != another
        {
            return differs("their clusters are", one, another);
        }
    }
    check_writable(found, policy)
}

fn check_member(name: &str, identity: &EndpointIdentity) -> Result<(), TargetError> {
    match identity {
        EndpointIdentity { is_ready: false, .. } => Err(TargetError::Failed(format!(
            "endpoint `{name}` performs no statements: it is not synced with its cluster; wait until it is, or leave it out"
        ))),
        EndpointIdentity { cluster: None, .. } => Err(TargetError::Unsupported(format!(
            "endpoint `{name}` is in no cluster that plimsoll knows; name one server, the nodes of one Galera cluster, or a \
             PostgreSQL server and its replicas"
        ))),
        _ => Ok(()),
    }
}

fn check_writable(found: &[(String, EndpointIdentity)], policy: EndpointPolicy) -> Result<(), TargetError> {
    let written = if policy == EndpointPolicy::Spread { found.len() } else { 1 };
    match found.iter().take(written).find(|(_, identity)| identity.is_read_only) {
        None => Ok(()),
        Some((name, _)) if policy == EndpointPolicy::Spread => Err(TargetError::Unsupported(format!(
            "endpoint `{name}` is a read-only replica, and policy = `spread` writes to every endpoint; use policy = `split`"
        ))),
        Some((name, _)) => Err(TargetError::Unsupported(format!(
            "endpoint `{name}` is a read-only replica, and policy = `{}` writes to the first endpoint; name the primary server first",
            policy.as_str()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> (String, EndpointIdentity) {
        let (version, cluster) = ("10.11.19".to_owned(), Some("c1".to_owned()));
        (name.to_owned(), EndpointIdentity { version, cluster, is_read_only: false, is_ready: true })
    }

    fn refusal(change: impl Fn(&mut EndpointIdentity), policy: EndpointPolicy) -> Option<String> {
        let mut found = ["n1", "n2", "n3"].map(node);
        change(&mut found[1].1);
        check_cluster(&found, policy).err().map(|error| error.to_string())
    }

    #[test]
    fn endpoints_that_are_not_one_cluster_are_refused_in_one_line() {
        let spread = |change: fn(&mut EndpointIdentity)| refusal(change, EndpointPolicy::Spread);
        assert_eq!(spread(|_| ()), None);
        for (change, why) in [
            ((|it| it.version = "11.4.5".into()) as fn(&mut EndpointIdentity), "versions `10.11.19` and `11.4.5`"),
            (|it| it.cluster = Some("c2".into()), "`n1` and `n2` are not one cluster"),
            (|it| it.cluster = None, "`n2` is in no cluster"),
            (|it| it.is_ready = false, "`n2` performs no statements"),
            (|it| it.is_read_only = true, "`n2` is a read-only replica"),
        ] {
            let text = spread(change).unwrap();
            assert!(text.contains(why) && text.lines().count() == 1, "{text}");
        }
    }

    #[test]
    fn a_replica_may_follow_the_first_endpoint_if_writes_go_to_the_first() {
        for policy in [EndpointPolicy::First, EndpointPolicy::Split] {
            assert_eq!(refusal(|it| it.is_read_only = true, policy), None);
            let mut found = ["n1", "n2"].map(node);
            found[0].1.is_read_only = true;
            let text = check_cluster(&found, policy).unwrap_err().to_string();
            assert!(text.contains("name the primary server first"), "{text}");
        }
    }
}
