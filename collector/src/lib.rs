//! The preloaded library that samples call paths inside the profiled program.

pub mod unwind;
