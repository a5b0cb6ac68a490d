//! Columns of comparisons.

use std::borrow::Cow;

use crate::profile::comparison::{BASE, Method, OTHER, Scale, ScalingKind};
use crate::views::columns::cell::Cell;
use crate::views::columns::column::{
    About, At, Basis, COLUMN, Definition, Explanation, Heading, Lines, Medium, Order, Tone, Unit,
};
use crate::views::columns::explain::pair;
use crate::views::columns::lists::Id;
use crate::views::difference::{self, Change, Difference};
use crate::views::number::{Form, amount, count};
use crate::views::row::{Cost, Edges};

/// All of them.
pub(super) const COLUMNS: &[Definition] = &[
    DELTA,
    BASE_COST,
    OTHER_COST,
    RATE,
    GROWTH,
    NOISE,
    EDGES_OF_BOTH,
    BASE_EDGES,
    OTHER_EDGES,
    CHANGE,
    SIGNIFICANT,
    EXPECTED,
    LOSS_SHARE,
    LOW,
    HIGH,
];

/// What costs of comparisons have alike.
const SIDE: Definition = Definition { lines: Lines::OfBoth, unit: Unit::Compared, ..COLUMN };

/// What edge counts of one side have alike.
const EDGES_OF_SIDE: Definition =
    Definition { key: "edges", unit: Unit::Edges, repeats: Some(Id::EdgesOfBoth), ..SIDE };

const DELTA: Definition = Definition {
    id: Id::Delta,
    key: "delta",
    heading: |of| match (of.basis.form, of.is_share_on_page()) {
        _ if of.basis.is_scaled() => "loss".into(),
        _ if of.basis.moments().is_some() => "since".into(),
        (Form::Unicode, true) => "Δ pp".into(),
        (Form::Ascii, true) => "delta pp".into(),
        (Form::Unicode, false) => "Δ".into(),
        (Form::Ascii, false) => "delta".into(),
    },
    value: |at| at.compared(Cell::Delta),
    order: Order::By("delta"),
    help: "OTHER - BASE; with --scaling, OTHER - expected",
    explain: delta,
    tone: Tone::Change,
    ..SIDE
};

fn delta(at: &At<'_>, _: About) -> Explanation {
    let Some(difference) = at.difference() else { return Vec::new() };
    let unit = match difference.comparison().scale {
        Scale::Share => " percentage points",
        Scale::Amount | Scale::Samples => "",
    };
    let delta = difference.delta(at.basis.form);
    match difference.comparison().scaling {
        Some(_) => vec![pair("loss", format!("other - expected = {delta}"))],
        None if difference.comparison().moments.is_some() => {
            vec![pair("since", format!("total - before = {delta}"))]
        }
        None => vec![pair("difference", format!("other - base = {delta}{unit}"))],
    }
}

const BASE_COST: Definition = Definition {
    id: Id::Base,
    key: "base",
    heading: |of| of.of_side(if of.basis.moments().is_some() { "before" } else { "base" }),
    value: |at| at.compared(|difference| Cell::Side(difference, BASE)),
    order: Order::By("base"),
    help: "Cost in BASE: inclusive; exclusive in the views flat and callers",
    explain: base,
    ..SIDE
};

fn base(at: &At<'_>, _: About) -> Explanation {
    side(at, BASE, "base")
}

const OTHER_COST: Definition = Definition {
    id: Id::Other,
    key: "other",
    heading: |of| of.of_side(if of.basis.moments().is_some() { "total" } else { "other" }),
    value: |at| at.compared(|difference| Cell::Side(difference, OTHER)),
    order: Order::By("other"),
    help: "Cost in OTHER, likewise",
    explain: other,
    ..SIDE
};

fn other(at: &At<'_>, about: About) -> Explanation {
    let meaning = match at.column.cost {
        Cost::Inclusive => about.inclusive,
        Cost::Exclusive => about.exclusive,
    };
    let mut texts = side(at, OTHER, "other");
    texts.push(pair("", meaning));
    texts
}

