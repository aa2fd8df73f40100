//! A report that can be published: one run, or several runs compared, in a directory of its own.
//!
//! In: analysed runs and their comparison. Out: index.html, tables.md, data.csv, charts/ with each picture as SVG and PNG, and for several runs
//! the report of each in runs/. Limits: it judges nothing; the names in it are those of the runs, which [`crate::redact`] can replace before.

mod data_csv;
mod dir;
mod names;
mod page;

pub use data_csv::DATA_COLUMNS;

use crate::charts::{PointCharts, figures};
use crate::files::in_threads;
use crate::library::with_link;
use crate::render::html::page_html;
use crate::render::markdown::page_markdown;
use crate::{ReportError, WrittenReport, format, html, markdown};
use analysis::Analysis;
use analysis::compare::{ArmOverlay, RunComparison};
use data_csv::data_csv;
use dir::StagedDir;
use page::published_page;
use plot::Figure;
use std::path::Path;

/// A run that is published.
#[derive(Clone, Copy)]
pub struct PublishedRun<'a> {
    /// The name of its file, without its extension.
    pub file: &'a str,
    pub analysis: &'a Analysis,
}

/// Runs with what they are called and how they compare.
pub struct Publication<'a> {
    runs: &'a [PublishedRun<'a>],
    names: Vec<String>,
    /// The first run with each of the others.
    all: &'a [RunComparison],
    overlays: &'a [ArmOverlay],
}

/// Writes the report of `runs` into `dir`; `all` compares the first of them with each of the others. The directory is written whole or not at
/// all: it must not exist, or be empty, or hold such a report and nothing else. `step` is told what is made next.
///
/// # Errors
/// If the directory holds anything else, if a symbolic link is in its place or in it, and if something cannot be written.
pub fn publish(
    runs: &[PublishedRun],
    mut all: Vec<RunComparison>,
    overlays: &[ArmOverlay],
    dir: &Path,
    step: &dyn Fn(&str),
) -> Result<WrittenReport, ReportError> {
    let mut out = StagedDir::claim(dir)?;
    let files: Vec<&str> = runs.iter().map(|run| run.file).collect();
    let names = names::arm_names(&all, &files);
    for (one, name) in all.iter_mut().zip(names.iter().skip(1)) {
        (one.base.run, one.new.run) = (names[0].clone(), name.clone());
    }
    let publication = Publication { runs, names, all: &all, overlays };
    match runs {
        [only] => write_single(&publication, only, &mut out, step)?,
        _ => write_several(&publication, &mut out, step)?,
    }
    out.add("data.csv", data_csv(&publication).as_bytes())?;
    let files = out.finish()?;
    Ok(WrittenReport { html: files[0].clone(), files })
}

fn write_single(
    publication: &Publication,
    run: &PublishedRun,
    out: &mut StagedDir,
    step: &dyn Fn(&str),
) -> Result<(), ReportError> {
    step(&format!("report of {}", publication.names[0]));
    out.add("index.html", html(run.analysis).as_bytes())?;
    out.add("tables.md", markdown(run.analysis).as_bytes())?;
    write_charts(figures_of(run).iter(), "charts", out)
}

fn write_several(publication: &Publication, out: &mut StagedDir, step: &dyn Fn(&str)) -> Result<(), ReportError> {
    step("the comparison");
    let page = published_page(publication);
    out.add("index.html", page_html(&page).as_bytes())?;
    out.add("tables.md", tables(publication, &page_markdown(&page)).as_bytes())?;
    write_charts(page.figures(), "charts", out)?;
    for (nth, (run, name)) in publication.runs.iter().zip(&publication.names).enumerate() {
        step(&format!("report of {name}"));
        let own = with_link(&html(run.analysis), "../index.html", "All runs");
        out.add(&run_page(nth, run), own.as_bytes())?;
        write_charts(figures_of(run).iter(), &format!("charts/{}", run_slug(nth, run)), out)?;
    }
    Ok(())
}

fn figures_of(run: &PublishedRun) -> Vec<Figure> {
    figures(run.analysis, PointCharts::Telling).into_iter().flat_map(|(_, figures)| figures).collect()
}

fn write_charts<'a>(
    figures: impl Iterator<Item = &'a Figure>,
    folder: &str,
    out: &mut StagedDir,
) -> Result<(), ReportError> {
    let figures: Vec<&Figure> = figures.collect();
    let drawn = in_threads(&figures, |figure| Ok((plot::render_svg(figure), plot::render_png(figure)?)))?;
    for (figure, (svg, png)) in figures.iter().zip(drawn) {
        out.add(&format!("{folder}/{}.svg", figure.id), svg.as_bytes())?;
        out.add(&format!("{folder}/{}.png", figure.id), &png)?;
    }
    Ok(())
}

