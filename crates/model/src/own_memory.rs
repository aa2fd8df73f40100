//! The memory of this process, which is closed to others as soon as it holds a secret.
//!
//! In: nothing. Out: a process without core dumps, into which no other process of its user can look. Limits: Linux; it lasts until the
//! process starts another program in its place. Users other than root then cannot read those files of their own process in `/proc` that are
//! for its owner alone, such as `io`.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Closes it. Whoever makes, reads or asks for a password or a key calls this.
pub fn close_own_memory() {
    // It cannot fail with this value (prctl(2), PR_SET_DUMPABLE).
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
