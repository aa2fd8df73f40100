//! A device with a known limit: what plimsoll says of it must be that limit, and its steps and drops where they were made.
//!
//! In: the device under the working directory, limited by `blkio` of cgroup v1 for plimsoll alone. Out: rates within 1 %,
//! findings at the right times. Limits: needs root and cgroup v1; elsewhere each test says so on stderr and passes there only.
//! Limits are enforced in slices of 100 ms, so that a stretch is off by up to one slice at either end.
//! The disk and the CPUs are everybody's, who can take away what a limit allows and can add nothing to it: so the limits are far
//! below what the disk can do, each attempt is judged whole, and the best of some is what counts.

use crate::lab::{Finished, Lab, is_so, one_of};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const BLKIO: &str = "/sys/fs/cgroup/blkio";

/// A cgroup of its own with a limit on the reads of one device; removed at the end.
struct Throttle {
    group: PathBuf,
    device: String,
}

impl Throttle {
    /// The cgroup for the device under `dir`; `None` where there cannot be one, which is said on stderr.
    fn on(dir: &Path, reads_per_s: u32) -> Option<Throttle> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("plimsoll-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let device = whole_disk_under(dir).or_else(|| skipped("no block device under the working directory"))?;
        let group = Path::new(BLKIO).join(name);
        if let Err(error) = fs::create_dir(&group) {
            return skipped(&format!("no cgroup in `{BLKIO}` ({error}): it takes root and cgroup v1 with blkio"));
        }
        let throttle = Throttle { group, device };
        match throttle.try_limit(reads_per_s) {
            Ok(()) => Some(throttle),
            Err(error) => skipped(&format!("device {} takes no limit: {error}", throttle.device)),
        }
    }

    fn try_limit(&self, reads_per_s: u32) -> std::io::Result<()> {
        let file = self.group.join("blkio.throttle.read_iops_device");
        fs::write(file, format!("{} {reads_per_s}", self.device))
    }

    /// From now on so many reads a second.
    fn limit(&self, reads_per_s: u32) {
        self.try_limit(reads_per_s).unwrap();
    }

    /// plimsoll in this cgroup from its first instruction on, not started yet.
    fn command(&self, lab: &Lab, arguments: &[&str]) -> Command {
        let plimsoll = lab.command(&[&["file", "--mode", "rndrd"], arguments, &["--json", "--no-report"]].concat());
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.group.join("cgroup.procs"));
        command.arg(plimsoll.get_program()).args(plimsoll.get_args()).current_dir(lab.path());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command
    }

    fn run(&self, lab: &Lab, arguments: &[&str]) -> Value {
        let finished: Finished = self.command(lab, arguments).output().unwrap().into();
        assert_eq!(finished.exit, 0, "{arguments:?}: {}", finished.stderr);
        finished.json()["points"][0].clone()
    }
}

impl Drop for Throttle {
    /// Nobody is in it any more: plimsoll has ended.
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.group);
    }
}

fn skipped<T>(why: &str) -> Option<T> {
    eprintln!("\n    SKIPPED, NOTHING WAS PROVEN: {why}\n");
    None
}

/// `major:minor` of the disk that holds `dir`, also where it is on a partition: limits are of whole disks.
fn whole_disk_under(dir: &Path) -> Option<String> {
    let device = rustix::fs::stat(dir).ok()?.st_dev;
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let own = Path::new("/sys/dev/block").join(number).canonicalize().ok()?;
    let disk = if own.join("partition").exists() { own.parent()?.to_owned() } else { own };
    Some(fs::read_to_string(disk.join("dev")).ok()?.trim().to_owned())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn finding<'a>(point: &'a Value, code: &str) -> Option<&'a Value> {
    point["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == code)
}

const DIRECT: &[&str] = &["--block", "16KiB", "--file-size", "64MiB", "--direct", "true"];

/// How often a test looks for what neighbours can hide.
const ATTEMPTS: usize = 4;

#[test]
fn a_limit_of_1000_reads_a_second_is_measured_to_one_percent_and_its_bursts_are_told() {
    let lab = Lab::new();
    let Some(throttle) = Throttle::on(lab.path(), 1_000) else { return };
    one_of(ATTEMPTS, || limited_to_1000(&throttle, &lab));
}

fn limited_to_1000(throttle: &Throttle, lab: &Lab) -> Result<(), String> {
    // The warmup uses up what the first slice allows beyond the rate. A slice allows 100 reads, so that there are intervals without
    // any even where the disk needs half of it for them.
    let load = ["--io", "uring", "--depth", "32", "--warmup", "1s", "--time", "12s", "--interval", "20ms"];
    let point = throttle.run(lab, &[DIRECT, &load].concat());
    let rate = number(&point["ops_per_s"]);
    assert!(rate <= 1_010.0, "{rate} reads a second at a limit of 1000");
    is_so(rate >= 990.0, || format!("{rate} reads a second at a limit of 1000"))?;
    let bursts = finding(&point, "bursts").ok_or_else(|| format!("no bursts were found: {}", point["findings"]))?;
    is_so(bursts["title"].as_str().unwrap().contains("one about every 1"), || bursts.to_string())?;
    let (p50, p99) = (number(&point["service_ns"]["p50"]), number(&point["service_ns"]["p99"]));
    is_so(p99 > 5.0 * p50, || format!("p50 ({p50} ns) is of the unlimited device, p99 ({p99} ns) of the limit"))?;
    // The queue of the device is everybody's: neighbours on the disk can fill it.
    let in_device = number(&point["achieved"]["device_under_way_mean"]);
    let told = finding(&point, "target-not-reached").is_some();
    assert_eq!(told, in_device < 16.0, "{in_device} of 32 in the device's queue: {}", point["findings"]);
    Ok(())
}

