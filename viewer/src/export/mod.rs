//! A refined profile in the formats of other tools.

pub mod folded;
