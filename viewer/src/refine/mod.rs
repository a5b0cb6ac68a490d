//! Call path refinement: which paths are shown, and as what.
//!
//! A [`Refined`] forest is what every view, report and export is computed from. Without stages it
//! is the loaded profile itself. Each stage turns one forest into the next and keeps account of
//! what it took out: `shown + out = base` in integers, whatever the stages are.
//!
//! ```text
//! text ──parse──► Refinement ──apply──► Refined
//!   ▲                 │                    ▲
//!   └──── Display ────┘      Profile ──────┘
//! ```
//!
//! The language in one line: stages joined by `|`, each either a predicate on call paths
//! (`through MPI_* and not under main_loop`) or a transform of them (`hide module:libomp*`).
//! `syntax` holds its values; `parser` and `print` are inverse to each other. A frame pattern is
//! compiled to a set of frames (`matcher`), a chain to an automaton that each node inherits from
//! its parent (`chain`), so no stage ever looks at a path as a whole. Patterns can have names
//! (`sets`).
//!
//! ```
//! use csprof::profile::from_outline;
//! use csprof::refine::{apply, parse};
//! let profile = from_outline("main 2\n  solve 3\n    MPI_Send 5\n").unwrap();
//! let refined = apply(&profile, &parse("through MPI_*").unwrap()).unwrap();
//! assert_eq!((refined.shown, refined.out, refined.base), (5, 5, 10));
//! ```

mod apply;
mod bits;
mod chain;
mod children;
mod column;
mod complete;
mod compose;
mod costs;
mod edges;
#[cfg(test)]
pub(crate) mod laws;
mod letters;
mod lexer;
mod matcher;
mod matching;
#[cfg(test)]
mod memory;
mod metric_test;
mod name_order;
mod nearest;
mod outline;
mod parser;
mod predicate;
mod preset;
mod print;
mod rows;
mod sets;
mod sides;
mod stages;
mod syntax;
#[cfg(test)]
mod tests;
mod watch;

pub use apply::{Cause, RefineError, Stopped, apply};
pub use children::ChildIndex;
pub(crate) use children::{Visitor, depth_first, walk};
pub use column::{Column, Table};
pub use complete::{Completion, complete, complete_words, contexts};
pub(crate) use costs::{Costs, CostsOf, in_width};
pub(crate) use edges::EdgeCounts;
pub(crate) use matching::NodeSet;
pub use matching::{FrameSet, Matching};
pub use metric_test::{Metric, MetricTest, Quantity, Sides, Unit, Value, Whole};
pub use outline::to_outline;
pub use parser::{ParseError, parse};
pub use preset::Preset;
pub use sets::{NamedSet, Problem, Sets, Source, defined_in, is_definition};
pub(crate) use sides::first_of_other;
pub use sides::shown_of_sides;
pub use syntax::{
    Axis, Chain, Comparison, Field, FramePattern, Grain, Link, Predicate, Refinement, Stage,
};

pub use watch::{Cancelled, Watch};

use std::sync::Arc;

use self::children::{LazyIndex, Order};
use self::column::Workspace;
use self::edges::Procedures;
use self::matcher::{Names, Shown};
use self::name_order::NameOrder;
use crate::profile::{Frame, FrameRef, Function, MetricRef, Profile, Stream};

/// A profile after refinement.
///
/// `parent[n] < n` for every node but node 0, the root of everything. Nodes without samples below
/// them (taken out, or merged into others) have `inclusive == 0` and are not shown. Samples that a
/// stage left without any frame sit on nodes below node 0 whose frame is the root's, `<root>`: one
/// at most for each outermost node, so that they keep their thread and epoch.
///
/// A node takes 8 bytes for parent and frame, 8 for its samples, exclusive and inclusive, and 8 for
/// what edge counts are computed from ([`Refined::edges`]), nearly all of it shared with the
/// profile; and 8 for each metric beside the first; and 8 for bounds of edge counts, where these are
/// asked for after samples were taken out; see [`Refined::bytes`]. Cloning is cheap: stages share the columns that they do not
/// change.
#[derive(Clone, Debug)]
pub struct Refined<'p> {
    /// The profile that was refined.
    pub profile: &'p Profile,
    /// Functions: those of the profile, then the groups that stages made.
    pub functions: Table<'p, Function>,
    /// Frames: those of the profile, then those that stages made.
    pub frames: Table<'p, Frame>,
    /// Parent of each node; 0 for node 0.
    pub parent: Column<'p, u32>,
    /// Frame of each node.
    pub frame: Column<'p, FrameRef>,
    /// Threads and epochs of the nodes, as in the profile.
    pub streams: Column<'p, Stream>,
    /// The metric that is looked at: what [`Refined::inclusive`] and [`Refined::exclusive`], and
    /// the four numbers below, are about. Stages do the same to all metrics.
    pub metric: MetricRef,
    /// One for each stage, in order.
    pub outcomes: Vec<Outcome>,
    /// Samples of the profile.
    pub base: u64,
    /// Samples shown. `shown + out = base`.
    pub shown: u64,
    /// Samples taken out by the stages together.
    pub out: u64,
    /// What was measured and what the stages did, of each metric in their order.
    accounts: Vec<Account>,
    /// Whether paths lead from callees to callers: `callers of` turns them round.
    pub(crate) is_inverted: bool,
    /// What the stages selected by, for [`Refined::kept`].
    selected_by: Vec<Predicate>,
    pub(crate) costs: Costs<'p>,
    /// Samples shown of BASE and OTHER, where two profiles are compared and their nodes do not add
    /// up to them.
    pub(crate) shown_of_sides: Option<[u64; 2]>,
    index: LazyIndex,
    order: Order,
    frames_shown: Shown,
    procedures: Arc<Procedures>,
    names: Names,
    name_order: NameOrder,
    workspace: Workspace,
}

/// The account of one metric.
#[derive(Clone, Debug)]
struct Account {
    /// Samples of the profile.
    base: u64,
    /// One for each stage, in order.
    outcomes: Vec<Outcome>,
}

/// What one stage did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Samples that entered the stage.
    pub input: u64,
    /// Samples it let through. `shown + out = input`.
    pub shown: u64,
    /// Samples it took out.
    pub out: u64,
    /// Samples it moved to another frame.
    pub moved: u64,
}
