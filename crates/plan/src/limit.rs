//! The limits of memory, storage and CPU, and the CPUs: from their texts to their types.
//!
//! In: `2GiB`; `iops=2000`, `read_iops=500+bps=200MiB`; `0.8`, `80%`; `client=0+engine=1-3`. Out: [`model::Limits`], [`CpuAssignment`], or what is
//! wrong with them.
//! Limits: parts are joined by `+`, because a comma separates the values of a list.

use crate::common::NONE;
use crate::document::Written;
use crate::error::PlanError;
use crate::text;
use crate::value;
use model::{Bytes, CpuAssignment, CpuLimit, StorageLimit};

/// Less, and no server starts.
pub(crate) const MEMORY_MIN: u64 = 64 << 20;
const MEMORY_MAX: u64 = 1 << 50;
/// The kernel counts operations in 32 bits.
const IOPS_MAX: u64 = u32::MAX as u64;
/// An operation is 4 KiB and more: with less, one would take longer than the grace of most plans.
const BYTES_PER_S_MIN: u64 = 4096;
const STORAGE: &str = "`none` or limits joined by `+`, such as `iops=2000+bps=200MiB`; their names are iops, bps, read_iops, \
                       write_iops, read_bps and write_bps, the least values 1 and 4KiB";

/// The limit of memory, which scales as the caches do.
pub(crate) fn memory_limit(written: &Written<'_>, scale: f64) -> Result<Option<Bytes>, PlanError> {
    if written.text == NONE {
        return Ok(None);
    }
    value::scaled_bytes(written, MEMORY_MIN, MEMORY_MAX, scale).map(|size| Some(Bytes(size)))
}

/// The limits of storage.
pub(crate) fn storage_limit(written: &Written<'_>) -> Result<StorageLimit, PlanError> {
    let mut limit = StorageLimit::default();
    if written.text == NONE {
        return Ok(limit);
    }
    let taken = written.text.split('+').all(|part| take_part(&mut limit, part.trim()).is_some());
    if taken { Ok(limit) } else { Err(written.refused(STORAGE)) }
}

/// With less, a slice of the kernel's scheduler is longer than the share of a period.
const MILLI_CPUS_MIN: f64 = 50.0;
const MILLI_CPUS_MAX: f64 = 4_096_000.0;
/// The kernel leaves other threads at least 5 % of a CPU.
const SPEEDS: std::ops::RangeInclusive<u8> = 10..=100;
const CPU: &str = "`none`, a number of CPUs from 0.05, such as `0.8`, or a speed from 10% to 100%, such as `80%`";

/// The limit of CPU time, or the speed of the CPUs.
pub(crate) fn cpu_limit(written: &Written<'_>) -> Result<Option<CpuLimit>, PlanError> {
    if written.text == NONE {
        return Ok(None);
    }
    let limit = match written.text.strip_suffix('%') {
        Some(percent) => percent.trim().parse().ok().filter(|it| SPEEDS.contains(it)).map(CpuLimit::SpeedPercent),
        None => milli_cpus(&written.text).map(CpuLimit::MilliCpus),
    };
    limit.map(Some).ok_or_else(|| written.refused(CPU))
}

/// Whether a plan can ask for this limit.
pub(crate) fn could_be_written(limit: CpuLimit) -> bool {
    match limit {
        CpuLimit::MilliCpus(milli) => (MILLI_CPUS_MIN..=MILLI_CPUS_MAX).contains(&f64::from(milli)),
        CpuLimit::SpeedPercent(percent) => SPEEDS.contains(&percent),
    }
}

fn milli_cpus(text: &str) -> Option<u32> {
    let milli = text.parse::<f64>().ok()? * 1000.0;
    (MILLI_CPUS_MIN..=MILLI_CPUS_MAX).contains(&milli).then(|| milli.round() as u32)
}

const CPUS: &str = "`none`, `cores`, `all`, numbers such as `0-3` or `0+2`, or both `client=` and `engine=` joined by `+`, such as \
                    `client=0+engine=1-3`; on the command line a comma begins another value";

/// The CPUs of clients and engine.
pub(crate) fn cpu_assignment(written: &Written<'_>) -> Result<Option<CpuAssignment>, PlanError> {
    if written.text == NONE {
        return Ok(None);
    }
    CpuAssignment::parse(&written.text).map(Some).ok_or_else(|| written.refused(CPUS))
}

