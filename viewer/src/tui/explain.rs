//! What the numbers of a row, of a stage and of a process are made of: the answer to `=`.

use csprof_format::profile::Metric;

use super::comparison;
use super::model::{Model, Over};
use super::page::{Item, Page};
use super::scene::PercentOf;
use crate::profile::FrameKind;
use crate::views::contexts::Context;
use crate::views::number::{Form, amount, amount_per, count, counted, percent};
use crate::views::summary::why_no_edges;
use crate::views::verdict;
use crate::views::{Edges, Row};

/// The page about the numbers of what is selected; `None` if nothing is.
#[must_use]
pub fn page(model: &Model<'_>) -> Option<Page> {
    match model.over.last() {
        Some(Over::Contexts(list, selected)) => return context(model, list, *selected),
        Some(Over::Stages(selected)) => return stage(model, *selected),
        _ => {}
    }
    let row = model.selected()?.row;
    let mut items = vec![Item::Text(model.row_name(row).to_owned()), Item::Gap];
    items.extend(place(model, row));
    if let Some(comparison) = model.comparison() {
        items.extend(comparison::explained(model, comparison, row, model.columns().cost));
        return Some(Page::new("The numbers of this row", items));
    }
    items.extend(looked_at(model));
    items.extend(costs(model, row));
    items.extend(edges(model, row, model.metric()));
    items.extend(others(model, row));
    items.extend(stages(model));
    Some(Page::new("The numbers of this row", items))
}

/// Which metric the page is about, where there are several.
fn looked_at(model: &Model<'_>) -> Option<Item> {
    let Metric { source, .. } = model.metric();
    let period = amount(1, model.metric(), model.form());
    let text = format!("{source}, one sample for {period}; m looks at the next one");
    model.has_several_metrics().then(|| pair("metric", text))
}

/// What columns of inclusive cost are called.
fn name_of_cost<'m>(model: &'m Model<'_>) -> &'m str {
    if model.has_several_metrics() { &model.metric().source } else { "time" }
}

/// What a row has of the other metrics.
fn others(model: &Model<'_>, row: &Row) -> Vec<Item> {
    let form = model.form();
    let mut items = Vec::new();
    for (number, metric) in model.other_metrics() {
        let samples = row.of(number).inclusive;
        let (measured, shown) = model.refined.account_of(number);
        items.push(pair(&metric.source, of_period(samples, metric, form)));
        items.push(pair("%", shares(samples, measured, shown, form)));
    }
    if !items.is_empty() {
        items.insert(0, Item::Gap);
        items.push(pair(
            "",
            "inclusive, too: samples that other sources took on the same paths in the same run. A \
             sample is of one metric, and costs of different metrics do not add up"
                .to_owned(),
        ));
    }
    items
}

/// The page about a process or a thread.
fn context(model: &Model<'_>, list: &[Context], selected: usize) -> Option<Page> {
    let context = list.get(selected)?;
    let mut items = vec![Item::Text(context.label.clone()), Item::Gap];
    items.extend(looked_at(model));
    let whose = if context.thread.is_some() { "thread" } else { "process" };
    let form = model.form();
    let cost = |samples| match model.comparison() {
        Some(_) => counted(samples, "sample", form),
        None => times_period(model, samples),
    };
    let name = if model.comparison().is_some() { "samples" } else { name_of_cost(model) };
    items.push(pair(name, cost(context.samples)));
    items.push(pair("", format!("all samples of this {whose} that are shown")));
    items.push(pair(
        "%",
        match model.comparison() {
            Some(_) => {
                let whole = model.whole_for(context.process);
                let [part, all] = [context.samples, whole].map(|samples| count(samples, form));
                format!("{part} of {all} of this run = {} %", percent(context.samples, whole))
            }
            None => shares_of(model, context.samples),
        },
    ));
    if context.peers > 1 {
        let threads = list[selected + 1..].iter().take_while(|other| other.thread.is_some());
        let peers = threads.filter(|thread| thread.is_peer).map(|thread| thread.samples);
        let [most, sum] = [peers.clone().max().unwrap_or(0), peers.sum()];
        let [most, sum] = [most, sum].map(|samples| count(samples, form));
        items.push(pair("imbalance", cost(context.imbalance)));
        items.push(pair(
            "",
            format!(
                "most of a thread × number of threads - all of them: {most} × {} - {sum}; what the \
                 threads that do the same work would wait together for the one with most, if they \
                 wait for each other",
                context.peers
            ),
        ));
    }
    Some(Page::new("The numbers of this line", items))
}

