//! The report for spreadsheets, as CSV (RFC 4180).
//!
//! Cells are one line: what a terminal would obey is escaped, as in text. A spreadsheet takes a cell
//! that begins with `=`, `+`, `-` or `@` for a formula, so names that do begin with `'`, as OWASP
//! advises ("CSV Injection"). Programs that read names should read JSON.
//!
//! The columns of the JSON rows, with edge counts as two: `edges_low` and `edges_high`, equal
//! where the count is exact and empty where there is none. Unknown places are empty. Of a profile of
//! several metrics, two more columns for each of them follow, such as `realtime_inclusive` and
//! `realtime_exclusive`.

use std::borrow::Cow;
use std::io::{self, Write};

use super::json::kind;
use super::listing::each;
use super::{Options, several};
use crate::refine::Refined;
use crate::views::Edges;
use crate::views::printable::printable;

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

/// Text as a cell: one line, and no formula.
pub(super) fn cell(text: &str) -> Cow<'_, str> {
    const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let text = printable(text);
    if text.trim_start().starts_with(FORMULA) { Cow::Owned(format!("'{text}")) } else { text }
}

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(refined: &Refined<'_>, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let (profile, looked_at) = (refined.profile, refined.looked_at());
    let measure = options.measure.unwrap_or_default();
    let metrics = several(refined);
    let mut table = csv::Writer::from_writer(out);
    let columns = further_columns(refined, ["inclusive", "exclusive"]);
    let columns = COLUMNS.into_iter().chain(columns.iter().map(String::as_str));
    table.write_record(columns).map_err(of_output)?;
    let mut record = csv::StringRecord::new();
    each(refined, options, |row, depth| {
        let function = &refined.functions[row.function.index()];
        let (low, high) = match row.edges {
            Edges::None => (String::new(), String::new()),
            Edges::Range { low, high } => (low.to_string(), high.to_string()),
        };
        record.clear();
        record.extend([
            depth.to_string().as_str(),
            &cell(&function.name),
            &cell(function.module.map_or("", |module| profile.module_path(module))),
            &cell(function.file.map_or("", |file| profile.string(file))),
            &if function.line > 0 { function.line.to_string() } else { String::new() },
            kind(row.kind),
            &measure.of(row.inclusive, looked_at).to_string(),
            &measure.of(row.exclusive, looked_at).to_string(),
            &low,
            &high,
        ]);
        for (share, (_, metric)) in row.further.iter().zip(&metrics) {
            let of = |samples| measure.of(samples, metric).to_string();
            record.extend([of(share.inclusive), of(share.exclusive)]);
        }
        table.write_record(&record).map_err(of_output)
    })?;
    table.flush()
}

/// Names of the columns that each metric has, where there are several.
pub(super) fn further_columns(refined: &Refined<'_>, names: [&str; 2]) -> Vec<String> {
    let metrics = several(refined).into_iter();
    metrics
        .flat_map(|(_, metric)| {
            names.map(|name| cell(&format!("{}_{name}", metric.source)).into_owned())
        })
        .collect()
}

/// The error of the output itself: whoever calls wants to know whether it is a broken pipe.
pub(super) fn of_output(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
