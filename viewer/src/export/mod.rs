//! A refined profile in the formats of other tools, and for browsers.
//!
//! A format is a file here and an entry of [`FORMATS`]: command lines and the terminal viewer take
//! what they offer from there.

use self::format::Format;

pub mod folded;
pub mod format;
pub mod html;
pub mod picture;
pub mod svg;
pub mod table;

/// All formats.
pub static FORMATS: [&Format; 3] = [&html::FORMAT, &svg::FORMAT, &folded::FORMAT];

#[cfg(test)]
mod tests;
