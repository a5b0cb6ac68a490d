//! What answers to `=` are made of.

use std::borrow::Cow;

use super::column::At;
use crate::views::number::{amount, counted};

/// A name and a text; of no name if the text goes on with what is above it.
pub(super) fn pair(name: &str, text: impl Into<String>) -> (String, String) {
    (name.to_owned(), text.into())
}

/// What people read above the column.
pub(super) fn heading<'r>(at: &At<'r>) -> Cow<'r, str> {
    at.column.heading(at.basis)
}

/// Samples of the column's metric, and what they stand for.
pub(super) fn cost(at: &At<'_>, samples: u64) -> String {
    let (metric, form) = (at.metric(), at.basis.form);
    let period = amount(1, metric, form);
    format!("{} × {period} = {}", counted(samples, "sample", form), amount(samples, metric, form))
}
