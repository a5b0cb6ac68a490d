//! What a message does to the model: a pure function.
//!
//! Nothing here waits, reads or writes; what has to be done outside the model is returned as
//! effects. Refining is such an effect, since it costs O(nodes) and may go to a worker.

mod metric;
mod mouse;
mod prompt;
mod refinement;
mod repro;
mod search;
mod tables;

use std::sync::Arc;

use super::commands;
use super::effect::{Effect, Purpose, Request};
use super::explain;
use super::help;
use super::history::Moment;
use super::keymap;
use super::message::{Message, PromptKind, View};
use super::model::{HOT_SHARE, Model, Notice, Over, PercentOf};
use super::page::Page;
use super::prompt::Trial;
use super::stages::Stages;
use super::table::{OPEN_LIMIT, Rows};
use crate::refine::Grain;
use crate::views::contexts::contexts;
use crate::views::hot_path;
use crate::views::number::{amount, counted};
use crate::views::{Sort, SortKey};

/// What messages may ask for.
type Effects = Vec<Effect>;

/// Changes the model as a message says, and returns what is to be done outside of it.
pub fn update<'p>(model: &mut Model<'p>, message: Message<'p>) -> Vec<Effect> {
    if message.is_from_user() {
        model.notice = None;
    }
    let begin = step_begins(model, &message);
    if message.is_about_a_row() && matches!(model.over.last(), Some(Over::Menu(_))) {
        model.over.pop();
    }
    let mut effects = apply(model, message);
    if let Some((before, is_search)) = begin {
        end_step(model, before, is_search);
    }
    effects.extend(refinement::callers_if_looked_at(model));
    effects.extend(refinement::places_if_looked_at(model));
    effects.extend(tables::table_if_looked_at(model));
    model.count_rows();
    keep_in_view(model);
    effects
}

/// The screen before a message that may make a step, and whether it searches. A search is one step
/// from its prompt to the row that is chosen.
fn step_begins(model: &mut Model<'_>, message: &Message<'_>) -> Option<(Began, bool)> {
    let is_search = match (message, model.over.last()) {
        (Message::Accept | Message::Cancel, Some(Over::Prompt(prompt)))
            if prompt.kind == PromptKind::Search =>
        {
            return Some((
                Began { at: model.history.steps(), moment: prompt.began.clone()? },
                true,
            ));
        }
        // Ends a change, which is a step no more.
        (Message::Cancel, None) if model.pending.is_some() => return None,
        (Message::SearchNext | Message::SearchPrevious | Message::SearchSelected, _) => true,
        _ => false,
    };
    let may = is_search || message.may_be_a_step();
    may.then(|| {
        let at = model.history.steps();
        (Began { at, moment: Box::new(Moment::of(model)) }, is_search)
    })
}

/// The beginning of what may be a step.
struct Began {
    /// The place in the history.
    at: usize,
    moment: Box<Moment>,
}

/// Enters a step in the history, if anything has changed, and not by going through the history.
fn end_step(model: &mut Model<'_>, began: Began, is_search: bool) {
    if model.history.steps() != began.at {
        return;
    }
    if began.moment.differs_by(&Moment::of(model)).is_some() {
        model.history.step(*began.moment, is_search);
        if model.pending.is_none() {
            model.history.settle();
        }
    }
}

/// What asks the shell under the last number, about the metric that is looked at.
fn ask(model: &Model<'_>, purpose: Purpose, stages: Stages) -> Effect {
    let (ticket, metric) = (model.ticket, model.refined.metric);
    Effect::Refine(Request { ticket, purpose, stages, sets: Arc::clone(&model.sets), metric })
}

