//! Runs the real binary as its users do: in a fresh directory, with flags, plans, signals and mistakes.
//!
//! In: the binary that cargo built. Out: exit codes, stdout, stderr and files are what the reference promises.
//! Limits: Linux. Figures of speed are not looked at, only their order and their presence.

mod background;
mod cluster;
mod compare;
mod configuration;
mod connecting;
mod data_sets;
mod disk;
mod disks;
mod dist;
mod harmless;
mod history;
mod hosts;
mod hosts_lab;
mod hosts_loading;
mod hosts_sums;
mod importing;
mod instances;
mod lab;
mod limits;
mod machine;
mod measuring;
mod metrics;
mod mistakes;
mod observing;
mod orders;
mod place;
mod publishing;
mod quota;
mod reading;
mod recipes;
mod replaying;
mod replaying_copies;
mod replaying_keys;
mod replaying_sql;
mod replaying_writes;
mod replicas;
mod resume;
mod schema;
mod serve;
mod servers;
mod sql;
mod stacks;
mod throttle;
mod until_sure;
mod verified;
mod verify;
mod watching;
mod workload_files;
