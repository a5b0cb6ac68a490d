//! Stages: what each is called, what it does, and what stands behind its words.
//!
//! Parser, printer and completion go by [`STAGES`] and [`Stage::written`], which are inverse to
//! each other; they name no stage themselves but `where`.

use super::axis::{self, Axis};
use super::metric_test::MetricTest;
use super::period::Period;
use super::syntax::{FramePattern, Grain, Predicate};

/// Stages, applied in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refinement {
    /// First applied first.
    pub stages: Vec<Stage>,
}

/// One step from a forest to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Keeps the samples whose call path satisfies the predicate.
    Where(Predicate),
    /// Deletes frames; their samples move to the nearest frame kept above.
    Hide(FramePattern),
    /// What lies below an outermost match moves to the match.
    StopAt(FramePattern),
    /// An outermost match and what lies below it move to the caller.
    Cut(FramePattern),
    /// Maximal runs of matching frames become one frame of this name.
    Group {
        /// The members.
        pattern: FramePattern,
        /// What the group is called.
        name: String,
    },
    /// Paths begin at their first match (or last, if so asked); others are taken out.
    RootAt {
        /// Where paths begin.
        pattern: FramePattern,
        /// Whether the last match counts instead of the first.
        last: bool,
    },
    /// Deletes matching frames whose function occurs higher on the path.
    Collapse(FramePattern),
    /// Deletes matching frames directly below a frame of the same function.
    CollapseRun(FramePattern),
    /// All from the first to the last match becomes the first match.
    Fold(FramePattern),
    /// Every frame becomes the load module or file it lies in, runs of one becoming one frame; or
    /// its function together with the line.
    By(Grain),
    /// Callers upside down: paths begin at their outermost match and lead from caller to caller;
    /// paths without a match are taken out.
    CallersOf(FramePattern),
    /// A row for each value of this part of the context, above everything.
    Split(Axis),
    /// Keeps what was sampled in a part of the run.
    During(Period),
    /// Rows that pass the test become one row for each parent, with all that is below them.
    Small(MetricTest),
}

/// How a stage begins, and what it does.
#[derive(Debug)]
pub(crate) struct StageEntry {
    /// The words it begins with.
    pub(crate) words: &'static str,
    /// What it does, for help.
    pub(crate) help: &'static str,
    /// What stands behind the words.
    pub(crate) form: StageForm,
}

/// What stands behind the words of a stage, and the stage that is made of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StageForm {
    /// `hide f`
    Frames(fn(FramePattern) -> Stage),
    /// `root at f`, `root at last f`
    Place(fn(FramePattern, bool) -> Stage),
    /// `group f as name`
    Named(fn(FramePattern, String) -> Stage),
    /// `by module`
    Grain(fn(Grain) -> Stage),
    /// `split rank`
    Axis(fn(Axis) -> Stage),
    /// `during 2s..4s`
    Period(fn(Period) -> Stage),
    /// `small incl(time) < 0.5%`
    Test(fn(MetricTest) -> Stage),
}

