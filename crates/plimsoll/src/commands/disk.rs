//! `plimsoll disk [DIR|DEVICE]`: the disk under a directory, or a block device: what it is, how fast one reader reads it on, and its ceiling per block
//! size.
//!
//! In: a directory or a block device. Out: the facts of the file system and the disk; the four timings of `hdparm -tT`, three times, as hdparm
//! prints them (see `host::disk_timing`); random reads with O_DIRECT by io_uring at four block sizes and two depths.
//!
//! The ceilings are remembered among the run files (`store::ceilings`), so that later runs on this disk can be compared with them.
//!
//! Limits: nothing else is recorded. In a directory one file is made for all of it and removed at the end; the file system lies
//! between it and the disk. A device is read as it is, and never written. What is not possible here (no O_DIRECT, no io_uring) is said in its place, and the rest is measured. Random writes
//! (`--write`) go over the same file and are not synced: the write cache of the disk is part of their number.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::output;
use crate::output::progress::NotesOnly;
use crate::output::progress::chores::ProgressLine;
use crate::signals;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use host::DataDir;
use host::device::BlockDevice;
use host::disk_timing::{DiskTiming, REQUEST, ReadPath, TIMINGS, TimedReads, time_reads};
use load::{Stop, StopReason};
use model::{Bytes, Fact, Nanos, Plan, Trial, units::three_digits};
use plan::Overrides;
use runner::{AdHocRun, PhaseTotals, RunnerError, ceilings};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// How often each timing is taken.
const REPEATS: u32 = 3;
/// How long each ceiling is measured; as long as a timing if that is shorter.
const CEILING_TIME: Nanos = Nanos::from_secs(1);

const MODES: [&str; 2] = ["rndrd", "rndwr"];
const BLOCKS: [&str; 4] = ["4KiB", "16KiB", "64KiB", "1MiB"];
const DEPTHS: [&str; 2] = ["1", "32"];

pub fn clap() -> Command {
    let dir = Arg::new("dir").value_name("DIR").default_value(".");
    let dir = dir.help("Directory on the disk to measure, or a block device, which is only read");
    let time = Arg::new("time").long("time").value_name("TIME").default_value("3s").env("PLIMSOLL_TIME");
    let size = Arg::new("file-size").long("file-size").value_name("SIZE").default_value("512MiB");
    let write = Arg::new("write").long("write").action(ArgAction::SetTrue);
    Command::new("disk")
        .about("Examine a disk: its settings, read timings as in hdparm -tT, and its best rate per block size")
        .arg(dir)
        .arg(time.hide_env(true).help("Duration of each of the 12 read timings (the best rates take 1s each, or less)"))
        .arg(size.env("PLIMSOLL_FILE_SIZE").hide_env(true).help("Size of the temporary file (not of a device)"))
        .arg(write.help("Also measure random writes, on the same file"))
        .arg(flags::wait())
        .arg(flags::runs("Directory of run files; the best rates are kept there for later runs"))
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let mut site = flags::options(matches).site;
    let place = ReadPlace::at(&site.dir);
    if let ReadPlace::Device(_) = place {
        refuse_for_device(matches)?;
        site.dir = ".".into(); // nothing is made there
    }
    let plan = ceilings_plan(matches, &place, context)?;
    runner::check_abilities(&plan, &context.catalogue)?;
    let _held = runner::check_place(&plan, &site, &context.catalogue, &mut NotesOnly(context))?;
    host::safety::check_links(&site.runs)?;
    let stop = Arc::new(Stop::default());
    signals::listen(&stop)?;
    let facts = place.facts();
    let measured = match &place {
        ReadPlace::Directory(dir) => measure_directory(plan, dir, &stop, context),
        ReadPlace::Device(device) => measure_device(&plan, device, &stop, context),
    };
    if stop.reason() == Some(StopReason::Interrupted) {
        return Err(Fault::new(signals::exit(), place.interruption()));
    }
    let measured = measured?;
    ceilings::keep(&site.runs, &facts, &remembered(&measured), &mut NotesOnly(context));
    if context.json {
        output::json::print(&json(&facts, &measured))
    } else {
        output::print(&text(&facts, &measured, context.width()))
    }
    Ok(Exit::Done)
}

