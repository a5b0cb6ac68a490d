//! The values of the refinement language: what the parser makes and the printer writes.
//!
//! A value says what is asked, in the user's words; whether any frame answers to it is found out
//! only when it is applied to a profile.

use std::sync::Arc;

use super::metric_test::MetricTest;
use super::preset::Preset;
use super::sets::NamedSet;

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
    /// Rows that pass the test become one row for each parent, with all that is below them.
    Small(MetricTest),
}

/// What rows stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Functions, as without this stage.
    Function,
    /// Source files.
    File,
    /// Load modules.
    Module,
    /// Lines of functions.
    Line,
}

impl Grain {
    /// All grains and their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Function, "function"),
        (Self::File, "file"),
        (Self::Module, "module"),
        (Self::Line, "line"),
    ];

    /// The name used in the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// What is asked of a call path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Predicate {
    /// All of these; two or more.
    And(Vec<Predicate>),
    /// One of these at least; two or more.
    Or(Vec<Predicate>),
    /// Not this.
    Not(Box<Predicate>),
    /// The path contains the chain.
    Through(Chain),
    /// The path continues below a match.
    Under(FramePattern),
    /// The sample was taken in the code of a match, inlined code included: the path ends in a
    /// match followed by inlined frames only.
    In(FramePattern),
    /// The last frame of the path matches.
    Leaf(FramePattern),
    /// How many frames of the path match.
    Times {
        /// What is counted.
        pattern: FramePattern,
        /// How the count compares.
        comparison: Comparison,
        /// With what.
        count: u32,
    },
    /// How many frames the path has.
    Depth {
        /// How the number compares.
        comparison: Comparison,
        /// With what.
        count: u32,
    },
    /// The row that the sample belongs to passes the test: of all samples together that the stage
    /// is shown with the same path.
    Node(MetricTest),
    /// The number of the sample's rank, process, thread or epoch lies in one of these ranges.
    Numbered {
        /// Which number.
        axis: Axis,
        /// First and last, both included; one range at least.
        ranges: Vec<(u32, u32)>,
    },
    /// The name of the sample's thread or program, or the number as text, matches the glob.
    Named {
        /// Which name.
        axis: Axis,
        /// The glob.
        glob: String,
    },
}

/// Frames along a path, outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Whether the first frame must be the outermost of the path (start-up code not counted).
    pub from_root: bool,
    /// The first frame.
    pub first: FramePattern,
    /// How each further frame is reached, and what it is.
    pub rest: Vec<(Link, FramePattern)>,
    /// Whether the last frame must be the innermost of the path.
    pub to_leaf: bool,
}

impl Chain {
    /// Frames a chain can have at most.
    pub const MAX_LENGTH: usize = 31;

    /// The chain of a single frame.
    #[must_use]
    pub fn of(pattern: FramePattern) -> Self {
        Self { from_root: false, first: pattern, rest: Vec::new(), to_leaf: false }
    }

    /// Number of frames.
    #[must_use]
    pub fn length(&self) -> usize {
        1 + self.rest.len()
    }
}

/// How the next frame of a chain is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// `>`: it is called directly.
    Direct,
    /// `>>`: it is called at any depth.
    Below,
}

/// Which frames are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FramePattern {
    /// Function name with `*` and `?`; `\` before one of them, or before itself, takes it
    /// literally. In any of its forms: with or without arguments, templates, namespaces.
    Glob(String),
    /// Regular expression, found anywhere in the function name.
    Regex(String),
    /// Exactly this function name.
    Exact(String),
    /// A property of the frame, as a glob.
    Field(Field, String),
    /// Any of these; one or more.
    Any(Vec<FramePattern>),
    /// All but these.
    Not(Box<FramePattern>),
    /// All of these at once; two or more.
    All(Vec<FramePattern>),
    /// A set of frames that csprof knows by name.
    Preset(Preset),
    /// A set of frames that somebody named.
    Named(Arc<NamedSet>),
}

/// A property of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Function name, as a bare glob.
    Function,
    /// Load module: its path, or the end of it after any `/`.
    Module,
    /// Source file: its path, or the end of it after any `/`.
    File,
    /// Source line.
    Line,
    /// `call`, `inline`, `unknown` or `partial`.
    Kind,
}

impl Field {
    /// All fields and their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Function, "function"),
        (Self::Module, "module"),
        (Self::File, "file"),
        (Self::Line, "line"),
        (Self::Kind, "kind"),
    ];

    /// The name used in the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// What [`Field::Kind`] is compared with. There are no loops: csprof records calls, and does not
/// look for loops in a program's code.
pub(super) const KINDS: [&str; 4] = ["call", "inline", "unknown", "partial"];

/// Part of a sample's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// MPI or job rank of the process.
    Rank,
    /// Process, counted from 0 in the order in which the processes began.
    Process,
    /// Thread, counted from 0 within its process.
    Thread,
    /// Epoch, counted from 0 within its process.
    Epoch,
}

impl Axis {
    /// All axes and their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Rank, "rank"),
        (Self::Process, "process"),
        (Self::Thread, "thread"),
        (Self::Epoch, "epoch"),
    ];

    /// The name used in the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// How a number is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `>=`
    AtLeast,
    /// `>`
    Greater,
}

impl Comparison {
    /// All comparisons and their signs.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Less, "<"),
        (Self::AtMost, "<="),
        (Self::Equal, "="),
        (Self::NotEqual, "!="),
        (Self::AtLeast, ">="),
        (Self::Greater, ">"),
    ];

    /// The sign used in the language.
    #[must_use]
    pub fn sign(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether `left` compares so with `right`.
    #[must_use]
    pub fn holds<N: Ord>(self, left: &N, right: &N) -> bool {
        match self {
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::AtLeast => left >= right,
            Self::Greater => left > right,
        }
    }
}
