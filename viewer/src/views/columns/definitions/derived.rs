//! Columns of derived metrics.

use std::borrow::Cow;

use csprof_format::profile::Metric;

use crate::profile::comparison::{BASE, OTHER};
use crate::profile::derived::{Derived, Operation, Step, Term, Value, computed};
use crate::views::columns::cell::Cell;
use crate::views::columns::column::{
    About, At, COLUMN, Definition, Explanation, Heading, Lines, Medium, Order, Unit,
};
use crate::views::columns::explain::{heading, pair};
use crate::views::columns::lists::Id;
use crate::views::measure::Measure;
use crate::views::number::{Form, amount, counted, edges};
use crate::views::printable::printable;
use crate::views::row::Cost;

/// All of them.
pub(super) const COLUMNS: &[Definition] =
    &[INCLUSIVE, EXCLUSIVE, BASE_DERIVED, OTHER_DERIVED, DERIVED_DELTA];

/// What columns of derived metrics have alike.
const DERIVED: Definition =
    Definition { unit: Unit::Derived, order: Order::Derived, explain: derived, ..COLUMN };

/// What derived metrics of comparisons have alike.
const DERIVED_OF_SIDE: Definition =
    Definition { lines: Lines::OfBoth, unit: Unit::Derived, ..COLUMN };

const INCLUSIVE: Definition = Definition {
    id: Id::Derived,
    key: "inclusive",
    name: Some("derived"),
    heading: |of| of.of_derived(Cost::Inclusive),
    value: |at| at.computed(Cost::Inclusive),
    help: "A derived metric, of inclusive costs",
    ..DERIVED
};

const EXCLUSIVE: Definition = Definition {
    id: Id::DerivedExclusive,
    key: "exclusive",
    name: Some("excl-derived"),
    heading: |of| of.of_derived(Cost::Exclusive),
    value: |at| at.computed(Cost::Exclusive),
    help: "A derived metric, of exclusive costs",
    ..DERIVED
};

/// The formula, and what it makes of the costs of the row.
fn derived(at: &At<'_>, _: About) -> Explanation {
    let Some(derived) = at.derived() else { return Vec::new() };
    let cost = match at.column.id {
        Id::DerivedExclusive => Cost::Exclusive,
        _ => Cost::Inclusive,
    };
    let form = at.basis.form;
    let cell = at.computed(cost);
    let is_known = !matches!(cell, Cell::Nothing);
    let value = if is_known { cell.text(form) } else { "not known".to_owned() };
    let mut texts = vec![pair(&heading(at), format!("{} = {value}", printable(&derived.formula)))];
    let mut told: Vec<Term> = Vec::new();
    for step in &derived.steps {
        let Step::Term(term) = step else { continue };
        if told.contains(term) {
            continue;
        }
        told.push(*term);
        texts.push(pair("", told_term(at, *term, cost)));
    }
    if !is_known {
        let why = "there is no value where a divisor is or may be 0, or there is no edge count";
        texts.push(pair("", why));
    }
    texts
}

/// What the row has of a term of a formula.
fn told_term(at: &At<'_>, term: Term, cost: Cost) -> String {
    let form = at.basis.form;
    let (metric, of) = match term {
        Term::Metric(metric, of) => (metric, of),
        Term::Edges => {
            let edges = edges(at.weight().edges, form);
            return format!("edges: {}", if edges.is_empty() { "none" } else { &edges });
        }
    };
    let cost = cost.of_name(of);
    let source = at.basis.refined.source_of(metric);
    let samples = cost.of(at.row.of(metric));
    format!(
        "{} {}: {} × {} = {}",
        cost.name(),
        printable(&source.source),
        counted(samples, "sample", form),
        amount(1, source, form),
        amount(samples, source, form)
    )
}

const BASE_DERIVED: Definition = Definition {
    id: Id::BaseDerived,
    key: "base",
    name: Some("base-derived"),
    heading: |of| of.of_derived_side("base"),
    value: |at| at.computed_of_side(BASE),
    help: "A derived metric, of BASE",
    explain: derived_of_sides,
    ..DERIVED_OF_SIDE
};

const OTHER_DERIVED: Definition = Definition {
    id: Id::OtherDerived,
    key: "other",
    name: Some("other-derived"),
    heading: |of| of.of_derived_side("other"),
    value: |at| at.computed_of_side(OTHER),
    help: "A derived metric, of OTHER",
    repeats: Some(Id::BaseDerived),
    ..DERIVED_OF_SIDE
};

const DERIVED_DELTA: Definition = Definition {
    id: Id::DerivedDelta,
    key: "delta",
    name: Some("derived-delta"),
    heading: |of| match of.basis.form {
        Form::Unicode => of.of_derived_side("Δ"),
        Form::Ascii => of.of_derived_side("delta"),
    },
    value: |at| at.computed_delta(),
    help: "A derived metric, of OTHER - that of BASE",
    repeats: Some(Id::BaseDerived),
    ..DERIVED_OF_SIDE
};

