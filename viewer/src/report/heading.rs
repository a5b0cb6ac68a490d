//! What a page for people begins with, of one profile or of two.

use std::io::{self, Write};

use super::{Options, diff, text};
use crate::refine::Refined;

/// Writes what was run or is compared, and accounts for every sample.
///
/// # Errors
/// Those of `out`.
pub fn write(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let form = options.form();
    match refined.profile.comparison {
        Some(_) => diff::text::heading(refined, options, form, out),
        None => text::heading(refined, options, form, out),
    }
}