/// What one side of a comparison has.
fn side(at: &At<'_>, side: usize, label: &str) -> Explanation {
    let Some(difference) = at.difference() else { return Vec::new() };
    let form = at.basis.form;
    let one_side = &difference.comparison().sides[side];
    let samples = difference.samples()[side];
    let share = match difference.comparison().scale {
        Scale::Share => {
            format!(
                ", {} % of {} samples",
                difference.amount(side, form),
                count(one_side.total, form)
            )
        }
        Scale::Amount | Scale::Samples => String::new(),
    };
    let [period, amount] = [1, samples].map(|samples| amount(samples, &one_side.metric, form));
    let samples = count(samples, form);
    let text = match (one_side.runs.len(), difference.deviation(side, form)) {
        (runs @ 2.., Some(deviation)) if difference.comparison().scale == Scale::Share => format!(
            "{samples} of {} samples in {runs} runs: {} %, standard deviation {deviation}",
            count(one_side.total, form),
            difference.amount(side, form),
        ),
        (runs @ 2.., Some(deviation)) => format!(
            "{samples} samples × {period} in {runs} runs: mean {}, standard deviation {deviation}",
            difference.amount(side, form),
        ),
        _ => format!("{samples} samples × {period} = {amount}{share}"),
    };
    vec![pair(label, text), pair("", &*one_side.name)]
}

const RATE: Definition = Definition {
    id: Id::Rate,
    key: "rate",
    is_in: |basis| basis.moments().is_some(),
    heading: |_| "per s".into(),
    value: |at| match at.compared(Cell::Rate) {
        Cell::Rate(of) if of.rate().is_none() => Cell::Nothing,
        cell => cell,
    },
    order: Order::As(Id::Delta),
    help: "Of a program that runs: cost since the moment before, for each second",
    explain: rate,
    ..SIDE
};

fn rate(at: &At<'_>, _: About) -> Explanation {
    let Some(difference) = at.difference() else { return Vec::new() };
    let seconds = difference.comparison().moments.unwrap_or(0) as f64 / 1e9;
    let (rate, delta) = (difference.rate_text(at.basis.form), difference.delta(at.basis.form));
    vec![pair("per s", format!("{rate}: {delta} in {seconds:.1} s"))]
}

const GROWTH: Definition = Definition {
    id: Id::Growth,
    key: "growth",
    is_in: are_runs,
    heading: |of| match (of.basis.medium, of.basis.form) {
        (Medium::Screen, _) => "%".into(),
        (Medium::Page, Form::Unicode) => "Δ%".into(),
        (Medium::Page, Form::Ascii) => "delta%".into(),
    },
    value: |at| at.compared(Cell::Growth),
    order: Order::By("growth"),
    help: "The difference as a share of BASE, or new",
    explain: growth,
    width: 6,
    tone: Tone::Change,
    ..SIDE
};

fn growth(at: &At<'_>, _: About) -> Explanation {
    let Some(difference) = at.difference() else { return Vec::new() };
    let text = match (difference.change(), difference.growth()) {
        (Change::Gone, _) => "gone: other has none of it".to_owned(),
        (_, Some(_)) => format!("{} of base", difference.growth_with_unit(at.basis.form)),
        (_, None) => "new: base has nothing to compare with".to_owned(),
    };
    vec![pair("%", text)]
}

const NOISE: Definition = Definition {
    id: Id::Noise,
    key: "noise",
    is_in: are_runs,
    heading: |of| match (of.basis.medium, of.basis.form) {
        (_, Form::Unicode) if of.basis.has_several_runs() => "±95%".into(),
        (Medium::Page, Form::Ascii) if of.basis.has_several_runs() => "+-95%".into(),
        (_, Form::Unicode) => "±2σ".into(),
        (Medium::Screen, Form::Ascii) => "noise".into(),
        (Medium::Page, Form::Ascii) => "+-2sd".into(),
    },
    value: |at| at.compared(Cell::Noise),
    order: Order::As(Id::Delta),
    help: "Noise of the difference: of sampling, or between several runs",
    explain: noise,
    tone: Tone::Faint,
    ..SIDE
};

