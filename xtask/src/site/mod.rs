//! `cargo xtask site`: the documentation as a site, and the pictures of its experiments.
//!
//! In: the documents of the working tree, `docs/SUMMARY.md`, `docs/book.toml`. Out: `target/site/html`, made by mdBook, in which every
//! link leads somewhere. With `--measure` the experiments of the pages are run first, and their answers and charts written into
//! `docs/experiments`. Limits: a page is measured on this machine, as root if its experiment needs that.

mod check;
mod measure;
mod stage;

use crate::tools::MDBOOK;
use crate::workspace;
use anyhow::{Context, Result, bail};
use measure::Source;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The options of `cargo xtask site`.
#[derive(clap::Args)]
pub struct SiteArguments {
    /// Run the experiment of this page first, such as `threads`, or of `all` (may be given several times).
    #[arg(long, value_name = "PAGE")]
    measure: Vec<String>,

    /// Write the answer of this page, or of `all`, again from the run that its last measurement kept (may be given several times).
    #[arg(long, value_name = "PAGE")]
    again: Vec<String>,
}

/// Makes the site and checks its links.
pub fn run(root: &Path, arguments: &SiteArguments) -> Result<()> {
    measure::write_answers(root, &arguments.measure, Source::NewRuns)?;
    measure::write_answers(root, &arguments.again, Source::KeptRuns)?;
    let place = root.join("target/site");
    if place.exists() {
        fs::remove_dir_all(&place).with_context(|| format!("cannot remove `{}`", place.display()))?;
    }
    stage::stage(root, &place)?;
    workspace::run(Command::new(MDBOOK.find(root)?).arg("build").arg(&place))?;
    let html = place.join("html");
    // mdBook makes the first page of README.md, and links to README.md lead to a page of that name.
    fs::copy(html.join("index.html"), html.join("README.html"))?;
    let broken = check::broken_links(&html)?;
    broken.iter().for_each(|line| println!("site: {line}"));
    match broken.len() {
        0 => println!("site: `{}`", html.join("index.html").display()),
        n => bail!("{n} links of the site lead nowhere"),
    }
    Ok(())
}
