//! Whose count of the bytes written is shown: there are three, and none of them is right for every engine.
//!
//! In: the counters of the engine's processes, of the device, of the whole machine and of the engine itself; how the engine writes.
//! Out: [`WriteAccounts`], and the one of them that can be believed, as [`WrittenBytes`].
//!
//! The kernel charges a process for a buffered write when a page becomes dirty, with the whole folio that it is in: 8 KiB written over
//! what is in a folio of 1 MiB, and synced, are charged as 1 MiB each time. So a process's account is right for direct I/O and for appends
//! only. A device's account is right and has the writes of other processes, too; what these were charged is the most that they
//! can have written to it. An engine counts the bytes that it hands to the file system, or fewer: of most logs those that it makes.
//!
//! A device has more than its processes were charged even if both are right: at each sync the file system writes for itself, to its journal
//! or its inodes. With 4 KiB of log a commit that is several times as much as the engine writes.
//!
//! Limits: a device has what was buffered only after it is written out; if the recorder saw to that, its last reading counts.
//! Direct writes of processes that hide their I/O are in no sum: others then look smaller than they are.

use crate::math::repeats::{Repeated, combined};
use crate::numbers::accounts::write_breakdown;
use crate::recorded::counters::{Growth, bytes_grown, growth_of_all, growth_of_first, has_role};
use model::{CounterRole, CounterSample, Phase, PointData, SourceDef, Tick, WritePath};
use serde::{Deserialize, Serialize};

/// The largest share of a device's writes that others may have caused: a figure without them is then off by no more.
const OTHERS_SHARE_MAX: f64 = 0.10;

/// Two accounts that are closer than this, as a share of the larger, agree.
const BRACKET_MAX: f64 = 0.10;

/// What a file system writes for itself at a sync, at most: of its journal the head, an inode, a block of the extent tree, one of a
/// bitmap and the commit record. Measured for each flush: 9.0 kB (InnoDB, ext4), 7.8 kB (InnoDB, ext4 without a journal), 6.2 kB
/// (MyRocks, ext4), 0.5 kB (MyRocks, xfs).
const SYNC_BYTES_MAX: f64 = 5.0 * 4096.0;

/// Whose bytes a figure has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ByteAccount {
    /// The device of a volume that only the point used, with the journal and the copies of its file system.
    Volume,
    /// The device under the data, without what other processes were charged.
    Device,
    /// What the kernel charged the engine's processes.
    Process,
    /// What the engine counts itself.
    Engine,
}

impl ByteAccount {
    /// The word for who counted, in tables and files.
    pub fn word(self) -> &'static str {
        match self {
            ByteAccount::Volume => "volume",
            ByteAccount::Device => "disk",
            ByteAccount::Process => "process",
            ByteAccount::Engine => "engine",
        }
    }
}

/// Why no account of the bytes written can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownWritten {
    /// The data is on no block device that has counters.
    NoDevice,
    /// The page cache was not written out at the end, so the device lacks what is in it.
    NotSynced,
    /// It is not known what other processes wrote to the device.
    OthersUnknown,
    /// Other processes wrote more than a tenth as much.
    OthersWrote,
}

/// What the accounts hold for a stretch of time. `None` for one that there is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WriteAccounts {
    /// What the kernel charged the engine's processes.
    pub process_bytes: Option<f64>,
    /// What the device under the data wrote, for whomever.
    pub device_bytes: Option<f64>,
    /// The most that other processes can have written in the same time, to any device.
    pub others_bytes: Option<f64>,
    /// What the engine counts itself.
    pub engine_bytes: Option<f64>,
    /// Flushes of the device's cache: at least one for each sync of a file.
    pub flush_ops: Option<f64>,
    /// Whether the page cache was written out before the stretch and after it, so that the device has all that was written in between.
    pub is_synced: bool,
}

/// What a point wrote, by the account that can be believed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrittenBytes {
    /// Whose bytes they are.
    pub account: ByteAccount,
    /// How many, between which readings.
    pub growth: Growth,
}

impl WriteAccounts {
    /// The means of repeats. All of them must be synced for the row to be.
    pub(crate) fn combine(all: &Repeated<WriteAccounts>) -> WriteAccounts {
        combined!(
            all,
            WriteAccounts {
                process_bytes: mean,
                device_bytes: mean,
                others_bytes: mean,
                engine_bytes: mean,
                flush_ops: mean,
                is_synced: (all.first().is_some() && all.iter().all(|one| one.is_synced)),
            }
        )
    }

