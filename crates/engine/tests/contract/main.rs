//! What every engine must do with every workload, on a real directory: each test goes through the slices, so a new engine or
//! workload is tested by being registered.

mod beginnings;
mod bulk;
mod bulk_mysql;
mod clients;
mod common_data;
mod crowd;
mod engines;
mod estimates;
mod failures;
mod files;
mod folders;
mod found_data;
mod found_schema;
mod found_shapes;
mod hostile;
mod insert;
mod lab;
mod lives;
mod named;
mod orders;
mod own;
mod private_network;
mod rows;
mod schemas;
mod servers;
mod sightings;
mod tls;
mod visited;
