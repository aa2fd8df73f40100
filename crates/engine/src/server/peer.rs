//! The process at the other end of a connection, if it is on this machine.
//!
//! In: a connected socket. Out: a process number, or why there is none. Limits: Linux. Behind a proxy, a tunnel or a translation of
//! addresses the other end is not the server: the caller checks which program it is. The holder of a TCP socket is found if plimsoll
//! may list the open files of that process (as root, or as its user). A unix socket has the process that listens, whoever asks.

use crate::open_files::open_files;
use model::UnseenServer;
use procfs::net::{TcpNetEntry, TcpState};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// The process at the other end of `socket`.
pub fn find_peer(socket: BorrowedFd<'_>) -> Result<u32, UnseenServer> {
    match tcp_ends(socket) {
        Ok((ours, theirs)) => find_tcp_peer(ours, theirs),
        // A unix socket has no addresses of this kind.
        Err(_) => peer_of_unix(socket).map_err(|_| UnseenServer::NotFound),
    }
}

/// The addresses of a TCP connection: ours and the other one.
fn tcp_ends(socket: BorrowedFd<'_>) -> io::Result<(SocketAddr, SocketAddr)> {
    let stream = TcpStream::from(socket.try_clone_to_owned()?);
    Ok((canonical(stream.local_addr()?), canonical(stream.peer_addr()?)))
}

/// An IPv4 address that is written as an IPv6 address becomes one of IPv4 again.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// The process that listens at a unix socket. It is an error if it is in a PID namespace that plimsoll cannot see.
fn peer_of_unix(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open while it is borrowed, and the kernel writes at most `length` bytes into `peer`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    match (result, u32::try_from(peer.pid)) {
        (0, Ok(pid)) if pid > 0 => Ok(pid),
        (0, _) => Err(ErrorKind::NotFound.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The process that holds the other end of the TCP connection between `ours` and `theirs`.
fn find_tcp_peer(ours: SocketAddr, theirs: SocketAddr) -> Result<u32, UnseenServer> {
    let is_here = theirs.ip().is_loopback() || theirs.ip() == ours.ip();
    let other_end = inode_in(Path::new("/proc/self/net"), ours, theirs).or_else(|| inode_in_containers(ours, theirs));
    match other_end {
        Some(inode) => holder_of(inode),
        None if is_here || is_on_virtual_network(theirs.ip()) => Err(UnseenServer::NotFound),
        None => Err(UnseenServer::Remote),
    }
}

/// The inode of the connection's other end in the tables of a network namespace.
fn inode_in(tables: &Path, ours: SocketAddr, theirs: SocketAddr) -> Option<u64> {
    let is_other_end = |entry: &TcpNetEntry| {
        canonical(entry.local_address) == theirs && canonical(entry.remote_address) == ours && entry.inode > 0
    };
    ["tcp", "tcp6"].iter().find_map(|table| {
        let entries = read_tcp_table(&tables.join(table)).unwrap_or_default();
        entries.iter().find(|entry| is_other_end(entry)).map(|entry| entry.inode)
    })
}

fn read_tcp_table(path: &Path) -> Option<Vec<TcpNetEntry>> {
    use procfs::{FromReadSI, current_system_info};
    let entries = procfs::net::TcpNetEntries::from_file(path, current_system_info()).ok()?;
    Some(entries.0)
}

/// The same in the other network namespaces that plimsoll may see: a container's address is of this machine, too.
fn inode_in_containers(ours: SocketAddr, theirs: SocketAddr) -> Option<u64> {
    let namespace = |process: &Path| std::fs::read_link(process.join("ns/net")).ok();
    let mut seen = BTreeSet::from([namespace(Path::new("/proc/self"))?]);
    let processes = processes().into_iter().map(|(_, process)| process);
    let first_of_each = processes.filter(|process| namespace(process).is_some_and(|found| seen.insert(found)));
    first_of_each.into_iter().find_map(|process| inode_in(&process.join("net"), ours, theirs))
}

/// The processes that plimsoll sees, with their directories, the lowest number first.
fn processes() -> Vec<(u32, PathBuf)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())));
    let mut processes: Vec<(u32, PathBuf)> = numbered.collect();
    processes.sort_unstable();
    processes
}

