//! What a trial needs of the disk, before anything is written.
//!
//! In: a trial. Out: bytes. Limits: an estimate from the workload's declarations; the load itself is watched all the same.

use model::{Bytes, Trial};

/// Space that the data of `trial` takes at most, about.
pub fn disk_bytes(trial: &Trial) -> Bytes {
    match trial.workload.name.as_str() {
        "file" => trial.workload.params.bytes("file_size"),
        _ => Bytes::from_mib(256),
    }
}

/// Bytes that `trial` writes at most, where that is known beforehand.
pub fn written_bytes_at_most(_: &Trial) -> Option<Bytes> {
    None
}
