//! The parts of the csprof viewer. In the order of its layers, lower ones first: print, profile,
//! structure, symbols, refine, set_files, state, sources, views, report, export, tui, launch, cli.
//! No part names one of a layer above its own.

pub mod cli;
pub mod demo;
pub mod export;
mod job_place;
pub mod launch;
mod left_out;
pub mod print;
pub mod profile;
pub mod refine;
pub mod report;
pub mod set_files;
pub mod sources;
pub mod state;
pub mod structure;
#[cfg(test)]
mod surroundings;
pub mod symbols;
pub mod tui;
pub mod views;
