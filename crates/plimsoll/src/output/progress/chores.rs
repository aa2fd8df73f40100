//! One line of progress for what is no run: `doctor`, `disk`, the writing of a report.
//!
//! In: how many steps there are, and each when it begins. Out: a line on a terminal that is written over and goes at the end; nothing if
//! stderr is no terminal. Limits: how long a step takes is not known.

use crate::context::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The line. It goes when it is dropped.
pub struct ProgressLine {
    bar: ProgressBar,
}

impl ProgressLine {
    /// The line of `steps` steps, none of which has begun.
    pub fn start(steps: u64, context: &Context) -> ProgressLine {
        let style = ProgressStyle::with_template("{bar:16} {pos}/{len}  {wide_msg}").expect("the template is right");
        let target =
            if context.has_progress_line() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        ProgressLine { bar: ProgressBar::with_draw_target(Some(steps), target).with_style(style) }
    }

    /// The next step begins.
    pub fn step(&self, what: &str) {
        self.bar.inc(1);
        self.bar.set_message(crate::output::escaped(what).into_owned());
    }

    /// So many steps are over, and this is known now. There are never more than there are in all.
    pub fn go_to(&self, steps: u64, what: &str) {
        self.bar.set_position(self.bar.length().map_or(steps, |all| steps.min(all)));
        self.bar.set_message(crate::output::escaped(what).into_owned());
    }

    /// Prints a note above the line.
    pub fn note(&self, text: impl std::fmt::Display, context: &Context) {
        self.bar.suspend(|| context.note(text));
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_steps_are_over_than_there_are() {
        let context = Context { catalogue: runner::catalogue(), json: false, quiet: true, plain: false };
        let line = ProgressLine::start(3, &context);
        line.go_to(2, "two");
        assert_eq!(line.bar.position(), 2);
        line.go_to(4, "more");
        assert_eq!(line.bar.position(), 3);
    }
}
