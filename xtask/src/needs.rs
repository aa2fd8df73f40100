//! The programs that the chores need and cargo does not install, with their Debian packages and their purpose.
//!
//! In: a list of needs. Out: those that are still missing after an attempt to install them. Limits: it installs only as root on
//! Debian; the caller names each thing that it skips for a missing program.

use crate::workspace;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that is not part of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    pub binary: &'static str,
    /// The Debian package that brings it.
    pub package: &'static str,
    /// What is impossible without it.
    pub what_for: &'static str,
}

/// What `cargo xtask test` needs.
pub const TEST_NEEDS: &[Need] = &[
    Need { binary: "sqlite3", package: "sqlite3", what_for: "run files are read by the real sqlite3" },
    Need { binary: "chromium", package: "chromium", what_for: "a report renders in a browser" },
    Need { binary: "sfdisk", package: "fdisk", what_for: "a partition table on a device is seen" },
    Need { binary: "mkfs.xfs", package: "xfsprogs", what_for: "XFS is made, measured and broken" },
    Need { binary: "mkfs.btrfs", package: "btrfs-progs", what_for: "btrfs is made and measured" },
    Need { binary: "zfs-fuse", package: "zfs-fuse", what_for: "ZFS is made, compresses and is measured" },
    Need { binary: "tmux", package: "tmux", what_for: "the live view is shown on a terminal" },
    Need { binary: "ss", package: "iproute2", what_for: "the queue of a listener is read" },
    Need { binary: "mariadbd", package: "mariadb-server", what_for: "MariaDB as a private server" },
    Need { binary: "ha_rocksdb.so", package: "mariadb-plugin-rocksdb", what_for: "MariaDB with RocksDB" },
    Need { binary: "initdb", package: "postgresql", what_for: "PostgreSQL as a private server" },
    Need { binary: "redis-server", package: "redis-server", what_for: "the bus between the hosts of a run" },
    Need { binary: "systemd-analyze", package: "systemd", what_for: "the unit of an agent is verified" },
    Need { binary: "eu-stack", package: "elfutils", what_for: "the stacks of a server are taken" },
    Need { binary: "gdb", package: "gdb", what_for: "the stacks of a process are taken" },
    Need { binary: "libjemalloc.so.2", package: "libjemalloc2", what_for: "servers and clients with jemalloc" },
    Need { binary: "libtcmalloc_minimal.so.4", package: "libtcmalloc-minimal4", what_for: "servers with tcmalloc" },
];

/// What it needs with the feature `rocksdb`: the same, a C++ compiler, and libclang to read its headers.
pub const FEATURE_NEEDS: &[Need] = &with_compiler();

const fn with_compiler() -> [Need; TEST_NEEDS.len() + 2] {
    let compiler = Need { binary: "g++", package: "g++", what_for: "RocksDB is compiled" };
    let headers = Need { binary: "libclang.so", package: "libclang-dev", what_for: "RocksDB's headers are read" };
    // A constant array can be filled by a loop only: iterators and `concat` do not run at compile time.
    let mut needs = [compiler; TEST_NEEDS.len() + 2];
    needs[1] = headers;
    let mut nth = 0;
    while nth < TEST_NEEDS.len() {
        needs[nth + 2] = TEST_NEEDS[nth];
        nth += 1;
    }
    needs
}

/// What `cargo xtask fresh` needs.
pub const FRESH_NEEDS: &[Need] =
    &[Need { binary: "debootstrap", package: "debootstrap", what_for: "a bare Debian is made" }];

/// What `cargo xtask dist` needs besides Rust.
pub const DIST_NEEDS: &[Need] = &[
    Need { binary: "musl-gcc", package: "musl-tools", what_for: "C code is compiled for the static program" },
    Need { binary: "dpkg-shlibdeps", package: "dpkg-dev", what_for: "the libraries that a program needs are found" },
    Need { binary: "xz", package: "xz-utils", what_for: "a package for Debian is packed" },
    Need { binary: "python3", package: "python3-venv", what_for: "maturin is installed" },
];

