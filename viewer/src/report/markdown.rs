//! What reports in Markdown have in common.

use crate::views::printable::printable;

/// Text in which nothing is Markdown: as code, with bars that end no cell of a table.
pub(super) fn code(text: &str) -> String {
    format!("`{}`", printable(text).replace('`', "'").replace('|', "\\|"))
}
