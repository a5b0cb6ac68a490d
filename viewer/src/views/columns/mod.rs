//! The registry of columns: whatever the terminal, text, CSV, JSON and `diff` say of a row, and by
//! what `--sort` orders rows.
//!
//! A column is one entry of [`DEFINITIONS`]; the lists above it say which columns each medium has,
//! from left to right. A new column is an entry and its place in lists, in one file. What is shown
//! is a [`Column`]: an entry, and the metric or the cost that it is about.

mod cell;
mod definitions;
mod explain;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use csprof_format::profile::Metric;

pub use cell::{Cell, Plain, Rank};
pub use definitions::{DEFINITIONS, Id};
pub use explain::{About, Explanation, of_period, shares};

use super::difference::Difference;
use super::measure::Measure;
use super::number::Form;
use super::summary::clustered;
use super::{Cost, Row, Share};
use crate::profile::MetricRef;
use crate::refine::Refined;

/// A column: which one, and of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Column {
    /// Which one.
    pub id: Id,
    /// The metric whose samples it is about; `None` for the one that is looked at.
    pub metric: Option<MetricRef>,
    /// Which cost it compares, if it compares costs.
    pub cost: Cost,
}

/// All about a column that does not depend on a profile.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The column.
    pub id: Id,
    /// Its key in JSON, or that of the object that has its inclusive and exclusive cost; in CSV a
    /// part of its heading.
    pub key: &'static str,
    /// The JSON object that it is in, where it is in one of several.
    pub group: Option<&'static str>,
    /// Whether it is one of a comparison.
    pub is_compared: bool,
    /// What people read above it.
    pub heading: for<'r> fn(&Heading<'r>) -> Cow<'r, str>,
    /// What its numbers are.
    pub unit: Unit,
    /// What a row has.
    pub value: for<'r> fn(&At<'r>) -> Cell<'r>,
    /// How 0 is shown to people.
    pub zero: Zero,
    /// How rows are ordered by it.
    pub order: Order,
    /// What `--sort` says of it; else what it is, in a few words.
    pub help: &'static str,
    /// What its number in a row is made of.
    pub explain: fn(&At<'_>, About) -> Explanation,
    /// The column that says the same in another unit, where one does: it is the first to have no
    /// room, and it may be explained with the other one.
    pub repeats: Option<Id>,
    /// Cells for its numbers on a screen.
    pub width: usize,
    /// What color says on a screen.
    pub tone: Tone,
}

/// What the numbers of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Words.
    Text,
    /// Samples of one metric, or what they amount to.
    Cost,
    /// The same in percent.
    Share,
    /// The same as the length of a bar.
    Bar,
    /// Samples or lines, whatever the metric.
    Count,
    /// Returns of activations.
    Edges,
    /// Cost of one metric for each of them.
    PerEdge,
    /// A cost of two profiles, inclusive or exclusive.
    Compared,
}

impl Unit {
    /// Whether each of several metrics has such a column.
    #[must_use]
    pub const fn is_of_metric(self) -> bool {
        matches!(self, Self::Cost | Self::Share)
    }

    /// Whether it says nothing where no row has edges.
    #[must_use]
    pub const fn is_of_edges(self) -> bool {
        matches!(self, Self::Edges | Self::PerEdge)
    }
}

/// How 0 is shown to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zero {
    /// As a number.
    Number,
    /// As a dot: a column has many.
    Dot,
    /// As a dot on a screen where there are several metrics: such rows are there for the sake of
    /// another one.
    DotAmongMetrics,
}

/// How rows are ordered by a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The greatest number first; `--sort` calls it so.
    By(&'static str),
    /// As by another column.
    As(Id),
    /// Not at all.
    None,
}

/// What color says of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Nothing.
    Plain,
    /// Nothing, and it matters little.
    Faint,
    /// How much of everything it is.
    Heat,
    /// Whether it became more or less.
    Change,
}

