//! Memory allocators that take the place of the C library's malloc in a process: where they are, and which one a process has.
//!
//! In: the word of an allocator, the number of a process. Out: the library to preload; the allocator that is loaded. Limits: libraries in
//! the usual places of Debian and Fedora. An allocator that is linked into a program is not seen: it has no file of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What allocates the memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// What the program brings along, usually the C library's malloc.
    System,
    Jemalloc,
    /// tcmalloc, the one of gperftools.
    Tcmalloc,
}

/// The words for [`Allocator`] in plans and flags.
pub const ALLOCATORS: [&str; 3] = ["system", "jemalloc", "tcmalloc"];

/// The libraries of an allocator, and how they are called where.
struct AllocatorLibrary {
    allocator: Allocator,
    /// The file names to look for, the best first.
    files: &'static [&'static str],
    /// How the names of all its versions begin.
    beginning: &'static str,
    advice: &'static str,
}

const LIBRARIES: [AllocatorLibrary; 2] = [
    AllocatorLibrary {
        allocator: Allocator::Jemalloc,
        files: &["libjemalloc.so.2", "libjemalloc.so.1"],
        beginning: "libjemalloc",
        advice: "on Debian: apt-get install libjemalloc2; on Fedora: dnf install jemalloc",
    },
    AllocatorLibrary {
        allocator: Allocator::Tcmalloc,
        // The small one leaves out the profilers, which a benchmark does not use.
        files: &["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"],
        beginning: "libtcmalloc",
        advice: "on Debian: apt-get install libtcmalloc-minimal4; on Fedora: dnf install gperftools-libs",
    },
];

impl Allocator {
    /// The allocator that `word` names; `None` if it names none.
    pub fn from_word(word: &str) -> Option<Allocator> {
        [Allocator::System, Allocator::Jemalloc, Allocator::Tcmalloc].into_iter().find(|known| known.as_str() == word)
    }

    /// The word for it in plans and run files.
    pub fn as_str(self) -> &'static str {
        match self {
            Allocator::System => ALLOCATORS[0],
            Allocator::Jemalloc => ALLOCATORS[1],
            Allocator::Tcmalloc => ALLOCATORS[2],
        }
    }

    /// The library to preload; `None` if nothing is to be preloaded.
    ///
    /// # Errors
    /// What is missing, and the package that has it.
    pub fn find_library(self) -> Result<Option<PathBuf>, String> {
        let Some(library) = LIBRARIES.iter().find(|library| library.allocator == self) else { return Ok(None) };
        let mut paths = library.files.iter().flat_map(|file| places().into_iter().map(move |place| place.join(file)));
        match paths.find(|path| path.is_file()) {
            Some(path) => Ok(Some(path)),
            None => Err(format!("`{}` is not installed; {}", library.files[0], library.advice)),
        }
    }

    /// The allocator that the process `pid` has loaded, with the file that it is from; `None` if this cannot be read.
    pub fn loaded_in(pid: u32) -> Option<(Allocator, Option<String>)> {
        Some(loaded_by(&std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?))
    }
}

/// The value of LD_PRELOAD that loads `library` before what is in `before`.
pub fn preload_value(library: &Path, before: Option<OsString>) -> OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(before) = before.filter(|before| !before.is_empty()) {
        value.push(":");
        value.push(before);
    }
    value
}

/// A fact about the allocator of a process: `system`, `jemalloc (libjemalloc.so.2)`.
pub fn describe((allocator, file): &(Allocator, Option<String>)) -> String {
    match file {
        Some(file) => format!("{} ({file})", allocator.as_str()),
        None => allocator.as_str().to_owned(),
    }
}

/// The directories of libraries: Debian's first, then Fedora's, then those of what was built here.
fn places() -> [PathBuf; 5] {
    let debian = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    [debian.as_str(), "/usr/lib64", "/usr/lib", "/usr/local/lib64", "/usr/local/lib"].map(PathBuf::from)
}

/// The allocator among the files that the text of a `maps` lists.
fn loaded_by(maps: &str) -> (Allocator, Option<String>) {
    let paths = maps.lines().filter_map(|line| line.split_once('/')).map(|(_, path)| path);
    let mut files = paths.filter_map(|path| path.rsplit('/').next());
    let found = files.find_map(|file| {
        let library = LIBRARIES.iter().find(|library| file.starts_with(library.beginning))?;
        Some((library.allocator, Some(file.to_owned())))
    });
    found.unwrap_or((Allocator::System, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_an_allocator_and_no_other_word_is() {
        assert_eq!(ALLOCATORS.map(|word| Allocator::from_word(word).map(Allocator::as_str)), ALLOCATORS.map(Some));
        assert_eq!([Allocator::from_word("mimalloc"), Allocator::from_word("")], [None, None]);
        assert_eq!(Allocator::System.find_library(), Ok(None));
    }

    #[test]
    fn a_library_is_found_or_its_package_is_named() {
        for (allocator, package) in
            [(Allocator::Jemalloc, "libjemalloc2"), (Allocator::Tcmalloc, "libtcmalloc-minimal4")]
        {
            match allocator.find_library() {
                Ok(found) => assert!(found.expect("a library").is_file()),
                Err(why) => assert!(why.contains(package), "{why}"),
            }
        }
    }

    #[test]
    fn the_allocator_of_a_process_is_read_from_its_maps() {
        let line = |path: &str| format!("7f903bc19000-7f903bc39000 r--p 00000000 08:01 1234    {path}\n");
        let libc = line("/usr/lib/x86_64-linux-gnu/libc.so.6");
        assert_eq!(loaded_by(&libc), (Allocator::System, None));
        let with = |path: &str| describe(&loaded_by(&(libc.clone() + &line(path) + &line("[heap]"))));
        assert_eq!(with("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"), "jemalloc (libjemalloc.so.2)");
        assert_eq!(with("/usr/lib64/libtcmalloc_minimal.so.4.5.10"), "tcmalloc (libtcmalloc_minimal.so.4.5.10)");
        assert_eq!(with("/srv/jemalloc/data"), "system", "a directory of that name");
        assert_eq!(Allocator::loaded_in(std::process::id()).map(|(allocator, _)| allocator), Some(Allocator::System));
    }

    #[test]
    fn what_is_preloaded_already_stays() {
        let library = Path::new("/usr/lib/libjemalloc.so.2");
        assert_eq!(preload_value(library, None), "/usr/lib/libjemalloc.so.2");
        assert_eq!(preload_value(library, Some("/a.so".into())), "/usr/lib/libjemalloc.so.2:/a.so");
    }
}
