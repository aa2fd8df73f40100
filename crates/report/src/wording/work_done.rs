//! What keeps a point from being compared, in words: it was cut short, or it ran on data that was.
//!
//! In: how much of its work a point did. Out: a mark for a cell, and a line for its row. Limits: why it was cut short is in its findings.

use super::quantity::percent;
use analysis::{PointAnalysis, Validity, WorkDone};

/// `cut short`, for a cell; `None` of a point that did all of its work.
pub fn work_done_mark(work: &WorkDone) -> Option<&'static str> {
    match work {
        WorkDone::Whole => None,
        WorkDone::CutShort { .. } => Some("cut short"),
        WorkDone::OnShortData { .. } => Some("short data"),
    }
}

/// `cut short after 22 % of its work; not compared with other points`. The numbers of an invalid point are not used anyway.
pub fn work_done_line(point: &PointAnalysis) -> Option<String> {
    let why = match &point.work_done {
        WorkDone::Whole => return None,
        WorkDone::CutShort { .. } if point.validity == Validity::Invalid => return None,
        WorkDone::CutShort { share: Some(share) } => format!("cut short after {} of its work", percent(*share)),
        WorkDone::CutShort { share: None } => "cut short".to_owned(),
        WorkDone::OnShortData { step, .. } => format!("on short data: {step} was cut short"),
    };
    Some(format!("{why}; not compared with other points"))
}

/// ` (cut short)`, behind a number in a sentence.
pub(super) fn work_done_note(work: &WorkDone) -> String {
    work_done_mark(work).map_or(String::new(), |mark| format!(" ({mark})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::quick;

    #[test]
    fn a_point_that_did_a_part_of_its_work_says_how_much() {
        let mut point = quick().points.remove(0);
        assert_eq!(work_done_line(&point), None);
        point.work_done = WorkDone::CutShort { share: Some(0.22) };
        let expected = "cut short after 22 % of its work; not compared with other points";
        assert_eq!(work_done_line(&point).as_deref(), Some(expected));
        point.work_done = WorkDone::OnShortData { step: "l.i0".into(), point: 1 };
        let expected = "on short data: l.i0 was cut short; not compared with other points";
        assert_eq!(work_done_line(&point).as_deref(), Some(expected));
    }

    #[test]
    fn an_invalid_point_needs_no_second_reason() {
        let mut point = quick().points.remove(0);
        (point.work_done, point.validity) = (WorkDone::CutShort { share: None }, Validity::Invalid);
        assert_eq!(work_done_line(&point), None);
    }
}
