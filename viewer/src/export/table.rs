//! What a view shows that no command line repeats: a table, as text, CSV, JSON or a page for a
//! browser.
//!
//! Text and pages have what people read (`1.20 s`), CSV and JSON numbers (240 samples). JSON:
//!
//! ```text
//! {"title", HEADING: …, "rows": [{COLUMN: VALUE}]}
//! ```

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::picture::cut;
use super::svg::escaped;
use crate::print::{Escaping, Printable};
use crate::report::csv::{cell, of_output};
use crate::views::columns::Plain;
use crate::views::number::hex;
use crate::views::printable::printable;

/// Characters of a cell of text that people are shown.
const LONGEST: usize = 2000;

/// Names of a path that people are shown.
const MOST_NAMES: usize = 64;

/// Cells of a screen that a column of text is padded to at most.
const WIDEST: usize = 60;

/// A table with what stands above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What it is.
    pub title: String,
    /// What is to be known of it: name and fact.
    pub heading: Vec<(&'static str, Fact)>,
    /// Its columns.
    pub columns: Vec<TableColumn>,
    /// Its rows, each with a cell for each column.
    pub rows: Vec<Vec<Fact>>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// What scripts call it.
    pub key: String,
    /// What people call it.
    pub heading: String,
    /// Whether it has numbers, which stand at its right side.
    pub is_number: bool,
}

impl TableColumn {
    /// A column of numbers.
    #[must_use]
    pub fn number(key: &str, heading: &str) -> Self {
        Self { key: key.to_owned(), heading: heading.to_owned(), is_number: true }
    }

    /// A column of text.
    #[must_use]
    pub fn text(key: &str, heading: &str) -> Self {
        Self { is_number: false, ..Self::number(key, heading) }
    }
}

/// Something that people read in one form and scripts in another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// For people.
    pub text: String,
    /// For scripts.
    pub value: Value,
}

impl Fact {
    /// Text, the same for both.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { value: Value::String(text.clone()), text }
    }

    /// A number, and how people read it.
    #[must_use]
    pub fn number(text: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { text: text.into(), value: value.into() }
    }

    /// What a cell shows people, and what it is.
    #[must_use]
    pub fn plain(text: String, plain: &Plain<'_>) -> Self {
        let value = match *plain {
            Plain::Nothing => Value::Null,
            Plain::Text(text) => json!(text),
            Plain::Bytes(bytes) => json!(hex(bytes)),
            Plain::Truth(truth) => json!(truth),
            // JSON has greater numbers, but few who read it.
            Plain::Natural(n) => u64::try_from(n).map_or_else(|_| json!(n as f64), Value::from),
            Plain::Integer(n) => i64::try_from(n).map_or_else(|_| json!(n as f64), Value::from),
            Plain::Real(n) => json!(n),
            Plain::Bounds(low, high) if low == high => json!(low),
            Plain::Bounds(low, high) => json!([low, high]),
            Plain::Between(low, high) => json!([low, high]),
            Plain::Naturals(numbers, unit) => {
                numbers.iter().map(|&n| json!(n as f64 * unit as f64)).collect()
            }
        };
        Self { text, value }
    }

    /// Names, outermost first.
    #[must_use]
    pub fn names<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        // The end says most, and deep recursion has millions of names.
        let left_out = names.len().saturating_sub(MOST_NAMES);
        let before = if left_out > 0 { "… > " } else { "" };
        Self { text: format!("{before}{}", names[left_out..].join(" > ")), value: json!(names) }
    }
}

/// A form in which tables are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// For people.
    Text,
    /// For spreadsheets.
    Csv,
    /// For scripts.
    Json,
    /// For browsers.
    Html,
}

impl Table {
    /// The table in a form, in which there is nothing that a terminal obeys.
    ///
    /// # Errors
    /// None: it is written to memory.
    pub fn written(&self, form: TableForm) -> io::Result<Vec<u8>> {
        let escaping = if form == TableForm::Json { Escaping::Json } else { Escaping::Text };
        let mut out = Printable::new(Vec::new(), escaping);
        match form {
            TableForm::Text => self.text(&mut out)?,
            TableForm::Csv => self.csv(&mut out)?,
            TableForm::Json => self.json(&mut out)?,
            TableForm::Html => self.html(&mut out)?,
        }
        out.flush()?;
        Ok(out.into_inner())
    }

