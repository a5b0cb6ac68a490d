//! What a column is, and what its heading and its numbers depend on.

use std::borrow::Cow;

use csprof_format::profile::Metric;
use serde::{Deserialize, Serialize};

use super::cell::Cell;
use super::lists::Id;
use crate::profile::MetricRef;
use crate::profile::derived::DerivedRef;
use crate::refine::Refined;
use crate::views::contexts::Context;
use crate::views::measure::Measure;
use crate::views::number::Form;
use crate::views::row::{Cost, Row, Weight};
use crate::views::summary::clustered;

/// What the lines of a table stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Functions.
    Functions,
    /// Functions of two profiles that are compared.
    OfBoth,
    /// Processes and threads.
    Contexts,
}

/// A column: which one, and of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Column {
    /// Which one.
    pub id: Id,
    /// The metric whose samples it is about; `None` for the one that is looked at.
    pub metric: Option<MetricRef>,
    /// Which cost it compares, if it compares costs.
    pub cost: Cost,
    /// The derived metric, of columns that are of one.
    pub derived: DerivedRef,
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
        Self { id, metric, cost: Cost::Inclusive, derived: DerivedRef(0) }
    }

    /// A column of a derived metric.
    #[must_use]
    pub const fn derived(id: Id, derived: DerivedRef) -> Self {
        Self { derived, ..Self::of(id, None) }
    }

    /// The values of a derived metric.
    #[must_use]
    pub const fn derived_of(derived: DerivedRef, cost: Cost) -> Self {
        let id = match cost {
            Cost::Inclusive => Id::Derived,
            Cost::Exclusive => Id::DerivedExclusive,
        };
        Self::derived(id, derived)
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
}

/// Whether and how a screen has a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Which one.
    pub id: Id,
    /// Whether it is of the metrics that are not looked at, one column for each.
    pub is_of_others: bool,
    /// The derived metric, if it is of one.
    #[serde(default)]
    pub derived: DerivedRef,
    /// Whether it is shown, where there is room.
    pub is_shown: bool,
    /// Its cells, where they are not the usual ones.
    pub width: Option<usize>,
}

impl Choice {
    /// Whether a column is of this choice.
    #[must_use]
    pub fn has(&self, column: Column) -> bool {
        let is_of_others = column.metric.is_some();
        (column.id, is_of_others, column.derived) == (self.id, self.is_of_others, self.derived)
    }
}

/// All about a column that does not depend on a profile.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The column.
    pub id: Id,
    /// Its key in JSON, or that of the object that has its inclusive and exclusive cost; in CSV a
    /// part of its heading.
    pub key: &'static str,
    /// What it is called where columns of a screen are chosen, if it can be.
    pub name: Option<&'static str>,
    /// The JSON object that it is in, where it is in one of several.
    pub group: Option<&'static str>,
    /// In which tables it is. [`Id::Percent`] is in those of processes and threads, too.
    pub lines: Lines,
    /// Whether it is in those of a profile.
    pub is_in: fn(&Basis<'_>) -> bool,
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

/// What most columns have alike.
pub(super) const COLUMN: Definition = Definition {
    id: Id::Function,
    key: "",
    name: None,
    group: None,
    lines: Lines::Functions,
    is_in: |_| true,
    heading: |of| of.key.into(),
    unit: Unit::Text,
    value: |_| Cell::Nothing,
    zero: Zero::Number,
    order: Order::None,
    help: "",
    // Another column says it, or the title of the page.
    explain: |_, _| Vec::new(),
    repeats: None,
    width: 9,
    tone: Tone::Plain,
};

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
    /// Samples of peers as heights.
    Strip,
    /// What a formula makes of them.
    Derived,
    /// Cost of one metric of some rank of a sum, or over its ranks.
    OverRanks,
}

impl Unit {
    /// Whether each of several metrics has such a column.
    #[must_use]
    pub const fn is_of_metric(self) -> bool {
        matches!(self, Self::Cost | Self::Share | Self::OverRanks)
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
    /// As a dot on a screen: such rows are there for the sake of another metric, or of peers.
    DotOnScreen,
    /// Not at all.
    Blank,
}

/// How rows are ordered by a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The greatest number first; `--sort` calls it so.
    By(&'static str),
    /// As by another column.
    As(Id),
    /// The greatest number first; `--sort` calls it as the derived metric.
    Derived,
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
    /// How much of everything it is: what a person can act on.
    Heat,
    /// Whether it is hardly anything of everything.
    Size,
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

/// What percentages are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PercentOf {
    /// All samples of the profile.
    #[default]
    Base,
    /// The samples that are shown.
    View,
    /// The inclusive samples of the row above.
    Parent,
}

impl PercentOf {
    /// What is shown, or all that was measured.
    #[must_use]
    pub const fn shown(is_of_shown: bool) -> Self {
        if is_of_shown { Self::View } else { Self::Base }
    }

    /// What it is called beside a percent sign.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Base => "all",
            Self::View => "shown",
            Self::Parent => "parent",
        }
    }

    /// The next one, going round.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::Base => Self::View,
            Self::View => Self::Parent,
            Self::Parent => Self::Base,
        }
    }
}