/// A socket of this network namespace that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpListenerEntry {
    /// The address and port that it listens on.
    pub address: SocketAddr,
    /// Its number, by which its holder is found.
    pub inode: u64,
}

/// The sockets of this network namespace that listen for TCP.
pub fn tcp_listeners() -> Vec<TcpListenerEntry> {
    let tables = ["tcp", "tcp6"].map(|table| read_tcp_table(&Path::new("/proc/self/net").join(table)));
    let listening = tables.into_iter().flatten().flatten().filter(|entry| entry.state == TcpState::Listen);
    listening.map(|entry| TcpListenerEntry { address: canonical(entry.local_address), inode: entry.inode }).collect()
}

/// The process that has the socket with this inode open.
pub fn holder_of(inode: u64) -> Result<u32, UnseenServer> {
    let link = PathBuf::from(format!("socket:[{inode}]"));
    let mut is_hidden = false;
    for (pid, process) in processes() {
        match has_open(&process, &link) {
            Ok(true) => return Ok(pid),
            Ok(false) => {}
            Err(error) => is_hidden |= error.kind() == ErrorKind::PermissionDenied,
        }
    }
    Err(if is_hidden { UnseenServer::NotPermitted } else { UnseenServer::NotFound })
}

/// Whether an open file of the process in the directory `process` is `link`.
fn has_open(process: &Path, link: &Path) -> io::Result<bool> {
    Ok(open_files(process)?.any(|file| file == link))
}

/// Whether `address` is a neighbour on a network that has no network card, such as the bridge of containers: the server may well be
/// on this machine.
fn is_on_virtual_network(address: IpAddr) -> bool {
    let IpAddr::V4(address) = address else { return false };
    let neighbours = procfs::net::arp().unwrap_or_default();
    neighbours.iter().any(|neighbour| neighbour.ip_address == address && !has_network_card(&neighbour.device))
}

/// Whether packets of the network interface `name` leave the machine: a card has a device, and a bridge over cards has their links.
fn has_network_card(name: &str) -> bool {
    let interface = Path::new("/sys/class/net").join(name);
    let entries = std::fs::read_dir(&interface).into_iter().flatten().flatten();
    let mut below = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("lower_"));
    interface.join("device").exists() || below.any(|lower| lower.path().join("device").exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsFd;
    use std::os::unix::net::{UnixListener, UnixStream};

    #[test]
    fn the_process_that_listens_is_found_behind_a_unix_socket_and_behind_tcp() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let _listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        assert_eq!(find_peer(client.as_fd()), Ok(std::process::id()));

        for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            // A machine may have no IPv6.
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let to = match listener.local_addr().unwrap() {
                any if any.ip().is_unspecified() => SocketAddr::from(([127, 0, 0, 1], any.port())),
                one => one,
            };
            let client = TcpStream::connect(to).unwrap();
            let _accepted = listener.accept().unwrap();
            assert_eq!(find_peer(client.as_fd()), Ok(std::process::id()), "{address}");
        }
    }

    #[test]
    fn a_connection_that_no_process_holds_any_more_is_not_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        // The kernel has completed it, and closes it with the listener.
        drop(listener);
        assert_eq!(find_peer(client.as_fd()), Err(UnseenServer::NotFound));
    }

    #[test]
    fn an_address_without_its_other_end_on_this_machine_is_another_machine() {
        // Addresses for documentation (RFC 5737), which no machine has.
        let [ours, theirs] = ["192.0.2.1:40000", "198.51.100.1:3306"].map(|text| text.parse().unwrap());
        assert_eq!(find_tcp_peer(ours, theirs), Err(UnseenServer::Remote));
        assert_eq!(find_tcp_peer(ours, "127.0.0.1:1".parse().unwrap()), Err(UnseenServer::NotFound));
    }

    #[test]
    fn an_interface_without_a_card_is_told_apart() {
        assert!(!has_network_card("lo") && !has_network_card("no-such-interface"));
    }
}
