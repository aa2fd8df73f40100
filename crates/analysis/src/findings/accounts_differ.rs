//! Finds accounts of the bytes written that do not agree.
//!
//! In: what a point wrote by the account that the tables show, and by the others; at a drain, over all steps that it covers. Out: a
//! warning if the account that does not agree may be the right one, a note if a device shows that it is not.
//! Limits: accounts are compared when everything that was written has reached them: after a drain, or if the page cache was
//! written out. What is charged to the processes of a buffered engine is too much in any case, and is not compared. What a file system
//! writes for itself is no difference: a device has it, and processes and engine have not.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use crate::numbers::cost::DrainedWrites;
use crate::numbers::written::{ByteAccount, WriteAccounts, has_least_only, is_charged_once};
use crate::recorded::sequence;
use model::{Phase, PointData};
use serde::Serialize;
use words::quantity::{bytes, percent, range};

/// Bytes written as two accounts have them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnlikeAccounts {
    /// The account that the tables show.
    pub shown: ByteAccount,
    pub shown_bytes: f64,
    /// The account that does not agree with it.
    pub other: ByteAccount,
    pub other_bytes: f64,
    /// Their difference as a share of the greater.
    pub difference_share: Share,
    /// The step in which they differ most; `None` if that is not known.
    pub furthest: Option<StepAccounts>,
}

/// Bytes written in one step as the same two accounts have them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepAccounts {
    /// The step; `None` for the drain itself.
    pub step: Option<String>,
    /// By the account that the tables show.
    pub shown_bytes: f64,
    pub other_bytes: f64,
}

// Accounts are read one after the other, so that the load of a moment is in one of them and not in the next.
const DIFFERENCE_MAX: f64 = 0.10;

/// Less than this is the file system's own, or was written by others between two readings.
const BYTES_MIN: f64 = 1e6;

fn detect(view: &PointView) -> Vec<Finding> {
    let part = sequence::up_to_drain(view.point, view.sequence);
    let has_drain = part.last().is_some_and(|last| sequence::is_drain(last));
    match (has_drain, sequence::is_drain(view.point)) {
        (true, true) => compare_steps(view),
        // The drain compares them all.
        (true, false) => Vec::new(),
        (false, _) => compare_point(view),
    }
}

fn compare_steps(view: &PointView) -> Vec<Finding> {
    let Some(drained) = DrainedWrites::until_drain(view.point, view.sequence) else { return Vec::new() };
    findings(view, &drained.accounts, &drained.by_step)
}

fn compare_point(view: &PointView) -> Vec<Finding> {
    // What a file system compresses is written as less than it was given: the difference is the result.
    let is_comparable = view.point.traits.outcome.is_synced && !view.compresses_file();
    let run = view.point.phase(Phase::Run).filter(|_| is_comparable);
    let accounts = run.map(|run| WriteAccounts::measure(view.point, run.start, run.end));
    accounts.map_or(Vec::new(), |accounts| findings(view, &accounts, &[]))
}

fn findings(view: &PointView, accounts: &WriteAccounts, by_step: &[(u32, WriteAccounts)]) -> Vec<Finding> {
    let Ok(shown) = accounts.choose(view.point) else { return Vec::new() };
    let pairs = comparable(shown, view.point, accounts).into_iter();
    let unlike = pairs
        .filter_map(|(one, other)| compare(one, other, accounts))
        .filter(|unlike| is_contradiction(view.point, unlike));
    let found = unlike.map(|detail| {
        let furthest = furthest_step(&detail, by_step, view.sequence);
        finding(view.point, shown, UnlikeAccounts { furthest, ..detail })
    });
    found.collect()
}

/// The pairs of accounts that should agree, the one that is more to be believed first.
fn comparable(shown: ByteAccount, point: &PointData, accounts: &WriteAccounts) -> Vec<(ByteAccount, ByteAccount)> {
    use ByteAccount::{Device, Engine, Process, Volume};
    match shown {
        // The engine counts what it hands to the file system, and so does the kernel; the volume has what the file system adds.
        Volume if is_charged_once(point) => vec![(Volume, Process), (Process, Engine)],
        Process if is_charged_once(point) && accounts.judge_device().is_ok() => {
            vec![(Process, Device), (Process, Engine)]
        }
        Volume | Device | Process => vec![(shown, Engine)],
        Engine => Vec::new(),
    }
}

