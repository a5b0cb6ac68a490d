//! The report of a comparison for spreadsheets, as CSV (RFC 4180): the columns of the JSON rows.

use std::io::{self, Write};

use super::super::csv::{cell, of_output};
use super::super::json::kind;
use super::json::Written;
use super::listing::{ForMachines, unexplored};
use super::{Options, comparison};
use crate::print;
use crate::refine::Refined;
use crate::views::difference::Difference;
use crate::views::number::Form;

/// Names of the columns.
pub const COLUMNS: [&str; 16] = [
    "depth",
    "function",
    "module",
    "file",
    "line",
    "kind",
    "base_inclusive",
    "base_exclusive",
    "other_inclusive",
    "other_exclusive",
    "delta_inclusive",
    "delta_exclusive",
    "noise_inclusive",
    "noise_exclusive",
    "change",
    "significant",
];

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(refined: &Refined<'_>, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let profile = refined.profile;
    let written = Written(comparison(refined));
    let mut table = csv::Writer::from_writer(out);
    table.write_record(COLUMNS).map_err(of_output)?;
    let rows = ForMachines::new(refined, options);
    if let Some(note) = unexplored(rows.not_looked_into(), Form::Ascii) {
        print::message(note)?;
    }
    rows.each(|row, depth| {
        let function = &refined.functions[row.function.index()];
        let sides = row.sides();
        let [inclusive, exclusive] =
            [sides.map(|counts| counts.inclusive), sides.map(|counts| counts.exclusive)];
        let amounts = [0, 1].map(|side| {
            [inclusive, exclusive].map(|of| written.amount(side, of[side]).to_string())
        });
        let deltas = [inclusive, exclusive].map(|of| written.delta(of).to_string());
        let noises = [inclusive, exclusive].map(|of| written.noise(of).to_string());
        let about = Difference::new(comparison(refined), options.samples(row));
        let cells = [
            &[
                depth.to_string(),
                cell(&function.name).into_owned(),
                cell(function.module.map_or("", |module| profile.module_path(module))).into_owned(),
                cell(function.file.map_or("", |file| profile.string(file))).into_owned(),
                if function.line > 0 { function.line.to_string() } else { String::new() },
                kind(row.kind).to_owned(),
            ][..],
            &amounts[0],
            &amounts[1],
            &deltas,
            &noises,
            &[about.change().word().to_owned(), about.is_significant().to_string()],
        ];
        table.write_record(cells.concat()).map_err(of_output)
    })?;
    table.flush()
}
