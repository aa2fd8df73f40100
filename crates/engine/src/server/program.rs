//! Finds the programs of an engine that is not built in, and asks its server for the version.
//!
//! In: the programs that an engine needs; the folder that they must come from, if one is given. Out: their paths and the version of the
//! server, or what is missing and how to get it. Limits: with a folder (`NAME@DIR`, `--engine-bin`) nothing is taken from anywhere else.
//! Without one, PATH and the usual places are searched; relative entries of PATH are not. To ask a server for its version is to run it:
//! it runs as the user that the server will have, and never as root.

use host::deadline::output_within;
use host::error::{TargetError, shown, system_words};
use host::privileged::server_account::ServerAccount;
use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// A program, or another file, that an engine needs.
pub struct ServerProgram {
    /// The file name of the program.
    pub name: &'static str,
    /// Its directories if it is not on PATH. One `*` in a place means any version, of which the highest is taken.
    pub places: &'static [&'static str],
    /// How to get it: `on Debian: apt-get install ...`.
    pub advice: &'static str,
}

/// All that an engine needs to run as a private server.
pub struct ProgramSet {
    /// What people call the server.
    pub product: &'static str,
    /// The program of the server itself.
    pub server: ServerProgram,
    /// What it needs in addition.
    pub others: &'static [ServerProgram],
    /// The arguments with which the server prints its version.
    pub version_args: &'static [&'static str],
    /// Whether what the server prints then is printed by this product.
    pub is_own: fn(&str) -> bool,
    /// The oldest version that is supported.
    pub oldest: &'static str,
    /// The user that the server runs as if plimsoll is root.
    pub user: &'static str,
}

/// The programs of an engine as they were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPrograms {
    /// The folder that all of them are from, absolute; `None` if they are installed on this machine.
    pub folder: Option<PathBuf>,
    /// The version of the server.
    pub version: String,
    /// Names and paths, the server first.
    files: Vec<(&'static str, PathBuf)>,
}

/// The folder of `--engine-bin`.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();
/// The sub-directories in which an unpacked server has its programs and files.
const INSIDE: [&str; 13] = [
    "",
    "bin",
    "sbin",
    "libexec",
    "scripts",
    "lib/plugin",
    "lib/mysql/plugin",
    "lib/mariadb/plugin",
    "lib64/mysql/plugin",
    "lib64/mariadb/plugin",
    "share",
    "share/mysql",
    "share/mariadb",
];
/// A server prints its version within milliseconds; something that is no server may run forever.
const ANSWER_AT_MOST: Duration = Duration::from_secs(20);

/// From now on engines without a folder of their own have the programs in `dir`. Call it once, before any program is looked for.
///
/// # Errors
/// If it is no directory.
pub fn use_folder(dir: &Path) -> Result<(), TargetError> {
    let absolute = dir.canonicalize().ok().filter(|dir| dir.is_dir());
    absolute
        .map(|dir| drop(FOLDER.set(dir)))
        .ok_or_else(|| TargetError::Unsafe(format!("--engine-bin: `{}` is not a directory", shown(dir))))
}

/// The folder of `--engine-bin`.
pub fn common_folder() -> Option<&'static Path> {
    FOLDER.get().map(PathBuf::as_path)
}

impl ProgramSet {
    /// All programs from `folder`, or else from that of `--engine-bin`, or else from this machine.
    ///
    /// # Errors
    /// The first program that is missing or cannot be used, in one line.
    pub fn find(&self, folder: Option<&Path>) -> Result<FoundPrograms, String> {
        match folder.or(common_folder()) {
            Some(folder) => self.find_in(folder),
            None => self.find_installed(),
        }
    }

    fn find_in(&self, folder: &Path) -> Result<FoundPrograms, String> {
        let folder = open_folder(folder)?;
        let server = self.server.find_in(&folder).ok_or_else(|| describe_lack(self.server.name, &folder))?;
        let version = self.check_server(&server)?;
        let mut files = vec![(self.server.name, server)];
        for other in self.others {
            let path = other.find_in(&folder).ok_or_else(|| describe_lack(other.name, &folder))?;
            files.push((other.name, path));
        }
        Ok(FoundPrograms { folder: Some(folder), version, files })
    }

