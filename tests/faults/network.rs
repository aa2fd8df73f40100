//! The network between plimsoll and a server breaks or slows down.

use crate::fault::Family;

pub const NETWORK: Family =
    Family { name: "network", about: "The network between plimsoll and a server breaks or slows down.", faults: &[] };
