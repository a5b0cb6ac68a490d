//! The refinement language: text, and the values that it stands for. Knows no forest.

pub(crate) mod axis;
pub(crate) mod comparison;
pub(crate) mod definitions;
pub(crate) mod keywords;
pub(crate) mod lexer;
pub(crate) mod metric_test;
pub(crate) mod parser;
pub(crate) mod period;
pub(crate) mod preset;
mod print;
pub(crate) mod saved;
pub(crate) mod sets;
pub(crate) mod stage;
pub(crate) mod syntax;