enum ReadPlace {
    /// A file that is made in this directory.
    Directory(PathBuf),
    Device(BlockDevice),
}

impl ReadPlace {
    fn at(path: &Path) -> ReadPlace {
        BlockDevice::at(path).map_or_else(|| ReadPlace::Directory(path.into()), ReadPlace::Device)
    }

    fn interruption(&self) -> &'static str {
        match self {
            ReadPlace::Directory(_) => "interrupted; the file was removed and no results were kept",
            ReadPlace::Device(_) => "interrupted; no results were kept",
        }
    }

    fn facts(&self) -> Vec<Fact> {
        match self {
            ReadPlace::Directory(dir) => {
                host::filesystem::find_mount(dir).map(|place| place.facts()).unwrap_or_default()
            }
            ReadPlace::Device(device) => device.facts(),
        }
    }
}

/// Refuses the flags that only a file has.
fn refuse_for_device(matches: &ArgMatches) -> Result<(), Fault> {
    let given = |name: &str| matches.value_source(name).is_some_and(|source| source != ValueSource::DefaultValue);
    match ["write", "file-size"].into_iter().find(|name| given(name)) {
        Some(name) => Err(Fault::usage(format!(
            "--{name} has no effect on a device, which is only read and read as a whole; leave it out, or name a directory"
        ))),
        None => Ok(()),
    }
}

/// The ceilings that could be measured, for comparison with later runs.
fn remembered(measured: &DiskMeasurements) -> Vec<store::ceilings::CeilingEntry> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let kernel = host::machine::kernel();
    let one = |ceiling: &MeasuredCeiling| {
        Some(store::ceilings::CeilingEntry {
            operation: operation(ceiling).into(),
            block_bytes: ceiling.block.0,
            depth: ceiling.depth,
            ops_per_s: ceiling.measured.as_ref().ok()?.ops_per_s(),
            measured_unix_ms: now.as_millis() as u64,
            kernel: kernel.clone(),
        })
    };
    measured.ceilings.iter().filter_map(one).collect()
}

/// All ceilings as trials on one data set, which is the file of the timings, too. Their time is still that of a timing.
fn ceilings_plan(matches: &ArgMatches, place: &ReadPlace, context: &Context) -> Result<Plan, Fault> {
    let given = |name| matches.get_one::<String>(name).expect("it has a default").as_str();
    let modes = if matches.get_flag("write") { &MODES[..] } else { &MODES[..1] };
    let keys = [
        ("engine", "file"),
        ("io", "uring"),
        ("direct", "true"),
        ("mode", &modes.join(",")),
        ("block", &BLOCKS.join(",")),
        ("depth", &DEPTHS.join(",")),
        ("time", given("time")),
        ("file_size", &size_of(place, given("file-size"))?),
    ];
    let keys = keys.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let mut plan = plan::from_flags("file", &Overrides::from_flags(keys.into()), 1.0, &context.catalogue)?;
    if plan.trials.len() != modes.len() * BLOCKS.len() * DEPTHS.len() {
        return Err(Fault::usage("--time and --file-size take one value each"));
    }
    match file_bytes(&plan.trials[0]) {
        size if size < REQUEST => {
            let text = format!("--file-size: `{size}` is smaller than one read ({REQUEST}); use a larger size");
            Err(Fault::usage(text))
        }
        _ => {
            if let ReadPlace::Device(device) = place {
                plan.trials.iter_mut().for_each(|trial| on_path(trial, device.path()));
            }
            Ok(plan)
        }
    }
}

