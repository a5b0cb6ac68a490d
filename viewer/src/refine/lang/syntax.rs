//! What stages are about: predicates on call paths, chains of frames, frame patterns.
//!
//! A value says what is asked, in the user's words; whether any frame answers to it is found out
//! only when it is applied to a profile.

use std::sync::Arc;

use super::axis::Axis;
use super::comparison::Comparison;
use super::metric_test::MetricTest;
use super::preset::Preset;
use crate::profile::FrameKind;

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
    /// Addresses in functions.
    Address,
    /// Functions, and in them the loops that they call from.
    Loop,
}

impl Grain {
    /// All grains and their names.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Function, "function"),
        (Self::File, "file"),
        (Self::Module, "module"),
        (Self::Line, "line"),
        (Self::Address, "address"),
        (Self::Loop, "loop"),
    ];

    /// The name used in the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether rows stand for parts of functions, instead of what functions are parts of.
    pub(crate) fn is_within_function(self) -> bool {
        matches!(self, Self::Line | Self::Address)
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
    /// The number of the sample's context lies in one of these ranges.
    Numbered {
        /// Which number.
        axis: Axis,
        /// First and last, both included; one range at least.
        ranges: Vec<(u32, u32)>,
    },
    /// The name of the sample's context, or the number as text, matches the glob.
    Named {
        /// Which name.
        axis: Axis,
        /// The glob.
        glob: String,
    },
}

impl Predicate {
    /// The frames it is about, if it is about those of one pattern.
    pub(crate) fn pattern(&self) -> Option<&FramePattern> {
        match self {
            Self::Not(inner) => inner.pattern(),
            Self::Through(chain) => chain.rest.is_empty().then_some(&chain.first),
            Self::Under(pattern)
            | Self::In(pattern)
            | Self::Leaf(pattern)
            | Self::Times { pattern, .. } => Some(pattern),
            _ => None,
        }
    }
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

/// A set that somebody defined.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedSet {
    /// The name, without `@`.
    pub(crate) name: String,
    /// The frames it stands for.
    pub(crate) pattern: FramePattern,
    /// File and line of its definition.
    pub(crate) place: String,
    /// How deep sets lie inside it.
    pub(crate) depth: u32,
    /// How many patterns it stands for once the sets inside it are written out.
    pub(crate) size: u64,
}

impl NamedSet {
    /// The name, without `@`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The frames it stands for.
    #[must_use]
    pub fn pattern(&self) -> &FramePattern {
        &self.pattern
    }

    /// File and line of its definition.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }
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
    /// The word for a [kind of frame](FrameKind).
    Kind,
    /// File and line of a loop, `mm.c:12`: the path, or the end of it after any `/`.
    Loop,
}

impl Field {
    /// All fields and their names.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Function, "function"),
        (Self::Module, "module"),
        (Self::File, "file"),
        (Self::Line, "line"),
        (Self::Kind, "kind"),
        (Self::Loop, "loop"),
    ];

    /// The name used in the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// The words that [`Field::Kind`] is compared with.
pub(crate) fn kind_words() -> Vec<&'static str> {
    let in_paths = FrameKind::ALL.into_iter().filter(|kind| kind.is_in_paths());
    in_paths.map(|kind| kind.definition().word).collect()
}
