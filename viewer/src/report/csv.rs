//! The report for spreadsheets, as CSV (RFC 4180).
//!
//! The columns of the JSON rows, with edge counts as two: `edges_low` and `edges_high`, equal
//! where the count is exact and empty where there is none. Unknown places are empty.

use std::io::{self, Write};

use super::Options;
use super::json::kind;
use super::listing::{Limits, list};
use crate::refine::Refined;
use crate::views::Edges;

/// Names of the columns.
pub const COLUMNS: [&str; 10] = [
    "depth",
    "function",
    "module",
    "file",
    "line",
    "kind",
    "inclusive",
    "exclusive",
    "edges_low",
    "edges_high",
];

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(refined: &Refined<'_>, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let profile = refined.profile;
    let measure = options.measure.unwrap_or_default();
    let mut table = csv::Writer::from_writer(out);
    table.write_record(COLUMNS).map_err(of_output)?;
    let listing = list(refined, options, Limits::for_machines(options));
    for line in &listing.lines {
        let row = &line.row;
        let function = &refined.functions[row.function.index()];
        let (low, high) = match row.edges {
            Edges::None => (String::new(), String::new()),
            Edges::Range { low, high } => (low.to_string(), high.to_string()),
        };
        let written = table.write_record([
            line.depth.to_string().as_str(),
            &function.name,
            function.module.map_or("", |module| profile.module_path(module)),
            function.file.map_or("", |file| profile.string(file)),
            &if function.line > 0 { function.line.to_string() } else { String::new() },
            kind(row.kind),
            &measure.of(row.inclusive, profile).to_string(),
            &measure.of(row.exclusive, profile).to_string(),
            &low,
            &high,
        ]);
        written.map_err(of_output)?;
    }
    table.flush()
}

/// The error of the output itself: whoever calls wants to know whether it is a broken pipe.
pub(super) fn of_output(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
