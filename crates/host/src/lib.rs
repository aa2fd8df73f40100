//! The machine under the engines: its facts, its file systems, block devices, volumes and control groups, and plimsoll's own data
//! directories.
//!
//! In: places that the user named. Out: facts; data directories with a manifest, volumes, limits, and their removal. Limits: Linux;
//! much of it needs root. Knows no engine and no load. Only what plimsoll made itself, as its manifest lists it, is ever written to
//! or removed.

pub mod allocator;
pub mod cpu;
pub mod data_dir;
pub mod data_set;
pub mod deadline;
pub mod device;
pub mod disk_timing;
pub mod disturbance;
pub mod error;
pub mod filesystem;
pub mod flush_probe;
pub mod kernel_threads;
pub mod leftover;
pub mod lock;
pub mod machine;
pub mod out_of_memory;
pub mod page_cache;
pub mod privileged;
pub mod safety;
mod text_file;
pub mod user_command;

pub use data_dir::DataDir;
pub use error::TargetError;
pub use privileged::volume::Volume;
