//! Lists and sentences as people write them.

pub use words::list::{capital, join_and};
