//! What a view shows that no command line repeats: a table, as text, CSV, JSON or a page for a
//! browser.
//!
//! Text and pages have what people read (`1.20 s`), CSV and JSON numbers (240 samples). JSON:
//!
//! ```text
//! {"title", HEADING: …, "rows": [{COLUMN: VALUE}]}
//! ```
//!
//! A call path is an array of its innermost 4000 names, outermost first, beside `path_left_out`,
//! how many names there are before them. CSV has the rows alone, without what stands above them.

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::{Map, Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::picture::cut;
use super::svg::escaped;
use crate::print::{Escaping, Printable};
use crate::report::csv::{cell, of_output};
use crate::report::json::JsonValue;
use crate::views::columns::Plain;
use crate::views::printable::printable;

/// Characters of a cell of text that people are shown, beside the mark for names that are left out.
const LONGEST: usize = 2000;

/// Names of a path that people are shown: its innermost ones.
const SHOWN_NAMES: usize = 64;

/// Names of a path that scripts and spreadsheets get: its innermost ones. Deep recursion has
/// millions.
const MOST_NAMES: usize = 4000;

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
    /// For people; of a path all names that are kept.
    pub text: String,
    /// For scripts; nothing of a path, which is made of its names.
    pub value: Value,
    /// The names within the text, if it is a path.
    names: Option<Names>,
}

/// Where the names of a path are within its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    /// Where each ends, in bytes.
    ends: Vec<usize>,
    /// How many there are before them.
    left_out: usize,
}

/// Stands between the names of a path.
const ARROW: &str = " > ";

/// Stands in the place of names that are left out.
const LEFT_OUT: &str = "… > ";

