//! A small web server for pages of this machine: it answers GET and HEAD, and bounds everything that a client can take of it.
//!
//! In: an address, and a [`Handler`] that makes a [`Response`] of a [`Request`]. Out: answers, one to each connection. [`Guard`] decides
//! who may ask: it knows the token of the server and refuses names of other hosts.
//!
//! One thread waits for all clients at once, so that a slow one costs a place in a list and no thread. What a client can take is bounded:
//! the size of its request, its time to ask, its time to read the answer, and the number of clients that wait.
//!
//! Limits: HTTP/1.0 and 1.1 without keep-alive, bodies, compression, ranges and TLS. It knows nothing of benchmarks. Why it is no library:
//! docs/journal/2026-11-23-web-server.md.

mod connection;
mod guard;
mod request;
mod response;
mod server;
mod target;

pub use guard::{AccessToken, Guard};
pub use request::{Method, Request};
pub use response::{Response, Status};
pub use server::{Handler, Server};
pub use target::{percent_decoded, percent_encoded};