/// The size that is read: `given` of a file, all whole MiB of a device.
fn size_of(place: &ReadPlace, given: &str) -> Result<String, Fault> {
    match place {
        ReadPlace::Directory(_) => Ok(given.to_owned()),
        ReadPlace::Device(device) => Ok(format!("{}MiB", device.size()?.0 >> 20)),
    }
}

fn file_bytes(trial: &Trial) -> Bytes {
    trial.workload.params.bytes("file_size")
}

fn time_of(trial: &Trial) -> Nanos {
    trial.phases.run
}

struct DiskMeasurements {
    /// Of the file or the device.
    size: Bytes,
    is_device: bool,
    timings: Vec<Repeats>,
    ceilings: Vec<MeasuredCeiling>,
}

/// One of the four timings, repeated.
struct Repeats {
    via: ReadPath,
    reads: TimedReads,
    /// Or why it cannot be taken here.
    timed: Result<Vec<DiskTiming>, Fault>,
}

struct MeasuredCeiling {
    mode: String,
    block: Bytes,
    depth: u32,
    /// Or why it cannot be measured here.
    measured: Result<PhaseTotals, Fault>,
}

/// Makes the file, reads it in every way, and removes it: the directory goes with its owner, however this ends.
fn measure_directory(
    mut plan: Plan,
    dir: &Path,
    stop: &Arc<Stop>,
    context: &Context,
) -> Result<DiskMeasurements, Fault> {
    let mut data = DataDir::create(dir, "disk", plan.trials[0].seed)?;
    let path = data.own_directory("disk")?.join("data");
    plan.trials.iter_mut().for_each(|trial| on_path(trial, &path));
    context.note(format!("writing a file of {} in `{}`", file_bytes(&plan.trials[0]), dir.display()));
    let measured = measure_path(&plan, &path, dir, stop, context)?;
    data.remove()?;
    Ok(measured)
}

/// Reads the device in every way.
fn measure_device(
    plan: &Plan,
    device: &BlockDevice,
    stop: &Arc<Stop>,
    context: &Context,
) -> Result<DiskMeasurements, Fault> {
    let measured = measure_path(plan, device.path(), Path::new("."), stop, context)?;
    Ok(DiskMeasurements { is_device: true, ..measured })
}

/// The timings take as long as the plan's trials ask for, and the best rates a second at most.
fn measure_path(
    plan: &Plan,
    path: &Path,
    dir: &Path,
    stop: &Arc<Stop>,
    context: &Context,
) -> Result<DiskMeasurements, Fault> {
    let (size, time) = (file_bytes(&plan.trials[0]), time_of(&plan.trials[0]));
    let all = REPEATS as usize * TIMINGS.len();
    let progress = ProgressLine::start((1 + all + plan.trials.len()) as u64, context);
    progress.step("making the file");
    let mut ad_hoc = AdHocRun::start(&plan.trials[0], dir, stop)?;
    progress.note(format!("timing reads: {all} runs of {time}"), context);
    let timings = timings(path, time, stop, &progress)?;
    let brief = plan.trials.iter().cloned().map(shorten).collect::<Vec<_>>();
    progress.note(format!("best rates: {} runs of {}", brief.len(), time_of(&brief[0])), context);
    let ceilings = brief
        .iter()
        .map(|trial| {
            progress.step(&format!("best rate, blocks of {}", trial.workload.params.bytes("block")));
            ceiling(&mut ad_hoc, trial)
        })
        .collect::<Result<_, _>>()?;
    ad_hoc.stop()?;
    Ok(DiskMeasurements { size, is_device: false, timings, ceilings })
}

fn on_path(trial: &mut Trial, path: &Path) {
    trial.target.path = Some(path.into());
}

fn shorten(mut trial: Trial) -> Trial {
    trial.phases.run = trial.phases.run.min(CEILING_TIME);
    trial
}

