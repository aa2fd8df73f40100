//! A server lies with the deadlines that plimsoll has by default.

use crate::lab::{Finished, Lab};
use crate::liar::{self, be_silent};
use std::time::{Duration, Instant};

/// It accepts the connection, and that is all.
pub fn silent_for_the_usual_time(lab: &Lab) -> Option<Finished> {
    let port = liar::listen(be_silent);
    let began = Instant::now();
    let finished = lab.run(&["oltp", "--engine", &format!("mysql://visitor@127.0.0.1:{port}/"), "--time", "1s"]);
    assert!(began.elapsed() >= Duration::from_secs(5), "{}", finished.stderr);
    Some(finished)
}