/// The page about a stage.
fn stage(model: &Model<'_>, selected: usize) -> Option<Page> {
    let stage = model.stages.0.get(selected)?;
    let form = model.form();
    let mut items = vec![Item::Text(stage.text.clone()), Item::Gap];
    items.extend(looked_at(model));
    let before = model.stages.0[..selected].iter().filter(|stage| stage.on).count();
    match model.refined.outcomes.get(before).filter(|_| stage.on && model.pending.is_none()) {
        Some(outcome) => {
            let samples = |samples| counted(samples, "sample", form);
            let from = match before {
                0 => "all that were measured",
                _ => "those that the stages before it show",
            };
            items.push(pair("in", format!("{}: {from}", samples(outcome.input))));
            items.push(pair("shown", samples(outcome.shown)));
            items.push(pair(
                "out",
                format!(
                    "{} = {} in - {} shown: on paths that this stage takes out",
                    samples(outcome.out),
                    count(outcome.input, form),
                    count(outcome.shown, form),
                ),
            ));
            items.push(pair(
                "moved",
                format!("{} that now count for another frame", samples(outcome.moved)),
            ));
        }
        None if !stage.on => {
            items.push(pair("off", "it takes no part; space switches it on".into()))
        }
        None => items.push(pair("", "it is being applied".into())),
    }
    items.extend(stages(model));
    Some(Page::new("The numbers of this stage", items))
}

/// Samples, and what they stand for.
fn times_period(model: &Model<'_>, samples: u64) -> String {
    of_period(samples, model.metric(), model.form())
}

/// Samples of a metric, and what they stand for.
fn of_period(samples: u64, metric: &Metric, form: Form) -> String {
    let period = amount(1, metric, form);
    format!("{} × {period} = {}", counted(samples, "sample", form), amount(samples, metric, form))
}

/// Samples of the metric that is looked at as shares of what was measured and of what is shown.
fn shares_of(model: &Model<'_>, part: u64) -> String {
    shares(part, model.refined.base, model.refined.shown, model.form())
}

/// Samples as shares of what was measured and of what is shown.
fn shares(part: u64, base: u64, shown: u64, form: Form) -> String {
    format!(
        "{} of {} measured = {} %; of {} shown = {} %",
        count(part, form),
        count(base, form),
        percent(part, base),
        count(shown, form),
        percent(part, shown),
    )
}

/// What each stage did to the samples, and which of them made bounds of edge counts.
fn stages(model: &Model<'_>) -> Vec<Item> {
    let form = model.form();
    let outcomes = &model.refined.outcomes;
    if outcomes.is_empty() {
        return Vec::new();
    }
    let heading = format!("What the stages did to all samples{}", model.of_metric());
    let mut items = vec![Item::Gap, Item::Heading(heading)];
    for (text, outcome) in model.shown_stages.active().zip(outcomes) {
        let mut said = format!("{} came in", count(outcome.input, form));
        match outcome.out {
            0 => said.push_str(", all are shown"),
            out => said.push_str(&format!(
                ", {} are shown, {} are out",
                count(outcome.shown, form),
                count(out, form)
            )),
        }
        if outcome.moved > 0 {
            said.push_str(&format!("; {} moved to another row", count(outcome.moved, form)));
        }
        if outcome.out > 0 {
            said.push_str("; edge counts of functions that lost some are bounds");
        }
        items.push(Item::Text(text.to_owned()));
        items.push(pair("", said));
    }
    let (shown, out, base) = (model.refined.shown, model.refined.out, model.refined.base);
    let [shown, out, base] = [shown, out, base].map(|samples| count(samples, form));
    items.push(pair("", format!("together: {shown} shown + {out} out = {base} measured")));
    items
}

fn pair(name: &str, text: String) -> Item {
    Item::Pair(name.to_owned(), text)
}

