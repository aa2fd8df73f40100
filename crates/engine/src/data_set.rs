//! Data sets that stay: how an instance begins with one, and those on a server. Which trials fit one is in [`crate::set_fit`].

use host::error::TargetError;
use model::{DataSet, FoundSet};
use std::path::Path;

/// What an instance has to do with a data set.
#[derive(Clone, Copy)]
pub enum SetUse<'a> {
    /// Nothing: it makes its data and removes it.
    None,
    /// It makes the data of one, which is to stay.
    Makes(&'a DataSet),
    /// It begins with the data of one.
    Uses(InUse<'a>),
}

/// A complete data set that an instance begins with.
#[derive(Clone, Copy)]
pub struct InUse<'a> {
    pub set: &'a DataSet,
    /// The engine's files, which stay as they are; `None` if the data is on a server.
    pub files: Option<&'a Path>,
}

impl SetUse<'_> {
    /// The rows that the set was made with, if the instance begins with one.
    pub(crate) fn rows_there(&self) -> Option<u64> {
        if let SetUse::Uses(InUse { set, .. }) = self { Some(set.rows.unwrap_or_default()) } else { None }
    }
}

/// Where an instance leaves the data of a set that it has made.
#[derive(Clone, Copy)]
pub enum KeptIn<'a> {
    /// In this empty directory.
    Directory(&'a Path),
    /// On its server, with this description.
    Server(&'a DataSet),
}

/// The data sets on a server.
pub trait ServerSets {
    /// The server, for messages.
    fn server(&self) -> &str;
    /// All of them, by their names.
    fn all(&mut self) -> Result<Vec<FoundSet>, TargetError>;
    /// Removes the set `name`.
    fn remove(&mut self, name: &str) -> Result<(), TargetError>;
}
