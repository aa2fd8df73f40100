//! How much of what a disk carries of a mix a point has used.
//!
//! In: the shape of a point's I/O, and that of its replay as fast as it goes. Out: a [`ReplayUse`]. Limits: both are counted on the same
//! device; what other programs did in the meantime is in both.

use crate::recorded::io_shape::IoShape;
use serde::Serialize;

/// A point and its ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReplayUse {
    /// What the point did.
    pub used: IoShape,
    /// What the replay did.
    pub ceiling: IoShape,
    /// The I/Os of the point as a share of those of the replay; above 1 if the point did more.
    pub share: f64,
}

impl ReplayUse {
    /// The use of `ceiling` by `used`.
    pub fn new(used: IoShape, ceiling: IoShape) -> ReplayUse {
        ReplayUse { used, ceiling, share: used.ios_per_s() / ceiling.ios_per_s() }
    }

    /// What the device is known to carry: each flow of the point or of the replay, whichever is more.
    pub fn carried(&self) -> IoShape {
        let more = |flow: fn(&IoShape) -> f64| flow(&self.used).max(flow(&self.ceiling));
        IoShape {
            reads_per_s: more(|it| it.reads_per_s),
            writes_per_s: more(|it| it.writes_per_s),
            read_bytes_per_s: more(|it| it.read_bytes_per_s),
            write_bytes_per_s: more(|it| it.write_bytes_per_s),
            ..self.ceiling
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_ios_and_a_device_carries_at_least_what_it_did() {
        let used = IoShape {
            reads_per_s: 300.0,
            writes_per_s: 80.0,
            read_bytes_per_s: 1e6,
            write_bytes_per_s: 9e6,
            flushes_per_s: None,
            in_flight: Some(2.0),
        };
        let ceiling = IoShape { reads_per_s: 960.0, writes_per_s: 40.0, read_bytes_per_s: 4e6, ..used };
        let found = ReplayUse::new(used, ceiling);
        assert!((found.share - 0.38).abs() < 1e-12, "{}", found.share);
        let carried = found.carried();
        assert_eq!((carried.reads_per_s, carried.writes_per_s, carried.read_bytes_per_s), (960.0, 80.0, 4e6));
    }
}
