//! What code reads of the machine: its CPUs, its memory, the disk that is measured, and what that carries.
//!
//! In: the facts of an environment. Out: [`Machine`]. Limits: what no fact states is `None`.

use crate::fact::Fact;
use crate::hourly_cost::HourlyCost;
use crate::network::{InterfaceLink, LINK_FACT, LinkSpeed, StatedLinks};
use crate::op_class::OpClass;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What code reads of the machine. Kept in the run file under the key `machine` of the table `meta`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// CPUs that plimsoll may use, or else all of the machine's.
    pub cpus: Option<u64>,
    /// The CPU time that plimsoll may have per time, in CPUs, if its control group has a quota.
    pub cpu_quota: Option<f64>,
    /// Whether the frequency that the kernel shows is measured; if not, it is the nominal one. `None` if that was not recorded.
    pub frequency_is_measured: Option<bool>,
    /// All of its memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The block device under the directory that is measured.
    pub disk: Option<String>,
    /// The largest request that the device takes, in bytes.
    pub request_bytes_max: Option<u64>,
    /// What the device carried when `plimsoll disk` measured it.
    pub ceilings: Vec<DeviceCeiling>,
    /// When the oldest of them was measured, for people.
    pub ceilings_measured: Option<String>,
    /// The kernel under which it was.
    pub ceilings_kernel: Option<String>,
    /// What it costs, as far as that was stated.
    #[serde(default, skip_serializing_if = "HourlyCost::is_none")]
    pub hourly: HourlyCost,
    /// The speed of the link to the server, if it was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkSpeed>,
    /// The same of single interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interface_links: Vec<InterfaceLink>,
}

/// How many random operations a device carried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceCeiling {
    /// Reads or writes.
    pub class: OpClass,
    /// The size of each.
    pub block: Bytes,
    /// How many were in flight at once.
    pub depth: u64,
    /// How many were done per second.
    pub ops_per_s: f64,
}

impl Machine {
    /// What the facts of an environment state.
    pub fn from_facts(facts: &[Fact]) -> Machine {
        let count = |name: &str| find_fact(facts, name).and_then(Fact::whole);
        let of_interfaces = facts.iter().filter_map(|fact| InterfaceLink::from_fact(&fact.name, &fact.value));
        Machine {
            cpus: count("cpu.usable").or_else(|| count("cpu.count")).filter(|cpus| *cpus >= 1),
            cpu_quota: find_fact(facts, "cgroup.cpu_quota").and_then(Fact::amount),
            frequency_is_measured: find_fact(facts, "cpu.frequency").map(|fact| fact.value == "measured"),
            memory_bytes: count("memory.total_bytes"),
            disk: find_fact(facts, "disk.device").map(|fact| fact.value.clone()),
            request_bytes_max: count("disk.max_request_bytes"),
            ceilings: facts.iter().filter_map(parse_ceiling).collect(),
            ceilings_measured: find_fact(facts, "ceiling.measured").map(|fact| fact.value.clone()),
            ceilings_kernel: find_fact(facts, "ceiling.kernel").map(|fact| fact.value.clone()),
            hourly: HourlyCost::from_facts(facts),
            link: find_fact(facts, LINK_FACT).and_then(|fact| LinkSpeed::from_fact(&fact.value)),
            interface_links: of_interfaces.collect(),
        }
    }

    /// The speeds that were stated for its links.
    pub fn stated_links(&self) -> StatedLinks<'_> {
        StatedLinks { every: self.link, single: &self.interface_links }
    }
}

fn find_fact<'a>(facts: &'a [Fact], name: &str) -> Option<&'a Fact> {
    facts.iter().find(|fact| fact.name == name)
}

/// The fact `ceiling.read.16384.32` = `5912 ops/s`.
fn parse_ceiling(fact: &Fact) -> Option<DeviceCeiling> {
    let mut parts = fact.name.strip_prefix("ceiling.")?.split('.');
    let class = match parts.next()? {
        "read" => OpClass::Read,
        "write" => OpClass::Write,
        _ => return None,
    };
    let (block, depth) = (Bytes(parts.next()?.parse().ok()?), parts.next()?.parse().ok()?);
    let ops_per_s: f64 = fact.value.strip_suffix(" ops/s")?.parse().ok()?;
    let is_amount = block.0 > 0 && ops_per_s > 0.0 && ops_per_s.is_finite();
    is_amount.then_some(DeviceCeiling { class, block, depth, ops_per_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_the_cpus_that_may_be_used_and_the_ceilings_of_its_disk() {
        let facts =
            [("cpu.count", "8"), ("cpu.usable", "2"), ("ceiling.read.16384.32", "5912 ops/s"), ("ceiling.x", "1")];
        let machine = Machine::from_facts(&facts.map(|(name, value)| Fact::new(name, value)));
        let ceiling = DeviceCeiling { class: OpClass::Read, block: Bytes(16_384), depth: 32, ops_per_s: 5_912.0 };
        assert_eq!((machine.cpus, machine.ceilings), (Some(2), vec![ceiling]));
    }

    #[test]
    fn what_is_no_amount_says_nothing_of_the_machine() {
        for text in ["inf", "NaN", "-1", "none"] {
            let ceiling = format!("{text} ops/s");
            let facts = [("cgroup.cpu_quota", text), ("ceiling.read.4096.1", ceiling.as_str())];
            let machine = Machine::from_facts(&facts.map(|(name, value)| Fact::new(name, value)));
            assert_eq!((machine.cpu_quota, machine.ceilings), (None, Vec::new()), "{text}");
        }
        let limited = Machine::from_facts(&[Fact::new("cgroup.cpu_quota", "0.5")]);
        assert_eq!(limited.cpu_quota, Some(0.5));
    }
}
