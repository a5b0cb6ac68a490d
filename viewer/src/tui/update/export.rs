//! Writing what is on the screen, where a person says.

use std::cell::OnceCell;

use serde_json::json;

use super::super::effect::Effect;
use super::super::export::{ExportForm, all, parse};
use super::super::message::Notice;
use super::super::model::Model;
use super::ask::Effects;
use super::repro;
use crate::export::table::{Fact, Table};
use crate::views::number::{amount, percent};

/// Has what is on the screen written to the file that the text names, or copied: what a command
/// line gives, or else the table of the view.
///
/// The error is a byte of the text and what is wrong there.
pub(super) fn to(model: &mut Model, text: &str) -> Result<Effects, (usize, String)> {
    let (form, target) = parse(text)?;
    let effect = match repro::words(model, Some(form)) {
        Ok(words) => Effect::Export { words, form, target },
        Err(cause) => {
            let table = table(model).ok_or((0, cause))?;
            if form.of_table().is_none() {
                let forms = "this is a table: .txt, .csv, .json and .html hold it";
                return Err((0, forms.to_owned()));
            }
            Effect::ExportTable { table: Box::new(table), form, target }
        }
    };
    model.notice = Some(Notice::Said("writing\u{2026}".to_owned()));
    Ok(vec![effect])
}

/// The forms that there are of what is on the screen, and what each is. `is_table` keeps that it is
/// a table, which takes as long to know as the table is; it may become one when more is known.
pub(super) fn forms(model: &Model, is_table: &OnceCell<()>) -> Vec<(ExportForm, &'static str)> {
    let has_table = || {
        is_table.get().is_some()
            || model.view().table(model).is_some_and(|_| is_table.set(()).is_ok())
    };
    let form = |form: ExportForm| match repro::words(model, Some(form)) {
        Ok(_) => Some((form, form.help())),
        Err(_) if form.of_table().is_some() && has_table() => Some((form, form.help_of_table())),
        Err(_) => None,
    };
    all().filter_map(form).collect()
}

/// The table of the view, and what it is of.
fn table(model: &Model) -> Option<Table> {
    let mut table = model.view().table(model)?;
    let metric = model.metric();
    let mut heading = vec![
        ("profile", Fact::number(model.files.join(" "), json!(model.files))),
        ("metric", Fact::text(&*metric.source)),
    ];
    let stages = model.shown_stages.to_string();
    if !stages.is_empty() {
        heading.push(("refined", Fact::text(stages)));
    }
    // Of a comparison the sum of both sides is the cost of neither.
    if model.comparison().is_none() {
        let of = |samples: u64| {
            let share = percent(samples, model.refined.base);
            let text = format!("{} {share}%", amount(samples, metric, model.form()));
            Fact::number(text, samples)
        };
        heading.push(("shown", of(model.refined.shown)));
        heading.push(("out", of(model.refined.out)));
    }
    heading.append(&mut table.heading);
    Some(Table { heading, ..table })
}
