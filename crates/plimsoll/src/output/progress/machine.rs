//! What the machine was used for since the last look: CPU time by owner, and the disk under the data.
//!
//! In: the sources of a point, whose process does the work of its engine, and the readings of each interval. Out: a [`MachineUse`].
//! Limits: an engine inside plimsoll counts as plimsoll. A server whose processes are not seen counts as another process.

use model::{CounterRole, CounterSample, EngineProcess, SourceDef, Tick};
use std::collections::HashMap;

/// How a machine was used between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MachineUse {
    /// Who used the CPUs; `None` if that was not read.
    pub cpu: Option<CpuUse>,
    /// What the disk did; `None` if none was observed.
    pub disk: Option<DiskUse>,
}

/// Shares of the time of all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuUse {
    /// The engine's own processes; `None` if it has none here.
    pub engine: Option<f64>,
    pub plimsoll: f64,
    /// Whether the engine works inside plimsoll's process.
    pub is_embedded: bool,
    pub others: f64,
    /// What the hypervisor gave to other machines.
    pub steal: f64,
    /// Idle, or waiting for I/O.
    pub idle: f64,
}

/// What the device under the data did per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskUse {
    pub reads_per_s: f64,
    pub writes_per_s: f64,
    pub read_bytes_per_s: f64,
    pub write_bytes_per_s: f64,
    /// The share of the time in which it had anything in flight.
    pub busy: f64,
}

/// Remembers the readings since the last look.
#[derive(Default)]
pub struct MachineMeter {
    process: EngineProcess,
    /// The counters that are of use: the source, the place in it, the role.
    counters: Vec<(u16, usize, CounterRole)>,
    /// Of each role the reading at the last look, and the newest.
    readings: HashMap<CounterRole, [(Tick, f64); 2]>,
}

impl MachineMeter {
    /// The meter of a point that reads `sources`, the work of whose engine is done in `process`.
    pub fn new(sources: &[SourceDef], process: EngineProcess) -> MachineMeter {
        let mut counters: Vec<(u16, usize, CounterRole)> = Vec::new();
        for (source, def) in (0..).zip(sources) {
            for (place, counter) in def.counters.iter().enumerate() {
                // A further disk, below a volume, is not the one under the data.
                let is_new = |role| counters.iter().all(|(_, _, known)| *known != role);
                counters.extend(counter.role.filter(|role| is_new(*role)).map(|role| (source, place, role)));
            }
        }
        MachineMeter { process, counters, readings: HashMap::new() }
    }

    /// Takes the readings of an interval.
    pub fn add(&mut self, samples: &[CounterSample]) {
        for sample in samples {
            for (_, place, role) in self.counters.iter().filter(|(source, _, _)| *source == sample.source) {
                let Some(value) = sample.values.get(*place).copied().flatten() else { continue };
                let reading = (sample.at, value);
                self.readings.entry(*role).or_insert([reading; 2])[1] = reading;
            }
        }
    }

    /// What was used since the last look; `None` if nothing was read since.
    pub fn take(&mut self) -> Option<MachineUse> {
        let used = MachineUse { cpu: self.cpu(), disk: self.disk() };
        self.readings.values_mut().for_each(|[first, last]| *first = *last);
        (used != MachineUse::default()).then_some(used)
    }

    fn grown(&self, role: CounterRole) -> Option<f64> {
        let [(from, first), (to, last)] = self.readings.get(&role)?;
        (to > from).then(|| (last - first).max(0.0))
    }

    fn per_s(&self, role: CounterRole) -> Option<f64> {
        let [(from, _), (to, _)] = self.readings.get(&role)?;
        Some(self.grown(role)? / to.since(*from).as_secs_f64())
    }

    /// The same account as that of the finding `foreign-cpu`: interrupts are work that belongs to none of the processes.
    fn cpu(&self) -> Option<CpuUse> {
        let of = |role| self.grown(role);
        let work = of(CounterRole::MachineCpuUser)? + of(CounterRole::MachineCpuSystem)?;
        let idle = of(CounterRole::MachineCpuIdle)? + of(CounterRole::MachineCpuIowait).unwrap_or(0.0);
        let steal = of(CounterRole::MachineCpuSteal).unwrap_or(0.0);
        let total = work + idle + steal + of(CounterRole::MachineCpuSoftirq).unwrap_or(0.0);
        let plimsoll = of(CounterRole::PlimsollCpu)?;
        let engine = match self.process {
            EngineProcess::Own => of(CounterRole::EngineCpuUser).zip(of(CounterRole::EngineCpuSystem)),
            _ => None,
        };
        let engine = engine.map(|(user, system)| user + system);
        let share = |ns: f64| (ns / total).clamp(0.0, 1.0);
        (total > 0.0).then(|| CpuUse {
            engine: engine.map(share),
            plimsoll: share(plimsoll),
            is_embedded: self.process == EngineProcess::Embedded,
            others: share(work - plimsoll - engine.unwrap_or(0.0)),
            steal: share(steal),
            idle: share(idle),
        })
    }

    fn disk(&self) -> Option<DiskUse> {
        Some(DiskUse {
            reads_per_s: self.per_s(CounterRole::DeviceReadOps)?,
            writes_per_s: self.per_s(CounterRole::DeviceWriteOps)?,
            read_bytes_per_s: self.per_s(CounterRole::DeviceReadBytes)?,
            write_bytes_per_s: self.per_s(CounterRole::DeviceWriteBytes)?,
            busy: (self.per_s(CounterRole::DeviceBusy)? / 1e9).min(1.0),
        })
    }
}