/// What two accounts have, if they are too far apart.
fn compare(shown: ByteAccount, other: ByteAccount, accounts: &WriteAccounts) -> Option<UnlikeAccounts> {
    let (shown_bytes, other_bytes) = (accounts.bytes_of(shown)?, accounts.bytes_of(other)?);
    let gap = (shown_bytes - other_bytes).abs();
    let is_device = |account| matches!(account, ByteAccount::Volume | ByteAccount::Device);
    let device_is_less = if is_device(other) { other_bytes < shown_bytes } else { shown_bytes < other_bytes };
    let open = match (shown, other) {
        (ByteAccount::Volume, ByteAccount::Process) if !device_is_less => gap,
        // A device that others use, too, has at least its figure, and at most what all of them wrote to it.
        (ByteAccount::Device, _) | (_, ByteAccount::Device) if device_is_less => accounts.others_bytes.unwrap_or(0.0),
        (_, ByteAccount::Device) => accounts.explained_by_syncs(),
        _ => 0.0,
    };
    let gap = (gap - open).max(0.0);
    let share = gap / shown_bytes.max(other_bytes).max(1.0);
    let is_far = share > DIFFERENCE_MAX && gap > BYTES_MIN;
    let difference_share = Share(share);
    is_far.then_some(UnlikeAccounts { shown, shown_bytes, other, other_bytes, difference_share, furthest: None })
}

/// Whether both cannot be right: an engine that counts the log as it is made has fewer bytes than are written.
fn is_contradiction(point: &PointData, unlike: &UnlikeAccounts) -> bool {
    let may_be_less = unlike.other == ByteAccount::Engine && has_least_only(point);
    !may_be_less || unlike.other_bytes > unlike.shown_bytes
}

/// The step in which the accounts of `detail` are furthest apart.
fn furthest_step(
    detail: &UnlikeAccounts,
    by_step: &[(u32, WriteAccounts)],
    points: &[PointData],
) -> Option<StepAccounts> {
    let both = |(id, accounts): &(u32, WriteAccounts)| {
        Some((*id, accounts.bytes_of(detail.shown)?, accounts.bytes_of(detail.other)?))
    };
    let distance = |(_, shown, other): &(u32, f64, f64)| (shown - other).abs();
    let steps = by_step.iter().filter_map(both);
    let (id, shown_bytes, other_bytes) = steps.max_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let step = points.iter().find(|point| point.id == id).and_then(sequence::step_name).map(str::to_owned);
    Some(StepAccounts { step, shown_bytes, other_bytes })
}

fn finding(point: &PointData, shown: ByteAccount, detail: UnlikeAccounts) -> Finding {
    let severity = match shown {
        ByteAccount::Volume | ByteAccount::Device => Severity::Note,
        ByteAccount::Process | ByteAccount::Engine => Severity::Warning,
    };
    let has_volume = point.trial.target.fs.is_some();
    let next = if has_volume { NextStep::WatchFiles } else { NextStep::WatchFilesWithOwnVolume };
    Finding::new(severity, detail).next(next)
}

impl FindingKind for UnlikeAccounts {
    const SEVERITIES: &'static [Severity] = &[Severity::Note, Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "had conflicting write counts";

    fn is_like(&self, other: &Self) -> bool {
        (self.shown, self.other) == (other.shown, other.other)
    }

    fn title(alike: &[&Self]) -> String {
        let [one, ..] = alike else { return String::new() };
        format!(
            "{}, {}: {} apart",
            account_clause(one.shown, &range(alike, |one| one.shown_bytes, bytes)),
            account_clause(one.other, &range(alike, |one| one.other_bytes, bytes)),
            range(alike, |one| one.difference_share.0, percent)
        )
    }