/// What the numbers of all rows are of, and how they are written.
#[derive(Clone, Copy, Debug)]
pub struct Basis<'r> {
    /// What the rows are made from.
    pub refined: &'r Refined,
    /// For whom.
    pub medium: Medium,
    /// What costs count.
    pub measure: Measure,
    /// What percentages are of.
    pub percent_of: PercentOf,
    /// Signals and samples, where samples do not tell how long calls are.
    pub clustered: Option<(u64, u64)>,
    /// Whether machines get all that is known of addresses.
    pub addresses: bool,
    /// Whether pages and machines get how rows are spread over peers and phases.
    pub spread: bool,
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
    /// Its key, which most headings are.
    pub key: &'static str,
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
    /// The row above it, where that is known.
    pub parent: Option<&'r Row>,
    /// The process or thread that it is of, in a table of these.
    pub context: Option<&'r Context>,
}

/// A row of any table.
#[derive(Clone, Copy, Debug)]
pub struct AnyRow<'r> {
    /// Its samples.
    pub row: &'r Row,
    /// The row above it, of which percentages may be.
    pub parent: Option<&'r Row>,
    /// The process or thread that it is of, in a table of these.
    pub context: Option<&'r Context>,
}

impl<'r> From<&'r Row> for AnyRow<'r> {
    fn from(row: &'r Row) -> Self {
        Self { row, parent: None, context: None }
    }
}

impl<'r> From<(&'r Row, Option<&'r Row>)> for AnyRow<'r> {
    fn from((row, parent): (&'r Row, Option<&'r Row>)) -> Self {
        Self { row, parent, context: None }
    }
}

impl<'r> From<&'r Context> for AnyRow<'r> {
    fn from(context: &'r Context) -> Self {
        Self { row: &context.row, parent: None, context: Some(context) }
    }
}

/// Names and texts; a text without a name goes on with what is above it.
pub type Explanation = Vec<(String, String)>;

/// What numbers are of in the view that the row is in, in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// What a row stands for that is no function.
    pub context: &'static str,
    /// Of what inclusive cost is.
    pub inclusive: &'static str,
    /// Of what exclusive cost is.
    pub exclusive: &'static str,
    /// Why a row has no edge count.
    pub no_edges: &'static str,
}

impl<'r> Basis<'r> {
    /// Times, and percentages of all that was measured, on a page.
    #[must_use]
    pub fn new(refined: &'r Refined) -> Self {
        Self {
            refined,
            medium: Medium::default(),
            measure: Measure::Source,
            percent_of: PercentOf::default(),
            clustered: None,
            addresses: false,
            spread: false,
            form: Form::default(),
        }
    }

    /// The same, with what samples tell of the length of calls. O(threads).
    #[must_use]
    pub fn with_clusters(self) -> Self {
        Self { clustered: clustered(&self.refined.profile), ..self }
    }

    /// What percentages of a metric are of, in samples of it.
    #[must_use]
    pub fn whole(&self, metric: MetricRef) -> u64 {
        let (base, shown) = self.refined.account_of(metric);
        match self.percent_of {
            PercentOf::Base => base,
            // Nothing is above the outermost rows but what is shown.
            PercentOf::View | PercentOf::Parent => shown,
        }
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

    pub(super) fn is_compared(&self) -> bool {
        self.refined.profile.comparison.is_some()
    }

    /// Whether runs of different numbers of ranks or threads are compared.
    pub(super) fn is_scaled(&self) -> bool {
        self.refined
            .profile
            .comparison
            .as_ref()
            .is_some_and(|comparison| comparison.scaling.is_some())
    }

    /// Nanoseconds between the sides of a comparison, where they are one run at two moments.
    pub(super) fn moments(&self) -> Option<u64> {
        self.refined.profile.comparison.as_ref()?.moments
    }

    /// Whether a side of a comparison has several runs.
    pub(super) fn has_several_runs(&self) -> bool {
        self.refined
            .profile
            .comparison
            .as_ref()
            .is_some_and(|comparison| comparison.has_several_runs())
    }

    /// Whether the profile is a sum over ranks.
    pub(super) fn is_sum(&self) -> bool {
        self.refined.profile.spreads.ranks() > 0
    }

    /// Whether there is such a column.
    pub(super) fn has(&self, id: Id) -> bool {
        (id.definition().is_in)(self)
    }
}

impl<'r> Heading<'r> {
    /// The metric that is looked at.
    pub(super) fn looked_at(&self) -> &'r Metric {
        self.basis.refined.looked_at()
    }

    /// Whether costs are times.
    pub(super) fn is_time(&self) -> bool {
        self.looked_at().is_time()
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
    pub fn weight(&self) -> &'r Weight {
        self.row.of(self.number())
    }

    /// So many samples as a cost.
    pub(super) fn cost(&self, samples: u64) -> Cell<'r> {
        Cell::Cost { samples, metric: self.metric(), measure: self.basis.measure }
    }

    /// So many samples as a share; of a process of two runs that are compared, of its own one.
    pub(super) fn part(&self, part: u64) -> Cell<'r> {
        let whole = match (self.context.and_then(|context| context.run), self.parent) {
            (Some([all, _]), _) if self.basis.percent_of == PercentOf::Base => all,
            (Some([_, shown]), _) => shown,
            (None, Some(parent)) if self.basis.percent_of == PercentOf::Parent => {
                parent.of(self.number()).inclusive
            }
            (None, _) => self.basis.whole(self.number()),
        };
        Cell::Share { part, whole }
    }
}
