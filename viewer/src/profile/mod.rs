//! The loaded profile: a saved profile with every machine frame expanded to source-level frames.
//!
//! In the life of a sample this is the step after the file and before refinement. Columns are
//! immutable once loaded: every refinement, view and report is computed from them and can be
//! computed again.
//!
//! Invariants: node 0 is the root of everything and has no samples; `parent[n] < n` for every
//! other node; each stream's nodes are consecutive and in pre-order; Σ `samples` equals the
//! recorded samples of the run. Function 0 and frame 0 are the root's, `<root>`, and no other
//! node of a loaded profile names them.

mod builder;
mod column;
pub mod comparison;
mod counts;
mod definitions;
mod derive;
pub mod derived;
mod deviation;
mod frame_kind;
mod hosts;
mod in_parts;
mod intern;
mod load;
pub mod merge;
mod metric;
mod model;
mod name;
mod outline;
mod passage;
pub mod program_key;
mod projection;
mod pseudo;
pub mod reduce;
mod role;
mod shared;
mod sides;
mod spreads;
mod times;

pub use builder::NodesBuilder;
pub use column::Column;
pub(crate) use column::Home;
pub use counts::{Count, Counts, MOST};
pub use definitions::short_place;
pub use frame_kind::{Activation, FrameKind, KindDefinition, Look, Nature};
pub use hosts::Hosts;
pub(crate) use in_parts::{in_parts, of_each, processors, split};
pub use metric::MetricRef;
pub use model::{
    Frame, FrameRef, Function, FunctionKey, FunctionRef, LOOP, Nodes, Profile, Stream, add_up,
    name_of_file, program,
};
pub(crate) use model::{inclusive, parts_of};
#[cfg(test)]
pub(crate) use name::hard_names;
pub(crate) use name::{
    BareNames, CloneMarks, NarrowName, OPERATORS, Parts, ShownName, begins_mark, closed_group,
    is_same_name, marked, spell,
};
pub use name::{base_name, short_name};
pub use outline::{from_outline, to_outline};
pub(crate) use outline::{quoted, write_kind};
pub(crate) use passage::is_collector;
pub use shared::Shared;
pub use spreads::Spreads;
pub use times::{TimedSamples, Times, Window};
