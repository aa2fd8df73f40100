//! The network interface over which clients reach a server.
//!
//! In: the two addresses of a connection. Out: the interface's name, whether it is loopback, and the speed of its link. Limits: Linux.
//! The interface is the one that has the client's address: with rules that route by other things than the address, packets may leave
//! by another. A server at an address of this machine is reached over loopback, whatever interface has the address.

use crate::SourceMissing;
use model::{LinkSpeed, ServerWay};
use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// A network interface of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkInterface {
    /// Its name: `eth0`.
    pub name: String,
    /// Whether its packets never leave the machine.
    pub is_loopback: bool,
}

impl NetworkInterface {
    /// The interface on the way to the server.
    ///
    /// # Errors
    /// If there is no network on the way, or no interface has the client's address.
    pub fn on_way(way: ServerWay) -> Result<NetworkInterface, SourceMissing> {
        match way {
            ServerWay::Inside => Err(SourceMissing::NothingToCount),
            ServerWay::UnixSocket => Err(SourceMissing::NoNetwork),
            ServerWay::Unknown => Err(SourceMissing::NoInterface),
            ServerWay::Network { client, server } => {
                choose(&interfaces(), client, server).ok_or(SourceMissing::NoInterface)
            }
        }
    }

    /// All interfaces that have an address, by name, except for loopback.
    pub fn of_machine() -> Vec<NetworkInterface> {
        let mut all: Vec<NetworkInterface> = interfaces().into_iter().map(|known| known.interface).collect();
        all.retain(|interface| !interface.is_loopback);
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all.dedup();
        all
    }

    /// The speed of its link, if the driver knows one: loopback and most virtual cards have none.
    pub fn link_speed(&self) -> Option<LinkSpeed> {
        let path = Path::new("/sys/class/net").join(&self.name).join("speed");
        parse_speed(&std::fs::read_to_string(path).ok()?)
    }
}

/// The speed in Mbit/s, as the kernel prints it; -1 is unknown.
fn parse_speed(text: &str) -> Option<LinkSpeed> {
    let mbit: i64 = text.trim().parse().ok()?;
    // Some drivers have 2^32 - 1 for an unknown speed.
    (mbit > 0 && mbit < i64::from(u32::MAX)).then_some(LinkSpeed(mbit as f64 * 1e6))
}

/// An address of an interface.
struct InterfaceAddress {
    interface: NetworkInterface,
    address: IpAddr,
}

fn choose(all: &[InterfaceAddress], client: IpAddr, server: IpAddr) -> Option<NetworkInterface> {
    let (client, server) = (client.to_canonical(), server.to_canonical());
    let is_here = server.is_loopback() || client == server || all.iter().any(|known| known.address == server);
    all.iter()
        .find(|known| if is_here { known.interface.is_loopback } else { known.address == client })
        .map(|known| known.interface.clone())
}

/// The addresses of all interfaces of this network namespace; none if the kernel does not list them.
fn interfaces() -> Vec<InterfaceAddress> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the call writes the address of a list into `first`, and no more.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Vec::new();
    }
    let mut all = Vec::new();
    let mut next = first;
    while !next.is_null() {
        // SAFETY: an element of the list is valid until the list is freed, which is below.
        let entry = unsafe { &*next };
        // SAFETY: the pointers of an element are valid as long as the element.
        all.extend(unsafe { interface_address(entry) });
        next = entry.ifa_next;
    }
    // SAFETY: it is the list that getifaddrs has made, and nothing of it is used any more.
    unsafe { libc::freeifaddrs(first) };
    all
}

/// The address in `entry`, if it is one of IPv4 or IPv6.
///
/// # Safety
/// `entry` is an element of a list of getifaddrs that is not freed yet.
unsafe fn interface_address(entry: &libc::ifaddrs) -> Option<InterfaceAddress> {
    if entry.ifa_addr.is_null() {
        return None;
    }
    // SAFETY: the address is not null, and its family determines which structure it is.
    let address = unsafe {
        match i32::from((*entry.ifa_addr).sa_family) {
            libc::AF_INET => {
                let address = entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned();
                IpAddr::V4(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)))
            }
            libc::AF_INET6 => {
                let address = entry.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned();
                IpAddr::V6(Ipv6Addr::from(address.sin6_addr.s6_addr))
            }
            _ => return None,
        }
    };
    // SAFETY: the name is a text that ends with 0.
    let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_str().ok()?.to_owned();
    let is_loopback = entry.ifa_flags & libc::IFF_LOOPBACK as u32 != 0;
    Some(InterfaceAddress { interface: NetworkInterface { name, is_loopback }, address })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str, address: &str) -> InterfaceAddress {
        let interface = NetworkInterface { name: name.into(), is_loopback: name == "lo" };
        InterfaceAddress { interface, address: address.parse().unwrap() }
    }

    fn chosen(client: &str, server: &str) -> Option<String> {
        let all = [known("lo", "127.0.0.1"), known("eth0", "192.0.2.2"), known("docker0", "198.51.100.1")];
        choose(&all, client.parse().unwrap(), server.parse().unwrap()).map(|interface| interface.name)
    }

    #[test]
    fn the_interface_has_the_address_of_the_client() {
        assert_eq!(chosen("192.0.2.2", "203.0.113.9").as_deref(), Some("eth0"));
        assert_eq!(chosen("198.51.100.1", "198.51.100.7").as_deref(), Some("docker0"));
        assert_eq!(chosen("192.0.2.99", "203.0.113.9"), None);
    }

    #[test]
    fn a_server_at_an_address_of_this_machine_is_reached_over_loopback() {
        assert_eq!(chosen("127.0.0.1", "127.0.0.1").as_deref(), Some("lo"));
        assert_eq!(chosen("192.0.2.2", "192.0.2.2").as_deref(), Some("lo"));
        assert_eq!(chosen("192.0.2.2", "198.51.100.1").as_deref(), Some("lo"));
        assert_eq!(chosen("::ffff:127.0.0.1", "::ffff:127.0.0.1").as_deref(), Some("lo"));
    }

    #[test]
    fn an_unknown_speed_is_none() {
        assert_eq!(parse_speed("1000\n"), Some(LinkSpeed(1e9)));
        assert_eq!(parse_speed("2500\n"), Some(LinkSpeed(2.5e9)));
        for unknown in ["-1\n", "0\n", "4294967295\n", ""] {
            assert_eq!(parse_speed(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn loopback_of_this_machine_is_found() {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let found = NetworkInterface::on_way(ServerWay::Network { client: here, server: here }).unwrap();
        assert!(found.is_loopback, "{found:?}");
    }

    #[test]
    fn without_a_network_there_is_no_interface() {
        assert!(matches!(NetworkInterface::on_way(ServerWay::Inside), Err(SourceMissing::NothingToCount)));
        assert!(matches!(NetworkInterface::on_way(ServerWay::UnixSocket), Err(SourceMissing::NoNetwork)));
        // An address for documentation (RFC 5737), which no machine has.
        let nowhere: IpAddr = "192.0.2.1".parse().unwrap();
        let way = ServerWay::Network { client: nowhere, server: "198.51.100.9".parse().unwrap() };
        assert!(matches!(NetworkInterface::on_way(way), Err(SourceMissing::NoInterface)));
    }
}
