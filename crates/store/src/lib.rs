//! One run = one SQLite file with the extension `.plimsoll`: a file that people can mail, query with `sqlite3`, read from
//! Python or DuckDB, and that survives kill -9.
//!
//! In: the measuring half records points, phases, intervals, counters and events through a [`RunWriter`], one transaction
//! per interval. Out: the reading half gets the whole run back with [`read()`], or what a list needs with [`read_meta`], or what can be
//! shown of a run that is being recorded with [`read_live`].
//! The format is `schema.sql`; every table and column is explained there.
//!
//! Limits: files come from strangers and from killed recorders. A reader believes nothing: it never writes next to the file,
//! never panics, and holds its memory within bounds (see [`reader`]). A file must not be read by the process that still
//! writes it, because closing the reader's descriptor would drop the writer's POSIX locks; other processes may.

mod budget;
pub mod ceilings;
mod cells;
pub mod error;
mod hdr;
mod host_reader;
mod host_rows;
mod live;
mod local_time;
mod log_sync;
mod open;
mod point_reader;
pub mod reader;
mod reserve;
mod rows;
pub mod untrusted;
pub mod writer;

pub use error::StoreError;
pub use live::{LIVE_BYTES_MAX, is_being_recorded, read_live};
pub use local_time::local_offset_s;
pub use reader::{
    PointHead, PointTimes, RunHead, read, read_meta, read_point_times, read_points_from, read_wall_times,
};
pub use writer::{Batch, NewPoint, PointId, RunWriter};

/// The extension of a run file, without the dot.
pub const EXTENSION: &str = "plimsoll";

/// The number of the format, kept as SQLite's `user_version`. From the first release on a change of the format is a new number, and files of
/// the numbers before it are still read.
pub const FORMAT: u32 = 1;

/// Marks a SQLite file as a run file: "PLIM".
pub const APPLICATION_ID: u32 = 0x504C_494D;

/// Tables, columns and views with their meaning.
pub const SCHEMA: &str = include_str!("schema.sql");