/// What stands behind the words of a stage.
#[derive(Debug)]
pub(crate) enum Operand<'s> {
    /// A predicate, which needs no words before it.
    Predicate(&'s Predicate),
    /// As [`StageForm::Frames`].
    Frames(&'s FramePattern),
    /// As [`StageForm::Place`].
    Place(&'s FramePattern, bool),
    /// As [`StageForm::Named`].
    Named(&'s FramePattern, &'s str),
    /// As [`StageForm::Grain`].
    Grain(Grain),
    /// As [`StageForm::Axis`].
    Axis(Axis),
    /// As [`StageForm::Period`].
    Period(&'s Period),
    /// As [`StageForm::Test`].
    Test(&'s MetricTest),
}

const fn entry(words: &'static str, form: StageForm, help: &'static str) -> StageEntry {
    StageEntry { words, help, form }
}

/// All stages but predicates, in the order of help.
pub(crate) const STAGES: [StageEntry; 13] = [
    entry("hide", StageForm::Frames(Stage::Hide), "delete frames, keep their cost"),
    entry("stop at", StageForm::Frames(Stage::StopAt), "end paths at a frame"),
    entry("cut", StageForm::Frames(Stage::Cut), "delete a frame and all below it, keep the cost"),
    entry(
        "group",
        StageForm::Named(|pattern, name| Stage::Group { pattern, name }),
        "show frames as one: group f as name",
    ),
    entry(
        "root at",
        StageForm::Place(|pattern, last| Stage::RootAt { pattern, last }),
        "begin paths at a frame",
    ),
    entry(
        "collapse",
        StageForm::Frames(Stage::Collapse),
        "delete repeated occurrences of a function",
    ),
    entry("collapse-run", StageForm::Frames(Stage::CollapseRun), "delete direct recursion"),
    entry("fold", StageForm::Frames(Stage::Fold), "first to last occurrence become one"),
    entry(
        "by",
        StageForm::Grain(Stage::By),
        "rows are functions, files, modules, lines, addresses or loops: by module",
    ),
    entry(
        "callers of",
        StageForm::Frames(Stage::CallersOf),
        "callers upside down, from a frame to the root",
    ),
    entry("split", StageForm::Axis(Stage::Split), axis::SPLIT),
    entry(
        "during",
        StageForm::Period(Stage::During),
        "what was sampled in a part of the run: during 2s..4s, during 90%..",
    ),
    entry(
        "small",
        StageForm::Test(Stage::Small),
        "rows that pass a test become one: small incl(time) < 0.5%",
    ),
];

impl Stage {
    /// The words it begins with, and what stands behind them.
    pub(crate) fn written(&self) -> (&'static str, Operand<'_>) {
        match self {
            Self::Where(predicate) => ("where", Operand::Predicate(predicate)),
            Self::Hide(pattern) => ("hide", Operand::Frames(pattern)),
            Self::StopAt(pattern) => ("stop at", Operand::Frames(pattern)),
            Self::Cut(pattern) => ("cut", Operand::Frames(pattern)),
            Self::Group { pattern, name } => ("group", Operand::Named(pattern, name)),
            Self::RootAt { pattern, last } => ("root at", Operand::Place(pattern, *last)),
            Self::Collapse(pattern) => ("collapse", Operand::Frames(pattern)),
            Self::CollapseRun(pattern) => ("collapse-run", Operand::Frames(pattern)),
            Self::Fold(pattern) => ("fold", Operand::Frames(pattern)),
            Self::By(grain) => ("by", Operand::Grain(*grain)),
            Self::CallersOf(pattern) => ("callers of", Operand::Frames(pattern)),
            Self::Split(axis) => ("split", Operand::Axis(*axis)),
            Self::During(period) => ("during", Operand::Period(period)),
            Self::Small(test) => ("small", Operand::Test(test)),
        }
    }

    /// The frames it is about, if it is about those of one pattern: what could become a set.
    #[must_use]
    pub fn pattern(&self) -> Option<&FramePattern> {
        match self.written().1 {
            Operand::Frames(pattern) | Operand::Place(pattern, _) | Operand::Named(pattern, _) => {
                Some(pattern)
            }
            Operand::Predicate(predicate) => predicate.pattern(),
            Operand::Grain(_) | Operand::Axis(_) | Operand::Period(_) | Operand::Test(_) => None,
        }
    }
}

impl Stage {
    /// Whether it takes a bounded time for each node and function, however it is written: so of
    /// what comes out of a file. Regular expressions do not, nor do those of sets that somebody
    /// named.
    pub(crate) fn is_quick(&self) -> bool {
        match self {
            Self::Hide(pattern)
            | Self::StopAt(pattern)
            | Self::Cut(pattern)
            | Self::Group { pattern, .. }
            | Self::Collapse(pattern)
            | Self::CollapseRun(pattern) => !has_regex(pattern),
            Self::Where(predicate) => is_quick(predicate),
            Self::RootAt { .. }
            | Self::Fold(_)
            | Self::By(_)
            | Self::CallersOf(_)
            | Self::Split(_)
            | Self::During(_)
            | Self::Small(_) => false,
        }
    }
}

fn is_quick(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::And(all) | Predicate::Or(all) => all.iter().all(is_quick),
        Predicate::Not(inner) => is_quick(inner),
        Predicate::Through(chain) => {
            let mut frames = chain.rest.iter().map(|(_, frame)| frame).chain([&chain.first]);
            !frames.any(has_regex)
        }
        Predicate::Under(pattern) | Predicate::In(pattern) | Predicate::Leaf(pattern) => {
            !has_regex(pattern)
        }
        Predicate::Depth { .. } | Predicate::Numbered { .. } | Predicate::Named { .. } => true,
        Predicate::Times { .. } | Predicate::Node(_) => false,
    }
}

/// Whether a pattern has a regular expression, also in a set; those of csprof's own are known.
fn has_regex(pattern: &FramePattern) -> bool {
    match pattern {
        FramePattern::Regex(_) => true,
        FramePattern::Any(inner) | FramePattern::All(inner) => inner.iter().any(has_regex),
        FramePattern::Not(inner) => has_regex(inner),
        FramePattern::Named(set) => has_regex(&set.pattern),
        FramePattern::Glob(_)
        | FramePattern::Exact(_)
        | FramePattern::Field(..)
        | FramePattern::Preset(_) => false,
    }
}