fn apply<'p>(model: &mut Model<'p>, message: Message<'p>) -> Effects {
    match message {
        Message::Up => move_by(model, -1),
        Message::Down => move_by(model, 1),
        Message::PageUp => move_by(model, -page(model)),
        Message::PageDown => move_by(model, page(model)),
        Message::First => move_by(model, isize::MIN),
        Message::Last => move_by(model, isize::MAX),

        Message::Open => change_rows(model, |rows, refined| rows.open_or_enter(refined)),
        Message::Close => change_rows(model, |rows, _| rows.close_or_leave()),
        Message::Toggle => change_rows(model, |rows, refined| rows.toggle(refined)),
        Message::CloseAll => change_rows(model, |rows, refined| rows.close_all(refined)),
        Message::OpenSubtree => open_subtree(model),
        Message::HotPath => follow_hot_path(model),

        Message::Show(view) => show(model, view),
        Message::NextView => show(model, neighbor(model.view, 1)),
        Message::PreviousView => show(model, neighbor(model.view, View::ALL.len() - 1)),
        Message::OpenMenu => {
            if model.selected().is_some() {
                model.over.push(Over::Menu(0));
            }
        }
        Message::OpenHelp => {
            let page = help::page(model.mode(), model.view_mode());
            model.over.push(Over::Page(page));
        }
        Message::OpenStages => model.over.push(Over::Stages(0)),
        Message::Coarser => regrain(model, true),
        Message::Finer => regrain(model, false),
        Message::OpenContexts => {
            let (list, imbalance) = contexts(&model.refined);
            if let Some(whose) = imbalance.whose(model.form()) {
                let all = amount(imbalance.samples, model.metric(), model.form());
                let said = format!("{all} imbalance of the {whose}, (most - mean) × number");
                model.notice = Some(Notice::Said(said));
            }
            model.over.push(Over::Contexts(list, 0));
        }
        Message::Explain => {
            if let Some(page) = explain::page(model) {
                model.over.push(Over::Page(page));
            }
        }
        Message::Back => return back(model),
        Message::Cancel => return cancel(model),
        Message::Quit => return vec![Effect::Quit],
        Message::Suspend => return vec![Effect::Suspend],
        Message::Repaint => return vec![Effect::Repaint],
        Message::Unbound(key) => {
            model.notice = Some(Notice::Said(keymap::unbound(model.mode(), key)));
        }

        Message::ExtendPath => tables::extend(model),
        Message::ShortenPath => tables::shorten(model),
        Message::ToggleReach => tables::toggle_reach(model),
        Message::ToggleWay => tables::toggle_way(model),
        Message::RefineByPath => return tables::refine(model),
        Message::Tabled { ticket, list } => tables::arrived(model, ticket, *list),

        Message::SortNext => sort_next(model),
        Message::SortReverse => {
            change_sort(model, |sort| Sort { reversed: !sort.reversed, ..sort });
        }
        Message::SortBy(key) => {
            change_sort(model, |sort| Sort { key, reversed: sort.key == key && !sort.reversed })
        }
        Message::TogglePercent => toggle_percent(model),
        Message::NextMetric => metric::step(model, true),
        Message::PreviousMetric => metric::step(model, false),
        Message::LookAt(metric) => metric::look_at(model, metric),

        Message::SearchNext => return search::step(model, true),
        Message::SearchPrevious => return search::step(model, false),
        Message::SearchSelected => return search::for_selected(model),

        Message::OpenPrompt(kind) => return prompt::open(model, kind),
        Message::Recall { older } => return prompt::recall(model, older),
        Message::Typed(c) => return prompt::edit(model, |line| line.insert(c)),
        // What cannot be seen is not pasted.
        Message::Pasted(_) if model.is_too_small() => {}
        Message::Pasted(text) => return prompt::edit(model, |line| line.insert_text(&text)),
        Message::Edit(edit) => return prompt::edit(model, |line| line.apply(edit)),
        Message::CompleteNext => return prompt::complete(model, true),
        Message::CompletePrevious => return prompt::complete(model, false),
        Message::Accept => return accept(model),

        Message::Refine(stage) => return refinement::by_row(model, stage),
        Message::AddStage(text) => return refinement::add(model, text.to_owned()),
        Message::ClearStages => return refinement::clear(model),
        Message::Undo => return refinement::go(model, false),
        Message::Redo => return refinement::go(model, true),
        Message::StageUp => return refinement::move_stage(model, -1),
        Message::StageDown => return refinement::move_stage(model, 1),
        Message::StageDelete => return refinement::delete_stage(model),
        Message::StageToggle => return refinement::toggle_stage(model),
        Message::StageEdit => return refinement::edit_stage(model),
        Message::StageSave(file) => refinement::save_stage(model, file),
        Message::ListSets => return refinement::list_sets(model),
        Message::SetsCounted { ticket, rows } => refinement::sets_counted(model, ticket, &rows),
        Message::SetsLoaded { sets, notice } => {
            return refinement::sets_loaded(model, sets, notice);
        }
        Message::Refined { ticket, forest } => refinement::arrived(model, ticket, *forest),
        Message::Inverted { ticket, inverted } => {
            if model.inverting == Some(ticket) {
                model.invert(*inverted);
            }
        }
        Message::Placed { ticket, forest } => {
            if model.placing == Some(ticket) {
                model.place(*forest);
            }
        }
        Message::Progress { ticket, done } => model.progress = Some((ticket, done)),
        Message::Refused { ticket, refusal } => {
            return refinement::refused(model, ticket, refusal);
        }
        Message::Completed { ticket, word, completions } => {
            prompt::completed(model, ticket, word, completions);
        }
        Message::Searched { ticket, search } => search::arrived(model, ticket, *search),
        Message::Tried { ticket, shown, out, of_sides } => {
            prompt::tried(model, ticket, Trial::Counted { shown, out, of_sides });
        }

        Message::CopyPath => return copy_path(model),
        Message::Repro => return repro::show(model),

        Message::Click { x, y } => return mouse::click(model, x, y),
        Message::DoubleClick { x, y } => return mouse::double_click(model, x, y),
        Message::Wheel(lines) => mouse::wheel(model, lines),

        Message::Resized { width, height } => model.size = (width, height),
    }
    Vec::new()
}