    fn find_installed(&self) -> Result<FoundPrograms, String> {
        let (server, version) = self.find_installed_server()?;
        let others = self.others.iter().map(|other| Ok((other.name, other.find_installed()?)));
        let others = others.collect::<Result<Vec<_>, String>>()?;
        Ok(FoundPrograms { folder: None, version, files: [vec![(self.server.name, server)], others].concat() })
    }

    /// The first of that name that is a server of this product: MySQL's and MariaDB's may have one name.
    fn find_installed_server(&self) -> Result<(PathBuf, String), String> {
        let mut unfit = None;
        for server in self.server.installed() {
            match self.check_server(&server) {
                Ok(version) => return Ok((server, version)),
                Err(why) => drop(unfit.get_or_insert(why)),
            }
        }
        let why = unfit.map(|why| format!(" ({why})")).unwrap_or_default();
        Err(format!("{}{why}", self.server.describe_missing()))
    }

    /// The version of `server`, if it is one of this product and not too old.
    fn check_server(&self, server: &Path) -> Result<String, String> {
        check_executable(server)?;
        let printed = ask_once(server, self.version_args, self.user)?;
        if !(self.is_own)(&printed) {
            let line: String = printed.lines().next().unwrap_or_default().chars().take(100).collect();
            let (server, line) = (shown(server), shown(Path::new(&line)));
            return Err(format!("`{server}` is not a server of {}: it prints `{line}`", self.product));
        }
        let version = version_in(&printed).ok_or_else(|| format!("`{}` does not print its version", shown(server)))?;
        if numbers_of(&version) < numbers_of(self.oldest) {
            Err(format!(
                "`{}` is {} {version}, and the oldest that is supported is {}",
                shown(server),
                self.product,
                self.oldest
            ))
        } else {
            Ok(version)
        }
    }
}

impl FoundPrograms {
    /// The path of the program `name`.
    ///
    /// # Panics
    /// If it is none of the programs that were looked for.
    pub fn path_of(&self, name: &str) -> &Path {
        let found = self.files.iter().find(|(known, _)| *known == name);
        found.map(|(_, path)| path.as_path()).expect("one of the programs of the engine")
    }

    /// Names and paths of all of them, the server first.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.files.iter().map(|(name, path)| (*name, path.as_path()))
    }

    /// The path of the server.
    pub fn server(&self) -> &Path {
        &self.files[0].1
    }
}

impl ServerProgram {
    /// Its path in `folder` or one of its usual sub-directories.
    fn find_in(&self, folder: &Path) -> Option<PathBuf> {
        INSIDE.iter().map(|inside| folder.join(inside).join(self.name)).find(|file| file.is_file())
    }

    /// Its path on this machine, or what to install.
    fn find_installed(&self) -> Result<PathBuf, String> {
        self.installed().into_iter().next().ok_or_else(|| self.describe_missing())
    }

    /// All files of its name on PATH and in its usual places.
    fn installed(&self) -> Vec<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        // An entry such as `.` would run a program from wherever plimsoll was started.
        let on_path = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
        let folders = on_path.chain(self.places.iter().flat_map(|place| folders_of(place)));
        folders.map(|folder| folder.join(self.name)).filter(|file| file.is_file()).collect()
    }

    fn describe_missing(&self) -> String {
        format!("not installed: `{}` was not found; {}", self.name, self.advice)
    }
}

/// The absolute path of `folder`, which must be a directory.
fn open_folder(folder: &Path) -> Result<PathBuf, String> {
    let absolute = folder.canonicalize().ok().filter(|folder| folder.is_dir());
    absolute.ok_or_else(|| {
        let home = if folder.starts_with("~") { "; write it in full, the shell replaces no `~` here" } else { "" };
        format!("there is no directory `{}` with programs{home}", shown(folder))
    })
}

fn describe_lack(name: &str, folder: &Path) -> String {
    let advice =
        "if you give a folder, all programs must be in it or in its bin, sbin, libexec, scripts, lib and share";
    format!("`{name}` is not in `{}`; {advice}", shown(folder))
}

/// The folders that match `place`, the highest version first.
fn folders_of(place: &str) -> Vec<PathBuf> {
    let Some((before, after)) = place.split_once('*') else { return vec![place.into()] };
    let entries = std::fs::read_dir(before).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.parse::<u32>().unwrap_or(0)));
    names.into_iter().map(|name| Path::new(before).join(name + after)).collect()
}

