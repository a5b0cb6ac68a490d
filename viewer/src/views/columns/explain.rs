//! What the numbers of a row are made of, column by column: the answer to `=`.

use std::borrow::Cow;

use csprof_format::address::FrameKind as SavedKind;
use csprof_format::profile::{Module, SymbolSource};

use super::cell::Cell;
use super::column::{About, At, Explanation, PercentOf};
use super::lists::{Id, OWN_OVER_RANKS};
use crate::profile::comparison::{BASE, Method, OTHER, Scale, ScalingKind};
use crate::profile::derived::{Step, Term};
use crate::profile::{FrameKind, FunctionRef};
use crate::refine::{Axis, Refined};
use crate::views::difference::{self, Change};
use crate::views::measure::Measure;
use crate::views::number::{amount, amount_per, count, counted, hex, percent};
use crate::views::peer_costs::RanksOfSum;
use crate::views::printable::printable;
use crate::views::row::{Cost, Edges};
use crate::views::summary::are_all_of_time;
use crate::views::verdict;

fn pair(name: &str, text: impl Into<String>) -> (String, String) {
    (name.to_owned(), text.into())
}

fn heading<'r>(at: &At<'r>) -> Cow<'r, str> {
    at.column.heading(at.basis)
}

/// Samples of the column's metric, and what they stand for.
fn cost(at: &At<'_>, samples: u64) -> String {
    let (metric, form) = (at.metric(), at.basis.form);
    let period = amount(1, metric, form);
    format!("{} × {period} = {}", counted(samples, "sample", form), amount(samples, metric, form))
}

/// Samples as shares of what was measured and of what is shown.
fn shares(at: &At<'_>, part: u64) -> String {
    let (base, shown) = at.basis.refined.account_of(at.number());
    let [of, measured, in_view] = [part, base, shown].map(|samples| count(samples, at.basis.form));
    let [of_base, of_shown] = [base, shown].map(|whole| percent(part, whole));
    format!("{of} of {measured} measured = {of_base} %; of {in_view} shown = {of_shown} %")
}

/// Nothing: another column says it, or the title of the page.
pub(super) fn elsewhere(_: &At<'_>, _: About) -> Explanation {
    Vec::new()
}

pub(super) fn kind(at: &At<'_>, about: About) -> Explanation {
    let text = match at.row.kind {
        FrameKind::Context => about.context,
        kind => kind.definition().explanation,
    };
    if text.is_empty() {
        return Vec::new();
    }
    vec![pair("kind", text)]
}

pub(super) fn module(at: &At<'_>, _: About) -> Explanation {
    let function = at.basis.refined.functions.get(at.row.function.index());
    let module = function.and_then(|function| function.module);
    let path = module.map(|module| at.basis.refined.profile.module_path(module));
    path.map(|path| pair("module", path)).into_iter().collect()
}

pub(super) fn source(at: &At<'_>, _: About) -> Explanation {
    let refined = at.basis.refined;
    let Some(function) = refined.functions.get(at.row.function.index()) else { return Vec::new() };
    let text = match function.file {
        Some(file) if function.line > 0 => {
            format!("{}:{}", refined.profile.string(file), function.line)
        }
        Some(file) => refined.profile.string(file).to_owned(),
        None => no_source(refined, at.row.function).to_owned(),
    };
    let is_known = function.file.is_some() || at.row.kind != FrameKind::Context;
    match at.row.kind != FrameKind::Root && is_known {
        true => vec![pair("source", text)],
        false => Vec::new(),
    }
}

/// What is known of the source of a function of which it is not known where it is declared.
fn no_source(refined: &Refined, function: FunctionRef) -> &'static str {
    if refined.frames.iter().any(|frame| frame.function == function && frame.line > 0) {
        return "its lines are known, but not where it is declared";
    }
    let module = refined.functions[function.index()].module;
    let module = module.and_then(|id| refined.profile.info.modules.get(id.index()));
    // Of a module with line information, some functions have none.
    let has_lines = |module: &Module| matches!(module.symbols, SymbolSource::Dwarf(_));
    match module.is_some_and(|module| !has_lines(module)) {
        true => "not known: its module has no line information (Info says more)",
        false => "not known",
    }
}

