//! Columns of one cost, and of its samples.

use std::borrow::Cow;

use crate::views::columns::cell::Cell;
use crate::views::columns::column::{
    About, At, COLUMN, Definition, Explanation, Heading, Medium, Order, PercentOf, Tone, Unit, Zero,
};
use crate::views::columns::explain::{cost, heading, pair};
use crate::views::columns::lists::Id;
use crate::views::measure::Measure;
use crate::views::number::{count, percent};
use crate::views::printable::printable;

/// All of them.
pub(super) const COLUMNS: &[Definition] =
    &[INCLUSIVE, PERCENT, EXCLUSIVE, EXCLUSIVE_PERCENT, SAMPLES, BAR];

/// What shares have alike.
const SHARE: Definition =
    Definition { unit: Unit::Share, zero: Zero::DotOnScreen, tone: Tone::Heat, ..COLUMN };

const INCLUSIVE: Definition = Definition {
    id: Id::Inclusive,
    key: "inclusive",
    name: Some("time"),
    heading: heading_of_cost,
    unit: Unit::Cost,
    value: |at| at.cost(at.weight().inclusive),
    zero: Zero::DotOnScreen,
    order: Order::By("time"),
    help: "Inclusive cost: the row and all it calls",
    explain: inclusive,
    tone: Tone::Size,
    ..COLUMN
};

/// Metrics are told by their names; where there is one, its unit is told.
fn heading_of_cost<'r>(of: &Heading<'r>) -> Cow<'r, str> {
    let basis = of.basis;
    let source = match (of.column.metric, basis.has_several_metrics()) {
        (Some(metric), _) => Some(&*basis.refined.source_of(metric).source),
        (None, true) => Some(&*of.looked_at().source),
        (None, false) => None,
    };
    let is_time = of.is_time();
    match (basis.medium, basis.measure, source) {
        (Medium::Screen, _, Some(source)) => source.into(),
        (Medium::Screen, ..) if is_time => "time".into(),
        (Medium::Screen, ..) => "cost".into(),
        (Medium::Page, _, Some(source)) if of.column.metric.is_some() => printable(source),
        (Medium::Page, Measure::Samples, Some(source)) => {
            format!("incl {} samples", printable(source)).into()
        }
        (Medium::Page, Measure::Samples, None) => "incl samples".into(),
        (Medium::Page, Measure::Source, Some(source)) if is_time => {
            format!("incl {}", printable(source)).into()
        }
        (Medium::Page, Measure::Source, None) if is_time => "incl time".into(),
        (Medium::Page, Measure::Source, _) => {
            format!("incl {}", printable(&of.looked_at().unit)).into()
        }
    }
}

fn inclusive(at: &At<'_>, about: About) -> Explanation {
    let mut texts = vec![pair(&heading(at), cost(at, at.weight().inclusive))];
    if at.column.metric.is_none() {
        texts.push(pair("", about.inclusive));
    }
    texts
}

const PERCENT: Definition = Definition {
    id: Id::Percent,
    key: "percent",
    name: Some("percent"),
    heading: |of| match (of.basis.medium, of.column.metric) {
        (Medium::Screen, None) => format!("% {}", of.basis.percent_of.word()).into(),
        // Beside the metric that is looked at, which says it.
        _ => "%".into(),
    },
    value: |at| at.part(at.weight().inclusive),
    order: Order::As(Id::Inclusive),
    help: "Inclusive cost as a share",
    explain: percent_of_cost,
    width: 5,
    tone: Tone::Size,
    ..SHARE
};

fn percent_of_cost(at: &At<'_>, _: About) -> Explanation {
    let part = at.weight().inclusive;
    if let (Some(_), Cell::Share { whole, .. }) =
        (at.context.and_then(|context| context.run), at.part(part))
    {
        let [samples, all] = [part, whole].map(|samples| count(samples, at.basis.form));
        let text = format!("{samples} of {all} of this run = {} %", percent(part, whole));
        return vec![pair("%", text)];
    }
    let text = pair("%", shares(at, part));
    if at.column.metric.is_some() || at.context.is_some() {
        return vec![text];
    }
    let which = match at.basis.percent_of {
        PercentOf::Base => "the screen shows the share of what was measured; % changes that",
        PercentOf::View => "the screen shows the share of what is shown; % changes that",
        PercentOf::Parent => "the screen shows the share of the row above; % changes that",
    };
    let mut texts = vec![text];
    if let Some(parent) = at.parent {
        let whole = parent.of(at.number()).inclusive;
        let [samples, all] = [part, whole].map(|samples| count(samples, at.basis.form));
        let share = percent(part, whole);
        texts.push(pair("", format!("{samples} of {all} of the row above = {share} %")));
    }
    texts.push(pair("", which));
    texts
}

const EXCLUSIVE: Definition = Definition {
    id: Id::Exclusive,
    key: "exclusive",
    name: Some("excl"),
    heading: |of| if of.is_time() { "excl time".into() } else { "excl cost".into() },
    unit: Unit::Cost,
    value: |at| at.cost(at.weight().exclusive),
    zero: Zero::Dot,
    order: Order::By("excl"),
    help: "Exclusive cost: its own code",
    explain: exclusive,
    repeats: Some(Id::ExclusivePercent),
    width: 10,
    tone: Tone::Heat,
    ..COLUMN
};

fn exclusive(at: &At<'_>, about: About) -> Explanation {
    vec![pair(&heading(at), cost(at, at.weight().exclusive)), pair("", about.exclusive)]
}

const EXCLUSIVE_PERCENT: Definition = Definition {
    id: Id::ExclusivePercent,
    key: "exclusive_percent",
    name: Some("excl-percent"),
    heading: |of| match of.basis.medium {
        Medium::Screen => "excl%".into(),
        Medium::Page => "excl %".into(),
    },
    value: |at| at.part(at.weight().exclusive),
    zero: Zero::Dot,
    order: Order::As(Id::Exclusive),
    help: "Exclusive cost as a share",
    explain: exclusive_percent,
    width: 6,
    ..SHARE
};

fn exclusive_percent(at: &At<'_>, _: About) -> Explanation {
    vec![pair("excl%", shares(at, at.weight().exclusive))]
}

/// Samples as shares of what was measured and of what is shown.
fn shares(at: &At<'_>, part: u64) -> String {
    let (base, shown) = at.basis.refined.account_of(at.number());
    let [of, measured, in_view] = [part, base, shown].map(|samples| count(samples, at.basis.form));
    let [of_base, of_shown] = [base, shown].map(|whole| percent(part, whole));
    format!("{of} of {measured} measured = {of_base} %; of {in_view} shown = {of_shown} %")
}

const SAMPLES: Definition = Definition {
    id: Id::Samples,
    key: "samples",
    name: Some("samples"),
    unit: Unit::Count,
    value: |at| Cell::Count(at.weight().inclusive),
    order: Order::As(Id::Inclusive),
    help: "Inclusive samples",
    repeats: Some(Id::Inclusive),
    width: 11,
    ..COLUMN
};

const BAR: Definition = Definition {
    id: Id::Bar,
    key: "bar",
    name: Some("bar"),
    heading: |_| "".into(),
    unit: Unit::Bar,
    value: |at| at.part(at.weight().inclusive),
    help: "What rows are ordered by",
    repeats: Some(Id::Inclusive),
    width: 4,
    ..SHARE
};
