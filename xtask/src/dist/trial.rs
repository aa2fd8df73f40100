//! A trial of each package: installed where nothing else is, it runs `quick` and `report` as a new user would.
//!
//! In: the packages in `target/dist`, as root. Out: the time that each step took, or the step that failed. The tar is tried in a root
//! folder with nothing in it, not even a C library; the others in a bare Debian 12, to which the wheel adds Python.
//! Limits: kernel, devices and processor are those of this machine; nothing is fetched from outside.

use super::{Package, PackageKind, folder, program};
use crate::{bare, workspace};
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What the bare Debian has: the wheel is installed with its Python.
const PACKAGES: &str = "ca-certificates,python3,python3-venv";

/// How much of its data `quick` makes in the trial.
const QUICK_SCALE: &str = "0.1";

/// Where the packages are in the system.
const DIST: &str = "mnt/dist";

/// What the package for Debian brings along with the program.
const DEBIAN_FILES: [&str; 6] = [
    "usr/share/man/man1/plimsoll.1.gz",
    "usr/share/man/man1/plimsoll-quick.1.gz",
    "usr/share/bash-completion/completions/plimsoll",
    "usr/share/zsh/vendor-completions/_plimsoll",
    "usr/share/fish/vendor_completions.d/plimsoll.fish",
    "usr/lib/systemd/system/plimsoll-agent@.service",
];

/// Makes the systems and tries each package in its own.
pub fn run(root: &Path, packages: &[Package]) -> Result<()> {
    let place = root.join("target/dist-trial");
    let (empty, debian) = (place.join("empty"), place.join("debian"));
    bare::remove_system(&place)?;
    fs::create_dir_all(&empty)?;
    if packages.iter().any(|package| package.kind != PackageKind::Tar) {
        bare::make_system(&debian, PACKAGES)?;
    }
    for package in packages {
        let system = if package.kind == PackageKind::Tar { &empty } else { &debian };
        let kind = package.kind.word();
        let words = [OsStr::new("dist"), OsStr::new("--inside"), system.as_os_str(), "--only".as_ref(), kind.as_ref()];
        bare::run_in_namespaces(&words)?;
    }
    bare::remove_system(&place)
}

/// Tries the packages in `system`, in namespaces of its own.
pub fn run_inside(root: &Path, system: &Path, kinds: &[PackageKind]) -> Result<()> {
    bare::mount_kernel(system)?;
    bare::mount_read_only(&folder(root), &system.join(DIST))?;
    ["srv", "tmp", "opt"].iter().try_for_each(|folder| fs::create_dir_all(system.join(folder)))?;
    for kind in kinds {
        let trial = Trial { system, version: program::version(root)?, file: kind.find(root)? };
        println!("dist: {}", trial.perform(*kind).with_context(|| format!("the {} failed its trial", kind.word()))?);
    }
    Ok(())
}

/// One package and the system that it is tried in.
struct Trial<'a> {
    system: &'a Path,
    version: String,
    file: PathBuf,
}

impl Trial<'_> {
    fn perform(&self, kind: PackageKind) -> Result<String> {
        let begun = Instant::now();
        let program = self.install(kind)?;
        let installed = begun.elapsed();
        let (quick, report) = self.use_program(&program)?;
        if kind == PackageKind::Deb {
            self.check_debian_files()?;
        }
        let [installed, quick, report] = [installed, quick, report].map(|time| time.as_secs_f64());
        Ok(format!("{:<5} installed in {installed:.1} s, quick {quick:.1} s, report {report:.1} s", kind.word()))
    }

    /// Installs the package and returns the words that start its program.
    fn install(&self, kind: PackageKind) -> Result<String> {
        match kind {
            PackageKind::Tar => self.unpack(),
            PackageKind::Deb => self.install_deb(),
            PackageKind::Wheel => self.install_wheel(),
        }
    }

    /// The system has no tar: that of this machine unpacks.
    fn unpack(&self) -> Result<String> {
        let opt = self.system.join("opt");
        workspace::run(Command::new("tar").arg("-xzf").arg(&self.file).arg("-C").arg(opt))?;
        Ok(format!("/opt/plimsoll-{}-x86_64-linux/plimsoll", self.version))
    }

    fn install_deb(&self) -> Result<String> {
        let apt = ["apt-get", "install", "--quiet", "--yes", "--no-install-recommends"];
        self.run(bare::chroot(self.system).args(apt).arg(self.file_inside()))?;
        Ok("plimsoll".into())
    }

    fn install_wheel(&self) -> Result<String> {
        self.run(bare::chroot(self.system).args(["python3", "-m", "venv", "/opt/plimsoll-wheel"]))?;
        let pip = ["/opt/plimsoll-wheel/bin/pip", "install", "--quiet", "--no-index"];
        self.run(bare::chroot(self.system).args(pip).arg(self.file_inside()))?;
        Ok("/opt/plimsoll-wheel/bin/plimsoll".into())
    }

    fn file_inside(&self) -> PathBuf {
        Path::new("/").join(DIST).join(self.file.file_name().expect("it was found in a folder"))
    }

    /// Runs what a new user runs first, and returns how long `quick` and `report` took.
    fn use_program(&self, program: &str) -> Result<(Duration, Duration)> {
        let version = workspace::output_of(bare::chroot(self.system).args([program, "--version"]))?;
        ensure!(version == format!("plimsoll {}\n", self.version), "`--version` printed `{}`", version.trim());
        let quick = self.time(&[program, "quick", "/srv", "--scale", QUICK_SCALE, "--runs", "/srv/runs", "--quiet"])?;
        let page = "/srv/page";
        let report = self.time(&[program, "report", "last", "--runs", "/srv/runs", "--out", page, "--quiet"])?;
        let page = fs::metadata(self.system.join("srv/page/index.html")).context("there is no report")?;
        ensure!(page.len() > 100_000, "the report has only {} bytes", page.len());
        fs::remove_dir_all(self.system.join("srv"))?;
        fs::create_dir(self.system.join("srv"))?;
        Ok((quick, report))
    }

    fn time(&self, words: &[&str]) -> Result<Duration> {
        let begun = Instant::now();
        self.run(bare::chroot(self.system).args(words))?;
        Ok(begun.elapsed())
    }

    /// The files are there while the package is installed, and gone when it is purged.
    fn check_debian_files(&self) -> Result<()> {
        let here = |file: &&&str| self.system.join(file).exists();
        let missing: Vec<_> = DEBIAN_FILES.iter().filter(|file| !here(file)).collect();
        ensure!(missing.is_empty(), "not in the package: {missing:?}");
        self.run(bare::chroot(self.system).args(["dpkg", "--purge", "plimsoll"]))?;
        let left: Vec<_> = DEBIAN_FILES.iter().chain(&["usr/bin/plimsoll"]).filter(here).collect();
        ensure!(left.is_empty(), "`dpkg --purge` left {left:?}");
        Ok(())
    }

    /// Runs a command whose output is shown only if it fails.
    fn run(&self, command: &mut Command) -> Result<()> {
        let shown = workspace::shown(command);
        let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{shown}`"))?;
        let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        ensure!(output.status.success(), "`{shown}` ended with {}\n{stdout}{stderr}", output.status);
        Ok(())
    }
}