    fn text(&self, out: &mut impl Write) -> io::Result<()> {
        // Escaped here, so that columns are as wide as they are read.
        let shown = |text: &str| cut(&printable(&one_line(text)), LONGEST);
        writeln!(out, "{}", shown(&self.title))?;
        for (name, fact) in &self.heading {
            writeln!(out, "{name}: {}", shown(&fact.text))?;
        }
        writeln!(out)?;
        let heads: Vec<String> = self.columns.iter().map(|column| shown(&column.heading)).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(|of| shown(&of.text)).collect());
        let lines: Vec<Vec<String>> = std::iter::once(heads).chain(rows).collect();
        let mut widths = vec![0; self.columns.len()];
        for line in &lines {
            for ((text, width), column) in line.iter().zip(&mut widths).zip(&self.columns) {
                let most = if column.is_number { usize::MAX } else { WIDEST };
                *width = text.width().min(most).max(*width);
            }
        }
        for line in &lines {
            let mut text = String::new();
            for ((cell, width), column) in line.iter().zip(&widths).zip(&self.columns) {
                let blanks = " ".repeat(width.saturating_sub(cell.width()));
                let parts = if column.is_number { [&*blanks, cell] } else { [&**cell, &blanks] };
                text.push_str(parts[0]);
                text.push_str(parts[1]);
                text.push_str("  ");
            }
            writeln!(out, "{}", text.trim_end())?;
        }
        Ok(())
    }

    fn csv(&self, out: &mut impl Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        let heads = self.columns.iter().map(|column| column.key.as_str());
        table.write_record(heads).map_err(of_output)?;
        for row in &self.rows {
            let cells = row.iter().map(|fact| match &fact.value {
                Value::Null => String::new(),
                Value::String(text) => cell(text).into_owned(),
                Value::Array(parts) if parts.iter().all(Value::is_number) => {
                    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
                }
                Value::Array(_) => cell(&fact.text).into_owned(),
                other => other.to_string(),
            });
            table.write_record(cells).map_err(of_output)?;
        }
        table.flush()
    }

    fn json(&self, out: &mut impl Write) -> io::Result<()> {
        let mut all = Map::new();
        all.insert("title".to_owned(), json!(self.title));
        let heading = self.heading.iter();
        all.extend(heading.map(|(name, fact)| ((*name).to_owned(), fact.value.clone())));
        let row = |row: &Vec<Fact>| {
            let cells = self.columns.iter().zip(row);
            cells.map(|(column, fact)| (column.key.clone(), fact.value.clone())).collect::<Value>()
        };
        all.insert("rows".to_owned(), self.rows.iter().map(row).collect());
        serde_json::to_writer_pretty(&mut *out, &all)?;
        writeln!(out)
    }

    fn html(&self, out: &mut impl Write) -> io::Result<()> {
        let shown = |text: &str| escaped(&cut(text, LONGEST)).into_owned();
        let title = shown(&one_line(&self.title));
        writeln!(
            out,
            "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{STYLE}\
             </style>\n<h1>{title}</h1>\n<dl>"
        )?;
        for (name, fact) in &self.heading {
            writeln!(out, "<dt>{name}<dd>{}", shown(&fact.text))?;
        }
        writeln!(out, "</dl>\n<table>\n<thead><tr>")?;
        let class = |column: &TableColumn| if column.is_number { " class=n" } else { "" };
        for column in &self.columns {
            writeln!(out, "<th{}>{}", class(column), shown(&column.heading))?;
        }
        writeln!(out, "<tbody>")?;
        for row in &self.rows {
            write!(out, "<tr>")?;
            for (column, fact) in self.columns.iter().zip(row) {
                write!(out, "<td{}>{}", class(column), shown(&fact.text))?;
            }
            writeln!(out)?;
        }
        writeln!(out, "</table>")
    }
}

/// How a page looks: code keeps its blanks.
const STYLE: &str = "body{font:14px sans-serif;color:#222;background:#fff}\
    dl{display:grid;grid-template-columns:max-content auto;gap:2px 12px}dd{margin:0}\
    table{border-collapse:collapse;font-family:monospace}\
    th,td{padding:1px 8px;text-align:left;vertical-align:top;white-space:pre-wrap}\
    .n{text-align:right;white-space:nowrap}tr:hover td{background:#eef}";

/// Text without the ends of lines, at which a table would break.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            title: "List <b>".to_owned(),
            heading: vec![("metric", Fact::text("cputime"))],
            columns: vec![
                TableColumn::number("samples", "cost"),
                TableColumn::text("text", "text"),
                TableColumn::text("path", "path"),
            ],
            rows: vec![
                vec![
                    Fact::number("1.20 s", 240),
                    Fact::text("=a\n<script>\u{1b}[2J"),
                    Fact::names(["main", "=f"]),
                ],
                vec![Fact::default(), Fact::text("二"), Fact::names([])],
            ],
        }
    }

    fn written(form: TableForm) -> String {
        String::from_utf8(table().written(form).unwrap()).unwrap()
    }

    #[test]
    fn people_read_text_and_spreadsheets_numbers() {
        assert_eq!(
            written(TableForm::Text),
            "List <b>\nmetric: cputime\n\n  cost  text                  path\n\
             1.20 s  =a <script>\\u{1b}[2J  main > =f\n        二\n"
        );
        let csv = written(TableForm::Csv);
        assert_eq!(csv.lines().count(), 3, "{csv}");
        assert!(csv.starts_with("samples,text,path\n240,'=a"), "{csv}");
        assert!(csv.ends_with("\n,二,\n"), "{csv}");
    }

    #[test]
    fn scripts_have_what_was_said_and_pages_no_markup_of_it() {
        let json: Value = serde_json::from_str(&written(TableForm::Json)).unwrap();
        assert_eq!(json["metric"], "cputime");
        assert_eq!(json["rows"][0]["samples"], 240);
        assert_eq!(json["rows"][0]["text"], "=a\n<script>\u{1b}[2J");
        assert_eq!(json["rows"][0]["path"], json!(["main", "=f"]));
        assert_eq!(json["rows"][1]["samples"], Value::Null);
        let html = written(TableForm::Html);
        assert!(!html.contains("<script>") && !html.contains("<b>"), "{html}");
        assert!(html.contains("&lt;script&gt;") && !html.contains('\u{1b}'), "{html}");
    }
}
