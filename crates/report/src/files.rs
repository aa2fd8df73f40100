//! Writes the report into a directory.
//!
//! In: an analysis and a directory. Out: the files, each complete or not there. Limits: only files of the report's own names
//! are replaced; pictures of an earlier report that this one no longer has stay. Inside the directory no symbolic link is followed:
//! whoever may write there could otherwise choose which file is overwritten.

use crate::charts::{PointCharts, figures};
use crate::history::{history_csv, history_page};
use crate::overlay::{comparison_csv, comparison_page, conditions_csv, costs_csv, watched_csv, work_csv};
use crate::render::connections_csv::{held_csv, kinds_csv};
use crate::render::endpoints_csv::endpoints_csv;
use crate::render::hosts_csv::hosts_csv;
use crate::render::html::page_html;
use crate::render::kernels_csv::kernels_csv;
use crate::render::markdown::page_markdown;
use crate::render::page::Page;
use crate::render::statements_csv::statements_csv;
use crate::report_page::html_with;
use crate::{
    ReportError, compression_csv, intervals_csv, markdown, points_csv, probes_csv, relative_csv, variants_csv,
};
use analysis::Analysis;
use analysis::compare::{ArmOverlay, RunComparison};
use analysis::history::History;
use plot::Figure;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenReport {
    pub html: PathBuf,
    /// Every file, the HTML report first.
    pub files: Vec<PathBuf>,
}

/// Marks a directory as one of ours.
const MARK: &str = ".plimsoll-report";
const MARK_TEXT: &[u8] = b"The report of a run of plimsoll; its files are replaced by the next one.\n";

/// Writes report.html, report.md, points.csv, intervals.csv, charts/*.svg and charts/*.png into `dir`, which is made if it is
/// missing; statements.csv, too, if a point performed several kinds of operation, probes.csv, if the run has a search, relative.csv if a setting has several values, kinds.csv if operations have steps,
/// held.csv if connections were held, variants.csv if it has variants of a statement; compression.csv, if files were compressed; kernels.csv, if kernels were repeated; endpoints.csv, if
/// a point had several endpoints; hosts.csv, if a point had several hosts. Of charts of single points there are those of `points`.
///
/// # Errors
/// If the directory holds files of others or a symbolic link in the place of one of its own, and if something cannot be written.
pub fn write(analysis: &Analysis, dir: &Path, points: PointCharts) -> Result<WrittenReport, ReportError> {
    let report = ReportDir::claim(dir)?;
    let charts = report.open_inside("charts")?;
    let all = figures(analysis, points);
    let mut files = vec![
        report.replace("report.md", markdown(analysis).as_bytes())?,
        report.replace("points.csv", points_csv(analysis).as_bytes())?,
        report.replace("intervals.csv", intervals_csv(analysis).as_bytes())?,
    ];
    if !analysis.searches.is_empty() {
        files.push(report.replace("probes.csv", probes_csv(analysis).as_bytes())?);
    }
    if analysis.points.iter().any(|point| point.compression.is_some()) {
        files.push(report.replace("compression.csv", compression_csv(analysis).as_bytes())?);
    }
    if !analysis.verdict.variants.is_empty() {
        files.push(report.replace("variants.csv", variants_csv(analysis).as_bytes())?);
    }
    if !analysis.verdict.relative.is_empty() {
        files.push(report.replace("relative.csv", relative_csv(analysis).as_bytes())?);
    }
    if analysis.points.iter().any(|point| !point.several_statements().is_empty()) {
        files.push(report.replace("statements.csv", statements_csv(analysis).as_bytes())?);
    }
    if analysis.points.iter().any(|point| !point.endpoints.is_empty()) {
        files.push(report.replace("endpoints.csv", endpoints_csv(analysis).as_bytes())?);
    }
    if analysis.points.iter().any(|point| !point.hosts.is_empty()) {
        files.push(report.replace("hosts.csv", hosts_csv(analysis).as_bytes())?);
    }
    let others =
        [("kinds.csv", kinds_csv(analysis)), ("held.csv", held_csv(analysis)), ("kernels.csv", kernels_csv(analysis))];
    for (name, text) in others {
        files.extend(text.map(|text| report.replace(name, text.as_bytes())).transpose()?);
    }
    let figures: Vec<&Figure> = all.iter().flat_map(|(_, figures)| figures).collect();
    files.extend(write_all_figures(&figures, &charts)?);
    report.complete(files, &html_with(analysis, &all))
}

