//! The parameters that several engines share.
//!
//! Limits: what each engine makes of a value is in the engine's file.

use host::allocator::{ALLOCATORS, Allocator};
use model::{Meaning, NO_CONFIG, ParamDef, ParamKind, ParamRole, Params};

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
    name: "durability",
    kind: ParamKind::OneOf(&["disk", "os", "none"]),
    default: "disk",
    help: "when a commit is acknowledged: after it is on disk (`disk`), after it is handed to the operating system (`os`), or earlier \
           (`none`)",
    scales: false,
    shapes_data: true,
    role: ParamRole::Ground,
    meaning: Some(Meaning::Durability),
    used_if: None,
};

/// The engine's own cache.
pub(crate) const CACHE: ParamDef = ParamDef {
    name: "cache",
    kind: ParamKind::Bytes { min: 1 << 20, max: 1 << 44 },
    default: "64MiB",
    help: "size of the engine's own cache",
    scales: true,
    shapes_data: true,
    role: ParamRole::CacheSize,
    meaning: Some(Meaning::Cache),
    used_if: None,
};

/// The configuration file of a private server. Each server's help names the form of the file.
pub(crate) const CONFIG: ParamDef = ParamDef {
    name: "config",
    kind: ParamKind::ConfigFile,
    default: NO_CONFIG,
    help: "configuration file of the server",
    scales: false,
    shapes_data: true,
    role: ParamRole::ConfigFile,
    meaning: None,
    used_if: None,
};

/// What allocates a private server's memory.
pub(crate) const ALLOCATOR: ParamDef = ParamDef {
    name: "allocator",
    kind: ParamKind::OneOf(&ALLOCATORS),
    default: ALLOCATORS[0],
    help: "memory allocator of the server: its own (`system`), or a library that is preloaded (`jemalloc`, `tcmalloc`)",
    scales: false,
    shapes_data: true,
    role: ParamRole::Tuning,
    meaning: None,
    used_if: None,
};

/// The allocator that `params` ask for.
pub(crate) fn allocator_in(params: &Params) -> Allocator {
    let word = params.0.get(ALLOCATOR.name).map(ToString::to_string);
    word.and_then(|word| Allocator::from_word(&word)).unwrap_or(Allocator::System)
}

/// A server's log of changes, which bounds how long it may put off writing pages.
pub(crate) const LOG_SIZE: ParamDef = ParamDef {
    name: "log_size",
    kind: ParamKind::Bytes { min: 32 << 20, max: 512 << 30 },
    default: "256MiB",
    help: "size of the server's redo log",
    scales: true,
    shapes_data: true,
    role: ParamRole::Size,
    meaning: None,
    used_if: None,
};