    /// What the accounts of `point` hold for `start..end`, and until the page cache was written out after that.
    pub fn measure(point: &PointData, start: Tick, end: Tick) -> WriteAccounts {
        let end = settled_end(point, end);
        let process = growth_of_all(point, CounterRole::ProcessWriteBytes, start, end).map(|growth| growth.amount);
        let device = growth_of_first(point, CounterRole::DeviceWriteBytes, start, end).map(|growth| growth.amount);
        WriteAccounts {
            process_bytes: process,
            device_bytes: device,
            others_bytes: process.and_then(|process| written_by_others(point, process, start, end)),
            engine_bytes: write_breakdown(point, start, end).and_then(|breakdown| breakdown.written),
            flush_ops: growth_of_first(point, CounterRole::DeviceFlushOps, start, end).map(|growth| growth.amount),
            is_synced: point.traits.outcome.is_synced,
        }
    }

    /// As [`WriteAccounts::measure`], with what was written since the last reading of `previous`, the step before on the same data: an
    /// engine goes on writing between two steps. An account that began again in between counts from `start`.
    pub fn measure_since(previous: &PointData, point: &PointData, start: Tick, end: Tick) -> WriteAccounts {
        let own = WriteAccounts::measure(point, start, end);
        let Some((since, joined)) = join_readings(previous, point) else { return own };
        let all = WriteAccounts::measure(&joined, since, end);
        WriteAccounts {
            process_bytes: all.process_bytes.or(own.process_bytes),
            device_bytes: all.device_bytes.or(own.device_bytes),
            others_bytes: all.others_bytes.or(own.others_bytes),
            engine_bytes: all.engine_bytes.or(own.engine_bytes),
            flush_ops: all.flush_ops.or(own.flush_ops),
            is_synced: own.is_synced,
        }
    }

    /// Both stretches together. An account that is missing in one is missing in the sum.
    pub fn plus(self, other: WriteAccounts) -> WriteAccounts {
        let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        WriteAccounts {
            process_bytes: sum(self.process_bytes, other.process_bytes),
            device_bytes: sum(self.device_bytes, other.device_bytes),
            others_bytes: sum(self.others_bytes, other.others_bytes),
            engine_bytes: sum(self.engine_bytes, other.engine_bytes),
            flush_ops: sum(self.flush_ops, other.flush_ops),
            is_synced: self.is_synced && other.is_synced,
        }
    }

    /// Nothing was written, by every account.
    pub fn nothing() -> WriteAccounts {
        let zero = Some(0.0);
        let accounts = WriteAccounts { process_bytes: zero, device_bytes: zero, others_bytes: zero, ..Self::default() };
        WriteAccounts { engine_bytes: zero, flush_ops: zero, is_synced: true, ..accounts }
    }

    pub fn bytes_of(&self, account: ByteAccount) -> Option<f64> {
        match account {
            ByteAccount::Volume => self.device_bytes,
            ByteAccount::Device => {
                self.device_bytes.zip(self.others_bytes).map(|(all, others)| (all - others).max(0.0))
            }
            ByteAccount::Process => self.process_bytes,
            ByteAccount::Engine => self.engine_bytes,
        }
    }

    /// The account to show for a point like `point`, which these are of; or why there is none.
    pub fn choose(&self, point: &PointData) -> Result<ByteAccount, UnknownWritten> {
        if point.trial.target.fs.is_some() {
            return Ok(ByteAccount::Volume);
        }
        match point.traits.engine.writes {
            WritePath::Direct | WritePath::Append | WritePath::Unknown => Ok(ByteAccount::Process),
            WritePath::Buffered => match (self.judge_device(), self.engine_bytes) {
                // First: of an engine that writes its data past the page cache, others cannot be told from the dirty pages. One that counts
                // all that it writes needs no such confirmation.
                (_, Some(engine)) if has_least_only(point) && self.is_bracketed(engine) => Ok(ByteAccount::Process),
                (Ok(()), _) => Ok(ByteAccount::Device),
                (Err(_), Some(_)) if !has_least_only(point) => Ok(ByteAccount::Engine),
                (Err(why), _) => Err(why),
            },
        }
    }