/// What the run file says of the time: milliseconds since 1970 at which the run began, and the run phase after it.
fn began_ms(lab: &Lab) -> f64 {
    let run = store::read(&lab.run_files()[0]).unwrap();
    let phase = run.points[0].phase(model::Phase::Run).unwrap();
    run.meta.started_unix_ms as f64 + phase.start.0 as f64 / 1e6
}

fn now_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1e3
}

#[test]
fn steps_and_a_drop_of_the_limit_are_found_to_an_interval_where_they_were_made() {
    one_of(ATTEMPTS, stepped);
}

fn stepped() -> Result<(), String> {
    const INTERVAL_S: f64 = 0.5;
    let lab = Lab::new();
    let Some(throttle) = Throttle::on(lab.path(), 1_500) else { return Ok(()) };
    let load = ["--io", "uring", "--depth", "32", "--warmup", "1s", "--time", "26s", "--interval", "500ms"];
    let mut child = throttle.command(&lab, &[DIRECT, &load].concat()).spawn().unwrap();
    lab.wait_for_load(&mut child, 0);
    // The real time of another process: there is nothing to fake. Seven seconds at 1500, seven at 500, seven at 1500, one at
    // 50, and the rest at 1500 again.
    let mut changes_ms = Vec::new();
    for (wait_s, limit) in [(6, 500), (7, 1_500), (7, 50), (1, 1_500)] {
        std::thread::sleep(Duration::from_secs(wait_s));
        throttle.limit(limit);
        changes_ms.push(now_ms());
    }
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    let began = began_ms(&lab);
    let made: Vec<f64> = changes_ms.iter().map(|at| (at - began) / 1e3).collect();
    let analysis = analysis::analyse(&store::read(&lab.run_files()[0]).unwrap());
    let shape = analysis.points[0].shape.as_ref().unwrap();
    let found: Vec<(f64, f64)> = shape.levels.iter().map(|level| (level.span.from_s, level.ops_per_s)).collect();
    is_so(found.len() == 3, || format!("three levels: {found:?}"))?;
    for ((from_s, rate), (made_s, limit)) in found.iter().zip([(0.0, 1_500.0), (made[0], 500.0), (made[1], 1_500.0)]) {
        is_so((from_s - made_s).abs() <= INTERVAL_S, || format!("made at {made_s} s, found at {from_s} s"))?;
        is_so((rate / limit - 1.0).abs() < 0.05, || format!("{rate}/s at a limit of {limit}/s"))?;
    }
    is_so(shape.stalls.len() == 1, || format!("{:?}", shape.stalls))?;
    let (stall, drop) = (shape.stalls[0].span, (made[2], made[3]));
    let is_near = (stall.from_s - drop.0).abs() <= INTERVAL_S && (stall.to_s - drop.1).abs() <= INTERVAL_S;
    is_so(is_near, || format!("{stall:?} {drop:?}"))?;
    let point = finished.json()["points"][0].clone();
    let shift = finding(&point, "level-shift").ok_or_else(|| point["findings"].to_string())?;
    assert_eq!(shift["detail"]["levels"].as_array().map(Vec::len), Some(3), "{shift}");
    Ok(())
}

#[test]
fn a_rate_that_the_device_cannot_give_is_offered_and_its_wait_is_in_the_response_times() {
    let lab = Lab::new();
    let Some(throttle) = Throttle::on(lab.path(), 2_000) else { return };
    for io in [["--io", "sync", "--clients", "8"], ["--io", "uring", "--depth", "32"]] {
        one_of(ATTEMPTS, || overloaded(&throttle, &lab, &io));
    }
}

fn overloaded(throttle: &Throttle, lab: &Lab, io: &[&str]) -> Result<(), String> {
    let load = ["--rate", "30000", "--arrivals", "poisson", "--warmup", "500ms", "--time", "3s"];
    let point = throttle.run(lab, &[DIRECT, io, &load].concat());
    let (offered, done) = (number(&point["offered_per_s"]), number(&point["ops_per_s"]));
    assert!(offered == 30_000.0 && done < 2_200.0, "{io:?}: {done} of {offered}");
    is_so(done >= 1_000.0, || format!("{io:?}: {done} of {offered}"))?;
    let unserved = number(&point["unserved"]);
    assert!(unserved > 3.0 * 25_000.0, "{io:?}: {unserved} unserved");
    // Who is served at the end waited since nearly the beginning: at 2000 of 30,000 the queue grows all the time.
    let (response, service) = (number(&point["response_ns"]["p99"]), number(&point["service_ns"]["p99"]));
    let is_seen = response > 1e9 && response > 3.0 * service;
    is_so(is_seen, || format!("{io:?}: response {response} ns, service {service} ns"))?;
    let is_told = finding(&point, "overload").is_some() && finding(&point, "target-not-reached").is_none();
    is_so(is_told, || point["findings"].to_string())
}