impl Fact {
    /// Text, the same for both.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { value: Value::String(text.clone()), text, names: None }
    }

    /// A number, and how people read it.
    #[must_use]
    pub fn number(text: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { text: text.into(), value: value.into(), names: None }
    }

    /// What a cell shows people, and what it is.
    #[must_use]
    pub fn plain(text: String, plain: &Plain<'_>) -> Self {
        // A value has no numbers beyond 64 bits; read again, they are fractions.
        let as_fraction = || serde_json::from_str(&serde_json::to_string(&JsonValue(*plain))?);
        let value = serde_json::to_value(JsonValue(*plain)).or_else(|_| as_fraction());
        Self { text, value: value.unwrap_or_default(), names: None }
    }

    /// Names, outermost first.
    #[must_use]
    pub fn names<'n, I>(names: I) -> Self
    where
        I: IntoIterator<Item = &'n str, IntoIter: ExactSizeIterator>,
    {
        let names = names.into_iter();
        // The end says most.
        let left_out = names.len().saturating_sub(MOST_NAMES);
        let (mut text, mut ends) = (String::new(), Vec::with_capacity(names.len() - left_out));
        for name in names.skip(left_out) {
            if !ends.is_empty() {
                text.push_str(ARROW);
            }
            text.push_str(name);
            ends.push(text.len());
        }
        Self { text, value: Value::Null, names: Some(Names { ends, left_out }) }
    }

    /// What people are shown, made of what `prepared` makes of a text: of a path the innermost
    /// names.
    fn shown(&self, prepared: impl Fn(&str) -> String) -> String {
        let Some(Names { left_out, .. }) = &self.names else {
            return cut(&prepared(&self.text), LONGEST);
        };
        let names = self.names_of_path();
        let mut room = LONGEST;
        let mut shown = Vec::new();
        for &name in names.iter().rev().take(SHOWN_NAMES) {
            let name = prepared(name);
            let needed = name.chars().count() + if shown.is_empty() { 0 } else { ARROW.len() };
            if needed > room && !shown.is_empty() {
                break;
            }
            room = room.saturating_sub(needed);
            shown.push(cut(&name, LONGEST));
        }
        let is_cut = shown.len() < names.len() + left_out;
        shown.reverse();
        let lead = if is_cut { LEFT_OUT } else { "" };
        format!("{lead}{}", shown.join(ARROW))
    }

    /// The names that are kept of a path, outermost first; none if it is no path.
    fn names_of_path(&self) -> Vec<&str> {
        let Some(Names { ends, .. }) = &self.names else { return Vec::new() };
        let begins = std::iter::once(0).chain(ends.iter().map(|end| end + ARROW.len()));
        begins.zip(ends).map(|(begin, &end)| &self.text[begin..end]).collect()
    }

    /// All of its text that is kept.
    fn kept(&self) -> Cow<'_, str> {
        match &self.names {
            Some(Names { left_out: 1.., .. }) => Cow::Owned(format!("{LEFT_OUT}{}", self.text)),
            _ => Cow::Borrowed(&self.text),
        }
    }

    /// What scripts read.
    fn json(&self) -> Value {
        match &self.names {
            Some(_) => self.names_of_path().into_iter().map(Value::from).collect(),
            None => self.value.clone(),
        }
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
        let prepared = |text: &str| printable(&one_line(text)).into_owned();
        let shown = |text: &str| cut(&prepared(text), LONGEST);
        writeln!(out, "{}", shown(&self.title))?;
        for (name, fact) in &self.heading {
            writeln!(out, "{name}: {}", fact.shown(prepared))?;
        }
        writeln!(out)?;
        let heads: Vec<String> = self.columns.iter().map(|column| shown(&column.heading)).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(|of| of.shown(prepared)).collect());
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
        let heads = self.columns.iter().map(|column| cell(&column.key).into_owned());
        table.write_record(heads).map_err(of_output)?;
        for row in &self.rows {
            let cells = row.iter().map(|fact| match &fact.value {
                Value::Null if fact.names.is_some() => cell(&fact.kept()).into_owned(),
                Value::Null => String::new(),
                Value::String(text) => cell(text).into_owned(),
                Value::Array(parts) if parts.iter().all(Value::is_number) => {
                    parts.iter().map(number).collect::<Vec<_>>().join(" ")
                }
                Value::Array(_) => cell(&fact.text).into_owned(),
                other => number(other),
            });
            table.write_record(cells).map_err(of_output)?;
        }
        table.flush()
    }

    fn json(&self, out: &mut impl Write) -> io::Result<()> {
        let mut all = Map::new();
        all.insert("title".to_owned(), json!(self.title));
        let heading = self.heading.iter();
        all.extend(heading.map(|(name, fact)| ((*name).to_owned(), fact.json())));
        let row = |row: &Vec<Fact>| {
            let mut cells = Map::new();
            for (column, fact) in self.columns.iter().zip(row) {
                cells.insert(column.key.clone(), fact.json());
                if let Some(names) = &fact.names {
                    cells.insert(format!("{}_left_out", column.key), json!(names.left_out));
                }
            }
            Value::Object(cells)
        };
        all.insert("rows".to_owned(), self.rows.iter().map(row).collect());
        serde_json::to_writer_pretty(&mut *out, &all)?;
        writeln!(out)
    }

    fn html(&self, out: &mut impl Write) -> io::Result<()> {
        let shown = |text: &str| escaped(&cut(text, LONGEST)).into_owned();
        let of_fact = |fact: &Fact| escaped(&fact.shown(str::to_owned)).into_owned();
        let title = shown(&one_line(&self.title));
        writeln!(
            out,
            "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{STYLE}\
             </style>\n<h1>{title}</h1>\n<dl>"
        )?;
        for (name, fact) in &self.heading {
            writeln!(out, "<dt>{name}<dd>{}", of_fact(fact))?;
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
                write!(out, "<td{}>{}", class(column), of_fact(fact))?;
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

/// A number as spreadsheets have it of [reports](crate::report::csv).
fn number(value: &Value) -> String {
    match value.as_f64().filter(|_| value.is_f64()) {
        Some(number) => number.to_string(),
        None => value.to_string(),
    }
}

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

    #[test]
    fn numbers_are_written_as_in_reports_but_for_those_beyond_64_bits() {
        let facts = [
            (Plain::Real(240.0), "240"),
            (Plain::Real(0.1), "0.1"),
            (Plain::Real(1.0 / 11.0), "0.09090909090909091"),
            (Plain::Naturals(&[1, 2], 5_000_000), "5000000 10000000"),
            (Plain::Natural(u64::MAX.into()), "18446744073709551615"),
            (Plain::Natural(u128::from(u64::MAX) + 1), "18446744073709552000"),
            (Plain::Between(1.0, 2.5), "1 2.5"),
            (Plain::Bounds(3, 3), "3"),
            (Plain::Nothing, ""),
        ];
        for (plain, expected) in facts {
            let table = Table {
                columns: vec![TableColumn::number("a", "a"), TableColumn::text("b", "b")],
                rows: vec![vec![Fact::plain(String::new(), &plain), Fact::text("x")]],
                ..Table::default()
            };
            let csv = String::from_utf8(table.written(TableForm::Csv).unwrap()).unwrap();
            assert_eq!(csv, format!("a,b\n{expected},x\n"));
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

    /// Keys may be names of metrics, which a profile says.
    #[test]
    fn no_cell_of_a_spreadsheet_is_a_formula() {
        let key = "=cmd|' /C calc'!A0";
        let columns = vec![TableColumn::number(key, key), TableColumn::text("@b", "b")];
        let table =
            Table { columns, rows: vec![vec![Fact::number("1", 1), Fact::text("+1")]], ..table() };
        let csv = String::from_utf8(table.written(TableForm::Csv).unwrap()).unwrap();
        assert_eq!(csv, format!("'{key},'@b\n1,'+1\n"));
    }

    #[test]
    fn long_paths_are_cut_at_their_outer_end_and_that_is_told() {
        let names: Vec<String> = (0..MOST_NAMES + 2).map(|at| format!("f{at}")).collect();
        let path =
            |from: usize| Fact::names(names[from..].iter().map(String::as_str).collect::<Vec<_>>());
        let table = Table {
            columns: vec![TableColumn::text("path", "path")],
            rows: vec![vec![path(0)], vec![path(2)]],
            ..Table::default()
        };
        let written = |form| String::from_utf8(table.written(form).unwrap()).unwrap();
        let json: Value = serde_json::from_str(&written(TableForm::Json)).unwrap();
        for (row, left_out) in [(0, 2), (1, 0)] {
            assert_eq!(json["rows"][row]["path"], json!(names[2..]));
            assert_eq!(json["rows"][row]["path_left_out"], left_out);
        }
        let csv = written(TableForm::Csv);
        let kept = names[2..].join(" > ");
        assert_eq!(csv, format!("path\n… > {kept}\n{kept}\n"));
        let text = written(TableForm::Text);
        let shown = names[names.len() - SHOWN_NAMES..].join(" > ");
        assert_eq!(text.lines().last().unwrap(), format!("… > {shown}"));
    }

    /// Of C++, a path of few names may be long.
    #[test]
    fn paths_of_long_names_are_cut_between_names_at_their_outer_end() {
        let long = |name: &str| format!("{name}<{}>", "x".repeat(LONGEST / 2 - name.len() - 5));
        let [first, second, third] = ["first", "second", "third"].map(long);
        let endless = "e".repeat(LONGEST + 1);
        let path = |names: &[&str]| Fact::names(names.to_vec());
        let table = Table {
            columns: vec![TableColumn::text("path", "path")],
            rows: vec![
                vec![path(&[&first, &second, &third])],
                vec![path(&[&second, &third])],
                vec![path(&["main", &endless])],
            ],
            ..Table::default()
        };
        let written = |form| String::from_utf8(table.written(form).unwrap()).unwrap();
        let text = written(TableForm::Text);
        let shown: Vec<_> = text.lines().rev().take(3).collect();
        let both = format!("{second} > {third}");
        assert!(both.len() <= LONGEST);
        assert_eq!(shown[2], format!("… > {both}"));
        assert_eq!(shown[1], both);
        assert_eq!(shown[0], format!("… > {}…", "e".repeat(LONGEST - 1)));
        let html = written(TableForm::Html);
        assert!(html.contains(&format!("<td>… &gt; {}", escaped(&both))), "{html}");
    }

    #[test]
    fn scripts_have_what_was_said_and_pages_no_markup_of_it() {
        let json: Value = serde_json::from_str(&written(TableForm::Json)).unwrap();
        assert_eq!(json["metric"], "cputime");
        assert_eq!(json["rows"][0]["samples"], 240);
        assert_eq!(json["rows"][0]["text"], "=a\n<script>\u{1b}[2J");
        assert_eq!(json["rows"][0]["path"], json!(["main", "=f"]));
        assert_eq!(json["rows"][1]["path"], json!([]));
        assert_eq!(json["rows"][1]["samples"], Value::Null);
        let html = written(TableForm::Html);
        assert!(!html.contains("<script>") && !html.contains("<b>"), "{html}");
        assert!(html.contains("&lt;script&gt;") && !html.contains('\u{1b}'), "{html}");
    }
}