    /// Whether the processes were charged hardly more than the engine counts. The charge is the most that it can have written, and its own
    /// count about the least: if they agree, both are right.
    fn is_bracketed(&self, engine: f64) -> bool {
        self.process_bytes.is_some_and(|process| (process - engine).abs() <= BRACKET_MAX * process.max(engine))
    }

    /// Whether a device that others use, too, shows what the point wrote.
    pub fn judge_device(&self) -> Result<(), UnknownWritten> {
        let all = self.device_bytes.ok_or(UnknownWritten::NoDevice)?;
        // What was dirty before would be taken for the point's, and what is dirty after would be missed.
        if !self.is_synced {
            return Err(UnknownWritten::NotSynced);
        }
        let others = self.others_bytes.ok_or(UnknownWritten::OthersUnknown)?;
        if others > OTHERS_SHARE_MAX * all { Err(UnknownWritten::OthersWrote) } else { Ok(()) }
    }

    /// What the file system wrote for itself to keep what a point like `point` wrote: what the device has and the processes were not charged.
    /// `None` if the charge is more than was written, if the device cannot be believed, or if it is more than syncs explain.
    pub fn file_system_bytes(&self, point: &PointData) -> Option<f64> {
        if !is_charged_once(point) {
            return None;
        }
        let process = self.process_bytes?;
        if point.trial.target.fs.is_some() {
            // No other program writes to a volume that was made for a point, whatever its file system is: one that copies writes more than a journal.
            return self.device_bytes.map(|all| (all - process).max(0.0)).filter(|_| self.is_synced);
        }
        self.judge_device().ok()?;
        let own = (self.bytes_of(ByteAccount::Device)? - process).max(0.0);
        (own <= self.explained_by_syncs().max(BRACKET_MAX * process)).then_some(own)
    }

    /// The most that the file system can have written for itself because files were synced.
    pub fn explained_by_syncs(&self) -> f64 {
        self.flush_ops.unwrap_or(0.0) * SYNC_BYTES_MAX
    }
}

/// Whether the processes of an engine like that of `point` are charged once for each byte that they write.
pub(crate) fn is_charged_once(point: &PointData) -> bool {
    matches!(point.traits.engine.writes, WritePath::Direct | WritePath::Append)
}

impl WrittenBytes {
    /// What `point` wrote over `start..end`; `None` if no counter has it, or if none of them can be believed.
    pub fn measure(point: &PointData, start: Tick, end: Tick) -> Option<WrittenBytes> {
        WrittenBytes::from_accounts(&WriteAccounts::measure(point, start, end), point, start, end)
    }

    /// As [`WrittenBytes::measure`], of the `accounts` of `point` for that stretch.
    pub fn from_accounts(accounts: &WriteAccounts, point: &PointData, start: Tick, end: Tick) -> Option<WrittenBytes> {
        let account = accounts.choose(point).ok()?;
        let growth = match account {
            ByteAccount::Process => growth_of_all(point, CounterRole::ProcessWriteBytes, start, end)?,
            // A server's processes report when they have nothing to do: the last reading has all of it.
            ByteAccount::Engine => {
                Growth { from: start, began: start, to: settled_end(point, end), amount: accounts.engine_bytes? }
            }
            ByteAccount::Volume | ByteAccount::Device => {
                let growth = growth_of_first(point, CounterRole::DeviceWriteBytes, start, settled_end(point, end))?;
                Growth { amount: accounts.bytes_of(account)?, ..growth }
            }
        };
        Some(WrittenBytes { account, growth })
    }

    /// Bytes per second of the stretch that ended at `end`: what was written out after it belongs to it.
    pub fn per_second(&self, end: Tick) -> f64 {
        let seconds = self.growth.to.min(end).since(self.growth.began).as_secs_f64();
        self.growth.amount / seconds.max(1e-9)
    }
}

/// Whether the engine counts less than it writes: its log as it is made, and not in the blocks that are written.
pub(crate) fn has_least_only(point: &PointData) -> bool {
    let of_run = point.phase(Phase::Run).map(|run| (run.start, run.end));
    has_role(point, CounterRole::LogMade)
        && !of_run.is_some_and(|(start, end)| {
            bytes_grown(point, CounterRole::LogWritten, start, settled_end(point, end)).is_some()
        })
}