/// The formula, what it makes of each side, and by how much that differs.
fn derived_of_sides(at: &At<'_>, _: About) -> Explanation {
    let Some(derived) = at.derived() else { return Vec::new() };
    let form = at.basis.form;
    let text = |name: &str, cell: Cell<'_>| match cell {
        Cell::Nothing => format!("{name}: not known"),
        cell => format!("{name}: {}", cell.text(form)),
    };
    let texts = [
        printable(&derived.formula).into_owned(),
        text("base", at.computed_of_side(BASE)),
        text("other", at.computed_of_side(OTHER)),
        text("other minus base, without its noise", at.computed_delta()),
    ];
    let names = [&*printable(&derived.name), "", "", ""];
    names.into_iter().zip(texts).map(|(name, text)| pair(name, text)).collect()
}

impl<'r> Heading<'r> {
    /// What a derived metric is called.
    fn of_derived(&self, cost: Cost) -> Cow<'r, str> {
        let derived = self.basis.refined.profile.derived.get(self.column.derived.index());
        let name = derived.map_or(Cow::Borrowed("derived"), |derived| printable(&derived.name));
        match cost {
            Cost::Inclusive => name,
            Cost::Exclusive => format!("excl {name}").into(),
        }
    }

    /// What a derived metric of one side, or the difference, is called.
    fn of_derived_side(&self, side: &'static str) -> Cow<'r, str> {
        let is_on_page = self.basis.medium == Medium::Page;
        let cost = if is_on_page { self.column.cost } else { Cost::Inclusive };
        format!("{side} {}", self.of_derived(cost)).into()
    }
}

impl<'r> At<'r> {
    /// The derived metric that the column is of.
    fn derived(&self) -> Option<&'r Derived> {
        self.basis.refined.profile.derived.get(self.column.derived.index())
    }

    /// What its formula makes of this cost of the row, in the units of metrics, whatever costs
    /// count.
    fn computed(&self, cost: Cost) -> Cell<'r> {
        self.derived_cell(self.value_of(|term| self.term(term, cost)))
    }

    /// What the formula makes of the cost of one side that the column is about.
    fn computed_of_side(&self, side: usize) -> Cell<'r> {
        self.derived_cell(self.value_of_side(side))
    }

    /// The same of OTHER minus that of BASE.
    fn computed_delta(&self) -> Cell<'r> {
        let sides = self.value_of_side(OTHER).zip(self.value_of_side(BASE));
        match self.derived_cell(sides.and_then(|(other, base)| other.less(base))) {
            Cell::Derived { value, shown } => Cell::DerivedDelta { value, shown },
            nothing => nothing,
        }
    }

    fn derived_cell(&self, value: Option<Value>) -> Cell<'r> {
        let value = value.zip(self.derived());
        value.map_or(Cell::Nothing, |(value, of)| Cell::Derived { value, shown: of.shown })
    }

    /// What the formula makes of its terms.
    fn value_of(&self, term: impl Fn(Term) -> Option<Value>) -> Option<Value> {
        computed(&self.derived()?.steps, |of| term(*of))
    }

    fn value_of_side(&self, side: usize) -> Option<Value> {
        self.value_of(|term| self.term_of_side(term, side))
    }

    /// What one side has of a term of a formula: of several runs their mean, as other amounts are.
    fn term_of_side(&self, term: Term, side: usize) -> Option<Value> {
        let refined = self.basis.refined;
        let comparison = refined.profile.comparison.as_deref()?;
        let runs = Value::exact(comparison.sides[side].runs.len() as f64);
        let of_all_runs = match term {
            Term::Metric(metric, of) => {
                let measured = match metric.index().checked_sub(1) {
                    None => &comparison.sides[side].metric,
                    Some(further) => &comparison.further.get(further)?[side],
                };
                let weight = self.row.of(refined.side_of(metric, side));
                in_units(self.column.cost.of_name(of).of(weight), measured)
            }
            Term::Edges => self.row.sides()[side].edges.value()?,
        };
        of_all_runs.with(Operation::Divide, runs)
    }

    /// What the row has of a term of a formula about this cost.
    fn term(&self, term: Term, cost: Cost) -> Option<Value> {
        let (metric, of) = match term {
            Term::Metric(metric, of) => (metric, of),
            Term::Edges => return self.row.of(self.number()).edges.value(),
        };
        let samples = cost.of_name(of).of(self.row.of(metric));
        Some(in_units(samples, self.basis.refined.source_of(metric)))
    }
}

/// So many samples of a metric in its unit.
fn in_units(samples: u64, metric: &Metric) -> Value {
    Value::exact(Measure::Source.of(samples, metric) as f64)
}
