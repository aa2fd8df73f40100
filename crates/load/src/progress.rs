//! How many operations the measured clients have done so far, for a watch that cannot wait for the end of an interval.
//!
//! In: each recorder counts its operations. Out: their sum, whenever it is asked for. Limits: a count may be some nanoseconds old; the
//! operations of background clients are not in it, and neither are those that failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The operations that one client has done; of several that share a thread, all of them. On a cache line of its own (two, because CPUs
/// fetch them in pairs): another client's count must not slow this one down.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct ClientCount(AtomicU64);

impl ClientCount {
    /// Counts one. Only the client's own thread may call this: it is no atomic addition, which would cost 20 times as much.
    #[inline(always)]
    pub fn add_one(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// The operations that the measured clients have done.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    counts: Vec<Arc<ClientCount>>,
}

impl Progress {
    /// Counts the operations of a further client.
    pub(crate) fn add_client(&mut self, count: Arc<ClientCount>) {
        self.counts.push(count);
    }

    /// How many were done so far, in all phases.
    pub fn ops_done(&self) -> u64 {
        self.counts.iter().map(|count| count.0.load(Ordering::Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_all_clients_at_this_moment() {
        let (one, other) = (Arc::new(ClientCount::default()), Arc::new(ClientCount::default()));
        let mut progress = Progress::default();
        [&one, &other].into_iter().for_each(|count| progress.add_client(count.clone()));
        assert_eq!(progress.ops_done(), 0);
        one.add_one();
        one.add_one();
        other.add_one();
        assert_eq!(progress.clone().ops_done(), 3);
    }
}