fn noise(at: &At<'_>, _: About) -> Explanation {
    let Some(difference) = at.difference() else { return Vec::new() };
    let form = at.basis.form;
    let noise = difference.noise(form);
    let freedom_of = |freedom: u32| match freedom {
        1 => "1 degree of freedom".to_owned(),
        freedom => format!("{freedom} degrees of freedom"),
    };
    let text = match difference.method() {
        Method::Sampling => {
            let [base, other] = difference.samples().map(|samples| count(samples, form));
            let text = format!(
                "{noise}: chance moves {base} and {other} samples by about their square roots, and \
                 the difference of equal runs by less than this in 95 of 100 cases",
            );
            let mut texts = vec![pair("noise", text)];
            if difference.samples().contains(&0) {
                let unseen = "no sample does not say that there is nothing: up to 3.7 may be \
                              expected there, and none is met in 1 of 40 cases";
                texts.push(pair("", unseen));
            }
            return texts;
        }
        Method::Welch(freedom) => {
            format!("{noise} by the spread between runs: Welch's t, {}", freedom_of(freedom))
        }
        Method::OneSided { single, is_of_sampling: true, .. } => {
            let single = if single == BASE { "base" } else { "other" };
            format!("{noise} by sampling: {single} has one run, and the others differ by less")
        }
        Method::OneSided { single, freedom, .. } => {
            let [single, several] =
                if single == BASE { ["base", "other"] } else { ["other", "base"] };
            format!(
                "{noise}: {single} has one run, whose spread is taken to be that between the runs of \
                 {several}: t, {}",
                freedom_of(freedom)
            )
        }
    };
    let [low, high] = difference.ends(form);
    let interval = format!("in 95 of 100 cases the true difference is between {low} and {high}");
    let mut texts = vec![pair("noise", text), pair("", interval)];
    if difference.is_least() {
        let least = "counts are whole, so a run is taken to vary by half a sample at least";
        texts.push(pair("", least));
    }
    texts
}

const EDGES_OF_BOTH: Definition = Definition {
    id: Id::EdgesOfBoth,
    key: "edges",
    is_in: are_runs,
    unit: Unit::Edges,
    value: |at| {
        let sides = || at.row.sides().map(|weight| weight.edges);
        let sides = at.edges_compare().then(sides);
        Cell::EdgesOfBoth { sides, sum: at.weight().edges }
    },
    order: Order::By("edges"),
    help: "Edge counts: BASE → OTHER",
    explain: edges_of_both,
    width: 13,
    ..SIDE
};

fn edges_of_both(at: &At<'_>, _: About) -> Explanation {
    let Some(difference) = at.difference() else { return Vec::new() };
    if !difference.comparison().same_period() {
        return vec![pair("edges", "do not compare: the sides have different periods")];
    }
    if !difference.comparison().edges_compare() {
        return vec![pair("edges", "do not compare: the sides have different numbers of runs")];
    }
    let text = difference::edges(at.row.sides().map(|weight| weight.edges), at.basis.form);
    let text = if text.is_empty() { "none".to_owned() } else { text };
    match difference.comparison().runs(BASE) {
        1 => vec![pair("edges", text)],
        runs => vec![pair("edges", format!("{text}, of all {runs} runs of a side together"))],
    }
}

const BASE_EDGES: Definition = Definition {
    id: Id::BaseEdges,
    group: Some("base"),
    value: |at| at.edges_of_side(BASE),
    help: "Edge count in BASE",
    ..EDGES_OF_SIDE
};

const OTHER_EDGES: Definition = Definition {
    id: Id::OtherEdges,
    group: Some("other"),
    value: |at| at.edges_of_side(OTHER),
    help: "Edge count in OTHER",
    ..EDGES_OF_SIDE
};

const CHANGE: Definition = Definition {
    id: Id::Change,
    key: "change",
    unit: Unit::Text,
    value: |at| at.compared(|difference| Cell::Text(difference.change().word())),
    help: "What became of the row",
    repeats: Some(Id::Delta),
    ..SIDE
};

const SIGNIFICANT: Definition = Definition {
    id: Id::Significant,
    key: "significant",
    unit: Unit::Text,
    value: |at| at.compared(|difference| Cell::Truth(difference.is_significant())),
    help: "Whether it differs by more than noise",
    repeats: Some(Id::Delta),
    ..SIDE
};

const EXPECTED: Definition = Definition {
    id: Id::Expected,
    key: "expected",
    is_in: |basis| basis.is_scaled(),
    heading: |of| of.of_side("expected"),
    value: |at| at.compared(Cell::Expected),
    order: Order::As(Id::Base),
    help: "What OTHER should cost if the program scaled",
    explain: expected,
    ..SIDE
};

