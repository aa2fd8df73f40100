//! Servers: mostly private ones, which plimsoll starts in a directory of its own, and some that plimsoll did not start.
//!
//! In: a program or a URL. Out: where a server and its data are, how it is reached, and how it is removed. Limits: what the kinds of
//! servers have of their own is with their engines.

pub mod answers;
pub mod config_file;
pub mod dir;
mod host_addresses;
pub mod identity;
pub mod listener;
pub mod location;
pub mod memory;
pub mod message;
pub mod network;
mod peer;
pub mod private_network;
pub mod process;
pub mod program;
mod prompt;
pub mod sighting;
mod start_progress;
pub mod tls;
pub mod url;
mod url_kind;
pub mod variables;
pub mod wrong_port;
