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

/// How clients reach the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerWay {
    /// There is none: the engine works inside plimsoll.
    #[default]
    Inside,
    /// Over a unix socket.
    UnixSocket,
    /// Over TCP.
    Network {
        /// The client's address,
        client: IpAddr,
        /// and that of the server.
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
}
