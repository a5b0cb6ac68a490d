//! The two lines at the top: what is looked at, and what was done to it.

use csprof_format::profile::Metric;

use super::comparison;
use super::live::Live;
use super::message::ViewId;
use super::model::Model;
use super::name::{cut, width};
use super::view::ViewEntry;
use super::views::{TABS, VIEWS};
use crate::profile::{MetricRef, name_of_file};
use crate::views::number::{Rounding, account, amount, brief};
use crate::views::printable::command_line;

/// Screens with fewer columns than this get a shorter account.
const NARROW: usize = 60;

/// Cells that the title should have before other views than the one that is shown have names.
const TITLE_ROOM: usize = 24;

/// The names of the views with the cell at which each begins, right-aligned.
#[must_use]
pub fn tabs(model: &Model) -> Vec<(ViewId, String, usize)> {
    let cells = usize::from(model.size.0);
    let labels = |has_names: bool| {
        let label = move |(at, view): (usize, &&ViewEntry)| match ViewId(at) == model.view {
            true => (ViewId(at), format!("[{} {}]", at + 1, view.title)),
            false if has_names => (ViewId(at), format!(" {} {} ", at + 1, view.title)),
            false => (ViewId(at), format!(" {} ", at + 1)),
        };
        let labels: Vec<_> = VIEWS[..TABS].iter().enumerate().map(label).collect();
        let all: usize = labels.iter().map(|(_, label)| width(label)).sum();
        (labels, all)
    };
    let named = labels(true);
    let (labels, all) = if named.1 + TITLE_ROOM <= cells { named } else { labels(false) };
    let mut at = cells.saturating_sub(all + 1);
    let placed = labels.into_iter().map(|(view, label)| {
        let start = at;
        at += width(&label);
        (view, label, start)
    });
    placed.collect()
}

/// The view whose name is at this cell of the first line.
#[must_use]
pub fn view_at(model: &Model, x: usize) -> Option<ViewId> {
    let hit = tabs(model).into_iter().find(|(_, label, at)| (*at..at + width(label)).contains(&x));
    hit.map(|(view, ..)| view)
}

/// File and run in at most `cells` cells; what is less telling goes first.
#[must_use]
pub fn title(model: &Model, cells: usize) -> String {
    if let Some(live) = &model.live {
        return live_title(model, live, cells);
    }
    if let Some(comparison) = model.comparison() {
        return comparison::title(model, comparison, cells);
    }
    let info = &model.profile.info;
    let file = name_of_file(&model.path);
    let program =
        info.run.command.first().map_or_else(String::new, |word| {
            name_of_file(&String::from_utf8_lossy(word)).to_owned()
        });
    let samples = |base| match base {
        1 => "1 sample".to_owned(),
        base => format!("{} samples", brief(base, Rounding::Nearest)),
    };
    let mut parts = match model.has_several_metrics() {
        false => vec![samples(model.refined.base)],
        true => profile_totals(model),
    };
    let of_processes = info.processes.iter().flat_map(|process| &process.losses);
    let of_threads = info.threads.iter().flat_map(|thread| &thread.losses);
    let lost = of_processes.chain(of_threads).fold(0, |sum: u64, &lost| sum.saturating_add(lost));
    if lost > 0 {
        parts.push(format!("{} lost", brief(lost, Rounding::Up)));
    }
    if info.processes.len() > 1 {
        parts.push(format!("{} processes", info.processes.len()));
    }
    let threads = info.thread_count();
    if threads > info.processes.len() as u64 {
        parts.push(format!("{threads} threads"));
    }
    let mut periods: Vec<_> =
        model.profile.metrics().map(|(_, metric)| amount(1, metric, model.form())).collect();
    periods.dedup();
    parts.push(format!("period {}", periods.join(", ")));
    let separator = if model.theme.is_ascii() { ", " } else { " · " };
    let mut text = format!(" {file}");
    if !file.starts_with(&*program) {
        text.push_str(&format!("  {program}"));
    }
    for (place, part) in parts.iter().enumerate() {
        let longer = format!("{text}{}{part}", if place == 0 { "  " } else { separator });
        if width(&longer) > cells {
            break;
        }
        text = longer;
    }
    cut(&text, cells, model.theme.glyphs.ellipsis).into_owned()
}

/// How a program is looked at that runs, which one, and what it has sampled.
fn live_title(model: &Model, live: &Live, cells: usize) -> String {
    let (Some(now), form) = (live.now(), model.form()) else { return String::new() };
    let mut text = format!(" {}", live.header(&model.metric().source, form));
    let command = command_line(&now.profile.info.run.command);
    let program = command.split(' ').next().map(name_of_file);
    let samples = match now.profile.total() {
        1 => "1 sample".to_owned(),
        total => format!("{} samples", brief(total, Rounding::Nearest)),
    };
    for part in [program.unwrap_or_default(), &samples] {
        let longer = format!("{text}  {part}");
        if width(&longer) > cells {
            break;
        }
        text = longer;
    }
    cut(&text, cells, model.theme.glyphs.ellipsis).into_owned()
}

/// What was measured of each metric, that which is looked at first.
fn profile_totals(model: &Model) -> Vec<String> {
    let looked_at = (model.refined.metric, model.metric());
    let metrics = core::iter::once(looked_at).chain(model.other_metrics());
    let total = |(metric, of): (MetricRef, &Metric)| {
        let (measured, _) = model.refined.account_of(metric);
        format!("{} {}", of.source, amount(measured, of, model.form()))
    };
    metrics.map(total).collect()
}

/// The account of all samples: `shown 38.8% + out 61.2% = 100%` and what percentages are of.
#[must_use]
pub fn account_text(model: &Model) -> String {
    if let Some(comparison) = model.comparison() {
        return comparison::account_text(comparison, model.shown_of_sides) + " ";
    }
    let account = account(model.refined.shown, model.refined.out);
    if usize::from(model.size.0) < NARROW {
        return account;
    }
    let of = model.percent_of.word();
    format!("{account}{}  % of {of} ", model.of_metric())
}

/// The stages that made what is shown, in at most `cells` cells; the last ones say most.
#[must_use]
pub fn breadcrumb(model: &Model, cells: usize) -> String {
    let glyphs = model.theme.glyphs;
    let stages: Vec<_> = model.shown_stages.active().collect();
    if stages.is_empty() {
        return cut(" all call paths", cells, glyphs.ellipsis).into_owned();
    }
    for left_out in 0..stages.len() {
        let mut text = if left_out > 0 { format!(" {}", glyphs.ellipsis) } else { String::new() };
        for stage in &stages[left_out..] {
            text.push_str(&format!(" {} {stage}", glyphs.stage));
        }
        if width(&text) <= cells || left_out + 1 == stages.len() {
            return cut(&text, cells, glyphs.ellipsis).into_owned();
        }
    }
    String::new()
}