/// As `for i in 1 2 3; do hdparm --direct -tT; done` and the same without `--direct` take them: cached and disk in turn.
fn timings(path: &Path, time: Nanos, stop: &Stop, progress: &ProgressLine) -> Result<Vec<Repeats>, Fault> {
    let mut all: Vec<Repeats> = TIMINGS.map(|(via, reads)| Repeats { via, reads, timed: Ok(Vec::new()) }).into();
    for pair in all.chunks_mut(2) {
        for _ in 0..REPEATS {
            pair.iter_mut().try_for_each(|timing| {
                progress.step(timing.name());
                timing.repeat(path, time, stop)
            })?;
        }
    }
    Ok(all)
}

impl Repeats {
    /// Once more. What is not possible here is kept as such; a disk that fails ends everything.
    fn repeat(&mut self, path: &Path, time: Nanos, stop: &Stop) -> Result<(), Fault> {
        let Ok(timed) = &mut self.timed else { return Ok(()) };
        match possible(time_reads(path, self.via, self.reads, time, &|| stop.reason().is_some()).map_err(Fault::from))?
        {
            Ok(timing) => timed.push(timing),
            Err(fault) => self.timed = Err(fault),
        }
        match stop.reason() {
            Some(reason) => Err(RunnerError::Stopped(reason).into()),
            None => Ok(()),
        }
    }

    /// The words of hdparm.
    fn name(&self) -> &'static str {
        match (self.via, self.reads) {
            (ReadPath::Direct, TimedReads::Cached) => "O_DIRECT cached reads",
            (ReadPath::Direct, TimedReads::Disk) => "O_DIRECT disk reads",
            (ReadPath::Buffered, TimedReads::Cached) => "cached reads",
            (ReadPath::Buffered, TimedReads::Disk) => "buffered disk reads",
        }
    }

    /// What the data came through.
    fn layer(&self, is_device: bool) -> &'static str {
        match (self.via, self.reads, is_device) {
            (ReadPath::Direct, TimedReads::Cached, _) => "the cache in the disk, if it has one",
            (ReadPath::Direct, TimedReads::Disk, true) => "the disk",
            (ReadPath::Direct, TimedReads::Disk, false) => "the disk through the file system",
            (ReadPath::Buffered, TimedReads::Cached, _) => "the page cache",
            (ReadPath::Buffered, TimedReads::Disk, true) => "the disk through the page cache",
            (ReadPath::Buffered, TimedReads::Disk, false) => "the disk through the file system and its page cache",
        }
    }
}

fn ceiling(ad_hoc: &mut AdHocRun, trial: &Trial) -> Result<MeasuredCeiling, Fault> {
    let measured = possible(ad_hoc.measure(trial).map_err(Fault::from))?;
    let params = &trial.workload.params;
    Ok(MeasuredCeiling {
        mode: params.word("mode").into(),
        block: params.bytes("block"),
        depth: trial.load.depth,
        measured,
    })
}

/// Tells what cannot be done here, which the inner result keeps, from what went wrong.
fn possible<T>(measured: Result<T, Fault>) -> Result<Result<T, Fault>, Fault> {
    match measured {
        Err(fault) if fault.exit != Exit::Usage => Err(fault),
        here => Ok(here),
    }
}

/// What the timings and the best rates come to, a sentence for each that was taken.
fn answer(measured: &DiskMeasurements) -> String {
    let in_sequence = |via: ReadPath, reads: TimedReads| {
        let own = measured.timings.iter().find(|one| one.via == via && one.reads == reads)?;
        let mut all: Vec<f64> = own.timed.as_ref().ok()?.iter().map(DiskTiming::bytes_per_s).collect();
        all.sort_by(f64::total_cmp);
        Some(report::with_separators((all.get(all.len() / 2)? / f64::from(1u32 << 20)).round() as u64))
    };
    let deepest = measured.ceilings.iter().filter(|one| operation(one) == "read" && one.measured.is_ok());
    let at_random = deepest.min_by_key(|one| (one.block, std::cmp::Reverse(one.depth)));
    let mut text = String::new();
    if let Some(disk) = in_sequence(ReadPath::Direct, TimedReads::Disk) {
        let _ = writeln!(text, "In sequence the disk reads {disk} MiB/s past the page cache.");
    }
    if let Some((ceiling, sums)) = at_random.and_then(|one| Some((one, one.measured.as_ref().ok()?))) {
        let rate = report::with_separators(sums.ops_per_s().round() as u64);
        let _ = writeln!(
            text,
            "At random it reads {rate} blocks of {} per second, {} at a time.",
            ceiling.block, ceiling.depth
        );
    }
    if let Some(memory) = in_sequence(ReadPath::Buffered, TimedReads::Cached) {
        let _ = writeln!(text, "What is in the page cache is read at {memory} MiB/s.");
    }
    text
}

