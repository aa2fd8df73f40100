//! The program for a target, as users get it.
//!
//! In: a target. Out: the path of the program, stripped. Limits: the target's standard library must be there or `rustup` must be able to
//! fetch it.

use crate::workspace::{self, cargo};
use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target without a C library of the system: its program runs on any Linux of its kind of processor.
pub const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";

/// The version of plimsoll.
pub fn version(root: &Path) -> Result<String> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec().context("`cargo metadata` failed")?;
    let own = metadata.packages.iter().find(|package| package.name.as_str() == "plimsoll");
    Ok(own.context("there is no package plimsoll")?.version.to_string())
}

/// The program that needs no library.
pub fn build_static(root: &Path) -> Result<PathBuf> {
    add_target(STATIC_TARGET)?;
    workspace::run(release_build(root).args(["--target", STATIC_TARGET]))?;
    Ok(root.join("target").join(STATIC_TARGET).join("release/plimsoll"))
}

/// The program that uses the C library of the system.
pub fn build_dynamic(root: &Path) -> Result<PathBuf> {
    workspace::run(&mut release_build(root))?;
    Ok(root.join("target/release/plimsoll"))
}

fn release_build(root: &Path) -> Command {
    let mut build = cargo(root);
    build.args(["build", "--release", "--locked", "--package", "plimsoll"]);
    build
}

/// Makes sure that the standard library of `target` is there. A toolchain that is not rustup's brings it along or fails in the build.
fn add_target(target: &str) -> Result<()> {
    match Command::new("rustup").args(["target", "add", target]).status() {
        Ok(status) if !status.success() => anyhow::bail!("`rustup target add {target}` ended with {status}"),
        _ => Ok(()),
    }
}
