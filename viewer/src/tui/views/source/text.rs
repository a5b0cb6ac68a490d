//! What the lines of the source view say: to search them, and to take them along.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use super::super::super::columns;
use super::super::super::scene::Scene;
use super::super::super::view::Finds;
use super::draw::paintable_line;
use super::item::SourceItem;
use super::made::CodeOf;
use super::{ENTRY, SourceView};
use crate::export::table::{Fact, Table, TableColumn};
use crate::profile::{MetricRef, name_of_file};
use crate::views::columns::{Basis, Column, Id};
use crate::views::measure::Measure;
use crate::views::search::NamePattern;
use crate::views::{Cost, Row};

impl CodeOf {
    /// What is said of an instruction: what it does, and what it calls.
    pub(super) fn text(&self, at: usize) -> String {
        let of = &self.code[at];
        let callee = of.callee.as_ref().map_or(String::new(), |name| format!("  <{name}>"));
        format!("{}{callee}", of.listed.text)
    }

    /// The line of source that an instruction was made of.
    pub(super) fn line_text(&self, at: usize) -> String {
        let Some((path, line)) = &self.code[at].line else { return String::new() };
        let file = name_of_file(path);
        let text = self.texts.get(&(Arc::clone(path), *line)).map_or("", |text| text);
        format!("{file}:{line}  {}", paintable_line(text).trim_start())
    }
}

/// The hexadecimal digits of a text that may be of an address: `0xadd`, `401add`. A word such as
/// `add` is none.
fn digits_of_address(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    let after = text.strip_prefix("0x");
    let digits = after.unwrap_or(&text);
    let is_marked = after.is_some() || digits.contains(|c: char| c.is_ascii_digit());
    let is_hex = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit());
    (is_marked && is_hex).then(|| digits.to_owned())
}

impl SourceView {
    /// The row of an item.
    fn row(&self, item: SourceItem) -> Option<&Row> {
        match item {
            SourceItem::Line(line) => Some(&self.file.as_ref()?.lines.line(line)?.row),
            SourceItem::Callee(line, at) => self.open.get(&line)?.as_ref()?.get(at),
            SourceItem::Code(at) => self.code()?.costs.rows.get(&at),
            SourceItem::Gap(..) | SourceItem::LineOf(_) => None,
        }
    }

    /// What an item says besides its numbers.
    fn text_of<'v>(&'v self, item: SourceItem, scene: &'v Scene) -> Option<Cow<'v, str>> {
        Some(match item {
            SourceItem::Line(line) => {
                let text = self.file.as_ref()?.found.as_ref().ok()?.text.shown(line);
                // As it is painted; most lines have none.
                if text.contains('\t') { Cow::Owned(paintable_line(&text)) } else { text }
            }
            SourceItem::Callee(..) => {
                let function = self.row(item)?.function;
                Cow::Borrowed(&*scene.refined.functions.get(function.index())?.name)
            }
            SourceItem::Code(at) => Cow::Owned(self.code()?.text(at)),
            SourceItem::LineOf(at) => Cow::Owned(self.code()?.line_text(at)),
            SourceItem::Gap(..) => return None,
        })
    }

    /// The address of an instruction.
    fn address(&self, item: SourceItem) -> Option<u64> {
        match item {
            SourceItem::Code(at) => Some(self.code()?.code[at].listed.address),
            _ => None,
        }
    }

    /// What a search finds, those with most cost of their own first: these costs add up.
    pub(super) fn found(&self, pattern: &NamePattern, scene: &Scene) -> Option<Finds> {
        if self.shown.is_none() {
            return Some(Finds::default());
        }
        let file = self.file.as_ref()?;
        if self.shows_code && self.code.is_none() {
            return None;
        }
        let digits = digits_of_address(pattern.text());
        let is_at = |item: SourceItem, digits: &str| {
            self.address(item).is_some_and(|address| format!("{address:x}").contains(digits))
        };
        let is_found = |item: SourceItem| {
            self.text_of(item, scene).is_some_and(|text| pattern.is_in(&text))
                || digits.as_deref().is_some_and(|digits| is_at(item, digits))
        };
        let mut lines: Vec<usize> =
            (0..self.items.len()).filter(|&at| is_found(self.items[at])).collect();
        let metric = self.forest(file).metric;
        let cost = self.together(&lines, metric, scene);
        let heat = |&at: &usize| {
            self.row(self.items[at]).map(|row| {
                let of = row.of(metric);
                (of.exclusive, of.inclusive)
            })
        };
        // Stable: of equal ones the first.
        lines.sort_by_cached_key(|at| Reverse(heat(at)));
        Some(Finds { lines, cost })
    }