/// When what was written until `end` is in all accounts: the last reading, if it was taken after the page cache was written out at the end of the run.
pub(crate) fn settled_end(point: &PointData, end: Tick) -> Tick {
    let last = point.counters.last_at();
    last.filter(|_| point.traits.outcome.is_synced).map_or(end, |last| last.max(end))
}

/// The readings of `point` after the last of `previous`, in a point without phases, and when that last one was taken. `None` if the two
/// do not follow each other.
fn join_readings(previous: &PointData, point: &PointData) -> Option<(Tick, PointData)> {
    let (last, first) = (previous.counters.last_at()?, point.counters.first_at()?);
    let last_of = |def: &SourceDef| {
        let source =
            previous.sources.iter().position(|one| (&one.name, &one.subject) == (&def.name, &def.subject))? as u16;
        previous.counters.last_of(source)
    };
    let before = (0u16..).zip(&point.sources);
    let before = before.filter_map(|(source, def)| Some(CounterSample { source, ..last_of(def)? }));
    let joined = PointData {
        id: point.id,
        state: point.state,
        error: None,
        trial: point.trial.clone(),
        facts: point.facts.clone(),
        traits: point.traits.clone(),
        params: Vec::new(),
        kinds: Vec::new(),
        phases: Vec::new(),
        sources: point.sources.clone(),
        counters: before.chain(point.counters.samples()).collect(),
        events: Vec::new(),
        stacks: Vec::new(),
        endpoints: Vec::new(),
        hosts: Vec::new(),
    };
    (last < first).then_some((last, joined))
}