/// Refuses a file that the kernel cannot run: the C library gives such a file to a shell, which performs whatever is in it.
fn check_executable(program: &Path) -> Result<(), String> {
    let refused = |why: &str| Err(format!("`{}` is no program: {why}", shown(program)));
    let read = model::open_regular(program).and_then(|file| {
        let mut head = Vec::new();
        let length = file.metadata()?.len();
        file.take(ELF_HEAD as u64).read_to_end(&mut head).map(|_| (head, length))
    });
    match read {
        // That it cannot be read is no reason why it should not run.
        Err(_) => Ok(()),
        Ok((head, _)) if head.is_empty() => refused("it is empty"),
        Ok((head, _)) if head.starts_with(b"#!") => Ok(()),
        Ok((head, length)) if head.starts_with(b"\x7fELF") => {
            if elf_is_whole(&head, length) {
                Ok(())
            } else {
                refused("it is cut off")
            }
        }
        Ok(_) => refused("it is neither an ELF file nor a script"),
    }
}

/// The head of a 64-bit ELF file.
const ELF_HEAD: usize = 64;

/// Whether a file of `length` bytes holds what the `head` of an ELF file announces: the segments and, behind all else, the sections.
fn elf_is_whole(head: &[u8], length: u64) -> bool {
    const CLASS_64: u8 = 2;
    let at = |from: usize, bytes: usize| {
        head.get(from..from + bytes)
            .map(|field| field.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte)))
    };
    let ends =
        |offset: usize, size: usize, count: usize| Some(at(offset, 8)?.saturating_add(at(size, 2)? * at(count, 2)?));
    match (head.get(4), head.get(5)) {
        // In the byte order of this machine and with 64 bits; what else it may be, the kernel decides.
        (Some(&CLASS_64), Some(1)) => {
            [ends(32, 54, 56), ends(40, 58, 60)].iter().all(|end| end.is_some_and(|end| end <= length))
        }
        (Some(_), Some(_)) => true,
        _ => false,
    }
}

/// What `program` prints, asked once: a plan has thousands of trials on a few programs.
fn ask_once(program: &Path, args: &[&str], user: &str) -> Result<String, String> {
    type Answers = HashMap<PathBuf, Result<String, String>>;
    static KNOWN: Mutex<Option<Answers>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    known.entry(program.to_owned()).or_insert_with(|| ask(program, args, user)).clone()
}

fn ask(program: &Path, args: &[&str], user: &str) -> Result<String, String> {
    let account = ServerAccount::for_server(user).map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(args).current_dir("/");
    if let Some(account) = &account {
        account.run_as(&mut command);
    }
    let ended = output_within(&mut command, ANSWER_AT_MOST).map_err(|error| {
        if error.kind() == ErrorKind::TimedOut {
            return format!("`{}` printed no version within {} s", shown(program), ANSWER_AT_MOST.as_secs());
        }
        let user = account.as_ref().map_or(String::new(), |account| format!(" as the user `{}`", account.name));
        format!("cannot start `{}`{user}: {}", shown(program), system_words(&error))
    })?;
    if ended.status.success() {
        Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
    } else {
        let complaint = String::from_utf8_lossy(&ended.stderr);
        let line: String = complaint.lines().next_back().unwrap_or("no reason was given").chars().take(300).collect();
        Err(format!("`{}` does not work: {}", shown(program), shown(Path::new(&line))))
    }
}

/// The first word that begins with a digit.
fn version_in(printed: &str) -> Option<String> {
    let word = printed.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some(word.chars().filter(|c| c.is_ascii_graphic()).take(60).collect())
}

