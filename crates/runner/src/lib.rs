//! Measures a run: which trial comes next, and one trial on this host.
//!
//! In: a plan, the place to measure, a run file, a request to stop, an observer. Out: every point recorded, and events while it is.
//! Limits: points are measured one after the other; one engine instance runs at a time. It knows no command line, no terminal, no
//! exit codes and no analysis: the meaning of the numbers is left to the crates that read the run file.
//!
//! It has two halves that meet in a few messages: `conduct` decides which trial is next, when it starts and what is recorded, and
//! knows no engine; `perform` performs one trial on this host. A [`Strategy`] chooses the next trial: an expanded plan, or a search.

mod ad_hoc;
mod catalogue;
pub mod ceilings;
mod conduct;
mod data_set;
mod error;
mod events;
mod fitting;
mod hosts;
pub mod io_replay;
mod killed_run;
mod messages;
mod objective_kinds;
mod open_set;
mod perform;
mod preflight;
mod rehearsal;
mod room;
mod session;
mod watch;
pub mod why;

pub use ad_hoc::{AdHocRun, PhaseTotals};
pub use catalogue::{all as catalogue, declared_params};
pub use conduct::resume::{ResumedRun, RunInterruption};
pub use conduct::strategy::{DonePoint, PlanMatrix, Strategy};
pub use data_set::{SetPlace, SetRequest, data_sets, drop_data_set, make_data_set, verify_data_set};
pub use error::RunnerError;
pub use events::{ObserverList, PointEnd, RunEvent, RunObserver};
pub use fitting::{FittedPlan, fit_plan, notes_on_pauses};
pub use hosts::{AgentSetup, CoordinatorSetup, HostedSession, OnHostLoss, serve_agent};
pub use messages::StepSequence;
pub use preflight::{
    HeldPlaces, RunSite, SystemChangeConsent, WriteConsent, check_abilities, check_before_run, check_place,
    check_space, check_targets, create_run, describe_environment, lock_run, put_back_settings,
};
pub use room::room_needed;
pub use session::RunSession;
pub use watch::{FileEnd, OBSERVE, Watch, WatchSession, until_next_file};

use model::Nanos;

/// Making data has no deadline: it ends when the data is made.
const PREPARE_AT_MOST: Nanos = Nanos::from_secs(7 * 24 * 3600);