/// What `cargo xtask engines` needs.
pub const ENGINES_NEEDS: &[Need] = &[
    Need { binary: "mvn", package: "maven", what_for: "servers are fetched" },
    Need { binary: "unzip", package: "unzip", what_for: "servers are unpacked" },
    Need { binary: "xz", package: "xz-utils", what_for: "servers are unpacked" },
];

/// What `cargo xtask bench file` needs.
pub const BENCH_NEEDS: &[Need] =
    &[Need { binary: "fio", package: "fio", what_for: "the peer that plimsoll is compared with" }, SYSBENCH];

/// What `cargo xtask bench dist` needs.
pub const SYSBENCH: Need = Need {
    binary: "sysbench",
    package: "sysbench",
    what_for: "the peer that plimsoll is compared with on the disk, and whose distributions it has, too",
};

/// What `cargo xtask bench oltp` and `insert` need.
pub const OLTP_NEEDS: &[Need] = &[
    SYSBENCH,
    Need { binary: "pgbench", package: "postgresql", what_for: "the peer on PostgreSQL" },
    Need { binary: "mariadbd", package: "mariadb-server", what_for: "the server that queries are sent to" },
    Need { binary: "initdb", package: "postgresql", what_for: "the server that queries are sent to" },
];

/// Installs what is missing if it may, and returns what is still missing.
pub fn install_missing(needs: &'static [Need]) -> Result<Vec<&'static Need>> {
    let missing = missing_needs(needs);
    if missing.is_empty() || !may_install() {
        return Ok(missing);
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    eprintln!("xtask: installing {} by apt-get", packages.join(", "));
    if let Err(error) = install_packages(&packages) {
        eprintln!("xtask: {error:#}");
    }
    Ok(missing_needs(needs))
}

fn missing_needs(needs: &'static [Need]) -> Vec<&'static Need> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    needs.iter().filter(|need| !is_on_path(need.binary, &path) && !is_elsewhere(need.binary)).collect()
}

fn is_on_path(binary: &str, path: &std::ffi::OsStr) -> bool {
    std::env::split_paths(path).any(|folder| folder.join(binary).is_file())
}

/// Whether it is in one of Debian's directories for servers, plugins and libraries, which need not be on PATH.
fn is_elsewhere(binary: &str) -> bool {
    let postgres = folders_in("/usr/lib/postgresql").map(|version| version.join("bin"));
    let libraries = folders_in("/usr/lib").flat_map(|folder| [folder.join("lib"), folder]);
    let fixed = ["/usr/sbin", "/usr/lib/mysql/plugin"].map(PathBuf::from);
    postgres.chain(libraries).chain(fixed).any(|folder| folder.join(binary).is_file())
}

fn folders_in(folder: &str) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn may_install() -> bool {
    rustix::process::geteuid().is_root() && Path::new("/etc/debian_version").exists()
}

/// A fresh Debian knows no packages before its first update. What dpkg does with each package is not shown: other output goes on
/// meanwhile.
fn install_packages(packages: &[&str]) -> Result<()> {
    workspace::output_of(apt_get().args(["update", "-qq"]))?;
    workspace::output_of(apt_get().args(["install", "-y", "-qq", "--no-install-recommends"]).args(packages))?;
    Ok(())
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_there_where_a_folder_of_the_path_has_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("tool"), "").unwrap();
        let path = std::env::join_paths([Path::new("/nonexistent"), dir.path()]).unwrap();
        assert!(is_on_path("tool", &path));
        assert!(!is_on_path("other-tool", &path));
    }

    #[test]
    fn what_cargo_itself_needs_is_not_missing() {
        static SH: [Need; 2] = [
            Need { binary: "sh", package: "dash", what_for: "a test" },
            Need { binary: "plimsoll-no-such-program", package: "none", what_for: "a test" },
        ];
        assert_eq!(missing_needs(&SH), [&SH[1]]);
    }
}
