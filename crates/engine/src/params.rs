//! The parameters that several engines share.
//!
//! Limits: what each engine makes of a value is in the engine's file.

use host::allocator::{ALLOCATORS, Allocator};
use model::{Meaning, NO_CONFIG, ParamDef, ParamKind, ParamRole, Params, Phrase};

/// The help of an engine's durability: what the words mean on every engine, then the settings of this one, in the order of the words.
macro_rules! durability_help {
    ($own:literal) => {
        concat!(
            "when a commit is acknowledged: after it is on disk (`disk`), after it is handed to the operating system (`os`), or earlier \
             (`none`); in this order: ",
            $own
        )
    };
}
pub(crate) use durability_help;

/// How safe a commit is: the same words for all engines. Each engine's help names the setting that it changes for each.
pub(crate) const DURABILITY: ParamDef = ParamDef {
    help: "when a commit is acknowledged: after it is on disk (`disk`), after it is handed to the operating system (`os`), or earlier \
           (`none`)",
    shapes_data: true,
    meaning: Some(Meaning::Durability),
    phrase: Phrase::Words(&[
        ("disk", "a sync at each commit"),
        ("os", "no sync at commit"),
        ("none", "no write at commit"),
    ]),
    ..ParamDef::new("durability", ParamRole::Ground, ParamKind::OneOf(&["disk", "os", "none"]), "disk")
};

/// The engine's own cache.
pub(crate) const CACHE: ParamDef = ParamDef {
    help: "size of the engine's own cache",
    scales: true,
    shapes_data: true,
    meaning: Some(Meaning::Cache),
    phrase: Phrase::Pattern("a cache of {}"),
    ..ParamDef::new("cache", ParamRole::CacheSize, ParamKind::Bytes { min: 1 << 20, max: 1 << 44 }, "64MiB")
};

/// The configuration file of a private server. Each server's help names the form of the file.
pub(crate) const CONFIG: ParamDef = ParamDef {
    help: "configuration file of the server",
    shapes_data: true,
    phrase: Phrase::Words(&[("default", "the default configuration"), ("{}", "the configuration {}")]),
    ..ParamDef::new("config", ParamRole::ConfigFile, ParamKind::ConfigFile, NO_CONFIG)
};

/// What allocates a private server's memory.
pub(crate) const ALLOCATOR: ParamDef = ParamDef {
    help: "memory allocator of the server: its own (`system`), or a library that is preloaded (`jemalloc`, `tcmalloc`)",
    shapes_data: true,
    phrase: Phrase::Words(&[("system", "the system's allocator"), ("jemalloc", "jemalloc"), ("tcmalloc", "tcmalloc")]),
    ..ParamDef::new("allocator", ParamRole::Tuning, ParamKind::OneOf(&ALLOCATORS), ALLOCATORS[0])
};

/// The allocator that `params` ask for.
pub(crate) fn allocator_in(params: &Params) -> Allocator {
    let word = params.0.get(ALLOCATOR.name).map(ToString::to_string);
    word.and_then(|word| Allocator::from_word(&word)).unwrap_or(Allocator::System)
}

/// A server's log of changes, which bounds how long it may put off writing pages.
pub(crate) const LOG_SIZE: ParamDef = ParamDef {
    help: "size of the server's redo log",
    scales: true,
    shapes_data: true,
    phrase: Phrase::Pattern("a log of {}"),
    ..ParamDef::new("log_size", ParamRole::Size, ParamKind::Bytes { min: 32 << 20, max: 512 << 30 }, "256MiB")
};
