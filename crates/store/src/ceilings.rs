//! What disks have shown that they can do: a small file in the directory of the run files, so that later runs can be compared with it.
//!
//! In: the ceilings that `plimsoll disk` measured, and the disk that they are of. Out: those of a disk, to be entered as facts
//! of a run. Limits: a disk is known by its name, its model and its file system, which is all that is recorded of it: a disk
//! that was exchanged for another of the same model and size under the same name is taken for the old one.
//! The file is JSON of the schema `plimsoll.ceilings/1`; one that cannot be read is left alone by readers and replaced by the
//! next measurement.

use model::{Bytes, Fact};
use serde::{Deserialize, Serialize};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

/// The name of the file in the directory of run files.
pub const CEILINGS_FILE: &str = "ceilings.json";

const SCHEMA: &str = "plimsoll.ceilings/1";
// A disk has 16 ceilings of 150 bytes: what is larger than this is something else.
const SIZE_MAX: u64 = 1 << 20;

/// What a disk has shown for one sort of operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CeilingEntry {
    /// `read` or `write`; at random, with direct I/O.
    pub operation: String,
    /// The size of each.
    pub block_bytes: u64,
    /// How many were in flight.
    pub depth: u32,
    pub ops_per_s: f64,
    /// When, in milliseconds since 1970 UTC.
    pub measured_unix_ms: u64,
    /// The kernel at that time.
    pub kernel: String,
}

/// What identifies a disk in later runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskIdentity {
    /// The block device: `vda`.
    pub device: String,
    /// The model that it reports; `None` if it reports none.
    pub model: Option<String>,
    /// The file system on it.
    pub filesystem: String,
    /// The size of that.
    pub filesystem_bytes: Bytes,
}

#[derive(Serialize, Deserialize)]
struct CeilingsDocument {
    schema: String,
    disks: Vec<DiskEntry>,
}

#[derive(Serialize, Deserialize)]
struct DiskEntry {
    #[serde(flatten)]
    identity: DiskIdentity,
    ceilings: Vec<CeilingEntry>,
}

impl DiskIdentity {
    /// That of the disk that `facts` describe; `None` if they name no block device.
    pub fn of(facts: &[Fact]) -> Option<DiskIdentity> {
        let value = |name: &str| facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone());
        Some(DiskIdentity {
            device: value("disk.device")?,
            model: value("disk.model"),
            filesystem: value("filesystem")?,
            filesystem_bytes: Bytes(value("filesystem.total_bytes")?.parse().ok()?),
        })
    }
}

/// The ceilings of `disk` that `runs` has; none if it has no entry.
///
/// # Errors
/// Where the file is there and is not what it should be: one line for people.
pub fn recall(runs: &Path, disk: &DiskIdentity) -> Result<Vec<CeilingEntry>, String> {
    let known = read(runs)?;
    let own = known.disks.into_iter().find(|known| known.identity == *disk);
    Ok(own.map_or(Vec::new(), |disk| disk.ceilings))
}

/// Remembers `measured` of `disk` in `runs`, in place of what was known of the same operations, block sizes and depths.
///
/// # Errors
/// Where the file cannot be written.
pub fn remember(runs: &Path, disk: &DiskIdentity, measured: &[CeilingEntry]) -> io::Result<()> {
    let mut known = read(runs).unwrap_or_else(|_| CeilingsDocument::empty());
    let at = known.disks.iter().position(|known| known.identity == *disk).unwrap_or_else(|| {
        known.disks.push(DiskEntry { identity: disk.clone(), ceilings: Vec::new() });
        known.disks.len() - 1
    });
    let own = &mut known.disks[at].ceilings;
    let key = |ceiling: &CeilingEntry| (ceiling.operation.clone(), ceiling.block_bytes, ceiling.depth);
    own.retain(|old| measured.iter().all(|new| key(new) != key(old)));
    own.extend(measured.iter().cloned());
    own.sort_by_key(key);
    std::fs::create_dir_all(runs)?;
    // Complete or not at all: a reader of this moment finds the old file.
    let mut file = tempfile::NamedTempFile::new_in(runs)?;
    file.write_all(&serde_json::to_vec_pretty(&known)?)?;
    file.persist(runs.join(CEILINGS_FILE)).map_err(|error| error.error)?;
    Ok(())
}

