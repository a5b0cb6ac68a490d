//! Why a stage cannot be applied, or why nothing came of it.

use std::fmt;

use crate::refine::watch::Cancelled;

/// Why a stage cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefineError {
    /// Which stage, from 0.
    pub stage: usize,
    /// The part of it that is at fault, as the language writes it.
    pub part: String,
    /// What is wrong with it.
    pub cause: Cause,
}

/// What is wrong with a part of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It matches nothing that the stage is shown.
    Unmatched {
        /// What it was compared with: frames, threads, …
        among: &'static str,
        /// What there is instead, nearest first; empty if nothing is near.
        suggestions: Vec<String>,
    },
    /// What it matches was taken out, or made into something else, by the stages before it.
    Gone {
        /// What it was compared with: frames, threads, …
        among: &'static str,
        /// Whether these stages left no sample at all.
        nothing_left: bool,
    },
    /// It asks for a rank, or for the ranks of a host, of which there is only the sum with others.
    Summed {
        /// Which one: `rank 3`.
        what: String,
    },
    /// It asks for one side of a comparison, and nothing is compared.
    NotCompared,
    /// It asks for a metric that there is not.
    NoMetric {
        /// Which sources there are.
        there: Vec<String>,
        /// Whether these are what is compared.
        compared: bool,
    },
    /// It compares a metric with a value of another unit.
    OtherUnit {
        /// The metric's source.
        source: String,
        /// What it is counted in.
        unit: String,
        /// Values with which it can be compared.
        example: &'static str,
    },
    /// It asks for edge counts, and there are none.
    NoEdges {
        /// Why.
        why: &'static str,
    },
    /// It asks for a part of the run, and it is not known when samples were taken.
    NoTimes,
    /// It asks for loops, and there are none.
    NoLoops(Loopless),
    /// Its names would take more memory than should be spent on them.
    TooManyNames,
    /// It asks for loops where callers stand below what they call.
    LoopsOfCallers,
    /// The callers would be more nodes than memory should be spent on, or need more steps than
    /// time.
    TooManyCallers,
}

/// Why there are no loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loopless {
    /// The profile has none.
    Profile,
    /// No frame that is shown is in one of the profile's.
    Frames,
    /// No stage has put them in.
    Stages,
}

impl fmt::Display for RefineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Unmatched { among, suggestions } => {
                write!(f, "no {among} matches {}", self.part)?;
                if !suggestions.is_empty() {
                    write!(f, "; there is {}", suggestions.join(", "))?;
                }
                Ok(())
            }
            Cause::Gone { nothing_left: true, .. } => write!(
                f,
                "the stages before {} leave no samples: every one of them was taken out",
                self.part
            ),
            Cause::Gone { among, nothing_left: false } => write!(
                f,
                "no {among} that the stages before leave matches {}; they took it out",
                self.part
            ),
            Cause::Summed { what } => write!(
                f,
                "`{}`: {what} is in the sum and not kept apart; csprof merge --keep-ranks all keeps \
                 each rank",
                self.part
            ),
            Cause::NotCompared => write!(
                f,
                "`{}` asks for one side of a comparison, and this is one profile; leave out its \
                 first word, or compare two: csprof diff",
                self.part
            ),
            Cause::NoMetric { there, compared: false } => write!(
                f,
                "no metric is called `{}`; there is samples, time, {}",
                self.part,
                there.join(", ")
            ),
            Cause::NoMetric { there, compared: true } => write!(
                f,
                "`{}` is not what is compared here, but {}; another metric is compared by csprof \
                 diff --metric",
                self.part,
                there.join(" with ")
            ),
            Cause::OtherUnit { source, unit, example } => write!(
                f,
                "`{}` does not fit: {source} is counted in {unit}; incl({source}) is compared with \
                 values such as {example}, 0.5%",
                self.part
            ),
            Cause::NoEdges { why } => {
                write!(f, "`{}` asks for edge counts, and there are none: {why}", self.part)
            }
            Cause::NoLoops(Loopless::Profile) => write!(
                f,
                "`{}` asks for loops, and this profile has none; `csprof symbolize` looks for \
                 them, where the program's files are",
                self.part
            ),
            Cause::NoLoops(Loopless::Frames) => {
                write!(f, "`{}` finds no frames in loops; put it before other stages", self.part)
            }
            Cause::NoLoops(Loopless::Stages) => write!(
                f,
                "no loops are shown for `{}`; put the stage `by loop` before it",
                self.part
            ),
            Cause::NoTimes => write!(
                f,
                "`{}` asks when samples were taken, of which this profile has no times; csprof \
                 record --times keeps them, and a comparison has two clocks",
                self.part
            ),
            Cause::TooManyNames => write!(
                f,
                "`{}` would take too much memory for its names; select fewer paths before it",
                self.part
            ),
            Cause::LoopsOfCallers => {
                write!(f, "`{}` shows no loops in callers; put it before `callers of`", self.part)
            }
            Cause::TooManyCallers => write!(
                f,
                "`{}` would take too much memory or time; select fewer paths before it",
                self.part
            ),
        }
    }
}

impl std::error::Error for RefineError {}

/// Why there is no refined profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// A stage cannot be applied.
    Refused(RefineError),
    /// It was asked for through the [`Watch`](crate::refine::Watch).
    Cancelled,
}

impl Stopped {
    /// The same, with a refusal as a part of what was made: the error is that it was ended.
    ///
    /// # Errors
    /// It was ended.
    pub fn nested<T>(made: Result<T, Self>) -> Result<Result<T, RefineError>, Cancelled> {
        match made {
            Ok(made) => Ok(Ok(made)),
            Err(Self::Refused(error)) => Ok(Err(error)),
            Err(Self::Cancelled) => Err(Cancelled),
        }
    }
}

/// What a stage asks for and the forest does not show.
#[derive(Debug)]
pub(crate) struct Unmatched {
    /// As the language writes it.
    pub(crate) part: String,
    /// Why.
    pub(crate) cause: Cause,
}

/// Why a stage made nothing.
#[derive(Debug)]
pub(crate) enum Stop {
    Refused { part: String, cause: Cause },
    Cancelled,
}

impl From<Cancelled> for Stop {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<Unmatched> for Stop {
    fn from(Unmatched { part, cause }: Unmatched) -> Self {
        Self::Refused { part, cause }
    }
}