/// For whom columns are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Medium {
    /// A report on a page, or a form for machines.
    #[default]
    Page,
    /// The terminal viewer, where there is little room.
    Screen,
}

/// Which metrics have a column on a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The one that is looked at.
    LookedAt,
    /// Each of the others.
    Others,
}

/// What the numbers of all rows are of, and how they are written.
#[derive(Clone, Copy, Debug)]
pub struct Basis<'r> {
    /// What the rows are made from.
    pub refined: &'r Refined<'r>,
    /// For whom.
    pub medium: Medium,
    /// What costs count.
    pub measure: Measure,
    /// Whether percentages are of what is shown, not of all that was measured.
    pub percent_of_shown: bool,
    /// Signals and samples, where samples do not tell how long calls are.
    pub clustered: Option<(u64, u64)>,
    /// Which characters may be used.
    pub form: Form,
}

/// What a heading depends on.
#[derive(Clone, Copy, Debug)]
pub struct Heading<'r> {
    /// What the numbers are of.
    pub basis: &'r Basis<'r>,
    /// The column.
    pub column: Column,
}

/// A row and a column.
#[derive(Clone, Copy, Debug)]
pub struct At<'r> {
    /// What the numbers are of.
    pub basis: &'r Basis<'r>,
    /// The column.
    pub column: Column,
    /// The row.
    pub row: &'r Row,
}

impl<'r> Basis<'r> {
    /// Times, and percentages of all that was measured, on a page.
    #[must_use]
    pub fn new(refined: &'r Refined<'_>) -> Self {
        Self {
            refined,
            medium: Medium::default(),
            measure: Measure::Source,
            percent_of_shown: false,
            clustered: None,
            form: Form::default(),
        }
    }

    /// The same, with what samples tell of the length of calls. O(threads).
    #[must_use]
    pub fn with_clusters(self) -> Self {
        Self { clustered: clustered(self.refined.profile), ..self }
    }

    /// What percentages of a metric are of, in samples of it.
    #[must_use]
    pub fn whole(&self, metric: MetricRef) -> u64 {
        let (base, shown) = self.refined.account_of(metric);
        if self.percent_of_shown { shown } else { base }
    }

    /// Whether the profile has several metrics.
    #[must_use]
    pub fn has_several_metrics(&self) -> bool {
        !self.refined.profile.info.further.is_empty()
    }

    /// The metrics that are not looked at.
    pub fn others(&self) -> impl Iterator<Item = MetricRef> + use<'r> {
        let looked_at = self.refined.metric;
        let metrics = self.refined.profile.metrics().map(|(metric, _)| metric);
        metrics.filter(move |metric| *metric != looked_at)
    }

    fn is_compared(&self) -> bool {
        self.refined.profile.comparison.is_some()
    }

    /// The columns on a screen, those first that matter most. A comparison is about `cost`.
    #[must_use]
    pub fn on_screen(&self, cost: Cost) -> Vec<Column> {
        if self.is_compared() {
            return definitions::COMPARED.map(|id| Column::comparing(id, cost)).to_vec();
        }
        let columns = definitions::SCREEN.iter().flat_map(|&(whose, id)| {
            let others = self.others().map(move |metric| Column::of(id, Some(metric)));
            let is_looked_at = whose == Whose::LookedAt;
            let looked_at = is_looked_at.then_some(Column::of(id, None));
            looked_at.into_iter().chain(others.filter(move |_| !is_looked_at))
        });
        columns.collect()
    }

    /// The columns on a page, from left to right. A comparison is about `cost`.
    #[must_use]
    pub fn on_page(&self, cost: Cost) -> Vec<Column> {
        if self.is_compared() {
            return definitions::COMPARED.map(|id| Column::comparing(id, cost)).to_vec();
        }
        let of_each = |metric| of_metric(&definitions::PAGE, metric);
        let looked_at = definitions::PAGE.map(|id| Column::of(id, None));
        looked_at.into_iter().chain(self.others().flat_map(of_each)).collect()
    }

    /// The columns that explain a row: what it is, what it costs, and how often it returned. A
    /// comparison is about `cost`.
    #[must_use]
    pub fn explained(&self, cost: Cost) -> [Vec<Column>; 3] {
        let of_units = |is_one: fn(Unit) -> bool| {
            let columns = DEFINITIONS.iter().filter(|of| !of.is_compared && is_one(of.unit));
            columns.map(|of| Column::of(of.id, None)).collect()
        };
        let words = of_units(|unit| matches!(unit, Unit::Text | Unit::Count));
        if self.is_compared() {
            return [words, self.on_screen(cost), Vec::new()];
        }
        [words, of_units(Unit::is_of_metric), of_units(Unit::is_of_edges)]
    }

    /// The columns for machines, in their order: those of a row, and those of each metric where
    /// there are several. What became of a row is about `cost`.
    #[must_use]
    pub fn for_machines(&self, cost: Cost) -> [Vec<Column>; 2] {
        if self.is_compared() {
            let columns = definitions::COMPARED_MACHINE.iter();
            let columns =
                columns.map(|&(id, of)| Column { id, metric: None, cost: of.unwrap_or(cost) });
            return [columns.collect(), Vec::new()];
        }
        let metrics = self.refined.profile.metrics().map(|(metric, _)| metric);
        let metrics = metrics.filter(|_| self.has_several_metrics());
        let of_each = metrics.flat_map(|metric| of_metric(&definitions::MACHINE, metric));
        [definitions::MACHINE.map(|id| Column::of(id, None)).to_vec(), of_each.collect()]
    }
}