/// Writes report.html, report.md, history.csv, charts/*.svg and charts/*.png into `dir`, which is made if it is missing.
///
/// # Errors
/// As [`write`].
pub fn write_history(history: &History, dir: &Path) -> Result<WrittenReport, ReportError> {
    let page = history_page(history);
    write_page(&page, &[("history.csv", history_csv(history))], dir)
}

/// Writes report.html, report.md, ratios.csv, costs.csv, conditions.csv, charts/*.svg and charts/*.png of comparisons into `dir`, which is made if it is
/// missing; work.csv, too, if the runs repeat kernels, and watched.csv if they are watches.
///
/// # Errors
/// As [`write`].
pub fn write_comparison(
    all: &[RunComparison],
    overlays: &[ArmOverlay],
    dir: &Path,
) -> Result<WrittenReport, ReportError> {
    let mut rows = vec![
        ("ratios.csv", comparison_csv(all)),
        ("costs.csv", costs_csv(all)),
        ("conditions.csv", conditions_csv(all)),
    ];
    rows.extend(work_csv(all).map(|text| ("work.csv", text)));
    rows.extend(watched_csv(all).map(|text| ("watched.csv", text)));
    write_page(&comparison_page(all, overlays), &rows, dir)
}

/// Writes `page` as HTML and Markdown with its pictures, and each of the files `rows`, which have a name and a text.
fn write_page(page: &Page, rows: &[(&str, String)], dir: &Path) -> Result<WrittenReport, ReportError> {
    let report = ReportDir::claim(dir)?;
    let charts = report.open_inside("charts")?;
    let mut files = vec![report.replace("report.md", page_markdown(page).as_bytes())?];
    for (name, csv) in rows {
        files.push(report.replace(name, csv.as_bytes())?);
    }
    files.extend(write_all_figures(&page.figures().collect::<Vec<_>>(), &charts)?);
    report.complete(files, &page_html(page))
}

/// Writes each figure as SVG and PNG into `dir`, which is made if it is missing.
///
/// # Errors
/// As [`write`].
pub fn write_figures(figures: &[Figure], dir: &Path) -> Result<Vec<PathBuf>, ReportError> {
    write_all_figures(&figures.iter().collect::<Vec<_>>(), &ReportDir::claim(dir)?)
}

fn write_all_figures(figures: &[&Figure], charts: &ReportDir) -> Result<Vec<PathBuf>, ReportError> {
    let written = in_threads(figures, |figure| write_figure(figure, charts))?;
    Ok(written.into_iter().flatten().collect())
}

/// Does `work` for all `figures`, in as many threads as there are CPUs: the PNG of a picture takes longer than all the rest of it. Returns the
/// results in the order of the figures.
pub(crate) fn in_threads<T: Send>(
    figures: &[&Figure],
    work: impl Fn(&Figure) -> Result<T, ReportError> + Sync,
) -> Result<Vec<T>, ReportError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(figures.len().max(1));
    let next = AtomicUsize::new(0);
    let do_some = || -> Result<Vec<(usize, T)>, ReportError> {
        let mut done = Vec::new();
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(figure) = figures.get(nth) else { return Ok(done) };
            done.push((nth, work(figure)?));
        }
    };
    let parts: Vec<Result<Vec<(usize, T)>, ReportError>> = std::thread::scope(|scope| {
        // This thread is one of them, and does it all if no other can be started.
        let others: Vec<_> = (1..threads).map_while(|_| Builder::new().spawn_scoped(scope, do_some).ok()).collect();
        let own = do_some();
        let others = others.into_iter().map(|other| other.join().expect("a thread that draws does not panic"));
        others.chain([own]).collect()
    });
    let mut done: Vec<(usize, T)> = parts.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    done.sort_by_key(|(nth, _)| *nth);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

fn write_figure(figure: &Figure, charts: &ReportDir) -> Result<[PathBuf; 2], ReportError> {
    let svg = charts.replace(&format!("{}.svg", figure.id), plot::render_svg(figure).as_bytes())?;
    let png = charts.replace(&format!("{}.png", figure.id), &plot::render_png(figure)?)?;
    Ok([svg, png])
}

/// An open directory of a report. Names are looked up in it and nowhere else.
struct ReportDir {
    path: PathBuf,
    fd: OwnedFd,
}