/// The comparison, and the tables of each run below it.
fn tables(publication: &Publication, comparison: &str) -> String {
    let below = |text: String| -> String {
        text.lines()
            .map(|line| if line.starts_with('#') { format!("#{line}\n") } else { format!("{line}\n") })
            .collect()
    };
    let of_runs: String = publication.runs.iter().map(|run| format!("\n{}", below(markdown(run.analysis)))).collect();
    format!("{comparison}{of_runs}")
}

/// The page of run `nth`, relative to that of all.
fn run_page(nth: usize, run: &PublishedRun) -> String {
    format!("runs/{}.html", run_slug(nth, run))
}

/// The name of run `nth` in paths.
fn run_slug(nth: usize, run: &PublishedRun) -> String {
    format!("{}-{}", nth + 1, format::slug(run.file)).trim_end_matches('-').to_owned()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::testing::{compared, quick};
    use std::fs;

    static RUNS: std::sync::OnceLock<Analysis> = std::sync::OnceLock::new();

    /// Two runs of one point each, and their comparison.
    pub fn old_and_new() -> (Vec<PublishedRun<'static>>, Vec<RunComparison>) {
        let analysis = RUNS.get_or_init(|| {
            let mut analysis = quick();
            analysis.points.truncate(1);
            analysis
        });
        let mut all = vec![compared()];
        all[0].places[0].points = [vec![1], vec![1]];
        (["a", "b"].map(|file| PublishedRun { file, analysis }).to_vec(), all)
    }

    /// The same as it is published.
    pub fn publication<'a>(runs: &'a [PublishedRun<'a>], all: &'a [RunComparison]) -> Publication<'a> {
        let names = if runs.len() == 1 { vec!["a".to_owned()] } else { vec!["old".to_owned(), "new".to_owned()] };
        Publication { runs, names, all, overlays: &[] }
    }

    /// Every file below `dir` with its content, by its path.
    fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
        let (mut folders, mut all) = (vec![dir.to_owned()], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path())
                } else {
                    all.push((
                        entry.path().strip_prefix(dir).unwrap().display().to_string(),
                        fs::read(entry.path()).unwrap(),
                    ))
                }
            }
        }
        all.sort();
        all
    }

    #[test]
    fn two_runs_are_one_report_and_the_second_time_byte_by_byte_the_same() {
        let (runs, all) = old_and_new();
        let home = tempfile::tempdir().unwrap();
        let dirs = ["one", "two"].map(|name| home.path().join(name));
        for dir in &dirs {
            let written = publish(&runs, all.clone(), &[], dir, &|_| {}).unwrap();
            assert_eq!(written.html, dir.join("index.html"));
            assert!(written.files.iter().all(|file| file.is_file()), "{:?}", written.files);
        }
        let [first, second] = dirs.map(|dir| contents(&dir));
        let names: Vec<&str> = first.iter().map(|(name, _)| name.as_str()).collect();
        for name in [
            "index.html",
            "data.csv",
            "tables.md",
            "charts/runs-01.svg",
            "charts/runs-01.png",
            "runs/1-a.html",
            "runs/2-b.html",
        ] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(names.iter().any(|name| name.starts_with("charts/2-b/") && name.ends_with(".svg")), "{names:?}");
        assert!(first == second, "the same runs give the same files");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2, "nothing is left next to them");
    }

    #[test]
    fn a_single_run_has_the_same_four_things() {
        let (runs, _) = old_and_new();
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("a/b");
        publish(&runs[..1], Vec::new(), &[], &dir, &|_| {}).unwrap();
        let names: Vec<String> = contents(&dir).into_iter().map(|(name, _)| name).collect();
        for name in ["data.csv", "index.html", "tables.md"] {
            assert!(names.iter().any(|known| known == name), "{names:?}");
        }
        assert!(
            names.iter().any(|name| name.starts_with("charts/")) && !names.iter().any(|name| name.starts_with("runs/"))
        );
    }

    #[test]
    fn tables_of_runs_are_a_level_below_those_of_the_comparison() {
        let (runs, all) = old_and_new();
        let text = tables(&publication(&runs, &all), "# new against old\n");
        assert_eq!(text.lines().filter(|line| line.starts_with("# ")).count(), 1);
        assert_eq!(text.lines().filter(|line| line.starts_with("### Each point")).count(), 2);
    }
}