fn text(facts: &[Fact], measured: &DiskMeasurements, width: usize) -> String {
    let mut text = format!("{}\ndisk\n", answer(measured));
    facts.iter().for_each(|fact| text += &fact_lines(fact, width));
    let what = if measured.is_device { "the device" } else { "a file" };
    let _ =
        writeln!(text, "\nsequential reads of {what} of {}, printed as by hdparm -tT (MB: 2^20 bytes)", measured.size);
    measured.timings.iter().for_each(|timing| text += &timing_lines(timing));
    text += "what delivered:\n";
    for timing in &measured.timings {
        let _ = writeln!(text, "  {:22} {}", timing.name(), timing.layer(measured.is_device));
    }
    if !measured.is_device {
        text += "hdparm reads the device: `plimsoll disk DEVICE` does the same.\n";
    }
    text += "\nbest rates of random access: O_DIRECT, io_uring, 1 client (MB: 10^6 bytes)\n";
    let _ = writeln!(text, "  {:6} {:>8} {:>6} {:>12} {:>10} {:>10}", "", "block", "depth", "IOPS", "MB/s", "p99");
    measured.ceilings.iter().for_each(|ceiling| text += &ceiling_line(ceiling));
    if measured.is_device {
        text // runs are compared with the rates of a file system
    } else {
        text + "\nThe best rates are kept: later runs on this disk are compared with them.\n"
    }
}

/// Name and value; a list that is too long for the line goes on under itself.
fn fact_lines(fact: &Fact, width: usize) -> String {
    const INDENT: usize = 31;
    let mut lines = vec![String::new()];
    for item in fact.value.split_inclusive(',') {
        let line = lines.last_mut().expect("there is a first line");
        if INDENT + line.chars().count() + item.chars().count() > width && !line.is_empty() {
            lines.push(item.to_owned())
        } else {
            line.push_str(item)
        }
    }
    let value = lines.join(&format!("\n{:INDENT$}", ""));
    format!("  {:28} {value}\n", fact.name)
}

fn timing_lines(repeats: &Repeats) -> String {
    let doubt = |timing: &DiskTiming| timing.describe_doubt().map_or(String::new(), |doubt| format!("   ^ {doubt}\n"));
    match &repeats.timed {
        Err(fault) => format!(" Timing {}: not possible here: {}\n", repeats.name(), fault.text),
        Ok(timed) => timed.iter().map(|timing| hdparm_line(repeats.name(), timing) + &doubt(timing)).collect(),
    }
}

/// As hdparm 9.x prints it: MB are MiB, and below one a second they are kB, its KiB.
fn hdparm_line(name: &str, timing: &DiskTiming) -> String {
    let (mib, seconds) = (timing.bytes.0 >> 20, timing.took.as_secs_f64());
    let per_s = mib as f64 / seconds;
    let (rate, unit) = if per_s > 1.0 { (per_s, "MB") } else { (per_s * 1024.0, "kB") };
    let gap = if timing.reads == TimedReads::Cached { "   " } else { "  " };
    format!(" Timing {name}:{gap}{mib:3} MB in {seconds:5.2} seconds = {rate:6.2} {unit}/sec\n")
}