/// The numbers that a version begins with: `[10, 11, 19]` of `10.11.19-MariaDB`.
fn numbers_of(version: &str) -> Vec<u32> {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    version[..end].split('.').filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const TOOLS: ProgramSet = ProgramSet {
        product: "Lab",
        server: ServerProgram {
            name: "plimsoll-lab-server",
            places: &["/nonexistent/*/bin"],
            advice: "on Debian: apt-get install no-such-package",
        },
        others: &[ServerProgram { name: "plimsoll-lab-init", places: &[], advice: "" }],
        version_args: &["--version"],
        is_own: |printed| printed.contains("Lab"),
        oldest: "2.3",
        user: "nobody",
    };

    /// A folder that every user may enter.
    fn folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        dir
    }

    /// Makes the script `name` in `folder`.
    fn script(folder: &Path, name: &str, text: &str, mode: u32) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn refusal(folder: &Path) -> String {
        TOOLS.find(Some(folder)).unwrap_err()
    }

    #[test]
    fn the_version_is_the_first_number_that_a_program_says() {
        let said = "/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n";
        assert_eq!(version_in(said).unwrap(), "10.11.19-MariaDB-0+deb12u1");
        assert_eq!(version_in("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)").unwrap(), "15.14");
        assert_eq!(version_in("what?"), None);
        assert_eq!(numbers_of("10.11.19-MariaDB-0+deb12u1"), [10, 11, 19]);
        assert!(numbers_of("18beta1") > numbers_of("14") && numbers_of("5.5.9") < numbers_of("8.0.30"));
    }

    #[test]
    fn a_file_that_is_no_program_is_refused_and_not_given_to_a_shell() {
        let dir = folder();
        let file = dir.path().join("plimsoll-lab-server");
        let whole = std::fs::read("/proc/self/exe").unwrap();
        for (bytes, why) in [
            (&b""[..], "is no program: it is empty"),
            (b"touch /tmp/plimsoll-lab-was-here", "is no program: it is neither an ELF file nor a script"),
            (&whole[..100], "is no program: it is cut off"),
            (&whole[..whole.len() / 2], "is no program: it is cut off"),
        ] {
            std::fs::write(&file, bytes).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
            let refused = refusal(dir.path());
            assert!(refused.ends_with(why), "{refused}");
        }
        assert_eq!(check_executable(Path::new("/proc/self/exe")), Ok(()));
        assert!(!Path::new("/tmp/plimsoll-lab-was-here").exists());
    }

    #[test]
    fn the_highest_version_of_a_place_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        for version in ["9", "15", "17", "notes"] {
            std::fs::create_dir_all(dir.path().join(version).join("bin")).unwrap();
        }
        let place = format!("{}/*/bin", dir.path().display());
        let found: Vec<_> =
            folders_of(&place).iter().map(|folder| folder.strip_prefix(dir.path()).unwrap().to_owned()).collect();
        assert_eq!(found[..3], ["17/bin", "15/bin", "9/bin"].map(PathBuf::from));
    }

    #[test]
    fn a_program_that_is_nowhere_is_named_with_its_package() {
        let text = TOOLS.find(None).unwrap_err();
        assert!(text.contains("`plimsoll-lab-server`") && text.contains("apt-get install no-such-package"), "{text}");
    }

    #[test]
    fn a_folder_has_all_programs_or_is_refused_with_the_name_of_the_missing_one() {
        let dir = folder();
        assert!(refusal(&dir.path().join("gone")).starts_with("there is no directory"));
        assert!(refusal(Path::new("~/lab")).contains("replaces no `~`"));
        assert!(refusal(dir.path()).starts_with("`plimsoll-lab-server` is not in"));
        script(dir.path(), "bin/plimsoll-lab-server", "echo server of Lab 2.10.1-x", 0o755);
        assert!(refusal(dir.path()).starts_with("`plimsoll-lab-init` is not in"));
        script(dir.path(), "scripts/plimsoll-lab-init", "", 0o755);
        let found = TOOLS.find(Some(dir.path())).unwrap();
        let absolute = dir.path().canonicalize().unwrap();
        assert_eq!((found.version.as_str(), found.folder.as_deref()), ("2.10.1-x", Some(&*absolute)));
        assert_eq!(found.server(), absolute.join("bin/plimsoll-lab-server"));
        assert_eq!(found.path_of("plimsoll-lab-init"), absolute.join("scripts/plimsoll-lab-init"));
    }

    #[test]
    fn what_is_no_server_of_the_product_is_refused_with_what_it_is() {
        for (text, mode, expected) in [
            ("echo Other 9.1", 0o755, "is not a server of Lab: it prints `Other 9.1`"),
            ("echo Lab 2.2.9", 0o755, "is Lab 2.2.9, and the oldest that is supported is 2.3"),
            ("echo Lab", 0o755, "does not print its version"),
            ("echo a library is missing >&2; exit 127", 0o755, "does not work: a library is missing"),
            ("echo Lab 2.3", 0o644, "cannot start"),
        ] {
            let dir = folder();
            script(dir.path(), "plimsoll-lab-server", text, mode);
            let refusal = refusal(dir.path());
            assert!(refusal.contains(expected) && refusal.lines().count() == 1, "{refusal}");
        }
    }
}
