//! The call tree as a picture, with what is said of each box: what pictures and pages are made of.
//!
//! The boxes are those of the flame view. A file has a bounded number of them, those that cost
//! most, and says what it leaves out.

use std::collections::{HashMap, HashSet};

use crate::profile::{Function, short_name};
use crate::refine::{Refined, unwatched};
use crate::report::{Options, heading};
use crate::views::columns::{Basis, Column, Medium, Unit};
use crate::views::difference::{Change, Difference};
use crate::views::flame::{Extent, FlameBox, boxes};
use crate::views::number::{Form, amount, counted, percent};
use crate::views::printable::printable;
use crate::views::summary::why_no_samples;
use crate::views::top_down::TopDown;
use crate::views::tree::RowId;
use crate::views::{Cost, Row};

/// Parts of a picture's width in which boxes are measured: as fine as a page zooms.
pub(super) const FINE: usize = 1 << 32;

/// Most boxes of a file.
pub(super) const MOST_BOXES: usize = 20_000;

/// Colors that tell load modules apart.
pub const HUES: usize = 10;

/// The first look at how many boxes there are is for those of at least such a part of the picture.
const COARSE: usize = 16_384;

/// Characters that are read of a name: many rows may be of one function, whose name may have any
/// length.
const READ: usize = 4000;

/// What the color of a box says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    /// Nothing.
    Plain,
    /// The load module, or one of those that share this of [`HUES`] colors.
    Module(usize),
    /// It costs more in OTHER than in BASE, and by more than noise.
    More,
    /// It costs less.
    Less,
}

impl Tint {
    /// Its name, for styles.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Plain => "plain".to_owned(),
            Self::Module(hue) => format!("h{hue}"),
            Self::More => "more".to_owned(),
            Self::Less => "less".to_owned(),
        }
    }
}

/// Rows that have no box, with what is below them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How many, without those below them.
    pub rows: usize,
    /// Their inclusive samples.
    pub samples: u64,
}

impl LeftOut {
    fn add(&mut self, rows: usize, samples: u64) {
        self.rows += rows;
        self.samples = self.samples.saturating_add(samples);
    }
}

/// The call tree as a picture.
#[derive(Debug)]
pub struct Picture<'r> {
    /// What it is of.
    pub basis: Basis<'r>,
    /// How large it is.
    pub extent: Extent,
    /// The boxes, line by line.
    pub lines: Vec<Vec<FlameBox>>,
    /// The columns of a row.
    pub columns: Vec<Column>,
    tree: TopDown,
    /// Of the rows that have boxes, those that lack some below them.
    left_out: HashMap<RowId, LeftOut>,
    narrow: LeftOut,
    deep: LeftOut,
}

impl<'r> Picture<'r> {
    /// The picture of a refined profile: as large as `extent` says, with wider rows left out than
    /// it asks for if there would be more than so many boxes. O(nodes).
    #[must_use]
    pub fn new(refined: &'r Refined, extent: Extent, most: usize) -> Self {
        let mut tree = unwatched(|watch| TopDown::new(refined, watch));
        let mut of = |least| {
            let extent = Extent { least, ..extent };
            let lines = boxes(&mut tree, refined, RowId::ROOT, extent);
            (lines.iter().map(Vec::len).sum::<usize>(), lines)
        };
        // Begins where a large profile has not too many, and goes on from there.
        let mut least = extent.least.max(extent.width / COARSE);
        let (mut count, mut lines) = of(least);
        let mut too_fine = None;
        while count > most && least < extent.width {
            too_fine = Some(least);
            least *= 2;
            (count, lines) = of(least);
        }
        while too_fine.is_none() && count < most / 2 && least > extent.least {
            let finer = (least / 4).max(extent.least);
            match of(finer) {
                (more, _) if more > most => too_fine = Some(finer),
                (more, finer_lines) => (least, count, lines) = (finer, more, finer_lines),
            }
        }
        // Between the two, as near as makes a difference.
        while let Some(fine) = too_fine.filter(|fine| least - fine > (least / 16).max(1)) {
            let middle = fine + (least - fine) / 2;
            match of(middle) {
                (more, _) if more > most => too_fine = Some(middle),
                (_, middle_lines) => (least, lines) = (middle, middle_lines),
            }
        }
        let extent = Extent { least, ..extent };
        let basis = Basis { medium: Medium::Screen, ..Basis::new(refined).with_clusters() };
        let columns = basis.on_screen(Cost::Inclusive).into_iter();
        let columns = columns.filter(|column| column.definition().unit != Unit::Bar).collect();
        let left_out = HashMap::new();
        let (narrow, deep) = (LeftOut::default(), LeftOut::default());
        let mut picture = Self { basis, extent, lines, columns, tree, left_out, narrow, deep };
        picture.leave_out();
        picture
    }

    fn leave_out(&mut self) {
        let rows = |line: &[FlameBox]| line.iter().filter_map(|of| of.row).collect::<Vec<_>>();
        let boxed: HashSet<RowId> = self.lines.iter().flat_map(|line| rows(line)).collect();
        let metric = self.basis.refined.metric;
        for (level, line) in (1..).zip(&self.lines) {
            for row in rows(line) {
                let weight = self.tree.row(row).of(metric);
                if level == self.extent.levels && self.tree.row(row).has_children {
                    self.deep.add(1, weight.inclusive.saturating_sub(weight.exclusive));
                    continue;
                }
                let mut left_out = LeftOut::default();
                for child in self.tree.opened_children(row).iter().filter(|&of| !boxed.contains(of))
                {
                    left_out.add(1, self.tree.row(*child).of(metric).inclusive);
                }
                self.narrow.add(left_out.rows, left_out.samples);
                if left_out.rows > 0 {
                    self.left_out.insert(row, left_out);
                }
            }
        }
    }

