//! `power`: the energy that CPUs and memory used, by the counters of the processor (RAPL).
//!
//! In: `/sys/class/powercap/intel-rapl:*/energy_uj`: of each package, and of the memory behind it if that has a counter of its own. Out:
//! joules since the source was opened. Limits: of the machine, without disks, fans and losses of the power supply. AMD's processors are
//! found under the same names. Most kernels let only root read them; virtual machines have none.

use crate::proc_file::{ProcFile, counter};
use crate::{CounterSource, SamplingSubject, SourceEntry, SourceMissing};
use model::{CounterRole, SourceDef};
use std::path::{Path, PathBuf};

/// Its entry in [`super::SOURCES`].
pub const ENTRY: SourceEntry =
    SourceEntry { name: "power", help: "energy of CPUs and memory, as the processor counts it", open };

const ZONES: &str = "/sys/class/powercap";
const MICRO: f64 = 1e-6;

fn open(_subject: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    open_at(Path::new(ZONES)).map(|source| Box::new(source) as Box<dyn CounterSource>)
}

fn open_at(zones: &Path) -> Result<PowerSource, SourceMissing> {
    let listed = std::fs::read_dir(zones).map_err(|error| SourceMissing::unreadable(zones, error))?;
    let mut dirs: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).filter(|dir| is_counted(dir)).collect();
    dirs.sort();
    if dirs.is_empty() {
        return Err(SourceMissing::unknown(zones, "intel-rapl:0"));
    }
    Ok(PowerSource { zones: dirs.iter().map(|dir| EnergyZone::open(dir)).collect::<Result<_, _>>()? })
}

/// Whether the zone in `dir` is a package, or memory: what it holds else, cores and graphics, is in the package already. A zone may be listed
/// twice, by its MSR and its MMIO interface, of which the second is left out.
fn is_counted(dir: &Path) -> bool {
    let zone = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = std::fs::read_to_string(dir.join("name")).unwrap_or_default();
    zone.starts_with("intel-rapl:") && (name.starts_with("package") || name.trim() == "dram")
}

struct PowerSource {
    zones: Vec<EnergyZone>,
}

impl CounterSource for PowerSource {
    fn describe(&self) -> SourceDef {
        let help = "energy of CPU packages, and of memory if it is counted apart";
        let counters = vec![counter("energy_joules", "J", help).read_as(CounterRole::MachineEnergy)];
        SourceDef { name: ENTRY.name.into(), subject: "machine".into(), counters }
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        // One zone that cannot be read makes the sum a gap: without it the sum would go down.
        vec![self.zones.iter_mut().map(EnergyZone::read_joules).sum()]
    }
}

/// A zone whose counter begins again from 0 when it is full, every few minutes under load.
struct EnergyZone {
    file: ProcFile,
    range_uj: u64,
    last_uj: u64,
    grown_uj: u64,
}

impl EnergyZone {
    fn open(dir: &Path) -> Result<EnergyZone, SourceMissing> {
        let mut range = ProcFile::open(dir.join("max_energy_range_uj"))?;
        let mut file = ProcFile::open(dir.join("energy_uj"))?;
        let range_uj = read_number(&mut range).ok_or_else(|| SourceMissing::unknown(range.path(), "a number"))?;
        let last_uj = read_number(&mut file).ok_or_else(|| SourceMissing::unknown(file.path(), "a number"))?;
        Ok(EnergyZone { file, range_uj, last_uj, grown_uj: 0 })
    }

    fn read_joules(&mut self) -> Option<f64> {
        let now_uj = read_number(&mut self.file)?;
        self.grown_uj += growth(self.last_uj, now_uj, self.range_uj);
        self.last_uj = now_uj;
        Some(self.grown_uj as f64 * MICRO)
    }
}

fn read_number(file: &mut ProcFile) -> Option<u64> {
    file.read_text().ok()?.trim().parse().ok()
}

/// How far a counter of this range grew from `last` to `now`, if it began again at most once.
fn growth(last: u64, now: u64, range: u64) -> u64 {
    if now >= last { now - last } else { range.saturating_sub(last) + now }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the zones of one machine, as `(zone, name, energy_uj, max_energy_range_uj)`.
    fn machine(zones: &[(&str, &str, &str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        for (zone, name, energy, range) in zones {
            let dir = root.path().join(zone);
            std::fs::create_dir(&dir).expect("a zone");
            for (file, text) in [("name", name), ("energy_uj", energy), ("max_energy_range_uj", range)] {
                std::fs::write(dir.join(file), format!("{text}\n")).expect("a file");
            }
        }
        root
    }

    /// A server with two sockets under Linux 6.8, with memory counted apart, and the form of these files under 3.13, which had no MMIO.
    const XEON_6_8: &[(&str, &str, &str, &str)] = &[
        ("intel-rapl:0", "package-0", "112233445566", "262143328850"),
        ("intel-rapl:0:0", "dram", "9988776655", "65712999613"),
        ("intel-rapl:1", "package-1", "262143000000", "262143328850"),
        ("intel-rapl:1:0", "dram", "8877665544", "65712999613"),
        ("intel-rapl-mmio:0", "package-0", "112233440000", "262143328850"),
    ];
    const LAPTOP_3_13: &[(&str, &str, &str, &str)] = &[
        ("intel-rapl:0", "package-0", "5000000", "65532610987"),
        ("intel-rapl:0:0", "core", "3000000", "65532610987"),
        ("intel-rapl:0:1", "uncore", "200000", "65532610987"),
    ];

    fn set(root: &tempfile::TempDir, zone: &str, energy: &str) {
        std::fs::write(root.path().join(zone).join("energy_uj"), energy).expect("a zone of the machine");
    }

    #[test]
    fn packages_and_memory_are_summed_and_a_counter_that_begins_again_goes_on() {
        let root = machine(XEON_6_8);
        let mut source = open_at(root.path()).expect("it has zones");
        assert_eq!((source.zones.len(), source.read()), (4, vec![Some(0.0)]));
        set(&root, "intel-rapl:0", "112243445566");
        set(&root, "intel-rapl:1", "671150");
        // 10 J of the first package, 1 J of the second, whose counter was full after 0.32885 J.
        assert!((source.read()[0].unwrap() - 11.0).abs() < 1e-6);
    }

    #[test]
    fn cores_are_in_their_package() {
        let root = machine(LAPTOP_3_13);
        let mut source = open_at(root.path()).expect("it has a package");
        set(&root, "intel-rapl:0:0", "4000000");
        set(&root, "intel-rapl:0", "6500000");
        assert_eq!(source.read(), [Some(1.5)]);
    }

    #[test]
    fn a_counter_that_cannot_be_read_is_a_gap() {
        let root = machine(LAPTOP_3_13);
        let mut source = open_at(root.path()).expect("it has a package");
        set(&root, "intel-rapl:0", "?");
        assert_eq!(source.read(), [None]);
    }

    #[test]
    fn a_machine_without_counters_is_named() {
        let root = machine(&[]);
        let missing = open_at(root.path()).err().expect("there is nothing").to_string();
        assert!(missing.contains("intel-rapl:0"), "{missing}");
        assert!(open_at(&root.path().join("none")).is_err());
    }
}
