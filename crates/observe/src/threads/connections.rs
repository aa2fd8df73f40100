//! How many connections a process has: of a server whose threads serve one each, the others are kept for later ones.
//!
//! In: the descriptors of a process, and the tables of sockets that listen. Out: a count. Limits: a socket for anything else (the process
//! talks to another one) counts as a connection, so that a thread is rather taken to wait for a lock than to be kept.

use crate::proc_file::read_once;
use std::collections::HashSet;
use std::path::Path;

/// The sockets of process `pid` that are not among those `listening`; `None` if its descriptors cannot be seen.
pub(super) fn count_connections(pid: u32, listening: &HashSet<u64>) -> Option<usize> {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let targets = descriptors.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let sockets = targets.filter_map(|target| socket_inode(&target.to_string_lossy()));
    Some(sockets.filter(|inode| !listening.contains(inode)).count())
}

/// The number of the socket that a descriptor leads to: `socket:[4711]`.
fn socket_inode(target: &str) -> Option<u64> {
    target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// The sockets that listen where process `pid` is. The kernel goes through all its tables for this, which takes milliseconds.
pub(super) fn listening_sockets(pid: u32, buffer: &mut Vec<u8>) -> HashSet<u64> {
    let mut all = HashSet::new();
    let mut add = |name: &str, listening: fn(&str) -> Option<u64>| {
        let table = read_once(Path::new(&format!("/proc/{pid}/net/{name}")), buffer);
        all.extend(table.unwrap_or_default().lines().filter_map(listening));
    };
    add("unix", listening_unix);
    add("tcp", listening_tcp);
    add("tcp6", listening_tcp);
    all
}

/// The socket in a line of `/proc/net/unix`, if it listens: flag 0x10000 (`__SO_ACCEPTCON` of the kernel).
fn listening_unix(line: &str) -> Option<u64> {
    let mut fields = line.split_ascii_whitespace().skip(3);
    let flags = u64::from_str_radix(fields.next()?, 16).ok()?;
    (flags & 0x1_0000 != 0).then_some(fields.nth(2)?.parse().ok()?)
}

/// The socket in a line of `/proc/net/tcp`, if it listens: state 0A (`TCP_LISTEN` of the kernel).
fn listening_tcp(line: &str) -> Option<u64> {
    let mut fields = line.split_ascii_whitespace().skip(3);
    (fields.next()? == "0A").then_some(fields.nth(5)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_that_listen_are_found_in_their_tables() {
        let unix = "ffff8881058c9c00: 00000002 00000000 00010000 0001 01 14542 /run/mysqld/mysqld.sock";
        assert_eq!(listening_unix(unix), Some(14542));
        let connected = "ffff8881058c9c00: 00000003 00000000 00000000 0001 03 14543 /run/mysqld/mysqld.sock";
        assert_eq!(listening_unix(connected), None);
        assert_eq!(listening_unix("Num       RefCount Protocol Flags    Type St Inode Path"), None);
        let tcp = "   0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   107        0 18345 1 0 100 0";
        assert_eq!(listening_tcp(tcp), Some(18345));
        assert_eq!(listening_tcp(&tcp.replace(" 0A ", " 01 ")), None);
    }

    #[test]
    fn a_connection_counts_and_the_socket_that_listens_does_not() {
        let own = std::process::id();
        let dir = tempfile::tempdir().unwrap();
        let listener = std::os::unix::net::UnixListener::bind(dir.path().join("s")).unwrap();
        let inode = |fd: &dyn std::os::fd::AsRawFd| {
            let target = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap();
            socket_inode(&target.to_string_lossy()).unwrap()
        };
        let listening = listening_sockets(own, &mut Vec::new());
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(listening.contains(&inode(&listener)) && !listening.contains(&inode(&one)));
        assert!(
            count_connections(own, &listening).unwrap() >= 2,
            "both ends of the pair, and what other tests have open"
        );
    }
}