/// Those of some columns that each metric has.
fn of_metric(columns: &[Id], metric: MetricRef) -> impl Iterator<Item = Column> {
    let columns = columns.iter().filter(|id| id.definition().unit.is_of_metric());
    columns.map(move |&id| Column::of(id, Some(metric)))
}

impl Id {
    /// All about the column.
    #[must_use]
    pub fn definition(self) -> &'static Definition {
        &DEFINITIONS[self as usize]
    }
}

impl Column {
    /// Inclusive cost.
    pub const INCLUSIVE: Self = Self::of(Id::Inclusive, None);
    /// Exclusive cost.
    pub const EXCLUSIVE: Self = Self::of(Id::Exclusive, None);
    /// The function's name.
    pub const NAME: Self = Self::of(Id::Function, None);

    /// A column of a metric.
    #[must_use]
    pub const fn of(id: Id, metric: Option<MetricRef>) -> Self {
        Self { id, metric, cost: Cost::Inclusive }
    }

    /// A column of a comparison, about this cost if it compares costs.
    #[must_use]
    pub fn comparing(id: Id, cost: Cost) -> Self {
        let is_of_cost = id.definition().unit == Unit::Compared;
        Self { cost: if is_of_cost { cost } else { Cost::default() }, ..Self::of(id, None) }
    }

    /// The cost of a metric.
    #[must_use]
    pub const fn cost_of(metric: MetricRef, cost: Cost) -> Self {
        let id = match cost {
            Cost::Inclusive => Id::Inclusive,
            Cost::Exclusive => Id::Exclusive,
        };
        Self::of(id, Some(metric))
    }

