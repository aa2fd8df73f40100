//! The device under the data.
//!
//! In: its busy time and queue, what it has shown that it can carry, and the time in which threads of the point, or all tasks, waited for I/O. Out: a cause if it was
//! busy nearly all the time, or near its best rate. Limits: a device that works on many requests at once can be busy all the time and still
//! carry more: if its best rate is known and far away, and few requests were in flight, it is not named.

use super::seen::{Seen, disk_busy};
use super::tested::Tested;
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::evidence::cause::{Cause, Confidence, Limit, LimitEvidence};
use crate::evidence::line_use::LineUse;
use crate::judgement::NextStep;
use crate::math::units::Share;
use model::CounterRole;

// As of the CPUs: at 90 % busy a queue forms nearly always.
const BUSY_MIN: f64 = 0.90;
/// Of the best rate: as near as the finding `load-line` calls the limit.
const USED_MIN: f64 = 0.90;
/// Below half of the best rate, with less than half of the requests in flight that it takes, the device waits for requests.
const FAR_BELOW: f64 = 0.5;
/// With two requests in flight on average, one waits behind another.
const QUEUE_MIN: f64 = 2.0;
/// Above this share of the time in which nothing could run because of I/O, the machine waits for its disk (Gregg's threshold).
const IO_FULL_MIN: f64 = 0.05;
/// Of the time of threads at work.
const READ_MIN: f64 = 0.5;
/// Below, the device did not have the requests that the threads waited for.
const BUSY_WHEN_WAITED_FOR: f64 = 0.5;
/// The best rates are of reads and writes: if so many operations are flushes, they cannot be compared with them.
const FLUSH_SHARE_MIN: f64 = 0.05;

pub fn test(seen: &Seen) -> Tested {
    let Some(busy) = seen.disk_busy else { return Tested::Unknown };
    let line = seen.view.line.filter(|_| !flushes(seen));
    let queue = seen.device_queue();
    let is_near = line.is_some_and(|line| line.share >= USED_MIN);
    let is_shallow = waits_for_requests(line, queue);
    if is_near || busy > BUSY_MIN && !is_shallow {
        return Tested::Binds(busy_disk(seen, busy, line, queue, is_near));
    }
    if let Some(waited) = waits_for_reads(seen, busy).filter(|_| !is_shallow) {
        let (busy_share, used_share) = (Share(busy), line.map(|line| Share(line.share)));
        let evidence = LimitEvidence::Disk { busy_share, queue, used_share, waited_share: Some(Share(waited)) };
        // Its share is that of the device, as at all other points: what the threads waited for it is in the evidence.
        return Tested::Binds(
            Cause::new(evidence, busy).confidence(Confidence::Likely).next(NextStep::CompareWithFile),
        );
    }
    match line.filter(|_| busy > BUSY_MIN) {
        Some(line) => Tested::below(Limit::Disk, line.share, USED_MIN),
        None => Tested::below(Limit::Disk, busy, BUSY_MIN),
    }
}

fn busy_disk(seen: &Seen, busy: f64, line: Option<&LineUse>, queue: Option<f64>, is_near: bool) -> Cause {
    let used_share = line.map(|line| Share(line.share));
    let waited_share = seen.work.map(|work| Share(work.read));
    let evidence = LimitEvidence::Disk { busy_share: Share(busy.min(1.0)), queue, used_share, waited_share };
    let is_queued = queue.is_some_and(|queue| queue >= QUEUE_MIN);
    let is_waited_for = seen.time_share(CounterRole::IoStall).is_some_and(|share| share > IO_FULL_MIN);
    let is_confirmed = is_near || is_queued || is_waited_for;
    let next = match (seen.slots(), seen.view.point.traits.work.io) {
        (1, _) => NextStep::AddDepthOrClients,
        (_, Some(_)) => NextStep::None,
        (_, None) => NextStep::CompareWithFile,
    };
    let share = if is_near { line.map_or(busy, |line| line.share) } else { busy };
    let confidence = if is_confirmed { Confidence::Sure } else { Confidence::Likely };
    Cause::new(evidence, share).confidence(confidence).next(next)
}

/// The share of their time that several threads at work waited for reads, if it is most of it and the device was busy more often than not.
fn waits_for_reads(seen: &Seen, busy: f64) -> Option<f64> {
    let work = seen.work.filter(|work| work.read > READ_MIN && busy > BUSY_WHEN_WAITED_FOR)?;
    (seen.slots() > 1).then_some(work.read)
}

/// Whether the device was far below its best rate because few requests were in flight.
fn waits_for_requests(line: Option<&LineUse>, queue: Option<f64>) -> bool {
    line.is_some_and(|line| {
        let is_shallow = queue.is_none_or(|queue| queue < FAR_BELOW * line.depth() as f64);
        line.share < FAR_BELOW && is_shallow
    })
}

/// Whether flushes were a good part of what the device did.
fn flushes(seen: &Seen) -> bool {
    let done = |role| seen.most(role).map_or(0.0, |growth| growth.amount);
    let flushes = done(CounterRole::DeviceFlushOps);
    let others = done(CounterRole::DeviceReadOps) + done(CounterRole::DeviceWriteOps);
    flushes > FLUSH_SHARE_MIN * (flushes + others)
}

/// Whether the device was busy for nearly all of the run phase.
pub fn is_disk_busy(view: &PointView, measured: &Measured) -> bool {
    disk_busy(view, measured).is_some_and(|busy| busy > BUSY_MIN)
}