/// The best rates of the disk that are known: of random reads and writes, by block size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskCeilings {
    /// Bytes of a block, and reads per second, in the order of the blocks.
    pub reads: Vec<(f64, f64)>,
    /// The same of writes.
    pub writes: Vec<(f64, f64)>,
}

impl DiskCeilings {
    /// How much of what the disk can do `used` is: the time that its I/Os would take at the best rates. `None` if these are not known.
    pub fn share_of(&self, used: &DiskUse) -> Option<f64> {
        let reads = seconds_for(&self.reads, used.reads_per_s, used.read_bytes_per_s)?;
        let writes = seconds_for(&self.writes, used.writes_per_s, used.write_bytes_per_s)?;
        Some(reads + writes)
    }
}

/// How long a second's I/Os take at the best rates: a fixed time for each, and one for its bytes, as two measured blocks have them.
fn seconds_for(best: &[(f64, f64)], ops_per_s: f64, bytes_per_s: f64) -> Option<f64> {
    if ops_per_s <= 0.0 {
        return Some(0.0);
    }
    let (block, times) = (bytes_per_s / ops_per_s, best.iter().map(|(block, per_s)| (*block, 1.0 / per_s)));
    let times: Vec<(f64, f64)> = times.collect();
    let above = times.iter().position(|(known, _)| *known >= block);
    let each = match (above, times.as_slice()) {
        (_, []) => return None,
        (Some(0), [first, ..]) => first.1,
        (Some(nth), all) => {
            let ((low, fast), (high, slow)) = (all[nth - 1], all[nth]);
            fast + (slow - fast) * (block - low) / (high - low)
        }
        (None, [.., last]) => last.1 * block / last.0,
    };
    Some(each * ops_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{CounterDef, CounterKind};

    fn source(roles: &[CounterRole]) -> SourceDef {
        let counter = |role: &CounterRole| CounterDef {
            name: format!("{role:?}"),
            unit: "ns".into(),
            kind: CounterKind::Counter,
            help: String::new(),
            role: Some(*role),
            in_pages: false,
        };
        SourceDef { name: "s".into(), subject: "m".into(), counters: roles.iter().map(counter).collect() }
    }

    fn sample(second: u64, source: u16, values: &[f64]) -> CounterSample {
        let values = values.iter().map(|value| Some(*value)).collect();
        CounterSample { at: Tick(second * 1_000_000_000), source, values }
    }

    #[test]
    fn the_time_of_all_cpus_is_shared_out_by_owner() {
        use CounterRole::*;
        let machine = [MachineCpuUser, MachineCpuSystem, MachineCpuIdle, MachineCpuSteal, PlimsollCpu];
        let sources = [source(&machine), source(&[EngineCpuUser, EngineCpuSystem])];
        let mut meter = MachineMeter::new(&sources, EngineProcess::Own);
        meter.add(&[sample(1, 0, &[0.0; 5]), sample(1, 1, &[0.0; 2])]);
        assert_eq!(meter.take(), None, "one reading is no difference");
        meter.add(&[sample(2, 0, &[10.0, 2.0, 6.0, 2.0, 3.0]), sample(2, 1, &[6.0, 1.0])]);
        let cpu = meter.take().unwrap().cpu.unwrap();
        let expected =
            CpuUse { engine: Some(0.35), plimsoll: 0.15, is_embedded: false, others: 0.1, steal: 0.1, idle: 0.3 };
        assert_eq!(cpu, expected);
        assert_eq!(meter.take(), None, "nothing was read since");
    }

    #[test]
    fn of_several_disks_the_first_is_the_one_under_the_data() {
        use CounterRole::*;
        let disk = [DeviceReadOps, DeviceWriteOps, DeviceReadBytes, DeviceWriteBytes, DeviceBusy];
        let mut meter = MachineMeter::new(&[source(&disk), source(&disk)], EngineProcess::None);
        meter.add(&[sample(1, 0, &[0.0; 5]), sample(1, 1, &[0.0; 5])]);
        meter.add(&[sample(3, 0, &[20.0, 0.0, 8192.0, 0.0, 1e9]), sample(3, 1, &[9e9; 5])]);
        let disk = meter.take().unwrap().disk.unwrap();
        assert_eq!((disk.reads_per_s, disk.read_bytes_per_s, disk.busy), (10.0, 4096.0, 0.5));
    }

    #[test]
    fn the_share_of_a_disk_is_the_time_of_its_io_at_the_best_rates() {
        let known = DiskCeilings { reads: vec![(4096.0, 1000.0), (16384.0, 500.0)], writes: Vec::new() };
        let reads = |per_s: f64, block: f64| DiskUse {
            reads_per_s: per_s,
            read_bytes_per_s: per_s * block,
            ..DiskUse::default()
        };
        let shares = [(500.0, 4096.0), (500.0, 512.0), (250.0, 16384.0), (100.0, 10240.0), (100.0, 32768.0)];
        let shares = shares.map(|(per_s, block)| known.share_of(&reads(per_s, block)).unwrap());
        let expected = [0.5, 0.5, 0.5, 0.15, 0.4];
        assert!(shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 1e-9), "{shares:?}");
        assert_eq!(
            known.share_of(&DiskUse { writes_per_s: 1.0, ..DiskUse::default() }),
            None,
            "no writes were measured"
        );
    }
}
