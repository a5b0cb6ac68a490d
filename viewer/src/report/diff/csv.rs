//! The report of a comparison for spreadsheets, as CSV (RFC 4180): the columns of the JSON rows,
//! without edge counts.

use std::io::{self, Write};

use super::super::csv::CsvRows;
use super::super::for_machines::ForMachines;
use super::Options;
use super::listing::unexplored;
use crate::print;
use crate::refine::Refined;
use crate::views::columns::{Basis, Unit};
use crate::views::number::Form;

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let basis = Basis::new(refined);
    let mut columns = basis.for_machines(options.view.cost()).concat();
    columns.retain(|column| column.definition().unit != Unit::Edges);
    let mut written = CsvRows::begin(&basis, &columns, out)?;
    let rows = ForMachines::new(refined, options);
    if let Some(note) = unexplored(rows.not_looked_into(), Form::Ascii) {
        print::message(note)?;
    }
    rows.each(|row, depth| written.write(row, depth))?;
    written.end()
}