/// `None` for what is no limit, out of bounds, or there already.
fn take_part(limit: &mut StorageLimit, part: &str) -> Option<()> {
    let (name, text) = part.split_once('=').map(|(name, text)| (name.trim(), text.trim()))?;
    let iops = || text::parse_size(text).filter(|most| (1..=IOPS_MAX).contains(most));
    let bytes = || text::parse_size(text).filter(|most| *most >= BYTES_PER_S_MIN);
    let (places, most) = match name {
        "iops" => (vec![&mut limit.read_iops, &mut limit.write_iops], iops()?),
        "read_iops" => (vec![&mut limit.read_iops], iops()?),
        "write_iops" => (vec![&mut limit.write_iops], iops()?),
        "bps" => (vec![&mut limit.read_bytes_per_s, &mut limit.write_bytes_per_s], bytes()?),
        "read_bps" => (vec![&mut limit.read_bytes_per_s], bytes()?),
        "write_bps" => (vec![&mut limit.write_bytes_per_s], bytes()?),
        _ => return None,
    };
    places.into_iter().try_for_each(|place| place.replace(most).is_none().then_some(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Place;
    use proptest::prelude::*;

    fn written(text: &str) -> Written<'static> {
        Written { key: "storage_limit".into(), text: text.into(), place: Place::Flag("storage_limit") }
    }

    #[test]
    fn a_limit_reads_as_it_is_written() {
        for text in ["none", "iops=2000", "read_iops=1+write_iops=4294967295", "iops=500+bps=200MiB", "write_bps=1GiB"]
        {
            assert_eq!(storage_limit(&written(text)).unwrap().to_string(), text);
        }
        assert_eq!(
            storage_limit(&written("bps = 1m + read_iops = 2k")).unwrap().to_string(),
            "read_iops=2048+bps=1MiB"
        );
    }

    #[test]
    fn what_is_no_limit_is_refused_with_those_that_are() {
        for text in ["", "2000", "iops", "iops=0", "iops=x", "iops=5000000000", "bps=10", "iops=1+iops=2", "disk=1"] {
            let refusal = storage_limit(&written(text)).unwrap_err().to_string();
            let why = if text.is_empty() { "has an empty value".into() } else { format!("cannot be `{text}`") };
            assert!(refusal.contains(&format!("--storage-limit {why}; use `none`")), "{refusal}");
        }
        assert!(storage_limit(&written("iops=10+read_iops=5")).is_err(), "reads have a limit already");
    }

    #[test]
    fn memory_scales_and_never_below_what_a_server_needs() {
        let memory =
            |text, scale| memory_limit(&written(text), scale).map(|limit| limit.map(|bytes| bytes.to_string()));
        assert_eq!(memory("2GiB", 0.5), Ok(Some("1 GiB".into())));
        assert_eq!((memory("2GiB", 1e-6), memory("none", 1.0)), (Ok(Some("64 MiB".into())), Ok(None)));
        assert!(memory("1MiB", 1.0).is_err());
    }

    #[test]
    fn a_limit_of_cpus_is_a_number_of_them_or_a_speed() {
        let limit = |text: &str| {
            let written = Written { key: "cpu_limit".into(), text: text.into(), place: Place::Flag("cpu_limit") };
            cpu_limit(&written).map(|limit| limit.map(|limit| limit.to_string())).map_err(|error| error.to_string())
        };
        for text in ["0.8", "2", "0.05", "80%", "100%"] {
            assert_eq!(limit(text), Ok(Some(text.to_owned())));
        }
        assert_eq!((limit("none"), limit("1.23456")), (Ok(None), Ok(Some("1.235".to_owned()))));
        for text in ["0", "-1", "0.04", "9%", "101%", "x", "80 %x", "inf", "NaN"] {
            let refused = limit(text).expect_err(text);
            assert!(
                refused.contains(&format!("--cpu-limit cannot be `{text}`; use `none`, a number of CPUs")),
                "{refused}"
            );
        }
    }

    #[test]
    fn cpus_are_read_and_refused_with_what_they_may_be() {
        let cpus = |text: &str| {
            let written = Written { key: "cpus".into(), text: text.into(), place: Place::Flag("cpus") };
            cpu_assignment(&written).map(|cpus| cpus.map(|cpus| cpus.to_string())).map_err(|error| error.to_string())
        };
        assert_eq!([cpus("none"), cpus("cores")], [Ok(None), Ok(Some("cores".into()))]);
        let refused = cpus("engine=1").expect_err("the clients have none");
        assert!(
            refused.starts_with("--cpus cannot be `engine=1`; use `none`, `cores`, `all`, numbers such as"),
            "{refused}"
        );
    }

    proptest! {
        #[test]
        fn every_limit_survives_being_told(r in proptest::option::of(1..=IOPS_MAX), w in proptest::option::of(1..=IOPS_MAX),
                                           rb in proptest::option::of(4096u64..1 << 60)) {
            let limit = StorageLimit { read_iops: r, write_iops: w, read_bytes_per_s: rb, write_bytes_per_s: rb };
            prop_assert_eq!(storage_limit(&written(&limit.to_string())).unwrap(), limit);
        }
    }
}
