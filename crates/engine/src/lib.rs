//! What is measured: the engines, how each is started, loaded, driven and stopped, and what was written is read back.
//!
//! In: a trial, a place on the host. Out: an [`Instance`] that makes the trial's data, gives out clients, reports its version and settings, and
//! removes what it made. Limits: Linux. What is root's or could harm data of others (devices, mounts, control groups, removal) is
//! done by the crate `host` and nowhere here.
//!
//! To add an engine: one file here with an [`EngineDef`], and its line in [`ENGINES`].

pub mod cgroup_counters;
pub mod codec;
mod conditions;
mod connect;
mod counters;
mod cpu;
mod data_description;
pub mod data_set;
mod engine;
pub mod estimate;
mod file;
mod file_state;
mod fjall;
pub mod found_schema;
mod instance_group;
mod kv;
mod maintenance;
mod mysql;
mod null;
mod open_files;
pub mod outside;
mod params;
mod periodic;
mod postgres;
pub mod process_limits;
mod recordings;
mod registry;
pub mod requirements;
mod reset;
mod ring;
mod rocksdb;
pub mod server;
pub mod set_fit;
mod settings;
mod sql;
mod sqlite;
mod sqlite_busy;
mod sqlite_execute;
mod sqlite_load;
mod sqlite_schema;
mod sqlite_variant;
mod tcp;
pub mod verify;
pub mod watch;

pub use conditions::{BrokenRule, CheckedConditions};
pub use engine::{
    DataSpace, EngineDef, EngineLocation, Instance, InstanceReport, ResetFor, StartContext, WorkloadClients,
    workload_of,
};
pub use file::size_at;
pub use instance_group::start_instances;
pub use recordings::{content_of_log, read_recording, read_whole_log, replays_statements, save_log};
pub use registry::{
    ENGINES, check_before_restore, counter_sources, data_origin, engine_of, find, has_step, process_of, read_config,
    server_variables, shape_of,
};
pub use server::answers::heed;
pub use server::identity::OtherServer;
pub use server::listener::{ServerHere, find_endpoint_here, find_server_here};
pub use server::location::has_log_beside;
pub use settings::{SettingsReader, SettingsReading};
pub use sql::variant::VariantResult;
pub use sql::variant::rows::{ResultDifference, ResultSummary};
