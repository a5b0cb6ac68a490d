//! A refined profile in the formats of other tools, and for browsers.

pub mod folded;
pub mod html;
pub mod picture;
pub mod svg;

#[cfg(test)]
mod tests;