/// A screen of lines, with one line in common.
fn page(model: &Model<'_>) -> isize {
    isize::try_from(model.body_height().saturating_sub(1).max(1)).unwrap_or(1)
}

/// Moves in whatever list has the focus.
fn move_by(model: &mut Model<'_>, lines: isize) {
    let stages = model.stages.0.len();
    let items = model.menu_items().count();
    let moved = |at: usize, len: usize| at.saturating_add_signed(lines).min(len.saturating_sub(1));
    match model.over.last_mut() {
        Some(Over::Page(page)) => page.scroll = page.scroll.saturating_add_signed(lines),
        Some(Over::Menu(selected)) => *selected = moved(*selected, items),
        Some(Over::Stages(selected)) => *selected = moved(*selected, stages),
        Some(Over::Contexts(list, selected)) => *selected = moved(*selected, list.len()),
        Some(Over::Prompt(_)) => {}
        None if model.view == View::Info => {
            model.info.scroll = model.info.scroll.saturating_add_signed(lines);
        }
        None => {
            change_rows(model, |rows, _| rows.select(rows.selected().saturating_add_signed(lines)));
        }
    }
}

/// Keeps the selection and the end of pages on the screen. Costs what is on the screen.
pub(super) fn keep_in_view(model: &mut Model<'_>) {
    let height = model.body_height();
    let width = usize::from(model.size.0);
    let clamp = |page: &mut Page, height: usize| {
        let lines = page.lines(width).len();
        page.scroll = page.scroll.min(lines.saturating_sub(height));
    };
    if let Some((rows, _)) = model.rows_mut() {
        rows.keep_in_view(height);
    } else if model.view == View::Info {
        clamp(&mut model.info, height);
    }
    if let Some(Over::Page(page)) = model.over.last_mut() {
        clamp(page, height);
    }
}

