//! Texts compared with what people type: globs, regular expressions, near names. Knows neither the
//! language nor a forest.

pub(crate) mod c_names;
pub(crate) mod glob;
mod letters;
mod lists;
pub(crate) mod names;
pub(crate) mod nearest;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
mod walk;
mod words;
