//! What is measured: engines and the data they work on, and the machine under them.
//!
//! In: a trial. Out: an [`Instance`] that makes the trial's data, gives out clients, says what it is, and removes what it made.
//! Limits: Linux. Only what plimsoll made itself, as its manifest lists it, is ever written to or removed.
//!
//! To add an engine: one file in `engines/` with an [`EngineDef`], and its line in [`ENGINES`].

mod copy;
pub mod dataset;
pub mod device;
pub mod disk;
pub mod engines;
pub mod error;
pub mod estimate;
pub mod filesystem;
pub mod limits;
pub mod machine;
pub mod safety;
pub mod server;
pub mod verify;
pub mod volume;

pub use dataset::DataDir;
pub use engines::{ENGINES, EngineDef, Instance, Loading, Runs, Start, counter_sources, find, has_step, shape_of};
pub use error::TargetError;
pub use volume::Volume;
