//! The machine as a list of facts: what must be alike for two runs to be compared.
//!
//! In: `/proc`, `/sys`, `/etc/os-release`. Out: [`Fact`]s with dotted lower-case names.
//! Limits: Linux. What this machine does not report is left out, or `unknown` if its absence means nothing. Nothing that names
//! the machine or its owner is recorded: no host name, no serial number, no address.

use crate::allocator::{self, Allocator};
use crate::cpu::{CpuTopology, usable_cpus};
use crate::privileged::cgroup;
use crate::privileged::system_change;
use crate::text_file::text_of;
use model::{Bytes, Fact, MachineSetup, Switch};
use std::path::Path;

/// What is known of this machine, its kernel, and this build of plimsoll.
pub fn facts() -> Vec<Fact> {
    let cpuinfo = text_of("/proc/cpuinfo").unwrap_or_default();
    let meminfo = text_of("/proc/meminfo").unwrap_or_default();
    let found = [
        ("kernel.release", text_of("/proc/sys/kernel/osrelease")),
        ("os", text_of("/etc/os-release").or_else(|| text_of("/usr/lib/os-release")).and_then(|text| os_name(&text))),
        ("cpu.model", cpu_model(&cpuinfo)),
        ("cpu.arch", Some(std::env::consts::ARCH.to_owned())),
        (
            "cpu.count",
            text_of("/sys/devices/system/cpu/online").and_then(|list| count_of(&list)).map(|n| n.to_string()),
        ),
        ("cpu.usable", Some(usable_cpus().to_string())),
        ("cpu.smt", text_of("/sys/devices/system/cpu/smt/active").map(|active| yes_or_no(active == "1").to_owned())),
        ("cpu.turbo", turbo().map(|turbo| yes_or_no(turbo == Switch::On).to_owned())),
        ("cpu.governor", Some(cpu_governors())),
        ("cpu.frequency", Some(frequency_source(&cpuinfo).to_owned())),
        (
            "cgroup.cpu_quota",
            Some(cgroup::cpu_quota().map_or_else(|| "none".to_owned(), |quota| quota.cpus.to_string())),
        ),
        ("machine.virtualised", is_virtualised(&cpuinfo).map(str::to_owned)),
        ("memory.total_bytes", bytes_after(&meminfo, "MemTotal:").map(|bytes| bytes.0.to_string())),
        ("memory.swap_bytes", bytes_after(&meminfo, "SwapTotal:").map(|bytes| bytes.0.to_string())),
        ("clock.source", text_of("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        ("plimsoll.build", Some(if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned())),
        ("plimsoll.allocator", own_allocator()),
    ];
    let found = found.into_iter().filter_map(|(name, value)| Some(Fact::new(name, value?)));
    found.chain(CpuTopology::read().facts()).chain(kernel_settings()).collect()
}

/// The allocator of plimsoll. The static program has one of its own, which is not seen as a library.
fn own_allocator() -> Option<String> {
    if cfg!(target_env = "musl") {
        Some("mimalloc (built in)".to_owned())
    } else {
        Allocator::loaded_in(std::process::id()).as_ref().map(allocator::describe)
    }
}

/// Whether turbo is on; `None` if the machine does not show it.
fn turbo() -> Option<Switch> {
    system_change::effective_setup(&MachineSetup::default(), &[]).turbo
}

/// The memory that can be taken without swapping, as the kernel estimates it.
pub fn memory_available() -> Option<Bytes> {
    bytes_after(&text_of("/proc/meminfo")?, "MemAvailable:")
}

/// Settings of the kernel by which the same benchmark gives other numbers, without a restart or a trace elsewhere.
const SYSCTLS: &[&str] = &[
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.overcommit_memory",
    "vm.swappiness",
    "vm.zone_reclaim_mode",
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
];

/// Facts `kernel.vm.dirty_ratio` and so on. A setting that this kernel lacks is left out.
fn kernel_settings() -> impl Iterator<Item = Fact> {
    let sysctls = SYSCTLS.iter().filter_map(|name| {
        let value = text_of(format!("/proc/sys/{}", name.replace('.', "/")))?;
        Some(Fact::new(format!("kernel.{}", name.trim_start_matches("kernel.")), value))
    });
    let huge_pages = text_of("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|text| chosen_word(&text));
    let huge_pages = huge_pages.map(|word| Fact::new("kernel.transparent_hugepage", word));
    sysctls.chain(huge_pages).chain(boot_parameters())
}

/// Parameters of the kernel's command line that change how fast a machine is; a name that ends with `.` stands for all that begin so. Others,
/// which name disks, consoles and addresses, are not recorded (<https://docs.kernel.org/admin-guide/kernel-parameters.html>).
const BOOT_PARAMETERS: &str = "\
    amd_iommu amd_pstate apparmor audit clocksource cpufreq. cpuidle. debug_pagealloc default_hugepagesz \
    elevator hugepages hugepagesz idle init_on_alloc init_on_free intel_idle. intel_iommu intel_pstate \
    iommu irqaffinity isolcpus kpti l1tf maxcpus mds mem mitigations nohz nohz_full nopti noretpoline \
    nosmt nospectre_v1 nospectre_v2 nr_cpus numa numa_balancing nvme. nvme_core. page_poison pcie_aspm \
    preempt processor. pti rcu_nocbs retbleed scsi_mod. selinux skew_tick slub_debug \
    spec_store_bypass_disable spectre_v2 srbds threadirqs transparent_hugepage tsc tsx tsx_async_abort \
    workqueue.";

/// The fact `kernel.parameters`; `none` if the kernel was started without any that changes its speed.
fn boot_parameters() -> Option<Fact> {
    let line = text_of("/proc/cmdline")?;
    // What is behind `--` is of the first process.
    let words = line.split_whitespace().take_while(|word| *word != "--");
    let kept: Vec<&str> = words.filter(|word| changes_speed(word)).collect();
    Some(Fact::new("kernel.parameters", if kept.is_empty() { "none".to_owned() } else { kept.join(" ") }))
}

fn changes_speed(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    BOOT_PARAMETERS.split_whitespace().any(|known| known == name || known.ends_with('.') && name.starts_with(known))
}

/// `madvise` of `always [madvise] never`.
fn chosen_word(choices: &str) -> Option<String> {
    let chosen = choices.split_ascii_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    chosen.map(str::to_owned)
}

/// The release of the kernel that runs.
pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// A truth as a fact's value.
pub fn yes_or_no(truth: bool) -> &'static str {
    if truth { "yes" } else { "no" }
}

/// The name that the distribution gives itself for people.
fn os_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches(['"', '\'']).to_owned())
}

