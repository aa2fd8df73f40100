//! `cargo xtask dist`: the packages that users install, and a trial of each on a bare system.
//!
//! In: the working tree. Out: in `target/dist` a tar with a static program, a package for Debian, a Python wheel, and `SHA256SUMS`; each
//! was installed where nothing else is, and ran `quick` and `report` there. Limits: for x86-64 Linux, on a machine with the compilers
//! of both targets; the trial is root's. The program of Debian's package needs the C library of Debian 12 or a newer one, the other two
//! need none.

mod archive;
mod debian;
mod program;
mod texts;
mod trial;
mod wheel;

use crate::needs::{self, DIST_NEEDS};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// The options of `cargo xtask dist`.
#[derive(clap::Args)]
pub struct DistArguments {
    /// Only this package (may be given several times).
    #[arg(long, value_name = "PACKAGE")]
    only: Vec<PackageKind>,
    /// Make the packages and do not try them.
    #[arg(long)]
    no_trial: bool,
    /// Used by the command itself, in its own namespaces.
    #[arg(long, hide = true, value_name = "SYSTEM")]
    inside: Option<PathBuf>,
}

/// A form in which users get plimsoll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PackageKind {
    /// A static program with its man pages and completions.
    Tar,
    /// A package for Debian and Ubuntu.
    Deb,
    /// A Python wheel.
    Wheel,
}

impl PackageKind {
    /// All of them, in the order in which they are made.
    const ALL: [PackageKind; 3] = [PackageKind::Tar, PackageKind::Deb, PackageKind::Wheel];

    /// Its word on the command line.
    fn word(self) -> &'static str {
        match self {
            PackageKind::Tar => "tar",
            PackageKind::Deb => "deb",
            PackageKind::Wheel => "wheel",
        }
    }

    /// How the names of its files end.
    fn ending(self) -> &'static str {
        match self {
            PackageKind::Tar => ".tar.gz",
            PackageKind::Deb => ".deb",
            PackageKind::Wheel => ".whl",
        }
    }

    /// The packages of this kind that are in the folder, of whatever version.
    fn files(self, root: &Path) -> Result<Vec<PathBuf>> {
        let paths = fs::read_dir(folder(root))?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        Ok(paths.into_iter().filter(|path| path.to_string_lossy().ends_with(self.ending())).collect())
    }

    /// The package that was made.
    fn find(self, root: &Path) -> Result<PathBuf> {
        self.files(root)?.pop().with_context(|| format!("there is no {} in `{}`", self.word(), folder(root).display()))
    }

    /// Makes it again and returns its file.
    fn make(self, root: &Path, version: &str) -> Result<PathBuf> {
        self.files(root)?.iter().try_for_each(fs::remove_file)?;
        self.build(root, version)?;
        self.find(root)
    }

    fn build(self, root: &Path, version: &str) -> Result<()> {
        match self {
            PackageKind::Tar => archive::make(root, version),
            PackageKind::Deb => debian::make(root, version),
            PackageKind::Wheel => wheel::make(root),
        }
    }
}

/// A package that was made.
struct Package {
    kind: PackageKind,
    file: PathBuf,
}

fn folder(root: &Path) -> PathBuf {
    root.join("target/dist")
}

/// Makes the packages and tries them.
pub fn run(root: &Path, arguments: &DistArguments) -> Result<()> {
    let kinds: Vec<PackageKind> = PackageKind::ALL
        .into_iter()
        .filter(|kind| arguments.only.is_empty() || arguments.only.contains(kind))
        .collect();
    if let Some(system) = &arguments.inside {
        return trial::run_inside(root, system, &kinds);
    }
    let missing = needs::install_missing(DIST_NEEDS)?;
    let missing: Vec<&str> = missing.iter().map(|need| need.package).collect();
    ensure!(missing.is_empty(), "missing: `apt-get install {}`", missing.join(" "));
    if !arguments.no_trial {
        crate::bare::check_rights("cargo xtask dist")?;
    }
    let packages = make_packages(root, &kinds)?;
    archive::write_sums(&folder(root))?;
    packages.iter().for_each(|package| println!("dist: {}", size_line(package)));
    if arguments.no_trial { Ok(()) } else { trial::run(root, &packages) }
}

fn make_packages(root: &Path, kinds: &[PackageKind]) -> Result<Vec<Package>> {
    let version = program::version(root)?;
    fs::create_dir_all(folder(root))?;
    kinds.iter().map(|kind| Ok(Package { kind: *kind, file: kind.make(root, &version)? })).collect()
}

fn size_line(package: &Package) -> String {
    let bytes = fs::metadata(&package.file).map_or(0, |metadata| metadata.len());
    format!("{:<5} {:6.2} MB  {}", package.kind.word(), bytes as f64 / 1e6, package.file.display())
}