/// The most that other processes can have written while those of the engine were charged `process`: the larger of what they made dirty
/// and what they were charged. `None` if neither is known.
fn written_by_others(point: &PointData, process: f64, start: Tick, end: Tick) -> Option<f64> {
    // What goes past the page cache makes none of it dirty.
    let dirtied = if point.traits.engine.writes == WritePath::Direct { 0.0 } else { process };
    let accounts = [(CounterRole::MachineDirtiedBytes, dirtied), (CounterRole::MachineWriteBytes, process)];
    let of_others = accounts.map(|(role, own)| Some(growth_of_first(point, role, start, end)?.amount - own));
    of_others.into_iter().flatten().reduce(f64::max).map(|bytes| bytes.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{SECOND, Simulation};
    use model::{FileSystem, FileSystemSpec};

    /// What each account counts a second.
    struct Rates {
        process: f64,
        device: f64,
        dirtied: f64,
        charged: f64,
    }

    /// Ten seconds of an engine that writes so.
    fn writing(path: WritePath, rates: &Rates) -> Simulation {
        let Rates { process, device, dirtied, charged } = *rates;
        Simulation::counts(&[1000; 10])
            .source("process", &["write_bytes"], move |s| vec![process * s])
            .source("disk", &["write_bytes"], move |s| vec![device * s])
            .source("writes", &["dirtied_bytes", "process_write_bytes"], move |s| vec![dirtied * s, charged * s])
            .with(|point| {
                let roles = [Some(CounterRole::MachineDirtiedBytes), Some(CounterRole::MachineWriteBytes)];
                let own = point.sources.last_mut().expect("just added");
                own.counters.iter_mut().zip(roles).for_each(|(counter, role)| counter.role = role);
                point.traits.engine.writes = path;
                point.traits.outcome.is_synced = true;
            })
    }

    /// As PostgreSQL on ext4 with large folios: charged 30 times what reaches the disk.
    const OVERCHARGED: Rates = Rates { process: 3e7, device: 1e6, dirtied: 3e7 + 1e4, charged: 3e7 + 2e4 };

    fn shown(simulation: Simulation) -> Option<(ByteAccount, f64)> {
        let written = WrittenBytes::measure(&simulation.point(), Tick(0), Tick(10 * SECOND))?;
        Some((written.account, written.growth.amount))
    }

    fn refused(simulation: Simulation) -> Option<UnknownWritten> {
        let point = simulation.point();
        WriteAccounts::measure(&point, Tick(0), Tick(10 * SECOND)).choose(&point).err()
    }

    #[test]
    fn a_buffered_engine_has_the_bytes_of_the_device_without_those_of_others() {
        assert_eq!(shown(writing(WritePath::Buffered, &OVERCHARGED)), Some((ByteAccount::Device, 1e7 - 2e5)));
    }

    #[test]
    fn direct_writes_and_appends_are_what_the_processes_were_charged_and_so_are_those_of_old_runs() {
        for path in [WritePath::Direct, WritePath::Append, WritePath::Unknown] {
            assert_eq!(shown(writing(path, &OVERCHARGED)), Some((ByteAccount::Process, 3e8)), "{path:?}");
        }
    }

    #[test]
    fn a_volume_of_its_own_shows_all_that_reached_it() {
        let own = writing(WritePath::Buffered, &OVERCHARGED)
            .with(|point| point.trial.target.fs = Some(FileSystemSpec { kind: FileSystem::Xfs, size: None }));
        assert_eq!(shown(own), Some((ByteAccount::Volume, 1e7)));
    }

    #[test]
    fn where_others_write_the_engine_is_believed_and_without_its_counters_nobody_is() {
        let busy = Rates { charged: 3e7 + 2e5, ..OVERCHARGED };
        assert_eq!(refused(writing(WritePath::Buffered, &busy)), Some(UnknownWritten::OthersWrote));
        let counting =
            writing(WritePath::Buffered, &busy).source("sqlite", &["wal"], |s| vec![9e5 * s]).with(|point| {
                point.sources.last_mut().expect("just added").counters[0].role = Some(CounterRole::LogWritten);
            });
        assert_eq!(shown(counting.clone()), Some((ByteAccount::Engine, 9e6)));
        // Its processes were charged nearly as much, and its own count is the better one.
        let near = counting.clone().source("sqlite", &["pages"], |s| vec![2.85e7 * s]).with(|point| {
            point.sources.last_mut().expect("just added").counters[0].role = Some(CounterRole::PagesWritten);
        });
        assert_eq!(shown(near).map(|(account, _)| account), Some(ByteAccount::Engine));
        let least = counting.with(|point| {
            point.sources.last_mut().expect("just added").counters[0].role = Some(CounterRole::LogMade);
        });
        assert_eq!(refused(least), Some(UnknownWritten::OthersWrote));
    }

    #[test]
    fn a_device_is_not_believed_if_others_are_unknown_or_the_page_cache_was_not_written_out() {
        let alone = writing(WritePath::Buffered, &OVERCHARGED).with(|point| point.sources[2].counters.clear());
        assert_eq!(refused(alone), Some(UnknownWritten::OthersUnknown));
        let late = writing(WritePath::Buffered, &OVERCHARGED).with(|point| point.traits.outcome.is_synced = false);
        assert_eq!(refused(late), Some(UnknownWritten::NotSynced));
        let nowhere = writing(WritePath::Buffered, &OVERCHARGED).with(|point| point.sources[1].counters.clear());
        assert_eq!(refused(nowhere), Some(UnknownWritten::NoDevice));
    }

    #[test]
    fn a_charge_that_the_engines_own_count_confirms_is_believed_where_the_device_is_not() {
        let rates = Rates { process: 1e6, device: 9e6, dirtied: 6e6, charged: 6e6 };
        let counting = |bytes_per_s: f64| {
            writing(WritePath::Buffered, &rates).source("innodb", &["log"], move |s| vec![bytes_per_s * s]).with(
                |point| {
                    point.sources.last_mut().expect("just added").counters[0].role = Some(CounterRole::LogMade);
                },
            )
        };
        assert_eq!(shown(counting(0.95e6)), Some((ByteAccount::Process, 1e7)));
        assert_eq!(refused(counting(0.5e6)), Some(UnknownWritten::OthersWrote));
    }

    #[test]
    fn direct_writes_are_not_among_what_was_made_dirty() {
        let rates = Rates { process: 5e6, device: 9e6, dirtied: 3e6, charged: 4e6 };
        let others = |path| {
            let point = writing(path, &rates).point();
            WriteAccounts::measure(&point, Tick(0), Tick(10 * SECOND)).others_bytes
        };
        assert_eq!((others(WritePath::Direct), others(WritePath::Append)), (Some(3e7), Some(0.0)));
    }

    #[test]
    fn what_the_device_has_beyond_direct_writes_is_the_file_systems_as_far_as_syncs_explain_it() {
        // 100 commits a second of 4 KiB, for each of which the device wrote 12 KiB more.
        let rates = Rates { process: 409_600.0, device: 1_638_400.0, dirtied: 0.0, charged: 409_600.0 };
        let own = |path, flushes: f64| {
            let synced = writing(path, &rates).with(|point| {
                let mut flush = point.sources[1].counters[0].clone();
                (flush.name, flush.role) = ("flush_ops".into(), Some(CounterRole::DeviceFlushOps));
                point.sources[1].counters.push(flush);
                point.counters.edit(|all| {
                    for sample in all.iter_mut().filter(|sample| sample.source == 1) {
                        sample.values.push(sample.values[0].map(|bytes| bytes / 16_384.0 * flushes));
                    }
                });
            });
            let point = synced.point();
            WriteAccounts::measure(&point, Tick(0), Tick(10 * SECOND)).file_system_bytes(&point)
        };
        assert_eq!(own(WritePath::Direct, 1.0), Some(12_288_000.0));
        assert_eq!(own(WritePath::Append, 1.0), Some(12_288_000.0));
        assert_eq!(own(WritePath::Append, 0.5), None, "10 KiB for a sync are the most");
        assert_eq!(own(WritePath::Buffered, 1.0), None, "what was charged is no figure of what was written");
    }

    #[test]
    fn on_a_volume_of_its_own_all_that_nobody_was_charged_is_the_file_systems() {
        let rates = Rates { process: 1e6, device: 9e6, dirtied: 0.0, charged: 1e6 };
        let own = writing(WritePath::Append, &rates)
            .with(|point| point.trial.target.fs = Some(FileSystemSpec { kind: FileSystem::Xfs, size: None }));
        let point = own.point();
        let accounts = WriteAccounts::measure(&point, Tick(0), Tick(10 * SECOND));
        assert_eq!(accounts.file_system_bytes(&point), Some(8e7));
    }

    #[test]
    fn what_is_written_between_two_steps_belongs_to_the_second_unless_its_counters_began_again() {
        let rates = Rates { process: 1e6, device: 2e6, dirtied: 0.0, charged: 1e6 };
        let first = writing(WritePath::Direct, &rates).point();
        let restarted = {
            let mut later = first.clone();
            later.counters.edit(|all| all.iter_mut().for_each(|sample| sample.at = Tick(sample.at.0 + 12 * SECOND)));
            later
        };
        let mut second = restarted.clone();
        second.counters.edit(|all| {
            for sample in all {
                let at_12 = |per_s: f64| Some(12.0 * per_s);
                let more = [vec![at_12(1e6)], vec![at_12(2e6)], vec![at_12(0.0), at_12(1e6)]];
                let more = &more[usize::from(sample.source)];
                let values = sample.values.iter_mut().zip(more);
                values.for_each(|(value, more)| *value = value.zip(*more).map(|(a, b)| a + b));
            }
        });
        let of = |next: &PointData| {
            let accounts = WriteAccounts::measure_since(&first, next, Tick(12 * SECOND), Tick(22 * SECOND));
            (accounts.process_bytes, accounts.device_bytes)
        };
        assert_eq!(of(&second), (Some(12e6), Some(24e6)));
        assert_eq!(of(&restarted), (Some(10e6), Some(20e6)));
        assert_eq!(of(&first), (None, None), "a point that does not follow has no readings there");
    }

    #[test]
    fn stretches_together_are_synced_if_each_is() {
        let synced = WriteAccounts { is_synced: true, device_bytes: Some(5.0), ..WriteAccounts::nothing() };
        let late = WriteAccounts { is_synced: false, ..synced };
        assert!(WriteAccounts::nothing().plus(synced).is_synced);
        assert_eq!(synced.plus(late).judge_device(), Err(UnknownWritten::NotSynced));
        assert_eq!(late.plus(synced).judge_device(), Err(UnknownWritten::NotSynced));
    }

    #[test]
    fn what_is_written_out_after_the_run_belongs_to_its_seconds() {
        let late = writing(WritePath::Buffered, &Rates { device: 0.0, ..OVERCHARGED }).with(|point| {
            let mut last = point.counters.last_of(1).expect("read");
            (last.at, last.values[0]) = (Tick(15 * SECOND), Some(5e7));
            point.counters.push(last);
        });
        let written = WrittenBytes::measure(&late.point(), Tick(0), Tick(10 * SECOND)).expect("it was counted");
        assert_eq!(written.growth.amount, 5e7 - 2e5);
        assert_eq!(written.per_second(Tick(10 * SECOND)), 5e6 - 2e4);
    }
}
