//! `plimsoll record-io --device DEV|--pid PID --time 30s --out FILE`: records block requests, for `plimsoll replay`.
//!
//! In: a device or a process. Out: a file with the kernel's trace of its requests, and the figures of it. Limits: root, by tracefs
//! (`host::privileged::block_trace`). Of a process only what its own threads ask for is seen: what the kernel writes for it later (the page cache, the
//! journal of the file system) is in a recording of the device.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::{output, signals};
use clap::{Arg, ArgGroup, ArgMatches, Command, value_parser};
use host::deadline::Deadline;
use host::error::{IoContext, shown};
use host::privileged::block_trace::{BlockTrace, TracedDevice, TracedRequests, is_on};
use load::Stop;
use model::{Bytes, Nanos, RecordedWork};
use report::with_separators;
use serde_json::json;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use workload::replay::{Placement, Recording};

/// How often the trace is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often what was recorded goes to its file: a kill takes no more than the last of it.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

pub fn clap() -> Command {
    let device = Arg::new("device").long("device").value_name("DEVICE").value_parser(value_parser!(PathBuf));
    let pid = Arg::new("pid").long("pid").value_name("PID").value_parser(value_parser!(u32).range(1..));
    let time = Arg::new("time").long("time").value_name("TIME").default_value("30s");
    let out = Arg::new("out").long("out").short('o').value_name("FILE").required(true);
    Command::new("record-io")
        .about("Record the requests to a disk, or those of a process, for `plimsoll replay`; needs root")
        .arg(device.help("Block device whose requests are recorded: a disk or a partition of it"))
        .arg(pid.help("Process whose threads' requests are recorded, on all devices"))
        .group(ArgGroup::new("what").args(["device", "pid"]).required(true))
        .arg(time.help("How long to record; Ctrl-C ends it earlier and keeps what was recorded"))
        .arg(out.value_parser(value_parser!(PathBuf)).help("File for the recording, which must not exist yet"))
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let path = matches.get_one::<PathBuf>("out").expect("it is required");
    let time = plan::run_time(matches.get_one::<String>("time").expect("it has a default"))?;
    host::safety::check_links(path)?;
    let requests = match matches.get_one::<PathBuf>("device") {
        Some(device) => TracedRequests::Device(TracedDevice::at(device)?),
        None => TracedRequests::Process(*matches.get_one::<u32>("pid").expect("one of the two is required")),
    };
    host::privileged::undo_abandoned().iter().for_each(|line| context.note(line));
    let stop = Arc::new(Stop::default());
    signals::listen(&stop)?;
    let trace = BlockTrace::start(&requests)?;
    let file = File::create_new(path).trying("create", path)?;
    if let TracedRequests::Device(device) = &requests
        && is_on(path, device)
    {
        output::say(format_args!(
            "note: `{}` is on the recorded disk, so the writing of it is in the recording, too",
            shown(path)
        ));
    }
    if let Err(error) = record(trace, file, time, &requests, &stop) {
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    let shown_figures = show(path, context)?;
    match &requests {
        TracedRequests::Device(device) if !device.is_there() => Err(Fault::of_target(format!(
            "the device has gone while it was recorded; what was recorded until then is in `{}`",
            shown(path)
        ))),
        _ => Ok(shown_figures),
    }
}

/// Records until `time` is over, the process is gone, or the user asks for the end.
fn record(mut trace: BlockTrace, file: File, time: Nanos, requests: &TracedRequests, stop: &Stop) -> Result<(), Fault> {
    let failed = |error: std::io::Error| {
        Fault::new(Exit::TargetFailed, format!("cannot write the recording: {}", model::system_words(&error)))
    };
    let mut out = BufWriter::with_capacity(1 << 20, file);
    // The name of a tracer is what a trace begins with when it is read as a whole.
    writeln!(out, "# tracer: nop\n# recorded by plimsoll {}", env!("CARGO_PKG_VERSION")).map_err(failed)?;
    let end = Deadline::after(Duration::from_nanos(time.0));
    let mut flushed = Instant::now();
    while stop.reason().is_none() && is_there(requests) {
        let Ok(left) = end.time_left() else { break };
        trace.take(left.min(LOOK_EVERY), &mut out)?;
        if flushed.elapsed() >= FLUSH_EVERY {
            out.flush().map_err(failed)?;
            flushed = Instant::now();
        }
        std::thread::sleep(left.min(LOOK_EVERY));
    }
    trace.end();
    trace.take(Duration::ZERO, &mut out)?;
    out.flush().map_err(failed)
}

fn is_there(requests: &TracedRequests) -> bool {
    match requests {
        TracedRequests::Device(device) => device.is_there(),
        TracedRequests::Process(pid) => Path::new(&format!("/proc/{pid}")).exists(),
    }
}

/// Reads the recording again, as a replay will, and shows its figures.
fn show(path: &Path, context: &Context) -> Result<Exit, Fault> {
    let file = model::open_regular(path).trying("open", path)?;
    let recording = match Recording::from_text(BufReader::new(file), None) {
        Ok(recording) => recording,
        // Of several devices one is chosen when it is replayed.
        Err(error) if error.line.is_none() => {
            output::say(format_args!("note: `{}`: {error}", shown(path)));
            return Ok(Exit::Done);
        }
        Err(error) => return Err(Fault::new(Exit::Internal, format!("`{}`, {error}", shown(path)))),
    };
    let work = recording.figures(Placement::Packed);
    if context.json {
        output::json::print(&json!({
            "schema": "plimsoll.record-io/1", "file": path, "requests": recording.len(), "length_ns": recording.length().0,
            "device": work.device, "reads": work.reads, "writes": work.writes, "fua_writes": work.fua_writes,
            "flushes": work.flushes, "read_bytes": work.read_bytes.0, "written_bytes": work.written_bytes.0,
            "discards": work.discards, "events_lost": work.lost, "data_bytes": work.data.0,
        }))
    } else {
        output::print(&text(path, recording.len(), recording.length(), &work))
    }
    Ok(Exit::Done)
}

fn text(path: &Path, requests: u64, length: Nanos, work: &RecordedWork) -> String {
    let count = |number: u64| with_separators(number);
    let mut text = format!(
        "{} requests to device {} in {length}: {} reads ({}), {} writes ({}), {} flushes\n",
        count(requests),
        work.device,
        count(work.reads),
        work.read_bytes,
        count(work.writes),
        work.written_bytes,
        count(work.flushes),
    );
    if work.lost > 0 {
        text += &format!("The kernel lost {} events: the disk was faster than they could be read.\n", count(work.lost));
    }
    let replay = format!("plimsoll replay {} --dir DIR", output::shell_word(&output::shown(path)));
    text + &format!("A replay needs a file of {}: {replay}\n", Bytes(work.data.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_replays_can_be_pasted() {
        let told = text(Path::new("my traces/a.trace"), 1, Nanos::from_secs(1), &RecordedWork::default());
        assert!(told.ends_with("plimsoll replay 'my traces/a.trace' --dir DIR\n"), "{told}");
    }
}
