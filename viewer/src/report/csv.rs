//! The report for spreadsheets, as CSV (RFC 4180).
//!
//! Cells are one line: what a terminal would obey is escaped, as in text. A spreadsheet takes a
//! cell that begins with `=`, `+`, `-` or `@` for a formula, so names that do begin with `'`, as
//! OWASP advises ("CSV Injection"). Programs that read names should read JSON.
//!
//! The columns of the JSON rows, with edge counts as two: `edges_low` and `edges_high`, equal where
//! the count is exact and empty where there is none. Unknown places are empty. Of a profile of
//! several metrics, two more columns for each of them follow, such as `realtime_inclusive` and
//! `realtime_exclusive`; then two for each derived metric, `ipc_inclusive` and `ipc_exclusive`.
//! Those of formulas with edges are bounds, too: `ipc_inclusive_low` and `ipc_inclusive_high`.

use std::borrow::Cow;
use std::io::{self, Write};

use super::Options;
use super::for_machines::ForMachines;
use crate::refine::Refined;
use crate::views::columns::{AnyRow, Basis, Column, Plain};
use crate::views::number::hex;
use crate::views::printable::printable;

/// Text as a cell: one line, and no formula.
pub(crate) fn cell(text: &str) -> Cow<'_, str> {
    const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let text = printable(text);
    if text.trim_start().starts_with(FORMULA) { Cow::Owned(format!("'{text}")) } else { text }
}

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let basis = options.basis_for_machines(refined);
    let columns = basis.for_machines(options.view.cost()).concat();
    let mut rows = CsvRows::begin(&basis, &columns, out)?;
    ForMachines::new(refined, options).each(|row, depth| rows.write(row, depth))?;
    rows.end()
}

/// Rows in columns, written one by one.
pub(super) struct CsvRows<'b, W: Write> {
    basis: &'b Basis<'b>,
    columns: &'b [Column],
    table: csv::Writer<W>,
    record: csv::StringRecord,
}

impl<'b, W: Write> CsvRows<'b, W> {
    pub(super) fn begin(basis: &'b Basis<'b>, columns: &'b [Column], out: W) -> io::Result<Self> {
        let mut record = csv::StringRecord::new();
        record.push_field("depth");
        for column in columns {
            let name = match column.key(basis) {
                (Some(group), key) => format!("{group}_{key}"),
                (None, key) => key.to_owned(),
            };
            if column.has_bounds(basis) {
                record.extend(
                    ["low", "high"].map(|bound| cell(&format!("{name}_{bound}")).into_owned()),
                );
            } else {
                record.push_field(&cell(&name));
            }
        }
        let mut table = csv::Writer::from_writer(out);
        table.write_record(&record).map_err(of_output)?;
        Ok(Self { basis, columns, table, record })
    }

    pub(super) fn write<'r>(&mut self, row: impl Into<AnyRow<'r>>, depth: u32) -> io::Result<()> {
        let row = row.into();
        self.record.clear();
        self.record.push_field(&depth.to_string());
        for column in self.columns {
            let has_bounds = column.has_bounds(self.basis);
            match column.value(self.basis, row).plain() {
                Plain::Nothing if has_bounds => self.record.extend(["", ""]),
                Plain::Real(n) if has_bounds => {
                    self.record.extend([n, n].map(|bound| bound.to_string()));
                }
                Plain::Nothing => self.record.push_field(""),
                Plain::Text(text) => self.record.push_field(&cell(text)),
                Plain::Bytes(bytes) => self.record.push_field(&hex(bytes)),
                Plain::Truth(truth) => self.record.push_field(&truth.to_string()),
                Plain::Natural(n) => self.record.push_field(&n.to_string()),
                Plain::Integer(n) => self.record.push_field(&n.to_string()),
                Plain::Real(n) => self.record.push_field(&n.to_string()),
                Plain::Between(low, high) => {
                    self.record.extend([low, high].map(|bound| bound.to_string()));
                }
                Plain::Naturals(numbers, unit) => {
                    let numbers = numbers.iter().map(|&n| (u128::from(n) * unit).to_string());
                    self.record.push_field(&numbers.collect::<Vec<_>>().join(" "));
                }
                Plain::Bounds(low, high) => {
                    self.record.extend([low, high].map(|bound| bound.to_string()));
                }
            }
        }
        self.table.write_record(&self.record).map_err(of_output)
    }

    pub(super) fn end(mut self) -> io::Result<()> {
        self.table.flush()
    }
}

/// The error of the output itself: whoever calls wants to know whether it is a broken pipe.
pub(crate) fn of_output(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