fn read(runs: &Path) -> Result<CeilingsDocument, String> {
    let path = runs.join(CEILINGS_FILE);
    let ignored = |why: String| format!("`{}` is ignored: {why}; `plimsoll disk` writes it again", path.display());
    let file = match model::open_regular(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(CeilingsDocument::empty()),
        opened => opened.map_err(|error| ignored(model::system_words(&error)))?,
    };
    let mut text = Vec::new();
    file.take(SIZE_MAX + 1).read_to_end(&mut text).map_err(|error| ignored(model::system_words(&error)))?;
    if text.len() as u64 > SIZE_MAX {
        return Err(ignored(format!("it is larger than {}", Bytes(SIZE_MAX))));
    }
    let document: CeilingsDocument = serde_json::from_slice(&text).map_err(|error| ignored(error.to_string()))?;
    if document.schema != SCHEMA {
        return Err(ignored(format!("its schema is not `{SCHEMA}`")));
    }
    Ok(document)
}

impl CeilingsDocument {
    fn empty() -> CeilingsDocument {
        CeilingsDocument { schema: SCHEMA.into(), disks: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(device: &str) -> DiskIdentity {
        let facts = [("disk.device", device), ("filesystem", "ext4"), ("filesystem.total_bytes", "1000000")];
        DiskIdentity::of(&facts.map(|(name, value)| Fact::new(name, value))).unwrap()
    }

    fn ceiling(operation: &str, depth: u32, ops_per_s: f64) -> CeilingEntry {
        let (block_bytes, measured_unix_ms, kernel) = (16_384, 1_790_000_000_000, "6.18".into());
        CeilingEntry { operation: operation.into(), block_bytes, depth, ops_per_s, measured_unix_ms, kernel }
    }

    #[test]
    fn what_was_measured_last_of_each_disk_is_recalled() {
        let runs = tempfile::tempdir().unwrap();
        let runs = runs.path().join("new");
        assert_eq!(recall(&runs, &disk("vda")).unwrap(), []);
        let first = [ceiling("read", 1, 5e3), ceiling("read", 32, 2e4), ceiling("write", 32, 1e4)];
        remember(&runs, &disk("vda"), &first).unwrap();
        remember(&runs, &disk("sdb"), &[ceiling("read", 1, 90.0)]).unwrap();
        remember(&runs, &disk("vda"), &[ceiling("read", 32, 3e4)]).unwrap();
        let expected = [ceiling("read", 1, 5e3), ceiling("read", 32, 3e4), ceiling("write", 32, 1e4)];
        assert_eq!(recall(&runs, &disk("vda")).unwrap(), expected);
        assert_eq!(recall(&runs, &disk("sdb")).unwrap(), [ceiling("read", 1, 90.0)]);
        assert_eq!(recall(&runs, &disk("sdc")).unwrap(), []);
        let names: Vec<_> = std::fs::read_dir(&runs).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, [CEILINGS_FILE]);
    }

    #[test]
    fn a_file_that_is_something_else_is_named_and_replaced_by_the_next_measurement() {
        let runs = tempfile::tempdir().unwrap();
        let path = runs.path().join(CEILINGS_FILE);
        let huge = " ".repeat(SIZE_MAX as usize + 1);
        for wrong in ["", "{", "[1, 2]", r#"{"schema":"plimsoll.ceilings/9","disks":[]}"#, &huge] {
            std::fs::write(&path, wrong).unwrap();
            let error = recall(runs.path(), &disk("vda")).unwrap_err();
            assert!(error.contains("ceilings.json` is ignored: ") && error.contains("plimsoll disk"), "{error}");
        }
        remember(runs.path(), &disk("vda"), &[ceiling("read", 1, 5e3)]).unwrap();
        assert_eq!(recall(runs.path(), &disk("vda")).unwrap(), [ceiling("read", 1, 5e3)]);
    }

    #[test]
    fn without_a_block_device_there_is_no_disk_to_remember() {
        assert_eq!(DiskIdentity::of(&[Fact::new("filesystem", "tmpfs")]), None);
    }
}