/// The model of the first CPU. Only x86 and a few others have it in words; ARM has numbers of implementer and part.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let words = ["model name", "Model Name", "cpu model", "cpu"].iter().find_map(|key| value_after(cpuinfo, key));
    words.map(str::to_owned).or_else(|| {
        let (implementer, part) = (value_after(cpuinfo, "CPU implementer")?, value_after(cpuinfo, "CPU part")?);
        Some(format!("implementer {implementer} part {part}"))
    })
}

/// The text behind `key` and a colon in the first line that begins with them.
fn value_after<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    let mut values = cpuinfo.lines().filter_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':'));
    values.next().map(str::trim).filter(|value| !value.is_empty())
}

/// Whether the frequency that the kernel shows is what the CPU runs at. Without a driver (`cpufreq`) and without the counters for it
/// (`aperfmperf`, the flag of x86), as in most virtual machines, it is the nominal one, which never changes.
fn frequency_source(cpuinfo: &str) -> &'static str {
    let is_governed = Path::new("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq").exists();
    let is_counted = value_after(cpuinfo, "flags")
        .is_some_and(|flags| flags.split_ascii_whitespace().any(|flag| flag == "aperfmperf"));
    if is_governed || is_counted { "measured" } else { "nominal" }
}

/// Whether the CPU reports that it runs under a hypervisor. Only x86 has such a flag: elsewhere its absence means nothing.
fn is_virtualised(cpuinfo: &str) -> Option<&'static str> {
    let flags = value_after(cpuinfo, "flags")?;
    Some(yes_or_no(flags.split_ascii_whitespace().any(|flag| flag == "hypervisor")))
}

/// How many CPUs a list such as `0-3,8` names.
fn count_of(list: &str) -> Option<u64> {
    list.split(',').map(range_length).sum()
}

/// The numbers of `4` or `0-3`.
fn range_length(range: &str) -> Option<u64> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    Some(last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)? + 1)
}

/// The memory of this machine; `None` if the kernel does not show it.
pub fn memory_bytes() -> Option<Bytes> {
    bytes_after(&text_of("/proc/meminfo")?, "MemTotal:")
}

/// The bytes behind `key` in `/proc/meminfo`, whose kB are KiB.
pub(crate) fn bytes_after(meminfo: &str, key: &str) -> Option<Bytes> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Bytes(kib << 10))
}

