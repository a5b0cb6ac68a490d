//! Which frames and which nodes are meant: patterns and predicates in a forest.

mod chain;
pub(crate) mod contexts;
pub(crate) mod matcher;
pub(crate) mod matching;
pub(crate) mod predicate;
pub(crate) mod rows;
mod suggest;
