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
//! `lang` holds its values; `parser` and `print` are inverse to each other. In a `forest`, a frame
//! pattern is compiled to a set of frames (`select::matcher`), a chain to an automaton that each
//! node inherits from its parent (`select::chain`), so no stage ever looks at a path as a whole.
//!
//! The folders follow the way of a refinement; each names only those before it: `pattern` (texts
//! compared), `lang` (text to stages), `forest` (columns), `select` (which frames and nodes are
//! meant), `stages` (one file each). No file of them names another in a circle, nor this one.
//!
//! ```
//! use csprof::profile::from_outline;
//! use csprof::refine::{apply, parse};
//! let profile = from_outline("main 2\n  solve 3\n    MPI_Send 5\n").unwrap();
//! let refined = apply(&profile, &parse("through MPI_*").unwrap()).unwrap();
//! assert_eq!((refined.shown, refined.out, refined.base), (5, 5, 10));
//! ```

mod apply;
mod complete;
pub(crate) mod forest;
mod lang;
#[cfg(test)]
pub(crate) mod laws;
#[cfg(test)]
mod memory;
mod pattern;
mod select;
mod stages;
#[cfg(test)]
pub(crate) mod tests;
mod watch;

pub use self::apply::apply;
pub use self::complete::{Completion, complete, complete_words};
pub use self::forest::children::ChildIndex;
pub(crate) use self::forest::costs::{CostsOf, in_width};
pub use self::forest::error::{Cause, RefineError, Stopped};
pub use self::forest::outline::to_outline;
pub(crate) use self::forest::recorded::EdgeCounts;
pub use self::forest::refined::{Outcome, Refined};
pub(crate) use self::forest::walk::{Visitor, depth_first, walk};
pub(crate) use self::forest::weights::WeightColumn;
pub use self::forest::weights::{WeightRef, shown_of_runs, shown_of_sides};
pub use self::forest::workspace::Table;
pub use self::lang::axis::{Axis, NO_FUNCTION};
pub use self::lang::comparison::Comparison;
pub use self::lang::definitions::{SetText, defined_in, is_definition};
pub(crate) use self::lang::lexer::has_regex;
pub(crate) use self::lang::metric_test::is_metric_word;
pub use self::lang::metric_test::{Metric, MetricTest, Quantity, Sides, Unit, Value, Whole};
pub use self::lang::parser::parse;
pub use self::lang::parser::state::ParseError;
pub(crate) use self::lang::parser::state::marks;
pub use self::lang::period::Period;
pub use self::lang::preset::Preset;
pub use self::lang::saved::saved_in;
pub use self::lang::sets::{Problem, SavedRefinement, Sets};
pub use self::lang::stage::{Refinement, Stage};
pub use self::lang::syntax::{Chain, Field, FramePattern, Grain, Link, NamedSet, Predicate};
pub(crate) use self::pattern::glob::Glob;
pub(crate) use self::pattern::names::{NameGlob, NameTable};
pub(crate) use self::pattern::nearest::{meant, nearest};
pub use self::select::contexts::contexts;
pub(crate) use self::select::contexts::{phase_start_ns, phases};
pub(crate) use self::select::matching::NodeSet;
pub use self::select::matching::{FrameSet, Matching};
pub use self::watch::{Cancelled, Watch, unwatched};