    /// The row of a box.
    #[must_use]
    pub fn row(&self, id: RowId) -> &Row {
        self.tree.row(id)
    }

    fn function(&self, row: &Row) -> Option<&Function> {
        self.basis.refined.functions.get(row.function.index())
    }

    /// The name of a row on one line.
    #[must_use]
    pub fn name(&self, id: RowId) -> String {
        match id {
            RowId::ROOT => "all call paths".to_owned(),
            _ => printable(&self.beginning_of_name(id)).into_owned(),
        }
    }

    /// The same without arguments and templates.
    #[must_use]
    pub fn short_name(&self, id: RowId) -> String {
        match id {
            RowId::ROOT => self.name(id),
            _ => printable(&short_name(&self.beginning_of_name(id))).into_owned(),
        }
    }

    fn beginning_of_name(&self, id: RowId) -> String {
        cut(self.function(self.row(id)).map_or("", |of| &of.name), READ)
    }

    /// Source file with line, and load module, where they are known.
    #[must_use]
    pub fn place(&self, id: RowId) -> [String; 2] {
        let profile = &self.basis.refined.profile;
        let of = self.function(self.row(id)).filter(|_| id != RowId::ROOT);
        let file = of.and_then(|of| Some((profile.string(of.file?), of.line)));
        let file = file.map_or_else(String::new, |(file, line)| match line {
            0 => printable(&cut(file, READ)).into_owned(),
            _ => format!("{}:{line}", printable(&cut(file, READ))),
        });
        let module = of.and_then(|of| of.module);
        [
            file,
            module.map_or_else(String::new, |of| {
                printable(&cut(profile.module_path(of), READ)).into_owned()
            }),
        ]
    }

    /// How a row is called, if not by a call of its own.
    #[must_use]
    pub fn kind(&self, id: RowId) -> &'static str {
        self.row(id).kind.definition().label
    }

    /// What the color of its box says.
    #[must_use]
    pub fn tint(&self, id: RowId) -> Tint {
        let row = self.row(id);
        if let Some(compared) = self.basis.refined.profile.comparison.as_deref() {
            let difference = Difference::new(compared, Cost::Inclusive.of_runs(row));
            return match difference.change() {
                _ if !difference.is_significant() => Tint::Plain,
                Change::Same => Tint::Plain,
                Change::New | Change::More => Tint::More,
                Change::Gone | Change::Less => Tint::Less,
            };
        }
        match (row.kind, self.function(row).and_then(|of| of.module)) {
            (kind, Some(module)) if kind.is_of_program() => Tint::Module(module.index() % HUES),
            _ => Tint::Plain,
        }
    }

    /// What its columns say, each with its heading.
    #[must_use]
    pub fn cells(&self, id: RowId) -> Vec<String> {
        let text = |column: &Column| column.text_of(&self.basis, self.row(id));
        self.columns.iter().map(text).collect()
    }

    /// What the columns are called.
    #[must_use]
    pub fn headings(&self) -> Vec<String> {
        let heading = |column: &Column| printable(&column.heading(&self.basis)).into_owned();
        self.columns.iter().map(heading).collect()
    }

    /// What a row lacks directly below it; empty if it lacks nothing.
    #[must_use]
    pub fn left_out_below(&self, id: RowId) -> String {
        self.left_out.get(&id).map_or_else(String::new, |of| self.sentence(*of, "left out"))
    }

    /// What was run, and the account of all samples, line by line.
    #[must_use]
    pub fn heading(&self, refinement: Option<String>) -> Vec<String> {
        let mut text = Vec::new();
        let options = Options { refinement, ..Options::default() };
        // What it writes to is memory.
        let written = heading::write(self.basis.refined, &options, &mut text);
        debug_assert!(written.is_ok());
        let text = String::from_utf8_lossy(&text);
        let mut lines: Vec<_> =
            text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let profile = &self.basis.refined.profile;
        if let (None, Some(cause)) = (&profile.comparison, why_no_samples(profile, Form::Unicode)) {
            lines.push(format!("No samples: {cause}."));
        }
        lines
    }

    /// What the picture lacks, in sentences.
    #[must_use]
    pub fn lacks(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.narrow.rows > 0 {
            let share = 100.0 * self.extent.least as f64 / self.extent.width as f64;
            let of = format!("left out, each below {share:.3}% of what is shown");
            lines.push(self.sentence(self.narrow, &of));
        }
        if self.deep.rows > 0 {
            let levels = self.extent.levels;
            lines.push(self.sentence(self.deep, &format!("at level {levels}, without callees")));
        }
        lines
    }

    /// The samples that no row has for itself which is there.
    #[cfg(test)]
    pub(super) fn left_out_samples(&self) -> u64 {
        self.narrow.samples + self.deep.samples
    }

    fn sentence(&self, of: LeftOut, what: &str) -> String {
        let rows = counted(of.rows as u64, "row", Form::Unicode);
        if self.basis.refined.profile.comparison.is_some() {
            return format!("{rows} {what}");
        }
        let refined = self.basis.refined;
        let cost = amount(of.samples, refined.looked_at(), Form::Unicode);
        format!("{rows} {what}: {cost}, {}%", percent(of.samples, refined.base))
    }
}

/// The first characters of a text, and dots if it has more.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most.saturating_sub(1)) {
        Some((end, last)) if end + last.len_utf8() < text.len() => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}
