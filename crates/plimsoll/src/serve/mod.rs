//! The pages of `plimsoll serve`: which page a request gets, and what a browser may do with it.
//!
//! In: requests that may be answered. Out: pages. Limits: a run is looked up among the names in the directory and no path is made of a
//! request, so nothing outside of the directory can be reached. Only files of runs are read, and nothing is written.

mod documents;
mod filter;
mod library;
mod live;
mod summary;

use documents::Documents;
use filter::RunFilter;
use library::{Library, ListedRun, RunState};
use live::LiveRuns;
use model::LiveRun;
use report::library::{LibraryPage, LibraryRow, LiveRunText, library_html, live_html, message_html};
use std::cmp::Reverse;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use summary::RunSummary;
use web::{AccessToken, Guard, Request, Response, Status, percent_encoded};

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json; charset=utf-8";
/// So many runs are on one page.
const PAGE_RUNS: usize = 100;
/// A comparison reads whole runs into memory.
const COMPARED_MAX: usize = 8;

/// The site of one directory of runs.
pub struct Site {
    guard: Guard,
    library: Arc<Library>,
    live: LiveRuns,
    documents: Documents,
}

/// A page, or the status and the words in place of one.
type Answer = Result<Response, (Status, String)>;

impl Site {
    /// The site of the runs in `dir`. What is copied of runs that are being recorded is below `scratch`.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn open(dir: &Path, scratch: PathBuf, guard: Guard) -> io::Result<Site> {
        let library = Library::open(dir)?;
        Ok(Site { guard, library, live: LiveRuns::new(scratch), documents: Documents::default() })
    }

    /// The address to open.
    pub fn link(&self) -> String {
        self.guard.link()
    }

    /// Waits until no run is being read, at most so long.
    pub fn wait_for_copies(&self, most: Duration) {
        host::deadline::poll_until(most, || {
            let reads = self.library.is_reading() || self.live.is_reading() || self.documents.is_making();
            (!reads).then_some(())
        });
    }

    pub fn respond(&self, request: &Request) -> Response {
        if let Err(status) = self.guard.check(request) {
            return Response::text(status, refusal(status));
        }
        let response = self.page(request).unwrap_or_else(|(status, text)| message(status, &text));
        match self.guard.cookie(request) {
            Some(cookie) => response.with_header("Set-Cookie", cookie),
            None => response,
        }
    }

    fn page(&self, request: &Request) -> Answer {
        match request.segments().as_slice() {
            [] => self.list(request),
            [b"compare"] => self.comparison(request),
            [b"run", name] => self.run(name),
            [b"run", name, b"live.json"] => self.live_numbers(name),
            _ => Err((Status::NotFound, "There is no such page.".to_owned())),
        }
    }

    /// The runs that fit the filter of the request.
    fn list(&self, request: &Request) -> Answer {
        let filter = RunFilter::from_request(request);
        let listed = self.library.list().map_err(|text| (Status::Unshowable, text))?;
        let mut timed: Vec<(u64, LibraryRow)> = listed.iter().map(|run| timed_row(run, self.row(run))).collect();
        timed.sort_by_key(|(unix_ms, _)| Reverse(*unix_ms));
        let rows: Vec<LibraryRow> = timed.into_iter().map(|(_, row)| row).collect();
        let fitting: Vec<&LibraryRow> = rows.iter().filter(|row| filter.fits(row)).collect();
        let unread = listed.iter().filter(|run| run.state.is_incomplete()).count();
        let is_recorded = listed.iter().any(|run| matches!(run.state, RunState::Recorded));
        let first = filter.page.saturating_mul(PAGE_RUNS).min(fitting.len());
        let page = LibraryPage {
            directory: self.library.dir().display().to_string(),
            rows: fitting[first..].iter().take(PAGE_RUNS).map(|row| LibraryRow::clone(row)).collect(),
            fitting: fitting.len(),
            total: rows.len(),
            unread,
            search: filter.search.clone(),
            filters: filter.fields(&rows),
            newer: filter.page.checked_sub(1).map(|nth| filter.address(nth)),
            older: (fitting.len() > first + PAGE_RUNS).then(|| filter.address(filter.page + 1)),
            is_changing: unread > 0 || is_recorded,
        };
        own_page(|nonce| library_html(&page, nonce))
    }

    /// What the list shows of `run`.
    fn row(&self, run: &ListedRun) -> LibraryRow {
        match &run.state {
            RunState::Unread => summary::unread_row(run),
            RunState::Known(summary) => summary.row(run),
            RunState::Damaged(reason) => summary::damaged_row(run, reason),
            RunState::Recorded => match self.live.read(run) {
                Ok(live) => RunSummary::from_live(&live.run).recorded_row(run, &live.run),
                Err(reason) => summary::damaged_row(run, &reason),
            },
        }
    }

    /// The report of a run, or while it is being recorded what it does now.
    fn run(&self, name: &[u8]) -> Answer {
        let run = self.find(name)?;
        match run.state {
            RunState::Recorded => {
                let view = self.live_view(&run)?;
                own_page(|nonce| live_html(&run.shown(), &percent_encoded(name), &view, nonce))
            }
            _ => Ok(document(self.documents.report(&run).map_err(|text| (Status::Unshowable, text))?)),
        }
    }

    fn live_numbers(&self, name: &[u8]) -> Answer {
        let run = self.find(name)?;
        let view = match run.state {
            RunState::Recorded => self.live_view(&run)?,
            _ => LiveRunText::over(),
        };
        let json = serde_json::to_vec(&view).map_err(|error| (Status::Internal, error.to_string()))?;
        Ok(Response::new(Status::Ok, JSON, json))
    }

    fn live_view(&self, run: &ListedRun) -> Result<LiveRunText, (Status, String)> {
        let live = self.live.read(run).map_err(|text| (Status::Unshowable, text))?;
        Ok(LiveRunText::new(&live.run, &labels_of(&live.run, live.labels()), live.watched.as_ref(), live.again))
    }

    fn comparison(&self, request: &Request) -> Answer {
        let too_few = || (Status::BadRequest, "Tick two or more runs to compare them.".to_owned());
        let mut runs: Vec<ListedRun> = Vec::new();
        for key in request.query_values("run") {
            // The form sends the name as it is in addresses: as text it could not hold every name.
            let name = web::percent_decoded(key).ok_or_else(too_few)?;
            if !runs.iter().any(|known| known.name_bytes() == name) {
                runs.push(self.find(&name)?);
            }
        }
        match runs.len() {
            0 | 1 => return Err(too_few()),
            2..=COMPARED_MAX => {}
            count => {
                let text = format!("{count} runs are too many for one page; tick at most {COMPARED_MAX}.");
                return Err((Status::BadRequest, text));
            }
        }
        Ok(document(self.documents.comparison(runs).map_err(|text| (Status::Unshowable, text))?))
    }

    /// The run of that name in the directory.
    fn find(&self, name: &[u8]) -> Result<ListedRun, (Status, String)> {
        let listed = self.library.list().map_err(|text| (Status::Unshowable, text))?;
        listed
            .into_iter()
            .find(|run| run.name_bytes() == name)
            .ok_or_else(|| (Status::NotFound, "There is no such run in this directory.".to_owned()))
    }
}

