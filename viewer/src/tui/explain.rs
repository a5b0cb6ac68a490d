//! What the numbers of a row, of a stage and of a process are made of: the answer to `=`.

use csprof_format::profile::Metric;

use super::model::{Model, Over};
use super::page::{Item, Page};
use crate::views::columns::{Column, of_period, shares};
use crate::views::contexts::Context;
use crate::views::number::{amount, count, counted, percent};

/// The page about the numbers of what is selected; `None` if nothing is.
#[must_use]
pub fn page(model: &Model) -> Option<Page> {
    match model.over.last() {
        Some(Over::Contexts(list, selected)) => return context(model, list, *selected),
        Some(Over::Stages(selected)) => return stage(model, *selected),
        _ => {}
    }
    let row = model.selected()?.row;
    let basis = model.basis();
    let about = model.sheet().about;
    let explained = |columns: Vec<Column>| {
        let texts = columns.into_iter().flat_map(|column| column.explain(&basis, row, about));
        texts.map(|(name, text)| Item::Pair(name, text)).collect::<Vec<_>>()
    };
    let [words, costs, edges] = basis.explained(model.sheet().cost).map(explained);
    let mut items = vec![Item::Text(model.row_name(row).to_owned()), Item::Gap];
    items.extend(words);
    items.push(Item::Gap);
    if model.comparison().is_some() {
        items.extend(costs);
        return Some(Page::new("The numbers of this row", items));
    }
    items.extend(looked_at(model));
    items.extend(costs);
    items.push(Item::Gap);
    items.extend(edges);
    let mut others = basis.on_screen(model.sheet().cost);
    others.retain(|column| column.metric.is_some());
    others.sort_by_key(|column| column.metric);
    if !others.is_empty() {
        items.push(Item::Gap);
        items.extend(explained(others));
        items.push(pair(
            "",
            "inclusive, too: samples that other sources took on the same paths in the same run. A \
             sample is of one metric, and costs of different metrics do not add up"
                .to_owned(),
        ));
    }
    items.extend(stages(model));
    Some(Page::new("The numbers of this row", items))
}

/// Which metric the page is about, where there are several.
fn looked_at(model: &Model) -> Option<Item> {
    let Metric { source, .. } = model.metric();
    let period = amount(1, model.metric(), model.form());
    let text = format!("{source}, one sample for {period}; m looks at the next one");
    model.has_several_metrics().then(|| pair("metric", text))
}

/// What columns of inclusive cost are called.
fn name_of_cost(model: &Model) -> &str {
    if model.has_several_metrics() { &model.metric().source } else { "time" }
}

/// The page about a process or a thread.
fn context(model: &Model, list: &[Context], selected: usize) -> Option<Page> {
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
fn stage(model: &Model, selected: usize) -> Option<Page> {
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
fn times_period(model: &Model, samples: u64) -> String {
    of_period(samples, model.metric(), model.form())
}

/// Samples of the metric that is looked at as shares of what was measured and of what is shown.
fn shares_of(model: &Model, part: u64) -> String {
    shares(part, model.refined.base, model.refined.shown, model.form())
}

/// What each stage did to the samples, and which of them made bounds of edge counts.
fn stages(model: &Model) -> Vec<Item> {
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
