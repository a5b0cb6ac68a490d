//! What the numbers of a row, of a line and of a stage are made of: the answer to `=`.

use csprof_format::profile::Metric;

use super::model::{Model, Over, Selected};
use super::page::{Item, Page};
use crate::views::columns::{AnyRow, Column};
use crate::views::notes::State;
use crate::views::number::{amount, count, counted};

/// The page about the numbers of what is selected; `None` if nothing is.
#[must_use]
pub fn page(model: &Model) -> Option<Page> {
    if let Some(Over::Stages(selected)) = model.over.last() {
        return stage(model, *selected);
    }
    if let Some((name, texts)) = model.view().explained(model) {
        let mut items = vec![Item::Text(name), Item::Gap];
        items.extend(looked_at(model));
        items.extend(texts.into_iter().map(|(name, text)| Item::Pair(name, text)));
        return Some(Page::new("The numbers of this line", items));
    }
    let Selected { line, row } = model.selected()?;
    // What is above outermost rows is no row.
    let rows = model.rows().filter(|rows| rows.depth(line) > 1);
    let row = AnyRow::from((row, rows.and_then(|rows| rows.parent(line))));
    let basis = model.basis();
    let about = model.sheet().about;
    let explained = |columns: Vec<Column>| {
        let texts = columns.into_iter().flat_map(|column| column.explain(&basis, row, about));
        texts.map(|(name, text)| Item::Pair(name, text)).collect::<Vec<_>>()
    };
    let [words, costs, edges] = basis.explained(model.sheet().cost).map(explained);
    let mut items = vec![Item::Text(model.row_name(row.row).to_owned()), Item::Gap];
    items.extend(words);
    items.extend(noted(model));
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

/// What was said of the path.
fn noted(model: &Model) -> Vec<Item> {
    let rows = model.rows();
    let note = rows.and_then(|rows| model.note(rows, model.selected()?.line));
    let Some(note) = note else { return Vec::new() };
    let mut items = Vec::new();
    if let Some(entry) = &note.entry {
        let text = match entry.state {
            State::Understood => "understood; ! leaves it out".to_owned(),
            State::ToFix => {
                format!(
                    "to be fixed; that would save {} of it",
                    entry.estimate_text(model.metric())
                )
            }
        };
        items.push(pair("ledger", text));
    }
    match &*note.text {
        "" if note.entry.is_none() => items.push(pair("note", "a bookmark (' lists them)".into())),
        "" => {}
        text => items.push(pair("note", text.to_owned())),
    }
    items
}

/// Which metric the page is about, where there are several.
fn looked_at(model: &Model) -> Option<Item> {
    let Metric { source, .. } = model.metric();
    let period = amount(1, model.metric(), model.form());
    let text = format!("{source}, one sample for {period}; m looks at the next one");
    model.has_several_metrics().then(|| pair("metric", text))
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