impl ReportDir {
    /// Opens `path`, which is made if it is missing; refuses one with files of others, and marks one that is new or empty.
    fn claim(path: &Path) -> Result<ReportDir, ReportError> {
        let failed = |reason: std::io::Error| ReportError::Write { path: path.to_owned(), reason };
        if is_link_of_others(path) {
            return Err(ReportError::Link { path: path.to_owned() });
        }
        // Whatever the umask is: others may not read it, and the group may not write it.
        std::fs::DirBuilder::new().recursive(true).mode(0o750).create(path).map_err(failed)?;
        // The directory itself may be behind a link of the user's own: its name was chosen by the user.
        let fd = rustix::fs::open(path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let dir = ReportDir { path: path.to_owned(), fd: fd.map_err(|errno| failed(errno.into()))? };
        match dir.file_type(MARK)? {
            Some(FileType::RegularFile) => {}
            Some(FileType::Symlink) => return Err(dir.refused_link(MARK)),
            None if std::fs::read_dir(path).map_err(failed)?.next().is_none() => {}
            _ => return Err(ReportError::Foreign { path: path.to_owned() }),
        }
        dir.replace(MARK, MARK_TEXT)?;
        Ok(dir)
    }

    /// The directory `name` in it, which is made if it is missing.
    fn open_inside(&self, name: &str) -> Result<ReportDir, ReportError> {
        match rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o750)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(self.failed(name, errno)),
        }
        if self.file_type(name)? == Some(FileType::Symlink) {
            return Err(self.refused_link(name));
        }
        // A link that is put there after the look above is not followed, either.
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty()).map_err(|errno| self.failed(name, errno))?;
        Ok(ReportDir { path: self.path.join(name), fd })
    }

    /// What `name` is, links not followed; `None` if it is not there.
    fn file_type(&self, name: &str) -> Result<Option<FileType>, ReportError> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.failed(name, errno)),
        }
    }

    /// Written under a name of this process and renamed, so that no reader sees half a file, and that a link of that name is
    /// replaced and not followed.
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, ReportError> {
        let new = format!(".{name}.{}.new", std::process::id());
        let renamed = self.write_new(&new, bytes).and_then(|()| {
            rustix::fs::renameat(&self.fd, &new, &self.fd, name)?;
            Ok(())
        });
        match renamed {
            Ok(()) => Ok(self.path.join(name)),
            Err(reason) => {
                // The rename or the write failed: what is left of the new file is ours and of no use.
                let _ = rustix::fs::unlinkat(&self.fd, &new, AtFlags::empty());
                Err(ReportError::Write { path: self.path.join(name), reason })
            }
        }
    }

    /// The report with the page `html` besides `files`. It is written last: a page that is there is one whose pictures are, too.
    fn complete(&self, mut files: Vec<PathBuf>, html: &str) -> Result<WrittenReport, ReportError> {
        let html = self.replace("report.html", html.as_bytes())?;
        files.insert(0, html.clone());
        Ok(WrittenReport { html, files })
    }

    /// A file that was not there before; what a killed process of the same number left is removed.
    fn write_new(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        let _ = rustix::fs::unlinkat(&self.fd, name, AtFlags::empty());
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o640))?;
        File::from(fd).write_all(bytes)
    }

    fn failed(&self, name: &str, errno: Errno) -> ReportError {
        ReportError::Write { path: self.path.join(name), reason: errno.into() }
    }

    fn refused_link(&self, name: &str) -> ReportError {
        ReportError::Link { path: self.path.join(name) }
    }
}