/// What kind of row it is and where its code is.
fn place(model: &Model<'_>, row: &Row) -> Vec<Item> {
    let mut items = Vec::new();
    let kind = match row.kind {
        FrameKind::Call => None,
        FrameKind::Inline => Some("inlined into its caller: it has cost, but nothing returns"),
        FrameKind::Unknown => {
            Some("code without a name; the information page (4) says why its module has none")
        }
        FrameKind::Partial => {
            Some("not a function: the outer callers of these paths could not be found")
        }
        FrameKind::Root => Some("the ends of paths"),
        FrameKind::Context => Some(model.sheet().context),
    };
    items.extend(kind.map(|kind| pair("kind", kind.to_owned())));
    if let Some(function) = model.of_rows().functions.get(row.function.index()) {
        if let Some(module) = function.module {
            items.push(pair("module", model.profile.module_path(module).to_owned()));
        }
        let source = match function.file {
            Some(file) if function.line > 0 => {
                format!("{}:{}", model.profile.string(file), function.line)
            }
            Some(file) => model.profile.string(file).to_owned(),
            None => "not known: its module has no line information (page 4 says more)".to_owned(),
        };
        let is_known = function.file.is_some() || row.kind != FrameKind::Context;
        if row.kind != FrameKind::Root && is_known {
            items.push(pair("source", source));
        }
    }
    items.push(Item::Gap);
    items
}

fn costs(model: &Model<'_>, row: &Row) -> Vec<Item> {
    let which = match model.percent_of {
        PercentOf::Base => "the screen shows the share of what was measured; % changes that",
        PercentOf::View => "the screen shows the share of what is shown; % changes that",
    };
    vec![
        pair(name_of_cost(model), times_period(model, row.inclusive)),
        pair("", model.sheet().inclusive.to_owned()),
        pair("%", shares_of(model, row.inclusive)),
        pair("", which.to_owned()),
        pair("excl time", times_period(model, row.exclusive)),
        pair("", model.sheet().exclusive.to_owned()),
        pair("excl%", shares_of(model, row.exclusive)),
        Item::Gap,
    ]
}

fn edges(model: &Model<'_>, row: &Row, metric: &Metric) -> Vec<Item> {
    let form = model.form();
    let mut items = Vec::new();
    let why = why_no_edges(model.profile);
    let text = match row.edges {
        Edges::None if why.is_some() => format!("none: {}", why.unwrap_or_default()),
        Edges::None => model.sheet().no_edges.to_owned(),
        Edges::Range { low, high } if low == high => {
            format!("{} sampled activations returned, exactly", count(low, form))
        }
        Edges::Range { low, high } => format!(
            "between {} and {}: a return is counted where its activation was sampled last; some of its \
             samples may be out, or in another row",
            count(low, form),
            count(high, form)
        ),
    };
    items.push(pair("edges", text));
    if let Edges::Range { low, high } = row.outer_edges
        && high > 0
    {
        let each = |edges: u64| amount_per(row.edge_samples, edges, metric, form);
        let text = match low {
            low if low == high => {
                format!(
                    "{} / {} = {}",
                    amount(row.edge_samples, metric, form),
                    count(high, form),
                    each(high)
                )
            }
            0 => format!("at least {}", each(high)),
            low => format!("between {} and {}", each(high), each(low)),
        };
        items.push(pair("time/edge", text));
    }
    let is_known = row.outer_edges != Edges::None;
    if !is_known && matches!(row.edges, Edges::Range { high: 1.., .. }) {
        items.push(pair(
            "time/edge",
            "none: which activations are the outermost is not known, since some paths lack their \
             outer part"
                .to_owned(),
        ));
    }
    if is_known && (row.edges != row.outer_edges || row.edge_samples != row.inclusive) {
        items.push(pair(
            "",
            "of outermost activations that could return: inlined ones do not count, and the time of \
             inner ones of a recursive function is that of the outer ones"
                .to_owned(),
        ));
    }
    if let Some((signals, samples)) = model.clustered
        && row.edges != Edges::None
    {
        items.push(pair(
            "",
            format!(
                "how long calls are is not told: {} samples came in {} signals, several periods at a \
                 time",
                count(samples, form),
                count(signals, form)
            ),
        ));
        return items;
    }
    match verdict::of_row(row) {
        Some(verdict) => {
            items.push(pair("", format!("{}: {}", verdict.word(), verdict.explanation())));
        }
        None if matches!(row.outer_edges, Edges::None | Edges::Range { high: 0, .. }) => {}
        None => items.push(pair(
            "",
            "the bounds are too far apart to tell long calls from short ones".to_owned(),
        )),
    }
    items
}
