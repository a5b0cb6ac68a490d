//! Rows out of a refined profile: what the terminal, reports and exports show.
//!
//! In the life of a sample this is the step after refinement and before a screen or a file.
//! A row fuses the nodes that a person means as one: the same function, reached in the same way,
//! from whatever call site, in whatever thread and epoch. Rows are made when they are asked for,
//! so that opening a row costs what its children cost and never what the profile costs.
//!
//! Pure: values in, values out. Nothing here knows a terminal or a file.

mod call_paths;
pub mod callers;
pub mod clusters;
pub mod columns;
pub mod contexts;
pub mod cost_lines;
pub mod costs;
pub mod difference;
pub mod dimension;
pub mod distribution;
pub mod flame;
pub mod flat;
pub mod folds;
pub mod hall;
pub mod hot_path;
pub mod instructions;
pub mod measure;
pub mod names;
pub mod notes;
pub mod number;
mod outermost;
pub mod over_ranks;
pub mod path;
pub(crate) mod pattern;
pub mod peer_costs;
pub mod peers;
pub mod phases;
pub mod places;
pub mod printable;
mod row;
pub mod search;
pub mod sets;
mod several_paths;
pub mod since;
pub mod slices;
pub mod sort;
pub mod source;
pub mod statistics;
pub mod strip;
pub mod strips;
pub mod suggest;
pub mod summary;
mod sums;
mod tally;
pub mod top_down;
pub mod tree;
pub mod verdict;
mod view;
pub mod visible;
pub mod waits;

#[cfg(test)]
pub(crate) mod laws;
#[cfg(test)]
mod tests;

pub use row::{Cost, Edges, Row, StripKind, Weight, Weights};
pub use sort::Sort;
pub use view::{Arrangement, View, ViewDefinition};

pub use crate::refine::{WeightRef, shown_of_runs, shown_of_sides};
