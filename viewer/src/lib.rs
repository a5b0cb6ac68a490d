//! The parts of the csprof viewer, lower ones first; none names one below it in this list.

pub mod cli;
pub mod launch;
pub mod profile;
pub mod refine;
pub mod symbols;
pub mod tui;
pub mod views;