pub(super) fn build_id(at: &At<'_>, _: About) -> Explanation {
    let id = at.module().map_or(&[][..], |module| &module.build_id);
    if id.is_empty() { Vec::new() } else { vec![pair("build id", hex(id))] }
}

pub(super) fn call(at: &At<'_>, _: About) -> Explanation {
    let Some(frame) = at.frame().filter(|frame| frame.line > 0) else { return Vec::new() };
    let file = frame.file.map_or("", |file| at.basis.refined.profile.string(file));
    vec![pair("line", format!("{file}:{}", frame.line))]
}

pub(super) fn address(at: &At<'_>, _: About) -> Explanation {
    let text = at.site().map(|frame| {
        let meaning = match frame.kind {
            SavedKind::Call => "where the only call of this row returns to",
            _ => "the only instruction of this row that was sampled",
        };
        format!("{}: {meaning}", at.basis.refined.profile.address(frame))
    });
    text.map(|text| pair("address", text)).into_iter().collect()
}

pub(super) fn inclusive(at: &At<'_>, about: About) -> Explanation {
    let mut texts = vec![pair(&heading(at), cost(at, at.weight().inclusive))];
    if at.column.metric.is_none() {
        texts.push(pair("", about.inclusive));
    }
    texts
}

pub(super) fn percent_of_cost(at: &At<'_>, _: About) -> Explanation {
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

/// What a process or a thread had.
pub(super) fn part(at: &At<'_>, _: About) -> Explanation {
    let is_thread = at.context.is_some_and(|context| context.thread.is_some());
    let whose = if is_thread { "thread" } else { "process" };
    vec![
        pair(&at.column.heading(at.basis), cost_of_part(at, at.weight().inclusive)),
        pair("", format!("all samples of this {whose} that are shown")),
    ]
}

/// As [`cost`]; two runs may have different periods, and only samples are then of one kind.
fn cost_of_part(at: &At<'_>, samples: u64) -> String {
    match at.basis.measure {
        Measure::Samples => counted(samples, "sample", at.basis.form),
        Measure::Source => cost(at, samples),
    }
}

pub(super) fn imbalance(at: &At<'_>, _: About) -> Explanation {
    let balance = at.context.and_then(|context| context.balance(at.number()));
    let Some(balance) = balance.filter(|balance| balance.peers > 1) else { return Vec::new() };
    let [most, sum] = [balance.most, balance.sum].map(|samples| count(samples, at.basis.form));
    let text = format!(
        "most of a thread × number of threads - all of them: {most} × {} - {sum}; what the \
         threads that do the same work would wait together for the one with most, if they \
         wait for each other",
        balance.peers
    );
    vec![pair("imbalance", cost_of_part(at, balance.imbalance())), pair("", text)]
}

pub(super) fn exclusive(at: &At<'_>, about: About) -> Explanation {
    vec![pair(&heading(at), cost(at, at.weight().exclusive)), pair("", about.exclusive)]
}

pub(super) fn exclusive_percent(at: &At<'_>, _: About) -> Explanation {
    vec![pair("excl%", shares(at, at.weight().exclusive))]
}

pub(super) fn edges(at: &At<'_>, about: About) -> Explanation {
    let form = at.basis.form;
    let why = at.basis.refined.profile.why_no_edges();
    let text = match at.weight().edges {
        Edges::None if let Some(why) = why => format!("none: {why}"),
        Edges::None if at.row.kind.is_called() && at.basis.refined.has_handovers() => {
            format!(
                "{}, or it is counted in the tree of the thread that called that code",
                about.no_edges
            )
        }
        Edges::None => about.no_edges.to_owned(),
        Edges::Range { low, high } if low == high => {
            format!("{} of calls that a sample met, exactly", counted(low, "return", form))
        }
        Edges::Range { low, high } => format!(
            "between {} and {}: a return is counted where its activation was sampled last; some of \
             its samples may be out, or in another row",
            count(low, form),
            count(high, form)
        ),
    };
    vec![pair("edges", text)]
}

pub(super) fn per_edge(at: &At<'_>, _: About) -> Explanation {
    let (weight, metric, form) = (at.weight(), at.metric(), at.basis.form);
    let name = &*heading(at);
    let mut texts = Vec::new();
    if let Edges::Range { low, high } = weight.outer_edges
        && high > 0
    {
        let each = |edges: u64| amount_per(weight.edge_samples, edges, metric, form);
        let text = match low {
            low if low == high => {
                format!(
                    "{} / {} = {}",
                    amount(weight.edge_samples, metric, form),
                    count(high, form),
                    each(high)
                )
            }
            0 => format!("at least {}", each(high)),
            low => format!("between {} and {}", each(high), each(low)),
        };
        texts.push(pair(name, text));
    }
    let is_known = weight.outer_edges != Edges::None;
    if !is_known && matches!(weight.edges, Edges::Range { high: 1.., .. }) {
        texts.push(pair(name, format!("none: {}", why_not_timed(at.basis.refined))));
    }
    if is_known && (weight.edges != weight.outer_edges || weight.edge_samples != weight.inclusive) {
        texts.push(pair(
            "",
            "of outermost activations that could return: inlined ones do not count, nor what other \
             threads did for them, and the time of inner ones of a recursive function is that of \
             the outer ones",
        ));
    }
    texts
}

/// Why a row with edges may have no cost per edge.
fn why_not_timed(refined: &Refined) -> String {
    let unknown = "which activations are the outermost is not known, since some paths lack their \
                   outer part";
    let mixed = "some samples may be of what this thread did for another one, whose activations \
                 are not counted here";
    match refined.knows_outermost() {
        true => mixed.to_owned(),
        false if refined.has_handovers() => format!("{unknown}, or {mixed}"),
        false => unknown.to_owned(),
    }
}

/// What the calls are like.
pub(super) fn calls(at: &At<'_>, _: About) -> Explanation {
    let form = at.basis.form;
    if let Some((signals, samples)) = at.basis.clustered
        && at.weight().edges != Edges::None
    {
        let text = format!(
            "how long they are is not told: {} samples came in {} signals, several periods at a \
             time",
            count(samples, form),
            count(signals, form)
        );
        return vec![pair("calls", text)];
    }
    if !are_all_of_time(&at.basis.refined.profile) {
        return Vec::new();
    }
    match verdict::of_row(at.row) {
        Some(verdict) => {
            vec![pair("calls", format!("{}: {}", verdict.word(), verdict.explanation()))]
        }
        None if matches!(at.weight().outer_edges, Edges::None | Edges::Range { high: 0, .. }) => {
            Vec::new()
        }
        None if verdict::are_too_few(at.weight()) => {
            vec![pair("calls", "too few were met, each once, to tell how long they are")]
        }
        None => {
            vec![pair("calls", "the bounds of edges are too far apart to tell long from short")]
        }
    }
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

/// What is expected of OTHER.
pub(super) fn expected(at: &At<'_>, _: About) -> Explanation {
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

/// The scaling loss as a share.
pub(super) fn loss_share(at: &At<'_>, _: About) -> Explanation {
    let Some(difference) = at.difference() else { return Vec::new() };
    let text = match difference.share_of_other() {
        None => "other has no sample, so there is nothing to be a share of".to_owned(),
        Some(_) => format!("{} % of all that other costs", difference.share_of_other_text()),
    };
    vec![pair("loss%", text)]
}

pub(super) fn base(at: &At<'_>, _: About) -> Explanation {
    side(at, BASE, "base")
}

pub(super) fn other(at: &At<'_>, about: About) -> Explanation {
    let meaning = match at.column.cost {
        Cost::Inclusive => about.inclusive,
        Cost::Exclusive => about.exclusive,
    };
    let mut texts = side(at, OTHER, "other");
    texts.push(pair("", meaning));
    texts
}

pub(super) fn delta(at: &At<'_>, _: About) -> Explanation {
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

pub(super) fn rate(at: &At<'_>, _: About) -> Explanation {
    let Some(difference) = at.difference() else { return Vec::new() };
    let seconds = difference.comparison().moments.unwrap_or(0) as f64 / 1e9;
    let (rate, delta) = (difference.rate_text(at.basis.form), difference.delta(at.basis.form));
    vec![pair("per s", format!("{rate}: {delta} in {seconds:.1} s"))]
}

pub(super) fn growth(at: &At<'_>, _: About) -> Explanation {
    let Some(difference) = at.difference() else { return Vec::new() };
    let text = match (difference.change(), difference.growth()) {
        (Change::Gone, _) => "gone: other has none of it".to_owned(),
        (_, Some(_)) => format!("{} of base", difference.growth_with_unit(at.basis.form)),
        (_, None) => "new: base has nothing to compare with".to_owned(),
    };
    vec![pair("%", text)]
}

pub(super) fn noise(at: &At<'_>, _: About) -> Explanation {
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

pub(super) fn edges_of_both(at: &At<'_>, _: About) -> Explanation {
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

pub(super) fn spread(at: &At<'_>, _: About) -> Explanation {
    let Some((strip, of)) = at.spread() else { return Vec::new() };
    let (axis, peers) = strip.of;
    let noun = match axis {
        Axis::Rank => "rank",
        Axis::Process => "process",
        Axis::Thread => "thread",
        Axis::Epoch => "epoch",
        Axis::Phase => "phase",
    };
    let form = at.basis.form;
    let each = of.parts.iter().map(|&samples| amount(samples, at.metric(), form));
    let each = each.collect::<Vec<_>>().join(", ");
    let cells = match peers > of.parts.len() {
        true => ", of each cell the one with most",
        false => "",
    };
    let noise = if of.is_noise { "; they may differ by sampling noise alone" } else { "" };
    let mut whose = counted(peers as u64, noun, form);
    if let Some(process) = &strip.process {
        whose.push_str(&format!(" of {process}, which has most of them (of no other process)"));
    }
    vec![pair(
        &heading(at),
        format!("over {whose} in their order{cells}: {each}{noise}; D shows more"),
    )]
}

/// What the number over ranks is, or why there is none.
pub(super) fn over_ranks(at: &At<'_>, _: About) -> Explanation {
    let (refined, form) = (at.basis.refined, at.basis.form);
    if refined.profile.spreads.ranks() == 0 {
        return Vec::new();
    }
    let is_one = || matches!(RanksOfSum::find(refined), RanksOfSum::OneRank);
    let none = match OWN_OVER_RANKS.contains(&at.column.id) {
        true => "none: no rank that is shown has samples of its own here",
        false => "none: no rank that is shown has samples here",
    };
    let said = match (at.column.value(at.basis, at.row), at.of_ranks()) {
        (Cell::Nothing, Some(of)) if of.sum == 0 => none.to_owned(),
        (Cell::Nothing, Some(_)) => "not known: of several paths, or of the exclusive cost of one \
                                     that goes on, the sum has bounds"
            .to_owned(),
        (cell, Some(of)) => {
            format!("{} of {}", cell.text(form), counted(of.ranks.into(), "rank", form))
        }
        (_, None) if is_one() => "none: of all ranks one at most is shown".to_owned(),
        (_, None) if at.weight().inclusive == 0 => none.to_owned(),
        (_, None) => "not known: not all ranks are kept apart, and the sum says it of whole paths \
                      as they were recorded; stages took a part of this one, or put it together \
                      anew"
            .to_owned(),
    };
    vec![pair(&heading(at), said)]
}

/// The formula, and what it makes of the costs of the row.
pub(super) fn derived(at: &At<'_>, _: About) -> Explanation {
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

/// The formula, what it makes of each side, and by how much that differs.
pub(super) fn derived_of_sides(at: &At<'_>, _: About) -> Explanation {
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

/// What the row has of a term of a formula.
fn told_term(at: &At<'_>, term: Term, cost: Cost) -> String {
    let form = at.basis.form;
    let (metric, of) = match term {
        Term::Metric(metric, of) => (metric, of),
        Term::Edges => {
            let edges = crate::views::number::edges(at.weight().edges, form);
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