    fn evidence(&self) -> String {
        let furthest = |step: &StepAccounts| {
            let name = step.step.as_deref().unwrap_or("this step");
            format!(
                "; largest difference in {name}: {} by the {}, {} by the {}",
                bytes(step.shown_bytes),
                self.shown.word(),
                bytes(step.other_bytes),
                self.other.word()
            )
        };
        match &self.furthest {
            Some(step) => format!("over the steps since the previous drain, including this one{}", furthest(step)),
            None => "over the run phase".to_owned(),
        }
    }
}

/// What the account has, as a clause.
pub fn account_clause(account: ByteAccount, bytes: &str) -> String {
    match account {
        ByteAccount::Volume => format!("the volume's device wrote {bytes}"),
        ByteAccount::Device => format!("the disk wrote {bytes} without the writes of others"),
        ByteAccount::Process => format!("the kernel charged the engine's processes {bytes}"),
        ByteAccount::Engine => format!("the engine counts {bytes}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, figures_of, inserting, run_of, stepping};
    use model::{CounterRole, FileSystem, FileSystemSpec, WritePath};

    fn findings(points: Vec<PointData>) -> Vec<UnlikeAccounts> {
        let analysed = crate::analyse(&run_of(points, Vec::new())).points;
        analysed.iter().flat_map(|point| figures_of(&point.findings)).collect()
    }

    /// The engine counts so many times what the block layer wrote.
    fn saying(mut point: PointData, times: f64) -> PointData {
        let innodb = point.sources.iter().position(|source| source.name == "innodb").expect("it has it") as u16;
        point.counters.edit(|all| {
            let own = all.iter_mut().filter(|sample| sample.source == innodb);
            own.for_each(|sample| sample.values[0] = sample.values[0].map(|bytes| bytes * times));
        });
        point
    }

    #[test]
    fn accounts_that_differ_by_a_fifth_after_the_drain_are_named_both() {
        let steps = || vec![stepping("l.i1", 10, 5e6, 9_999.0), stepping("drain", 10, 5e6, 0.0)];
        assert!(findings(steps()).is_empty());
        let found = findings(steps().into_iter().map(|point| saying(point, 0.8)).collect());
        assert_eq!((found[0].shown, found[0].other), (ByteAccount::Process, ByteAccount::Engine));
        assert_eq!((found[0].shown_bytes, found[0].other_bytes), (100e6, 80e6));
        assert!((found[0].difference_share.0 - 0.2).abs() < 1e-9, "{:?}", found[0]);
        let furthest = StepAccounts { step: Some("drain".into()), shown_bytes: 50e6, other_bytes: 40e6 };
        assert_eq!((found.len(), found[0].furthest.clone()), (1, Some(furthest)));
        let nearly = steps().into_iter().map(|point| saying(point, 0.92)).collect();
        assert!(findings(nearly).is_empty());
    }

    #[test]
    fn without_a_drain_an_old_run_compares_nothing() {
        assert!(findings(vec![saying(stepping("l.i1", 10, 5e6, 9_999.0), 0.5)]).is_empty());
    }

    fn model_declared(point: &PointData) -> PointData {
        crate::simulated::declared(point.clone())
    }

    /// Ten seconds in which the processes were charged 5 MB a second, the device wrote `device`, and others `others`.
    fn measured(writes: WritePath, device: f64, others: f64) -> Simulation {
        inserting(10, 0.0, 5e6, 0.0)
            .source("disk", &["write_bytes"], move |s| vec![device * s])
            .source("writes", &["process_write_bytes"], move |s| vec![(5e6 + others) * s])
            .with(|point| {
                let counter = &mut point.sources.last_mut().expect("just added").counters[0];
                counter.role = Some(CounterRole::MachineWriteBytes);
                point.traits.engine.writes = writes;
                point.traits.outcome.is_synced = true;
            })
    }

    #[test]
    fn each_workload_compares_what_it_wrote_when_the_page_cache_is_written_out() {
        let alike = measured(WritePath::Append, 5.2e6, 0.0);
        assert!(alike.findings("accounts-differ").is_empty());
        let found = measured(WritePath::Append, 8e6, 0.0).finding("accounts-differ");
        assert_eq!(found.severity, Severity::Warning);
        let late = measured(WritePath::Append, 8e6, 0.0).with(|point| point.traits.outcome.is_synced = false);
        assert!(late.findings("accounts-differ").is_empty());
        assert_eq!(measured(WritePath::Direct, 8e6, 0.0).findings("accounts-differ").len(), 1);
    }

    #[test]
    fn an_engine_that_counts_its_log_as_it_is_made_may_count_less_and_not_more() {
        let counting = |times: f64| {
            measured(WritePath::Buffered, 5e6, 0.0).with(|point| {
                *point = saying(model_declared(point), times);
                let own = point.sources.iter_mut().flat_map(|source| &mut source.counters);
                let logs = own.filter(|counter| counter.role == Some(CounterRole::LogWritten));
                logs.for_each(|counter| counter.role = Some(CounterRole::LogMade));
            })
        };
        assert!(counting(0.2).findings("accounts-differ").is_empty());
        assert_eq!(counting(1.5).findings("accounts-differ").len(), 1);
    }

    #[test]
    fn what_others_may_have_written_is_no_difference() {
        // The processes' 5 MB lie between 4.8 and 5.2 MB, with which the engine's own count agrees.
        assert!(measured(WritePath::Append, 5.2e6, 0.4e6).findings("accounts-differ").is_empty());
        let found: UnlikeAccounts = measured(WritePath::Append, 7e6, 0.4e6).figures();
        assert_eq!((found.other, found.shown_bytes, found.other_bytes), (ByteAccount::Device, 50e6, 66e6));
    }

    #[test]
    fn what_a_buffered_process_was_charged_is_not_compared_and_the_engine_is_doubted_by_the_device() {
        // The engine counts half of what its processes were charged.
        let buffered = |device| {
            measured(WritePath::Buffered, device, 0.0).with(|point| *point = saying(model_declared(point), 0.5))
        };
        assert_eq!(buffered(8e6).finding("accounts-differ").severity, Severity::Note);
        let found: UnlikeAccounts = buffered(8e6).figures();
        assert_eq!((found.shown, found.other), (ByteAccount::Device, ByteAccount::Engine));
        assert!(buffered(2.6e6).findings("accounts-differ").is_empty());
        let own = buffered(8e6)
            .with(|point| point.trial.target.fs = Some(FileSystemSpec { kind: FileSystem::Xfs, size: None }));
        let found: UnlikeAccounts = own.figures();
        assert_eq!((found.shown, found.other_bytes), (ByteAccount::Volume, 25e6));
    }

    #[test]
    fn what_a_file_system_writes_for_itself_is_no_difference() {
        let synced = |device: f64, flushes: f64| {
            measured(WritePath::Append, device, 0.0).source("disk", &["flush_ops"], move |s| vec![flushes * s]).with(
                |point| {
                    let counter = &mut point.sources.last_mut().expect("just added").counters[0];
                    counter.role = Some(CounterRole::DeviceFlushOps);
                },
            )
        };
        // 3 MB a second more than the processes were charged: 15 kB for each of 200 syncs, 30 for each of 100.
        assert!(synced(8e6, 200.0).findings("accounts-differ").is_empty());
        assert_eq!(synced(8e6, 100.0).findings("accounts-differ").len(), 1);
        let on_volume = |device| {
            measured(WritePath::Append, device, 0.0)
                .with(|point| point.trial.target.fs = Some(FileSystemSpec { kind: FileSystem::Xfs, size: None }))
        };
        assert!(on_volume(2e7).findings("accounts-differ").is_empty());
        let missing: UnlikeAccounts = on_volume(4e6).figures();
        assert_eq!((missing.shown, missing.other), (ByteAccount::Volume, ByteAccount::Process));
        assert_eq!(on_volume(4e6).finding("accounts-differ").severity, Severity::Note);
    }

    #[test]
    fn a_few_pages_are_no_difference() {
        let few = |point: &mut PointData| {
            point.counters.edit(|all| {
                all.iter_mut().flat_map(|sample| &mut sample.values).flatten().for_each(|bytes| *bytes *= 1e-3);
            });
        };
        assert!(measured(WritePath::Append, 8e6, 0.0).with(few).findings("accounts-differ").is_empty());
    }
}
