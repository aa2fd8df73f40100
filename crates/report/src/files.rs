//! Writes the report into a directory.
//!
//! In: an analysis and a directory. Out: the files, each complete or not there. Limits: only files of the report's own names
//! are replaced; pictures of an earlier report that this one no longer has stay.

use crate::charts::all_figures;
use crate::{ReportError, html, intervals_csv, markdown, points_csv};
use analysis::Analysis;
use plot::Figure;
use std::fs;
use std::path::{Path, PathBuf};

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The HTML report.
    pub html: PathBuf,
    /// Every file, the HTML report first.
    pub files: Vec<PathBuf>,
}

/// Marks a directory as one of ours.
const MARK: &str = ".plimsoll-report";

/// Refuses a directory with somebody else's files, and marks one that is new or empty.
fn claim(dir: &Path) -> Result<(), ReportError> {
    let failed = |reason| ReportError::Write { path: dir.to_owned(), reason };
    fs::create_dir_all(dir).map_err(failed)?;
    let mark = dir.join(MARK);
    let empty = fs::read_dir(dir).map_err(failed)?.next().is_none();
    match empty || mark.exists() {
        true => fs::write(&mark, "The report of a run of plimsoll; its files are replaced by the next one.\n")
            .map_err(failed),
        false => Err(ReportError::Foreign { path: dir.to_owned() }),
    }
}

/// Writes report.html, report.md, points.csv, intervals.csv, charts/*.svg and charts/*.png into `dir`, which is made where it
/// is missing.
pub fn write(analysis: &Analysis, dir: &Path) -> Result<Written, ReportError> {
    claim(dir)?;
    let charts = dir.join("charts");
    fs::create_dir_all(&charts).map_err(|reason| ReportError::Write { path: charts.clone(), reason })?;
    let mut files = vec![
        replace(dir.join("report.html"), html(analysis)?.as_bytes())?,
        replace(dir.join("report.md"), markdown(analysis).as_bytes())?,
        replace(dir.join("points.csv"), points_csv(analysis).as_bytes())?,
        replace(dir.join("intervals.csv"), intervals_csv(analysis).as_bytes())?,
    ];
    for figure in all_figures(analysis).into_iter().flat_map(|(_, figures)| figures) {
        files.extend(write_figure(&figure, &charts)?);
    }
    Ok(Written { html: files[0].clone(), files })
}

/// Writes each figure as SVG and PNG into `dir`, which is made where it is missing.
pub fn write_figures(figures: &[Figure], dir: &Path) -> Result<Vec<PathBuf>, ReportError> {
    claim(dir)?;
    let mut files = Vec::new();
    for figure in figures {
        files.extend(write_figure(figure, dir)?);
    }
    Ok(files)
}

fn write_figure(figure: &Figure, charts: &Path) -> Result<[PathBuf; 2], ReportError> {
    let svg = replace(charts.join(format!("{}.svg", figure.id)), plot::render_svg(figure).as_bytes())?;
    let png = replace(charts.join(format!("{}.png", figure.id)), &plot::render_png(figure)?)?;
    Ok([svg, png])
}

/// Written under a name of this process and renamed, so that no reader sees half a file.
fn replace(path: PathBuf, bytes: &[u8]) -> Result<PathBuf, ReportError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let new = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let written = fs::write(&new, bytes).and_then(|()| fs::rename(&new, &path));
    match written {
        Ok(()) => Ok(path),
        Err(reason) => {
            // The rename or the write failed: what is left of the new file is ours and of no use.
            let _ = fs::remove_file(&new);
            Err(ReportError::Write { path, reason })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{damaged, quick};

    /// Also the way to look at a report: it is left in the target directory.
    #[test]
    fn the_whole_report_is_written_and_nothing_else_is_touched() {
        let dir = std::env::current_exe().unwrap().parent().unwrap().join("../../tmp/report");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(MARK), "").unwrap();
        fs::write(dir.join("mine.txt"), "mine").unwrap();
        let written = write(&quick(), &dir).unwrap();
        assert_eq!(written.html, dir.join("report.html"));
        assert!(written.files.len() > 40, "{:?}", written.files);
        assert!(written.files.iter().all(|f| f.metadata().unwrap().len() > 100));
        assert_eq!(fs::read_to_string(dir.join("mine.txt")).unwrap(), "mine");
        let is_hidden = |name: &str| name.starts_with('.') && name != MARK;
        let hidden = |d: &Path| fs::read_dir(d).unwrap().any(|e| is_hidden(&e.unwrap().file_name().to_string_lossy()));
        assert!(!hidden(&dir) && !hidden(&dir.join("charts")));
    }

    #[test]
    fn a_directory_with_somebody_elses_files_is_refused_and_left_as_it_is() {
        let dir = std::env::current_exe().unwrap().parent().unwrap().join("../../tmp/foreign");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("mine.txt"), "mine").unwrap();
        assert!(matches!(write(&quick(), &dir), Err(ReportError::Foreign { .. })));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    }

    #[test]
    fn a_report_is_written_whatever_is_missing_and_stays_in_its_directory() {
        for (what, mut analysis) in damaged() {
            // Two points have every sort of file; drawing thirteen takes the rasteriser long without optimisation.
            analysis.points.truncate(2);
            let dir = tempfile::tempdir().unwrap();
            let written = write(&analysis, &dir.path().join("a/b")).expect(what);
            let inside =
                |f: &PathBuf| f.starts_with(dir.path().join("a/b")) && f.components().all(|c| c.as_os_str() != "..");
            assert!(written.files.iter().all(inside), "{what}: {:?}", written.files);
        }
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "x").unwrap();
        let error = write(&quick(), &file).unwrap_err().to_string();
        assert!(error.contains(&format!("`{}", file.display())), "{error}");
    }
}
