//! The files of new database servers, made once for all tests: most servers begin with the same ones.
//!
//! In: the programs that make such files, `mariadb-install-db` and `initdb`. Out: a folder for the head of PATH, with a script of the name
//! of each. The script runs the real program when arguments come for the first time, keeps what that made, and copies it from then on. If that
//! fails, as on a disk that is full, the real program runs and reports it.
//! Limits: this is for plimsoll's own calls, which it knows by an argument; with others the real program runs. Servers that begin with a
//! copy have the same identifiers. `cargo test` by itself has no such folder.

use anyhow::{Context, Result};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A program that makes the files of a new server.
struct Maker {
    name: &'static str,
    /// Its directories if it is not on PATH. The highest of several versions is taken.
    places: &'static [&'static str],
    /// The argument that only plimsoll gives it.
    own_argument: &'static str,
    /// The shell's patterns for the arguments that name the directory: as one word, or as the word before it.
    directory: DirectoryArgument,
}

/// How the directory of the server is given.
enum DirectoryArgument {
    /// `--datadir=DIR`
    Within(&'static str),
    /// `-D DIR`
    After(&'static str),
}

const MAKERS: [Maker; 2] = [
    Maker {
        name: "mariadb-install-db",
        places: &["/usr/bin"],
        own_argument: "--skip-test-db",
        directory: DirectoryArgument::Within("--datadir="),
    },
    Maker {
        name: "initdb",
        places: &["/usr/lib/postgresql"],
        own_argument: "--no-instructions",
        directory: DirectoryArgument::After("-D"),
    },
];

/// The folder with the scripts and what they keep. Dropped, it is removed.
pub struct ServerFiles(TempDir);

impl ServerFiles {
    /// Makes the scripts of those programs that are installed, in a folder in `parent`, which the users of servers can enter.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn make(parent: &Path) -> Result<ServerFiles> {
        let dir = tempfile::Builder::new().prefix("server-files").tempdir_in(parent)?;
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755))?;
        let kept = dir.path().join("kept");
        fs::create_dir(&kept)?;
        fs::set_permissions(&kept, Permissions::from_mode(0o1777))?;
        let programs = dir.path().join("bin");
        fs::create_dir(&programs)?;
        for maker in &MAKERS {
            let Some(real) = maker.find() else { continue };
            let script = programs.join(maker.name);
            fs::write(&script, maker.script(&real, &kept)).context("cannot write a script")?;
            fs::set_permissions(&script, Permissions::from_mode(0o755))?;
        }
        Ok(ServerFiles(dir))
    }

    /// `path` with the scripts before all else.
    pub fn before(&self, path: &std::ffi::OsStr) -> Result<std::ffi::OsString> {
        let folders = [self.0.path().join("bin")].into_iter().chain(std::env::split_paths(path));
        Ok(std::env::join_paths(folders)?)
    }
}

impl Maker {
    fn find(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut found: Vec<PathBuf> = std::env::split_paths(&path).map(|folder| folder.join(self.name)).collect();
        for place in self.places {
            found.push(Path::new(place).join(self.name));
            let mut versions: Vec<PathBuf> =
                fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            versions.sort_by_key(|path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()));
            found.extend(versions.into_iter().rev().map(|version| version.join("bin").join(self.name)));
        }
        found.into_iter().find(|program| program.is_file())
    }

    /// The script that stands for the `real` program, and keeps directories in `kept`.
    fn script(&self, real: &Path, kept: &Path) -> String {
        let look = match self.directory {
            DirectoryArgument::Within(option) => {
                format!("case $word in {option}*) data=${{word#*=}} ;; --tmpdir=*) ;; *) key=\"$key $word\" ;; esac")
            }
            DirectoryArgument::After(option) => {
                format!("if [ \"$last\" = {option} ]; then data=$word; else key=\"$key $word\"; fi; last=$word")
            }
        };
        let (own, real, kept) = (self.own_argument, real.display(), kept.display());
        format!(
            "#!/bin/sh\n\
             set -eu\n\
             data='' key='' last=''\n\
             for word; do {look}; done\n\
             case \"$key \" in *' {own} '*) ;; *) exec '{real}' \"$@\" ;; esac\n\
             made='{kept}'/$(printf %s \"$key\" | cksum | tr ' ' -)\n\
             if [ -e \"$made\" ]; then\n\
             cp -a --sparse=always \"$made/.\" \"$data\" 2>/dev/null && exit\n\
             find \"$data\" -mindepth 1 -delete\n\
             fi\n\
             '{real}' \"$@\"\n\
             copy=$(mktemp -d '{kept}/new.XXXXXX') || exit 0\n\
             cp -a --sparse=always \"$data/.\" \"$copy\" && mv -T \"$copy\" \"$made\" 2>/dev/null || rm -rf \"$copy\"\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A program that writes its arguments and a new number into the directory.
    const REAL: &str = "#!/bin/sh\nfor word; do case $word in --datadir=*) data=${word#*=} ;; esac; done\n\
                        [ -d \"$data\" ] || data=$2\necho \"$*\" > \"$data/made\"; date +%N >> \"$data/made\"\n";

    /// What is made the first time, the second time, and when what was kept cannot be copied.
    fn made_by(maker: &Maker, arguments: &dyn Fn(&str) -> Vec<String>) -> [String; 3] {
        let dir = tempfile::tempdir().unwrap();
        let [real, script, kept] = ["real", "script", "kept"].map(|name| dir.path().join(name));
        fs::create_dir(&kept).unwrap();
        for (path, text) in [(&real, REAL.to_owned()), (&script, maker.script(&real, &kept))] {
            fs::write(path, text).unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        let mut keys: Vec<PathBuf> = Vec::new();
        ["a", "b", "c"].map(|name| {
            if name == "c" {
                fs::remove_dir_all(&kept).unwrap();
                fs::create_dir(&kept).unwrap();
                keys.iter().for_each(|key| fs::write(key, "no directory").unwrap());
            }
            let data = dir.path().join(name);
            fs::create_dir(&data).unwrap();
            let status = Command::new("sh").arg(&script).args(arguments(data.to_str().unwrap())).status().unwrap();
            assert!(status.success());
            keys = fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap().path()).collect();
            fs::read_to_string(data.join("made")).unwrap()
        })
    }

    #[test]
    fn what_a_program_made_is_copied_if_the_same_arguments_come_again_and_it_can_be() {
        let [mariadb, postgres] = &MAKERS;
        let of_mariadb = |own: &'static str| {
            move |data: &str| vec![format!("--datadir={data}"), format!("--tmpdir={data}"), own.to_owned()]
        };
        let [first, second, last] = made_by(mariadb, &of_mariadb("--skip-test-db"));
        assert!(first == second && first.contains("/a --tmpdir="), "{first} {second}");
        assert!(last.contains("/c --tmpdir="), "{last}");
        let [first, second, _] = made_by(mariadb, &of_mariadb("--of-others"));
        assert!(first != second && second.contains("/b "), "{first} {second}");
        let of_postgres = |data: &str| ["-D", data, "--no-instructions"].map(str::to_owned).to_vec();
        let [first, second, last] = made_by(postgres, &of_postgres);
        assert!(first == second && first.contains("/a --no-instructions"), "{first} {second}");
        assert!(last.contains("/c --no-instructions"), "{last}");
    }
}