/// Whether `path` is a link that another user than root or this one has made, who could lead the report to any place.
fn is_link_of_others(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink() && meta.uid() != own && meta.uid() != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{damaged, quick};
    use std::fs;
    use std::os::unix::fs::symlink;

    /// Also the way to look at a report: it is left in the target directory.
    #[test]
    fn the_whole_report_is_written_and_nothing_else_is_touched() {
        let dir = std::env::current_exe().unwrap().parent().unwrap().join("../../tmp/report");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(MARK), "").unwrap();
        fs::write(dir.join("mine.txt"), "mine").unwrap();
        let written = write(&quick(), &dir, PointCharts::Telling).unwrap();
        assert_eq!(written.html, dir.join("report.html"));
        assert!(written.files.len() > 40, "{:?}", written.files);
        assert!(written.files.iter().all(|f| f.metadata().unwrap().len() > 100));
        assert_eq!(fs::read_to_string(dir.join("mine.txt")).unwrap(), "mine");
        let is_hidden = |name: &str| name.starts_with('.') && name != MARK;
        let hidden = |d: &Path| fs::read_dir(d).unwrap().any(|e| is_hidden(&e.unwrap().file_name().to_string_lossy()));
        assert!(!hidden(&dir) && !hidden(&dir.join("charts")));
    }

    #[test]
    fn there_is_no_page_if_a_picture_cannot_be_written() {
        let (analysis, dir) = (quick(), tempfile::tempdir().unwrap());
        let all = figures(&analysis, PointCharts::Telling);
        let picture = &all.iter().flat_map(|(_, figures)| figures).next().unwrap().id;
        fs::write(dir.path().join(MARK), "").unwrap();
        // No file replaces a directory.
        fs::create_dir_all(dir.path().join("charts").join(format!("{picture}.png"))).unwrap();
        assert!(matches!(write(&analysis, dir.path(), PointCharts::Telling), Err(ReportError::Write { .. })));
        assert!(!dir.path().join("report.html").exists());
    }

    #[test]
    fn a_directory_with_somebody_elses_files_is_refused_and_left_as_it_is() {
        let dir = std::env::current_exe().unwrap().parent().unwrap().join("../../tmp/foreign");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("mine.txt"), "mine").unwrap();
        assert!(matches!(write(&quick(), &dir, PointCharts::Telling), Err(ReportError::Foreign { .. })));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    }

    #[test]
    fn a_report_is_written_whatever_is_missing_and_stays_in_its_directory() {
        for (what, mut analysis) in damaged() {
            // Two points have every sort of file; drawing thirteen takes the rasteriser long without optimisation.
            analysis.points.truncate(2);
            let dir = tempfile::tempdir().unwrap();
            let written = write(&analysis, &dir.path().join("a/b"), PointCharts::Telling).expect(what);
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
        let error = write(&quick(), &file, PointCharts::Telling).unwrap_err().to_string();
        assert!(error.contains(&format!("`{}", file.display())), "{error}");
    }

    /// A directory that is claimed, and one next to it with a file of somebody else.
    fn claimed_and_other() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let (dir, other) = (home.path().join("report"), home.path().join("other"));
        fs::create_dir(&other).unwrap();
        fs::write(other.join("mine"), "mine").unwrap();
        write_figures(&[], &dir).unwrap();
        (home, dir, other)
    }

    #[test]
    fn a_link_in_the_place_of_the_mark_or_of_the_charts_is_refused_and_nothing_is_written_behind_it() {
        for (name, target) in [(MARK, "mine"), ("charts", ".")] {
            let (_home, dir, other) = claimed_and_other();
            let _ = fs::remove_file(dir.join(MARK)).and(fs::write(dir.join(MARK), ""));
            let _ = fs::remove_file(dir.join(name));
            symlink(other.join(target), dir.join(name)).unwrap();
            let error = write(&Analysis { points: Vec::new(), ..quick() }, &dir, PointCharts::Telling).unwrap_err();
            assert!(matches!(&error, ReportError::Link { path } if *path == dir.join(name)), "{error}");
            assert_eq!(fs::read_to_string(other.join("mine")).unwrap(), "mine");
            assert_eq!(fs::read_dir(&other).unwrap().count(), 1, "{name}");
        }
    }

    #[test]
    fn a_directory_that_is_a_link_of_another_user_is_refused() {
        let (_home, _, other) = claimed_and_other();
        let link = other.with_file_name("link");
        symlink(&other, &link).unwrap();
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: only root gives a link away");
        }
        std::os::unix::fs::lchown(&link, Some(65534), None).unwrap();
        let error = write_figures(&[], &link).unwrap_err();
        assert!(matches!(&error, ReportError::Link { path } if *path == link), "{error}");
        assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
    }

    #[test]
    fn links_with_the_names_of_files_are_replaced_and_not_followed() {
        let (_home, dir, other) = claimed_and_other();
        for name in ["report.html".to_owned(), format!(".report.md.{}.new", std::process::id())] {
            symlink(other.join("mine"), dir.join(name)).unwrap();
        }
        write(&Analysis { points: Vec::new(), ..quick() }, &dir, PointCharts::Telling).unwrap();
        assert_eq!(fs::read_to_string(other.join("mine")).unwrap(), "mine");
        assert!(fs::symlink_metadata(dir.join("report.html")).unwrap().is_file());
        assert!(fs::read_to_string(dir.join("report.html")).unwrap().contains("<html"));
    }
}