/// The frequency governors of all CPUs, each once. Virtual machines have none.
pub(crate) fn cpu_governors() -> String {
    let cpus = std::fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let mut governors: Vec<String> =
        cpus.filter_map(|cpu| text_of(cpu.path().join("cpufreq/scaling_governor"))).collect();
    governors.sort_unstable();
    // Cores of different kinds may have different governors, and all of them are named.
    governors.dedup();
    if governors.is_empty() { "unknown".into() } else { governors.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO_X86: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n\
                               cpu MHz\t\t: 2445.426\ncpu cores\t: 2\nflags\t\t: fpu vme x2apic hypervisor lahf_lm\n";
    const CPUINFO_ARM: &str = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd evtstrm aes\n\
                               CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n";

    #[test]
    fn the_cpu_is_named_in_words_or_else_in_numbers() {
        assert_eq!(cpu_model(CPUINFO_X86).unwrap(), "AMD EPYC");
        assert_eq!(cpu_model(CPUINFO_ARM).unwrap(), "implementer 0x41 part 0xd0c");
        assert_eq!(cpu_model("processor: 0\n"), None);
    }

    #[test]
    fn a_hypervisor_is_seen_by_its_flag_and_unknown_without_flags() {
        assert_eq!(is_virtualised(CPUINFO_X86), Some("yes"));
        assert_eq!(is_virtualised(&CPUINFO_X86.replace("hypervisor", "hypervisors")), Some("no"));
        assert_eq!(is_virtualised(CPUINFO_ARM), None);
    }

    #[test]
    fn a_parameter_of_the_kernel_that_changes_its_speed_is_kept_and_no_address() {
        let words = ["mitigations=off", "nvme.poll_queues=4", "root=/dev/sda1", "ip=10.0.0.1", "nosmt", "memtest=1"];
        assert_eq!(words.map(changes_speed), [true, true, false, false, true, false]);
        assert!(boot_parameters().is_some_and(|fact| !fact.value.contains("console")));
    }

    #[test]
    fn settings_of_the_kernel_are_facts_and_the_chosen_word_is_in_brackets() {
        let found: Vec<Fact> = kernel_settings().collect();
        let ratio = found.iter().find(|fact| fact.name == "kernel.vm.dirty_ratio").expect("every kernel has it");
        assert!(ratio.value.parse::<u8>().is_ok(), "{ratio:?}");
        assert_eq!(chosen_word("always [madvise] never"), Some("madvise".to_owned()));
        assert_eq!(chosen_word("always"), None);
    }

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(["0", "0-1", "0-3,8", "0,2,4-7"].map(count_of), [Some(1), Some(2), Some(5), Some(6)]);
        assert_eq!(["", "x", "3-1"].map(count_of), [None, None, None]);
    }

    #[test]
    fn the_distribution_gives_its_name_with_and_without_quotes() {
        assert_eq!(
            os_name("NAME=\"x\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n").unwrap(),
            "Debian GNU/Linux 12 (bookworm)"
        );
        assert_eq!(os_name("ID=alpine\nPRETTY_NAME=Alpine\n").unwrap(), "Alpine");
        assert_eq!(os_name("ID=none\n"), None);
    }

    #[test]
    fn memory_is_in_bytes() {
        let meminfo = "MemTotal:       24684092 kB\nSwapTotal:             0 kB\n";
        assert_eq!(bytes_after(meminfo, "MemTotal:"), Some(Bytes(24_684_092 << 10)));
        assert_eq!(bytes_after(meminfo, "SwapTotal:"), Some(Bytes(0)));
    }

    #[test]
    fn this_machine_tells_what_two_runs_need_to_have_in_common() {
        let facts = facts();
        let value = |name: &str| facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone());
        assert!(value("kernel.release").unwrap().contains('.'));
        assert!(value("cpu.count").unwrap().parse::<u64>().unwrap() >= 1);
        assert!(value("memory.total_bytes").unwrap().parse::<u64>().unwrap() > 1 << 26);
        assert_eq!(value("plimsoll.build").unwrap(), "debug");
        assert!(facts.iter().all(|fact| !fact.value.is_empty() && !fact.value.contains('\n')), "{facts:?}");
    }

    #[test]
    fn the_host_is_not_named() {
        let host = text_of("/proc/sys/kernel/hostname").unwrap();
        assert!(facts().iter().all(|fact| !fact.name.contains("host") && fact.value != host));
    }
}