fn change_rows(
    model: &mut Model<'_>,
    change: impl FnOnce(&mut dyn Rows, &crate::refine::Refined<'_>),
) {
    if let Some((rows, refined)) = model.rows_mut() {
        change(rows, refined);
    }
}

fn open_subtree(model: &mut Model<'_>) {
    let Some((rows, refined)) = model.rows_mut() else { return };
    if !rows.open_subtree(refined) {
        model.notice = Some(Notice::Said(format!(
            "opened as much as fits {OPEN_LIMIT} rows; e on a row further down opens more"
        )));
    }
}

fn follow_hot_path(model: &mut Model<'_>) {
    let Some((rows, refined)) = model.rows_mut() else { return };
    let steps = rows.follow_hot_path(refined, HOT_SHARE);
    let of = if model.comparison().is_some() { "difference" } else { "cost" };
    let said = match steps {
        0 if model.selected().is_some_and(|selected| !selected.row.has_children) => {
            "the hot path ends here: nothing is below this row".to_owned()
        }
        0 => format!("the hot path ends here: no child has {HOT_SHARE} % of this row's {of}"),
        hot_path::MOST_ROWS => format!("{steps} further along the hot path; H follows it on"),
        _ => format!("{steps} further along the hot path"),
    };
    model.notice = Some(Notice::Said(said));
}

fn neighbor(view: View, step: usize) -> View {
    let place = View::ALL.iter().position(|other| *other == view).unwrap_or(0);
    View::ALL[(place + step) % View::ALL.len()]
}

/// Shows a view. The callers view is about the function that was selected.
fn show(model: &mut Model<'_>, view: View) {
    let function = model.selected().map(|selected| selected.row.function);
    let came_from = std::mem::replace(&mut model.view, view);
    model.found = None;
    match view {
        View::Callers if came_from != view => match (&mut model.inverted, function) {
            (Some(inverted), Some(function)) => inverted.callers.select_function(function),
            (_, function) => model.follow = function,
        },
        View::Info => model.make_info(),
        _ => {}
    }
}

/// Lets the rows of the flat view be coarser or finer.
fn regrain(model: &mut Model<'_>, coarser: bool) {
    const GRAINS: [Grain; 4] = [Grain::Line, Grain::Function, Grain::File, Grain::Module];
    let at = GRAINS.iter().position(|grain| *grain == model.grain).unwrap_or(1);
    let next = if coarser { at + 1 } else { at.wrapping_sub(1) };
    let said = match GRAINS.get(next) {
        Some(&grain) => {
            model.regrain(grain);
            match grain {
                Grain::Module => "load modules, and in them files, functions, lines",
                Grain::File => "files, and in them functions, lines",
                Grain::Function => "functions",
                Grain::Line => "functions, and in them lines",
            }
        }
        None if coarser => "load modules are the coarsest",
        None => "lines are the finest",
    };
    model.notice = Some(Notice::Said(said.to_owned()));
}

fn back(model: &mut Model<'_>) -> Effects {
    match (model.over.is_empty(), model.view) {
        (false, _) => return cancel(model),
        (true, View::Tree) => return vec![Effect::Quit],
        (true, _) => model.view = View::Tree,
    }
    Vec::new()
}

/// Leaves what is open. At the top it ends what is being made, or else forgets the search, so that
/// nothing stays highlighted.
fn cancel(model: &mut Model<'_>) -> Effects {
    match model.over.pop() {
        Some(Over::Prompt(prompt)) if prompt.kind == PromptKind::Search => {
            model.search_for(None);
            if let (Some((rows, _)), Some(place)) = (model.rows_mut(), prompt.from) {
                rows.return_to(place);
            }
        }
        Some(_) => {}
        None if model.waits_for().is_some() => return refinement::end(model),
        None => model.search_for(None),
    }
    Vec::new()
}

fn sort_next(model: &mut Model<'_>) {
    let mut keys: Vec<SortKey> = Vec::new();
    let columns = model.columns();
    for key in columns.numbers.iter().filter_map(|place| place.column.sort_key(columns.cost)) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.push(SortKey::Name);
    change_sort(model, |sort| {
        let place = keys.iter().position(|key| *key == sort.key).map_or(0, |at| at + 1);
        Sort { key: keys[place % keys.len()], reversed: false }
    });
}

fn change_sort(model: &mut Model<'_>, change: impl FnOnce(Sort) -> Sort) {
    change_rows(model, |rows, refined| rows.set_sort(refined, change(rows.sort())));
}

fn toggle_percent(model: &mut Model<'_>) {
    model.percent_of = match model.percent_of {
        PercentOf::Base => PercentOf::View,
        PercentOf::View => PercentOf::Base,
    };
    let said = match model.percent_of {
        PercentOf::Base => "percentages are of all that was measured",
        PercentOf::View => "percentages are of what is shown",
    };
    model.notice = Some(Notice::Said(said.to_owned()));
}

fn accept(model: &mut Model<'_>) -> Effects {
    match model.over.last() {
        Some(Over::Menu(selected)) => {
            let message = model.menu_items().nth(*selected).map(|item| item.message.clone());
            model.over.pop();
            message.map_or_else(Vec::new, |message| apply(model, message))
        }
        Some(Over::Prompt(_)) => prompt::accept(model),
        Some(Over::Contexts(list, selected)) => {
            let Some(context) = list.get(*selected) else { return Vec::new() };
            let mut stages = model.stages.clone();
            stages.push(context.stage.clone());
            model.over.pop();
            refinement::change(model, stages)
        }
        _ => Vec::new(),
    }
}

/// Does what a command says; the palette has closed.
fn run_command(model: &mut Model<'_>, text: &str) -> Effects {
    let text = text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    let exact = commands::COMMANDS.iter().find(|command| command.name == text);
    match exact.or_else(|| commands::beginning_with(text).next()) {
        Some(command) => apply(model, command.message.clone()),
        None if let Some(name) = commands::metric_named(text) => {
            metric::look_at_named(model, name);
            Vec::new()
        }
        None => {
            let failed = format!("no command begins with “{text}”; ? lists the keys");
            model.notice = Some(Notice::Failed(failed));
            Vec::new()
        }
    }
}

fn copy_path(model: &mut Model<'_>) -> Effects {
    let (Some(rows), Some(selected)) = (model.rows(), model.selected()) else { return Vec::new() };
    let path = rows.rows_to(selected.line);
    let names: Vec<&str> = path.into_iter().map(|row| model.row_name(row)).collect();
    let text = names.join(if model.view == View::Tree { " > " } else { " < " });
    model.notice = Some(Notice::Said(format!(
        "copied the path of {}, if this terminal takes OSC 52",
        counted(names.len() as u64, "frame", model.form())
    )));
    vec![Effect::Copy(text)]
}