/// The row with the time by which it is sorted: that of the file if it is not known when the run was recorded.
fn timed_row(run: &ListedRun, row: LibraryRow) -> (u64, LibraryRow) {
    (row.started_unix_ms.unwrap_or_else(|| run.stamp.modified_unix_ms()), row)
}

/// A label for each point of `run`: that of its trial in the plan, if it is there.
fn labels_of(run: &LiveRun, planned: &[String]) -> Vec<String> {
    let label = |trial: &model::Trial| {
        let probe = trial.limit.as_ref().and_then(|limit| limit.probe);
        let in_plan = run.meta.plan.trials.iter().position(|known| known == trial);
        let nth = in_plan.or(probe.map(|probe| probe.search as usize));
        let known = nth.and_then(|nth| planned.get(nth)).cloned();
        known.unwrap_or_else(|| format!("{} on {}", trial.workload.name, trial.target.engine))
    };
    run.points.iter().map(|point| label(&point.trial)).collect()
}

/// A page of this site. It runs only the script and has only the style that carry its nonce, and asks this server only.
fn own_page(make: impl FnOnce(&str) -> String) -> Answer {
    let nonce = AccessToken::random().map_err(|error| (Status::Internal, error.to_string()))?;
    Ok(with_policy(Response::new(Status::Ok, HTML, make(nonce.as_str()).into_bytes()), nonce.as_str()))
}

fn with_policy(response: Response, nonce: &str) -> Response {
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'"
    );
    response.with_header("Content-Security-Policy", policy)
}

/// A report: a file that needs nothing else. Its own policy, which is stricter, holds as well.
fn document(html: Arc<[u8]>) -> Response {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; form-action 'none'; \
                  base-uri 'none'; frame-ancestors 'none'";
    Response::new(Status::Ok, HTML, html).with_header("Content-Security-Policy", policy.to_owned())
}

/// A page with the reason why another is not shown.
fn message(status: Status, text: &str) -> Response {
    let Ok(nonce) = AccessToken::random() else { return Response::text(status, text) };
    let title = match status {
        Status::NotFound => "Not found",
        Status::BadRequest => "Not possible",
        Status::Unshowable => "Cannot be shown",
        _ => "An error of plimsoll",
    };
    let html = message_html(title, text, nonce.as_str());
    with_policy(Response::new(status, HTML, html.into_bytes()), nonce.as_str())
}

fn refusal(status: Status) -> &'static str {
    match status {
        Status::OtherHost => "this address is not that of the server; open the one that `plimsoll serve` has printed",
        _ => "the token is missing or wrong; open the address that `plimsoll serve` has printed",
    }
}

/// The CPU time of this thread so far. Time on the wall would count what others take from a thread of the least priority.
fn thread_cpu_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(used).unwrap_or_default()
}

/// How long to rest after work that took so much CPU time, while a run is recorded: then the work takes a tenth of one CPU at most.
fn rest_after(work: Duration) -> Duration {
    const REST_MAX: Duration = Duration::from_secs(60);
    (work * 9).min(REST_MAX)
}
