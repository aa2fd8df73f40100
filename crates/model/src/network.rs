//! The network between clients and server: the way there, and the speed of its link.
//!
//! In: what an engine reports of its server, what a person stated. Out: [`ServerWay`], [`LinkSpeed`] and the names of the facts that the
//! run file keeps of them. Limits: a speed is that of one direction; nothing is guessed: what is neither stated nor known to a driver is `None`.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The fact with the interface between clients and server.
pub const INTERFACE_FACT: &str = "network.interface";
/// The fact with the speed of the link, in bits per second.
pub const LINK_FACT: &str = "network.link_bits_per_s";

/// The beginning of the fact with the speed of the link of one interface; its name follows behind a dot.
const INTERFACE_LINK_FACT: &str = "network.link_bits_per_s.";

/// How clients reach the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerWay {
    /// There is none: the engine works inside plimsoll.
    #[default]
    Inside,
    /// Over a unix socket.
    UnixSocket,
    Network {
        client: IpAddr,
        server: IpAddr,
    },
    /// Over TCP to a host that has no address now, or to which no route leads.
    Unknown,
}

/// The speed of a link in bits per second and direction, above 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct LinkSpeed(pub f64);

impl LinkSpeed {
    /// The speed in the value of a fact.
    pub fn from_fact(value: &str) -> Option<LinkSpeed> {
        value.parse().ok().filter(|speed: &f64| speed.is_finite() && *speed > 0.0).map(LinkSpeed)
    }

    /// The value of the fact that states it.
    pub fn fact_value(self) -> String {
        self.0.to_string()
    }

    /// Bytes per second and direction.
    pub fn bytes_per_s(self) -> f64 {
        self.0 / 8.0
    }
}

/// The speed that a person stated for the link of one interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InterfaceLink {
    pub interface: String,
    pub speed: LinkSpeed,
}

impl InterfaceLink {
    /// What the fact `name` with `value` states, if it is one of an interface.
    pub fn from_fact(name: &str, value: &str) -> Option<InterfaceLink> {
        let interface = name.strip_prefix(INTERFACE_LINK_FACT)?.to_owned();
        Some(InterfaceLink { interface, speed: LinkSpeed::from_fact(value)? })
    }

    /// The name of the fact that states it. The value is that of the speed.
    pub fn fact_name(&self) -> String {
        format!("{INTERFACE_LINK_FACT}{}", self.interface)
    }
}

/// The speeds that a person stated for the links of one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatedLinks<'a> {
    /// Of every interface that has none of its own.
    pub every: Option<LinkSpeed>,
    pub single: &'a [InterfaceLink],
}

impl StatedLinks<'_> {
    pub fn of(self, interface: &str) -> Option<LinkSpeed> {
        let own = self.single.iter().find(|link| link.interface == interface);
        own.map(|link| link.speed).or(self.every)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_read_back_from_its_fact_and_nonsense_is_none() {
        let gbit = LinkSpeed(1e9);
        assert_eq!(LinkSpeed::from_fact(&gbit.fact_value()), Some(gbit));
        assert_eq!(gbit.bytes_per_s(), 125e6);
        for text in ["0", "-1", "NaN", "fast"] {
            assert_eq!(LinkSpeed::from_fact(text), None, "{text}");
        }
    }

    #[test]
    fn an_interface_has_its_own_speed_or_that_of_all() {
        let own = InterfaceLink { interface: "eth1.7".into(), speed: LinkSpeed(1e8) };
        let read = InterfaceLink::from_fact(&own.fact_name(), &own.speed.fact_value());
        assert_eq!(read, Some(own.clone()));
        assert_eq!(InterfaceLink::from_fact(LINK_FACT, "1"), None);
        let single = [own];
        let stated = StatedLinks { every: Some(LinkSpeed(1e9)), single: &single };
        assert_eq!(["eth1.7", "eth0"].map(|name| stated.of(name)), [Some(LinkSpeed(1e8)), Some(LinkSpeed(1e9))]);
        assert_eq!(StatedLinks { every: None, ..stated }.of("eth0"), None);
    }
}