fn operation(ceiling: &MeasuredCeiling) -> &'static str {
    if ceiling.mode == "rndwr" { "write" } else { "read" }
}

fn ceiling_line(ceiling: &MeasuredCeiling) -> String {
    let mode = operation(ceiling);
    let head = format!("  {mode:6} {:>8} {:>6}", ceiling.block.to_string(), ceiling.depth);
    match &ceiling.measured {
        Err(fault) => format!("{head} not possible here: {}\n", fault.text),
        Ok(sums) => {
            let (mb_per_s, p99) = (three_digits(sums.bytes_per_s() / 1e6), Nanos(p99_ns(sums)).to_string());
            format!(
                "{head} {:>12} {mb_per_s:>10} {p99:>10}\n",
                report::with_separators(sums.ops_per_s().round() as u64)
            )
        }
    }
}

fn p99_ns(sums: &PhaseTotals) -> u64 {
    sums.service.value_at_quantile(0.99)
}

fn json(facts: &[Fact], measured: &DiskMeasurements) -> serde_json::Value {
    serde_json::json!({
        "schema": "plimsoll.disk/1", "facts": facts,
        "file_bytes": (!measured.is_device).then_some(measured.size.0),
        "device_bytes": measured.is_device.then_some(measured.size.0),
        "timings": measured.timings.iter().map(|one| timing_json(one, measured.is_device)).collect::<Vec<_>>(),
        "ceilings": measured.ceilings.iter().map(ceiling_json).collect::<Vec<_>>(),
    })
}

fn timing_json(repeats: &Repeats, is_device: bool) -> serde_json::Value {
    let one = |timing: &DiskTiming| {
        serde_json::json!({
            "bytes": timing.bytes.0, "seconds": timing.took.as_secs_f64(), "bytes_per_s": timing.bytes_per_s(),
            "hdparm_mib_per_s": timing.bytes_per_s() / (1u64 << 20) as f64,
            "from_disk_bytes": timing.from_disk.map(|bytes| bytes.0), "doubt": timing.describe_doubt(),
        })
    };
    let timed = repeats.timed.as_ref();
    serde_json::json!({
        "what": repeats.name(), "layer": repeats.layer(is_device), "direct": repeats.via == ReadPath::Direct, "cached": repeats.reads == TimedReads::Cached,
        "repeats": timed.map(|timed| timed.iter().map(one).collect::<Vec<_>>()).unwrap_or_default(),
        "error": timed.err().map(|fault| &fault.text),
    })
}