/// What is expected of OTHER.
fn expected(at: &At<'_>, _: About) -> Explanation {
    let Some(difference) = at.difference() else { return Vec::new() };
    let Some(scaling) = difference.comparison().scaling else { return Vec::new() };
    let (form, [base, other]) = (at.basis.form, scaling.workers);
    let text = match scaling.kind {
        ScalingKind::Strong => format!(
            "{}: the same work, so all {other} together should cost what {base} did",
            difference.expected(form)
        ),
        ScalingKind::Weak => format!(
            "{} × {other} / {base} = {}: as much work for each of {other} as for each of {base}",
            difference.amount(BASE, form),
            difference.expected(form)
        ),
    };
    vec![pair("expected", text)]
}

const LOSS_SHARE: Definition = Definition {
    id: Id::LossShare,
    key: "loss_percent",
    is_in: |basis| basis.is_scaled(),
    heading: |_| "loss%".into(),
    value: |at| at.compared(Cell::LossShare),
    order: Order::As(Id::Delta),
    help: "The scaling loss as a share of all that OTHER costs",
    explain: loss_share,
    width: 6,
    tone: Tone::Change,
    ..SIDE
};

/// The scaling loss as a share.
fn loss_share(at: &At<'_>, _: About) -> Explanation {
    let Some(difference) = at.difference() else { return Vec::new() };
    let text = match difference.share_of_other() {
        None => "other has no sample, so there is nothing to be a share of".to_owned(),
        Some(_) => format!("{} % of all that other costs", difference.share_of_other_text()),
    };
    vec![pair("loss%", text)]
}

const LOW: Definition = Definition {
    id: Id::Low,
    key: "low",
    is_in: |basis| basis.has_several_runs(),
    value: |at| at.compared(|difference| Cell::End(difference, 0)),
    order: Order::As(Id::Delta),
    help: "The least difference that the spread of the runs leaves",
    repeats: Some(Id::Noise),
    tone: Tone::Faint,
    ..SIDE
};

const HIGH: Definition = Definition {
    id: Id::High,
    key: "high",
    is_in: |basis| basis.has_several_runs(),
    value: |at| at.compared(|difference| Cell::End(difference, 1)),
    order: Order::As(Id::Delta),
    help: "The greatest difference that the spread of the runs leaves",
    repeats: Some(Id::Noise),
    tone: Tone::Faint,
    ..SIDE
};

/// Whether the sides are runs. Of one run at two moments, what was there before is on both.
fn are_runs(basis: &Basis<'_>) -> bool {
    basis.moments().is_none()
}

impl<'r> Heading<'r> {
    /// Whether it must say that shares are compared: a screen says so elsewhere.
    fn is_share_on_page(&self) -> bool {
        let comparison = self.basis.refined.profile.comparison.as_ref();
        let is_share = comparison.is_some_and(|comparison| comparison.scale == Scale::Share);
        self.basis.medium == Medium::Page && is_share
    }

    /// What the cost of one side is called.
    fn of_side(&self, side: &'static str) -> Cow<'static, str> {
        let is_exclusive = self.column.cost == Cost::Exclusive;
        let is_exclusive = is_exclusive && self.basis.medium == Medium::Page;
        match (is_exclusive, self.is_share_on_page()) {
            (false, false) => side.into(),
            (false, true) => format!("{side} %").into(),
            (true, false) => format!("excl {side}").into(),
            (true, true) => format!("excl {side} %").into(),
        }
    }
}

impl<'r> At<'r> {
    /// What the sides of a comparison differ by, of what the column compares.
    fn difference(&self) -> Option<Difference<'r>> {
        let comparison = self.basis.refined.profile.comparison.as_deref()?;
        Some(Difference::new(comparison, self.column.cost.of_runs(self.row)))
    }

    /// One of its numbers; nothing where nothing is compared.
    fn compared(&self, cell: impl FnOnce(Difference<'r>) -> Cell<'r>) -> Cell<'r> {
        self.difference().map_or(Cell::Nothing, cell)
    }

    /// Whether edge counts of the sides compare.
    fn edges_compare(&self) -> bool {
        let comparison = self.basis.refined.profile.comparison.as_ref();
        comparison.is_some_and(|comparison| comparison.edges_compare())
    }

    /// The edge count of one side.
    fn edges_of_side(&self, side: usize) -> Cell<'r> {
        let edges = || self.row.sides()[side].edges;
        Cell::Edges(if self.edges_compare() { edges() } else { Edges::None })
    }
}
