//! The registry of columns: whatever the terminal, text, CSV, JSON and `diff` say of a row, and by
//! what `--sort` orders rows.
//!
//! A column is an [`Id`] in `lists.rs` and its entry in the file of its theme in `definitions`:
//! then it is one of the [`DEFINITIONS`], can be chosen on a screen and is explained. `lists.rs`
//! also has the columns that each medium shows unasked, where a profile has them. What is shown is
//! a [`Column`]: an entry, and the metric or the cost that it is about.

mod cell;
mod column;
mod definitions;
mod explain;
mod lists;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use cell::{Cell, Plain, Rank};
pub use column::{
    About, AnyRow, At, Basis, Choice, Column, Definition, Explanation, Heading, Lines, Medium,
    Order, PercentOf, Tone, Unit, Zero,
};
pub use definitions::DEFINITIONS;
pub use lists::Id;

use self::lists::Whose;
use super::row::Cost;
use crate::profile::derived::{Derived, DerivedRef};
use crate::profile::{MetricRef, Profile};

impl Basis<'_> {
    /// The columns on a screen, those first that matter most. A comparison is about `cost`.
    #[must_use]
    pub fn on_screen(&self, cost: Cost) -> Vec<Column> {
        let choices = self.choices();
        choices.iter().flat_map(|choice| self.chosen(choice, cost)).collect()
    }

    /// The columns that a screen may have, in the order in which it begins: those that it shows
    /// then, and the others that there are.
    #[must_use]
    pub fn choices(&self) -> Vec<Choice> {
        let lines = if self.is_compared() { Lines::OfBoth } else { Lines::Functions };
        let mut shown: Vec<_> = match lines {
            Lines::OfBoth if self.is_scaled() => {
                lists::SCALED_SCREEN.map(|id| (Whose::LookedAt, id)).to_vec()
            }
            Lines::OfBoth if self.moments().is_some() => {
                lists::MOMENTS_SCREEN.map(|id| (Whose::LookedAt, id)).to_vec()
            }
            Lines::OfBoth => lists::COMPARED_SCREEN.map(|id| (Whose::LookedAt, id)).to_vec(),
            _ => lists::SCREEN.to_vec(),
        };
        shown.retain(|&(_, id)| self.has(id));
        // The name is what the rows are.
        let is_name = |id: Id| matches!(id, Id::Function | Id::FunctionOfBoth);
        let further = DEFINITIONS.iter().filter(|definition| {
            definition.lines == lines && !is_name(definition.id) && self.has(definition.id)
        });
        let further = further.map(|definition| (Whose::LookedAt, definition.id));
        let further: Vec<_> = further.filter(|column| !shown.contains(column)).collect();
        let choice = |is_shown| {
            move |(whose, id): (Whose, Id)| {
                let is_of_others = whose == Whose::Others;
                let choice = Choice { id, is_of_others, is_shown, ..Choice::default() };
                let of_each = self.each_derived(id).into_iter();
                of_each.map(move |derived| Choice { derived, ..choice })
            }
        };
        let further = further.into_iter().flat_map(choice(false));
        let choices = shown.into_iter().flat_map(choice(true)).chain(further);
        choices.filter(|choice| !choice.is_of_others || self.has_several_metrics()).collect()
    }

    /// The columns of a choice: none if it is not shown, and one for each metric if it is of the
    /// others.
    pub fn chosen(&self, choice: &Choice, cost: Cost) -> impl Iterator<Item = Column> + use<'_> {
        let Choice { id, is_of_others, derived, is_shown, .. } = *choice;
        let column =
            if self.is_compared() { Column::comparing(id, cost) } else { Column::of(id, None) };
        let column = Column { derived, ..column };
        let others = self.others().map(move |metric| Column::of(id, Some(metric)));
        let others = others.filter(move |_| is_shown && is_of_others);
        (is_shown && !is_of_others).then_some(column).into_iter().chain(others)
    }

    /// The same where these are shown, in this order, and of the others those of other metrics
    /// behind them; `None` if none of these is of such rows.
    #[must_use]
    pub fn named(&self, shown: &[Id]) -> Option<Vec<Choice>> {
        let mut choices = self.choices();
        let place = |choice: &Choice| match choice.is_of_others {
            true => Some(shown.len()),
            false => shown.iter().position(|id| *id == choice.id),
        };
        if !choices.iter().any(|choice| !choice.is_of_others && place(choice).is_some()) {
            return None;
        }
        for choice in &mut choices {
            choice.is_shown = place(choice).is_some();
        }
        choices.sort_by_key(|choice| place(choice).unwrap_or(usize::MAX));
        Some(choices)
    }

    /// The columns beside lines of source files, those first that matter most.
    #[must_use]
    pub fn of_lines(&self) -> Vec<Column> {
        if self.is_compared() {
            let compared = self.had(&[&lists::COMPARED_LINES]).into_iter();
            return compared.map(|id| Column::comparing(id, Cost::Inclusive)).collect();
        }
        // Each of these columns, those of others for each other metric.
        let columns = lists::LINES.into_iter().filter(|&(_, id)| self.has(id));
        let columns = columns.flat_map(|(whose, id)| {
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
            let ids = if self.is_scaled() { &lists::SCALED[..] } else { &lists::COMPARED };
            let columns = self.had(&[ids]).into_iter().map(|id| Column::comparing(id, cost));
            return columns.chain(self.of_derived_sides(cost)).collect();
        }
        let ids = self.had(lists::PAGE);
        let looked_at = ids.iter().map(|&id| Column::of(id, None));
        let others = self.others().flat_map(|metric| of_metric(&ids, metric));
        looked_at.chain(others).chain(self.of_derived(2)).collect()
    }

    /// The columns of these lists that the profile has, and that were asked for where one must.
    fn had(&self, lists: &[&[Id]]) -> Vec<Id> {
        let is_asked = |id: Id| match id.definition().unit {
            Unit::Strip => self.spread,
            _ => self.addresses || !lists::OF_ADDRESSES.contains(&id),
        };
        let columns = lists.iter().copied().flatten().copied();
        columns.filter(|&id| self.has(id) && is_asked(id)).collect()
    }

    /// The columns that explain a row: what it is, what it costs, and how often it returned. A
    /// comparison is about `cost`.
    #[must_use]
    pub fn explained(&self, cost: Cost) -> [Vec<Column>; 3] {
        let of_units = |is_one: fn(Unit) -> bool| {
            let columns = DEFINITIONS.iter().filter(|definition| {
                definition.lines == Lines::Functions
                    && is_one(definition.unit)
                    && self.has(definition.id)
            });
            columns.map(|definition| Column::of(definition.id, None)).collect()
        };
        let words = of_units(|unit| matches!(unit, Unit::Text | Unit::Count));
        if self.is_compared() {
            return [words, self.on_screen(cost), Vec::new()];
        }
        let mut costs: Vec<_> = of_units(|unit| unit.is_of_metric() || unit == Unit::Strip);
        costs.extend(self.of_derived(2));
        [words, costs, of_units(Unit::is_of_edges)]
    }

    /// The columns for machines, in their order: those of a row, and those of each metric where
    /// there are several. What became of a row is about `cost`.
    #[must_use]
    pub fn for_machines(&self, cost: Cost) -> [Vec<Column>; 3] {
        if self.is_compared() {
            let columns = lists::COMPARED_MACHINE.iter().filter(|(id, _)| self.has(*id));
            let columns = columns
                .map(|&(id, of)| Column { cost: of.unwrap_or(cost), ..Column::of(id, None) });
            let derived = [Cost::Inclusive, Cost::Exclusive];
            let derived = derived.into_iter().map(|cost| self.of_derived_sides(cost));
            let mut derived: Vec<Column> = derived.flatten().collect();
            // Stable: those of each derived metric stand together.
            derived.sort_by_key(|column| column.derived);
            return [columns.collect(), Vec::new(), derived];
        }
        self.with_metrics(lists::MACHINE, 2)
    }

    /// The columns of processes and threads, from left to right.
    #[must_use]
    pub fn of_contexts(&self) -> Vec<Column> {
        let further = if self.medium == Medium::Screen { 1 } else { 2 };
        let further = self.had(&[&lists::CONTEXTS[..further]]);
        let looked_at = self.had(&[&lists::CONTEXTS]).into_iter().map(|id| Column::of(id, None));
        let others = self.others().flat_map(|metric| of_metric(&further, metric));
        looked_at.chain(others).chain(self.of_derived(1)).collect()
    }

    /// The same for machines.
    #[must_use]
    pub fn of_contexts_for_machines(&self) -> [Vec<Column>; 3] {
        self.with_metrics(&[&lists::CONTEXTS_MACHINE], 1)
    }

    /// These columns, those of each metric where there are several, and so many of each derived
    /// one.
    fn with_metrics(&self, lists: &[&[Id]], of_derived: usize) -> [Vec<Column>; 3] {
        let columns = &self.had(lists)[..];
        let metrics = self.refined.profile.metrics().map(|(metric, _)| metric);
        let metrics = metrics.filter(|_| self.has_several_metrics());
        let of_each = metrics.flat_map(|metric| of_metric(columns, metric));
        let own = columns.iter().map(|&id| Column::of(id, None)).collect();
        [own, of_each.collect(), self.of_derived(of_derived).collect()]
    }

    /// The first so many columns of each derived metric.
    fn of_derived(&self, columns: usize) -> impl Iterator<Item = Column> + use<> {
        let ids = &lists::DERIVED[..columns];
        let each = (0..).map(DerivedRef).take(self.refined.profile.derived.len());
        each.flat_map(move |derived| ids.iter().map(move |&id| Column::derived(id, derived)))
    }

    /// The columns of each derived metric in a comparison.
    fn of_derived_sides(&self, cost: Cost) -> impl Iterator<Item = Column> + use<> {
        let each = (0..).map(DerivedRef).take(self.refined.profile.derived.len());
        each.flat_map(move |derived| {
            lists::COMPARED_DERIVED.map(|id| Column { derived, ..Column::comparing(id, cost) })
        })
    }

    /// What a column is of: each derived metric, if it is of these.
    fn each_derived(&self, id: Id) -> Vec<DerivedRef> {
        match id.definition().unit {
            Unit::Derived => {
                (0..).map(DerivedRef).take(self.refined.profile.derived.len()).collect()
            }
            _ => vec![DerivedRef::default()],
        }
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
    /// A column of a comparison, about this cost if it compares costs.
    #[must_use]
    pub fn comparing(id: Id, cost: Cost) -> Self {
        let Definition { unit, lines, .. } = *id.definition();
        let is_of_cost =
            unit == Unit::Compared || (unit == Unit::Derived && lines == Lines::OfBoth);
        Self { cost: if is_of_cost { cost } else { Cost::default() }, ..Self::of(id, None) }
    }

    /// All about it that does not depend on a profile.
    #[must_use]
    pub fn definition(self) -> &'static Definition {
        self.id.definition()
    }

    /// What people read above it.
    #[must_use]
    pub fn heading<'r>(self, basis: &'r Basis<'r>) -> Cow<'r, str> {
        (self.definition().heading)(&Heading { basis, column: self, key: self.definition().key })
    }

    /// What a row has.
    #[must_use]
    pub fn value<'r>(self, basis: &'r Basis<'r>, row: impl Into<AnyRow<'r>>) -> Cell<'r> {
        let AnyRow { row, parent, context } = row.into();
        (self.definition().value)(&At { basis, column: self, row, parent, context })
    }

    /// What people read of a row.
    #[must_use]
    pub fn text_of<'r>(self, basis: &'r Basis<'r>, row: impl Into<AnyRow<'r>>) -> String {
        self.text(basis, &self.value(basis, row))
    }

    /// What people read of a value of it.
    #[must_use]
    pub fn text(self, basis: &Basis<'_>, cell: &Cell<'_>) -> String {
        match (cell.samples(), self.definition().zero) {
            (Some(0), Zero::Dot) => ".".to_owned(),
            (Some(0), Zero::DotOnScreen) if basis.medium == Medium::Screen => ".".to_owned(),
            (Some(0), Zero::Blank) => String::new(),
            _ => cell.text(basis.form),
        }
    }

    /// What its number in a row is made of.
    #[must_use]
    pub fn explain<'r>(
        self,
        basis: &'r Basis<'r>,
        row: impl Into<AnyRow<'r>>,
        about: About,
    ) -> Explanation {
        let AnyRow { row, parent, context } = row.into();
        (self.definition().explain)(&At { basis, column: self, row, parent, context }, about)
    }

    /// The column that orders rows where this one is asked for; `None` if none does.
    #[must_use]
    pub fn order(self) -> Option<Self> {
        match self.definition().order {
            Order::By(_) | Order::Derived => Some(self),
            Order::As(id) => Some(Self { id, ..self }),
            Order::None => None,
        }
    }

    /// Whether its values are bounds for machines, of which two may differ.
    #[must_use]
    pub fn has_bounds(self, basis: &Basis<'_>) -> bool {
        let derived = || basis.refined.profile.derived.get(self.derived.index());
        match self.definition().unit {
            Unit::Edges => true,
            Unit::OverRanks => !matches!(self.id, Id::MostRank | Id::OwnMostRank),
            Unit::Derived => derived().is_some_and(Derived::has_edges),
            _ => false,
        }
    }

    /// What `--sort` calls it; `None` if it orders nothing, or is of a metric that is named.
    #[must_use]
    pub fn sort_name(self, profile: &Profile) -> Option<Cow<'_, str>> {
        match self.definition().order {
            Order::By(name) if self.metric.is_none() => Some(name.into()),
            Order::Derived => {
                let name = &profile.derived.get(self.derived.index())?.name;
                Some(match self.id {
                    Id::DerivedExclusive => format!("{name}:excl").into(),
                    _ => name.into(),
                })
            }
            _ => None,
        }
    }

    /// The columns that `--sort` names, of comparisons or of single profiles.
    pub fn sortable(
        is_compared: bool,
    ) -> impl Iterator<Item = (&'static str, &'static Definition)> {
        let lines = if is_compared { Lines::OfBoth } else { Lines::Functions };
        DEFINITIONS.iter().filter_map(move |definition| match definition.order {
            Order::By(name) if definition.lines == lines => Some((name, definition)),
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
            (None, Unit::Derived) => {
                let derived = basis.refined.profile.derived.get(self.derived.index());
                let key = match (self.cost, self.id) {
                    (Cost::Exclusive, Id::BaseDerived) => "excl_base",
                    (Cost::Exclusive, Id::OtherDerived) => "excl_other",
                    (Cost::Exclusive, Id::DerivedDelta) => "excl_delta",
                    _ => definition.key,
                };
                (derived.map(|derived| &*derived.name), key)
            }
            (None, _) => (definition.group, definition.key),
        }
    }
}