fn ceiling_json(ceiling: &MeasuredCeiling) -> serde_json::Value {
    let sums = ceiling.measured.as_ref();
    let error = sums.err().map(|fault| &fault.text);
    let sums = sums.ok();
    serde_json::json!({
        "mode": ceiling.mode, "block_bytes": ceiling.block.0, "depth": ceiling.depth, "io": "uring", "direct": true,
        "seconds": sums.map(PhaseTotals::seconds), "ops": sums.map(|sums| sums.ops), "ops_per_s": sums.map(PhaseTotals::ops_per_s),
        "bytes_per_s": sums.map(PhaseTotals::bytes_per_s), "cpu_ns_per_op": sums.map(PhaseTotals::cpu_ns_per_op),
        "service_ns": {"p99": sums.map(p99_ns), "max": sums.map(|sums| sums.service.max_ns())}, "error": error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(reads: TimedReads, via: ReadPath, mib: u64, took_ms: u64) -> DiskTiming {
        let bytes = Bytes::from_mib(mib);
        DiskTiming { reads, via, bytes, took: Nanos::from_millis(took_ms), from_disk: Some(bytes) }
    }

    fn repeats(timing: DiskTiming) -> Repeats {
        Repeats { via: timing.via, reads: timing.reads, timed: Ok(vec![timing]) }
    }

    #[test]
    fn the_answer_has_the_middle_timing_and_the_smallest_blocks_at_the_greatest_depth() {
        let timed = [900, 1_100, 1_000].map(|mib| timing(TimedReads::Disk, ReadPath::Direct, mib, 1_000)).to_vec();
        let timings = vec![Repeats { via: ReadPath::Direct, reads: TimedReads::Disk, timed: Ok(timed) }];
        let ceiling = |kib, depth, ops| {
            let sums = PhaseTotals { ops, took: Nanos::from_millis(500), ..PhaseTotals::default() };
            MeasuredCeiling { mode: "rndrd".into(), block: Bytes::from_kib(kib), depth, measured: Ok(sums) }
        };
        let ceilings = vec![ceiling(4, 1, 5_000), ceiling(4, 32, 20_000), ceiling(16, 32, 15_000)];
        let told = answer(&DiskMeasurements { size: Bytes::from_mib(16), is_device: false, timings, ceilings });
        let expected = [
            "In sequence the disk reads 1,000 MiB/s past the page cache.",
            "At random it reads 40,000 blocks of 4 KiB per second, 32 at a time.",
        ];
        assert_eq!(told.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn timings_are_printed_as_hdparm_prints_them() {
        let lines = [
            (
                timing(TimedReads::Cached, ReadPath::Direct, 2068, 2000),
                " Timing O_DIRECT cached reads:   2068 MB in  2.00 seconds = 1034.00 MB/sec\n",
            ),
            (
                timing(TimedReads::Disk, ReadPath::Direct, 2146, 3000),
                " Timing O_DIRECT disk reads:  2146 MB in  3.00 seconds = 715.33 MB/sec\n",
            ),
            (
                timing(TimedReads::Disk, ReadPath::Buffered, 2, 4000),
                " Timing buffered disk reads:    2 MB in  4.00 seconds = 512.00 kB/sec\n",
            ),
        ];
        for (timing, line) in lines {
            assert_eq!(timing_lines(&repeats(timing)), line);
        }
    }

    #[test]
    fn what_did_not_come_from_the_disk_is_said_under_its_number() {
        let elsewhere =
            DiskTiming { from_disk: Some(Bytes(0)), ..timing(TimedReads::Disk, ReadPath::Buffered, 100, 1000) };
        let lines = timing_lines(&repeats(elsewhere));
        assert_eq!(lines.lines().nth(1).unwrap(), "   ^ only 0 % of it came from the disk");
    }

    #[test]
    fn a_timing_that_cannot_be_taken_says_why_in_its_place() {
        let timed = Err(Fault::usage("`d` is on a file system without O_DIRECT"));
        let lines = timing_lines(&Repeats { via: ReadPath::Direct, reads: TimedReads::Disk, timed });
        assert_eq!(lines, " Timing O_DIRECT disk reads: not possible here: `d` is on a file system without O_DIRECT\n");
    }

    #[test]
    fn a_long_list_goes_on_under_itself_within_the_width() {
        let options = "rw,relatime,discard,resv_strict,resuid=65534,resgid=65534,errors=remount-ro";
        let lines = fact_lines(&Fact::new("filesystem.options", options), 80);
        assert!(lines.lines().count() == 2 && lines.lines().all(|line| line.len() <= 80), "{lines}");
        assert_eq!(lines.split_whitespace().skip(1).collect::<String>(), options);
    }

    #[test]
    fn a_ceiling_has_its_rates_and_its_p99_in_one_line_of_80_columns() {
        let mut sums =
            PhaseTotals { ops: 20_000, bytes: 20_000 * 4096, took: Nanos::from_millis(500), ..PhaseTotals::default() };
        sums.service.record_n(1_500_000, 100);
        let ceiling =
            MeasuredCeiling { mode: "rndwr".into(), block: Bytes::from_kib(4), depth: 32, measured: Ok(sums) };
        let line = ceiling_line(&ceiling);
        assert_eq!(line, "  write     4 KiB     32       40,000        164    1.50 ms\n");
        assert!(line.len() <= 80);
    }
}
