//! The Python wheel, which pyproject.toml describes.
//!
//! In: the sources. Out: a wheel with the static program. Limits: it has the tags of glibc and of musl, because it needs neither.

use super::{folder, program};
use crate::tools::MATURIN;
use crate::workspace;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// The oldest systems of both kinds that pip knows for Rust programs.
const TAGS: [&str; 2] = ["manylinux2014", "musllinux_1_1"];

pub fn make(root: &Path) -> Result<()> {
    program::build_static(root)?;
    let mut maturin = Command::new(MATURIN.find(root)?);
    maturin.current_dir(root).args(["build", "--release", "--locked", "--target", program::STATIC_TARGET]);
    workspace::run(maturin.arg("--compatibility").args(TAGS).arg("--out").arg(folder(root)))
}