    /// All about it that does not depend on a profile.
    #[must_use]
    pub fn definition(self) -> &'static Definition {
        self.id.definition()
    }

    /// What people read above it.
    #[must_use]
    pub fn heading<'r>(self, basis: &'r Basis<'r>) -> Cow<'r, str> {
        (self.definition().heading)(&Heading { basis, column: self })
    }

    /// What a row has.
    #[must_use]
    pub fn value<'r>(self, basis: &'r Basis<'r>, row: &'r Row) -> Cell<'r> {
        (self.definition().value)(&At { basis, column: self, row })
    }

    /// What people read of a row.
    #[must_use]
    pub fn text_of(self, basis: &Basis<'_>, row: &Row) -> String {
        self.text(basis, &self.value(basis, row))
    }

    /// What people read of a value of it.
    #[must_use]
    pub fn text(self, basis: &Basis<'_>, cell: &Cell<'_>) -> String {
        let has_dot = match self.definition().zero {
            Zero::Number => false,
            Zero::Dot => true,
            Zero::DotAmongMetrics => basis.medium == Medium::Screen && basis.has_several_metrics(),
        };
        match cell.samples() {
            Some(0) if has_dot => ".".to_owned(),
            _ => cell.text(basis.form),
        }
    }

    /// What its number in a row is made of.
    #[must_use]
    pub fn explain(self, basis: &Basis<'_>, row: &Row, about: About) -> Explanation {
        (self.definition().explain)(&At { basis, column: self, row }, about)
    }

    /// The column that orders rows where this one is asked for; `None` if none does.
    #[must_use]
    pub fn order(self) -> Option<Self> {
        match self.definition().order {
            Order::By(_) => Some(self),
            Order::As(id) => Some(Self { id, ..self }),
            Order::None => None,
        }
    }

    /// What `--sort` calls it; `None` if it orders nothing, or is of a metric that is named.
    #[must_use]
    pub fn sort_name(self) -> Option<&'static str> {
        match self.definition().order {
            Order::By(name) if self.metric.is_none() => Some(name),
            _ => None,
        }
    }

    /// The columns that `--sort` names, of comparisons or of single profiles.
    pub fn sortable(
        is_compared: bool,
    ) -> impl Iterator<Item = (&'static str, &'static Definition)> {
        DEFINITIONS.iter().filter(move |of| of.is_compared == is_compared).filter_map(|of| match of
            .order
        {
            Order::By(name) => Some((name, of)),
            _ => None,
        })
    }

    /// Its key for machines, and the object that it is in, if it is in one.
    #[must_use]
    pub fn key<'r>(self, basis: &Basis<'r>) -> (Option<&'r str>, &'static str) {
        let definition = self.definition();
        match (self.metric, definition.unit) {
            (Some(metric), _) => (Some(&basis.refined.source_of(metric).source), definition.key),
            (None, Unit::Compared) => (Some(definition.key), self.cost.name()),
            (None, _) => (definition.group, definition.key),
        }
    }
}

impl<'r> At<'r> {
    /// The metric that the column is about.
    #[must_use]
    pub fn metric(&self) -> &'r Metric {
        self.basis.refined.source_of(self.number())
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> MetricRef {
        self.column.metric.unwrap_or(self.basis.refined.metric)
    }

    /// What the row has of it.
    #[must_use]
    pub fn share(&self) -> Share {
        let Row { inclusive, exclusive, edge_samples, .. } = *self.row;
        let looked_at = Share { inclusive, exclusive, edge_samples };
        self.column.metric.map_or(looked_at, |metric| self.row.of(metric))
    }

    /// So many samples as a cost.
    fn cost(&self, samples: u64) -> Cell<'r> {
        Cell::Cost { samples, metric: self.metric(), measure: self.basis.measure }
    }

    /// So many samples as a share.
    fn part(&self, part: u64) -> Cell<'r> {
        Cell::Share { part, whole: self.basis.whole(self.number()) }
    }

    /// Whether edge counts of the sides compare.
    fn has_same_period(&self) -> bool {
        let comparison = self.basis.refined.profile.comparison.as_ref();
        comparison.is_some_and(|comparison| comparison.same_period())
    }

    /// What the sides of a comparison differ by, of what the column compares.
    #[must_use]
    pub fn difference(&self) -> Option<Difference<'r>> {
        let comparison = self.basis.refined.profile.comparison.as_deref()?;
        Some(Difference::new(comparison, self.column.cost.of(self.row)))
    }

    /// One of its numbers; nothing where nothing is compared.
    fn compared(&self, cell: impl FnOnce(Difference<'r>) -> Cell<'r>) -> Cell<'r> {
        self.difference().map_or(Cell::Nothing, cell)
    }
}
