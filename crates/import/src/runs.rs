//! Files that hold the outputs of several runs, one after the other.
//!
//! In: a file, and what reads the lines of one run. Out: a point for each run that has results. Limits: a run begins at its own header, or where
//! results begin again. The output of programs that ran at once, line by line in one file, is refused: whose line is whose does not show.

use crate::error::ImportError;
use crate::input::Input;
use crate::point::{ImportedPoint, LEFT_OUT_FACT};
use model::Fact;
use std::path::Path;

/// The most runs of a file.
const RUNS_MAX: usize = 10_000;

/// What the next line is for the run that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextLine {
    /// A line of the same run.
    SameRun,
    /// The header of another run.
    Header,
    /// Results of another run, without a header.
    MoreResults,
}

/// The lines of one run.
pub(crate) trait RunOutput: Default {
    /// The run that begins after this one, with what was printed once for all.
    fn following(&self) -> Self {
        Self::default()
    }
    /// What `line` is for this run.
    fn next(&self, line: &str) -> NextLine;
    /// Takes `line`, which is one of this run.
    fn take(&mut self, line: &str, input: &Input) -> Result<(), ImportError>;
    /// Whether the program has begun to measure: not if it only made or removed data.
    fn has_begun(&self) -> bool;
    /// Whether its results are there.
    fn is_over(&self) -> bool;
    /// The point of the run, with the `logs` of the same run. If it is not over, the error says what is missing.
    fn into_point(self, input: &Input, logs: &[&Path]) -> Result<ImportedPoint, ImportError>;
}

/// Reads the runs of the file at `path`. The `logs` are those of its only run.
pub(crate) fn read_runs<R: RunOutput>(path: &Path, logs: &[&Path]) -> Result<Vec<ImportedPoint>, ImportError> {
    let mut input = Input::open(path)?;
    let mut runs = Runs { logs, points: Vec::new(), unfinished: Vec::new(), first_line: 1 };
    let mut run = R::default();
    while let Some(line) = input.next_line()? {
        match run.next(&line) {
            NextLine::SameRun => {}
            header_or_results => {
                if header_or_results == NextLine::MoreResults {
                    runs.check_order(&input)?;
                }
                let following = run.following();
                runs.add(std::mem::replace(&mut run, following), &input)?;
            }
        }
        run.take(&line, &input)?;
    }
    runs.close(run, &input)
}

/// The runs that are read so far.
struct Runs<'a> {
    logs: &'a [&'a Path],
    points: Vec<ImportedPoint>,
    /// Where runs without results begin, and what is missing.
    unfinished: Vec<(u64, String)>,
    /// The first line of the run that is read.
    first_line: u64,
}

impl Runs<'_> {
    fn add<R: RunOutput>(&mut self, run: R, input: &Input) -> Result<(), ImportError> {
        if self.points.len() + self.unfinished.len() >= RUNS_MAX {
            return Err(input.wrong(format!("the file has more than {RUNS_MAX} runs; split it")));
        }
        if run.is_over() {
            if let (Some(log), false) = (self.logs.first(), self.points.is_empty()) {
                let what = format!(
                    "this log may belong to any of the runs in `{}`; give it with the output of one",
                    input.path().display()
                );
                return Err(ImportError::whole(log, what));
            }
            self.points.push(run.into_point(input, self.logs)?);
        } else if run.has_begun() {
            let missing = run.into_point(input, &[]).err().map_or_else(String::new, |error| error.words());
            self.unfinished.push((self.first_line, missing));
        }
        self.first_line = input.line();
        Ok(())
    }

    /// Results without a header are those of a run whose header came before that of another.
    fn check_order(&self, input: &Input) -> Result<(), ImportError> {
        match self.unfinished.first() {
            None => Ok(()),
            Some((line, _)) => Err(at_once(input, &format!("here are results of the run that begins in line {line}"))),
        }
    }

    fn close<R: RunOutput>(mut self, run: R, input: &Input) -> Result<Vec<ImportedPoint>, ImportError> {
        if self.points.is_empty() && !run.is_over() {
            return Err(match self.unfinished.pop().filter(|_| !run.has_begun()) {
                Some((line, missing)) => ImportError::line(input.path(), line, missing),
                None => run.into_point(input, &[]).err().unwrap_or_else(|| input.wrong("there are no results")),
            });
        }
        self.add(run, input)?;
        let left_out = self.unfinished.into_iter().map(|(line, missing)| {
            Fact::new(LEFT_OUT_FACT, format!("the run that begins in line {line} has no results: {missing}"))
        });
        if let Some(last) = self.points.last_mut() {
            last.facts.extend(left_out);
        }
        Ok(self.points)
    }
}

/// The error that outputs of programs that ran at once are mixed; `evidence` is how that shows.
pub(crate) fn at_once(input: &Input, evidence: &str) -> ImportError {
    input.wrong(format!(
        "{evidence}: two programs have written to this file at once; let each write to a file of its own"
    ))
}