    /// What lines cost together of their own. Of what they call nothing is known to be theirs.
    fn together(&self, lines: &[usize], metric: MetricRef, scene: &Scene) -> Option<String> {
        let items = || lines.iter().map(|&at| self.items[at]);
        if items().any(|item| matches!(item, SourceItem::Callee(..))) {
            return None;
        }
        let (mut own, mut sides, mut has_cost) = (0, [0, 0], false);
        for row in items().filter_map(|item| self.row(item)) {
            has_cost = true;
            own += row.of(metric).exclusive;
            if scene.comparison().is_some() {
                let more = Cost::Exclusive.of_sides(row);
                sides = [sides[0] + more[0], sides[1] + more[1]];
            }
        }
        let sides = scene.comparison().map(|_| sides);
        has_cost.then(|| format!("{} of their own", columns::amount_text(scene, own, sides)))
    }

    /// All lines, or all instructions, and what is open, with their numbers.
    pub(super) fn whole_table(&self, scene: &Scene) -> Option<Table> {
        let (shown, file) = (self.shown.as_ref()?, self.file.as_ref()?);
        if self.items.is_empty() {
            return None;
        }
        let form = columns::basis(scene, self.forest(file));
        let numbers: Vec<Column> = form.on_page(Cost::Inclusive);
        let numbers: Vec<Column> =
            numbers.into_iter().filter(|of| !matches!(of.id, Id::PerEdge | Id::Calls)).collect();
        let scripts = form.for_machines(Cost::Inclusive);
        let own = scripts[0].iter().filter(|of| of.id == Id::Exclusive && !numbers.contains(of));
        let numbers: Vec<Column> = numbers.iter().chain(own).copied().collect();
        let heads = numbers.iter().map(|column| {
            let (group, key) = column.key(&form);
            let key = group.map_or_else(|| key.to_owned(), |group| format!("{group}_{key}"));
            TableColumn::number(&key, &column.heading(&form))
        });
        let place = match self.shows_code {
            true => TableColumn::text("address", "address"),
            false => TableColumn::number("line", "line"),
        };
        let columns = heads.chain([place, TableColumn::text("text", "text")]).collect();
        let row = |&item: &SourceItem| {
            let forest = match item {
                SourceItem::Callee(..) => &scene.refined,
                _ => self.forest(file),
            };
            // People read costs of the metric, scripts samples.
            let samples = Basis { measure: Measure::default(), ..Basis::new(forest) };
            let read = [columns::basis(scene, forest), samples];
            let of = self.row(item);
            let cells = numbers.iter().map(|column| number(*column, &read, of));
            let place = match (item, self.address(item)) {
                (_, Some(address)) => Fact::text(format!("{address:#x}")),
                (SourceItem::Line(line) | SourceItem::Gap(line, _), _) => {
                    Fact::number(line.to_string(), line)
                }
                _ => Fact::default(),
            };
            let text = match item {
                SourceItem::Gap(first, last) => Fact::text(format!("(to {})", last.max(first))),
                _ => Fact::text(self.text_of(item, scene).unwrap_or_default()),
            };
            cells.chain([place, text]).collect()
        };
        Some(Table {
            title: format!(
                "{} of {}",
                if self.shows_code { "Instructions" } else { ENTRY.title },
                shown.name
            ),
            heading: vec![("file", Fact::text(&*file.path))],
            columns,
            rows: self.items.iter().map(row).collect(),
        })
    }
}

/// A number of a row; nothing where there is no row.
fn number(column: Column, [people, scripts]: &[Basis<'_>; 2], row: Option<&Row>) -> Fact {
    let Some(row) = row else { return Fact::default() };
    Fact::plain(column.text_of(people, row), &column.value(scripts, row).plain())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_hexadecimal_letters_are_no_addresses() {
        for (text, digits) in [
            ("add", None),
            ("dec", None),
            ("xmm0", None),
            ("0x", None),
            ("", None),
            ("401add", Some("401add")),
            ("401ADD", Some("401add")),
            ("0xadd", Some("add")),
            ("0", Some("0")),
        ] {
            assert_eq!(digits_of_address(text).as_deref(), digits, "{text}");
        }
    }
}
