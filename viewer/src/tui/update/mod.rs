//! What a message does to the model: a pure function.
//!
//! Nothing here waits, reads or writes; what has to be done outside the model is returned as
//! effects. Refining is such an effect, since it costs O(nodes) and may go to a worker.

mod ask;
mod columns;
mod export;
mod habits;
mod live;
mod metric;
mod mouse;
mod moving;
mod note_prompt;
mod notes;
mod prompt;
mod refinement;
mod repro;
mod resume;
mod search;
mod stages;
mod view;

use super::effect::Effect;
use super::explain;
use super::help;
use super::history::Moment;
use super::message::{Message, Notice, PromptKind, ViewId};
use super::model::{Model, Over};
use super::prompt::Trial;
use super::saved_screen::SavedScreen;
use super::scene::PercentOf;
use super::views::TABS;
use super::{commands, offers};
use crate::views::Sort;
use crate::views::number::counted;

use self::ask::Effects;
use self::prompt::Accepted;

/// Changes the model as a message says, and returns what is to be done outside of it.
pub fn update(model: &mut Model, message: Message) -> Vec<Effect> {
    let mut times = 1;
    model.finds = None;
    let habit = habits::of(model, &message);
    model.pressed.clear();
    if message.is_from_user() {
        model.notice = None;
        model.is_new = false;
        if begins(model, &message) {
            return Vec::new();
        }
        model.begun.clear();
        if let Some(count) = model.count.take() {
            times = count;
            if let Some(message) = at_number(&message, count) {
                return update(model, message);
            }
        }
    }
    let begin = step_begins(model, &message);
    if message.is_about_a_row() && matches!(model.over.last(), Some(Over::Menu(_))) {
        model.over.pop();
    }
    let times = times.min(message.most_times());
    let mut effects = Vec::new();
    // What has something done, such as an editor started, is meant once.
    let is_own = matches!(message, Message::Own(_));
    let is_done = |effects: &Vec<Effect>| is_own && !effects.is_empty();
    for _ in 1..times {
        if !is_done(&effects) {
            effects.extend(apply(model, message.clone()));
        }
    }
    if times > 0 && !is_done(&effects) {
        // Itself and no copy: an answer may have all the rows of a large profile.
        effects.extend(apply(model, message));
    }
    if let Some((before, is_search)) = begin {
        end_step(model, before, is_search);
    }
    habits::tell(model, habit);
    effects.extend(view::look_at(model));
    model.count_rows();
    moving::keep_in_view(model);
    effects
}

/// Begins with a screen of before, whose stages are applied already, as far as it is still there.
pub fn resume(model: &mut Model, screen: &SavedScreen) -> Vec<Effect> {
    let mut effects = resume::resume(model, screen);
    effects.extend(view::look_at(model));
    model.count_rows();
    moving::keep_in_view(model);
    effects
}

/// Notes a key that means something only with those that follow.
fn begins(model: &mut Model, message: &Message) -> bool {
    match *message {
        Message::Begun(key) => model.begun.push(key),
        Message::Digit(digit) => {
            let count = model.count.unwrap_or(0) * 10 + usize::from(digit);
            model.count = Some(count.min(MOST_TIMES));
        }
        _ => return false,
    }
    true
}

/// What a message with a number means that is no repetition: to the line, or the view, of that
/// number.
fn at_number(message: &Message, number: usize) -> Option<Message> {
    match message {
        Message::First | Message::Last => Some(Message::GoTo(number)),
        Message::NextView => Some(Message::Show(ViewId(number.clamp(1, TABS) - 1))),
        _ => None,
    }
}

/// How often a key is meant at most.
const MOST_TIMES: usize = 9999;

/// The screen before a message that may make a step, and whether it searches. A search is one step
/// from its prompt to the row that is chosen.
fn step_begins(model: &mut Model, message: &Message) -> Option<(Began, bool)> {
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
        (
            Message::SearchNext
            | Message::SearchPrevious
            | Message::SearchSelected
            | Message::SearchOneSided { .. },
            _,
        ) => true,
        _ => false,
    };
    let may = is_search || message.may_be_a_step();
    may.then(|| {
        let at = model.history.steps();
        (Began { at, moment: Box::new(model.moment()) }, is_search)
    })
}

/// The beginning of what may be a step.
struct Began {
    /// The place in the history.
    at: usize,
    moment: Box<Moment>,
}

/// Enters a step in the history, if anything has changed, and not by going through the history.
fn end_step(model: &mut Model, began: Began, is_search: bool) {
    if model.history.steps() != began.at {
        return;
    }
    if began.moment.differs_by(&model.moment()).is_some() {
        model.history.step(*began.moment, is_search);
        if model.pending.is_none() {
            model.history.settle();
        }
    }
}

fn apply(model: &mut Model, message: Message) -> Effects {
    match message {
        Message::Up => moving::move_by(model, -1),
        Message::Down => moving::move_by(model, 1),
        Message::PageUp => moving::move_by(model, -moving::page(model)),
        Message::PageDown => moving::move_by(model, moving::page(model)),
        Message::HalfPageUp => moving::move_by(model, -(moving::page(model) / 2).max(1)),
        Message::HalfPageDown => moving::move_by(model, (moving::page(model) / 2).max(1)),
        Message::Put(edge) => moving::put(model, edge),
        Message::First => moving::move_by(model, isize::MIN),
        Message::GoTo(number) => {
            moving::move_by(model, isize::MIN);
            moving::move_by(model, isize::try_from(number.saturating_sub(1)).unwrap_or(0));
        }
        Message::Last => moving::move_by(model, isize::MAX),

        Message::Open => moving::change_rows(model, |rows, refined| rows.open_or_enter(refined)),
        Message::Close => {
            moving::change_rows(model, |rows, refined| rows.close_or_leave(refined));
        }
        Message::Toggle => moving::change_rows(model, |rows, refined| rows.toggle(refined)),
        Message::CloseAll => moving::change_rows(model, |rows, refined| rows.close_all(refined)),
        Message::OpenSubtree => moving::open_subtree(model),
        Message::HotPath => moving::follow_hot_path(model),
        Message::ToggleFolds => moving::toggle_folds(model),
        Message::ToggleNoise => moving::toggle_noise(model),
        Message::Sideways { right } => moving::sideways(model, right),

        Message::Show(view) => return view::show(model, view),
        Message::NextView => return view::show_neighbor(model, 1),
        Message::PreviousView => return view::show_neighbor(model, TABS - 1),
        Message::Own(action) => return view::act(model, action),
        Message::Made { ticket, made } => {
            let was_there = view::is_there(model);
            view::made(model, ticket, made);
            if !was_there && view::is_there(model) {
                return prompt::judge_again(model);
            }
        }
        Message::OpenMenu => {
            if model.selected().is_some() {
                model.over.push(Over::Menu(0));
            }
        }
        Message::OpenHelp => {
            let page = help::page(&model.keymap, model.mode(), model.sheet().mode);
            model.over.push(Over::Page(page));
        }
        Message::OpenStages => model.over.push(Over::Stages(0)),
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
        Message::Reload => return refinement::reload(model),
        Message::Unbound(keys) => {
            let said = model.keymap.unbound(model.mode(), &keys);
            model.notice = Some(Notice::Said(said));
        }
        Message::Begun(_) | Message::Digit(_) => {}

        Message::SortNext => moving::sort_next(model),
        Message::SortReverse => moving::reverse_order(model),
        Message::SortBy(key) => moving::change_sort(model, |sort| Sort {
            key,
            reversed: sort.key == key && !sort.reversed,
        }),
        Message::TogglePercent => toggle_percent(model),
        Message::OpenColumns => columns::open(model),
        Message::ColumnToggle => columns::toggle(model),
        Message::ColumnMove { down } => columns::move_by(model, if down { 1 } else { -1 }),
        Message::ColumnWidth { wider } => columns::widen(model, if wider { 1 } else { -1 }),
        Message::ColumnsReset => columns::reset(model),
        Message::NextMetric => metric::step(model, true),
        Message::PreviousMetric => metric::step(model, false),
        Message::LookAt(metric) => metric::look_at(model, metric),

        Message::SearchNext => return search::step(model, true),
        Message::SearchPrevious => return search::step(model, false),
        Message::SearchSelected => return search::for_selected(model),
        Message::SearchOneSided { new } => return search::for_one_sided(model, new),

        Message::OpenPrompt(kind @ (PromptKind::Note | PromptKind::Fix)) => {
            return note_prompt::open(model, kind);
        }
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
        Message::ToggleStage(text) => return refinement::toggle(model, text),
        Message::ClearStages => return refinement::clear(model),
        Message::Undo => return refinement::go(model, false),
        Message::Redo => return refinement::go(model, true),
        Message::StageUp => return stages::move_by(model, -1),
        Message::StageDown => return stages::move_by(model, 1),
        Message::StageDelete => return stages::delete(model),
        Message::StageToggle => return stages::toggle(model),
        Message::StageEdit => return stages::edit(model),
        Message::StageSave(file) => stages::save(model, file),
        Message::ListSets => return refinement::list_sets(model),
        Message::SetsCounted { ticket, rows } => refinement::sets_counted(model, ticket, &rows),
        Message::SetsLoaded { sets, notice } => {
            return refinement::sets_loaded(model, sets, notice);
        }
        Message::Refined { ticket, forest } => {
            if refinement::arrived(model, ticket, *forest) {
                return prompt::judge_again(model);
            }
        }
        Message::Reloaded { ticket, forest, .. } => {
            if refinement::reloaded(model, ticket, *forest) {
                return prompt::judge_again(model);
            }
        }
        Message::Tick { wait } => return live::tick(model, wait),
        Message::Refreshed(refreshed) => {
            let mut effects = live::refreshed(model, *refreshed);
            effects.extend(prompt::judge_again(model));
            return effects;
        }
        Message::Freeze => return live::freeze(model),
        Message::Mark => return live::mark(model),
        Message::Progress { ticket, done } => model.progress = Some((ticket, done)),
        Message::Refused { ticket, refusal } => {
            if prompt::refused(model, ticket, &refusal)
                || view::refused(model, ticket, &refusal.cause)
            {
                return Vec::new();
            }
            let mut effects = refinement::refused(model, ticket, refusal);
            effects.extend(prompt::judge_again(model));
            return effects;
        }
        Message::Completed { ticket, word, completions } => {
            prompt::completed(model, ticket, word, completions);
        }
        Message::Searched { ticket, search } => search::arrived(model, ticket, *search),
        Message::Tried { ticket, shown, out, of_sides } => {
            prompt::tried(model, ticket, Trial::Counted { shown, out, of_sides });
        }

        Message::Bookmark => return notes::bookmark(model),
        Message::Understood => return notes::understood(model),
        Message::Noted { notes, said } => notes::noted(model, notes, said),

        Message::CopyPath => return copy_path(model),
        Message::Repro => return repro::show(model),

        Message::Exported { copied, notice } => {
            model.notice = Some(notice);
            return copied.into_iter().map(Effect::Copy).collect();
        }

        Message::Click { x, y } => {
            if let Some(message) = mouse::click(model, x, y) {
                return apply(model, message);
            }
        }
        Message::RightClick { x, y } => {
            if let Some(message) = mouse::right_click(model, x, y) {
                return apply(model, message);
            }
        }
        Message::DoubleClick { x, y } => {
            if let Some(message) = mouse::double_click(model, x, y) {
                return apply(model, message);
            }
        }
        Message::Drag { x, .. } => mouse::drag(model, x),
        Message::Wheel(lines) => mouse::wheel(model, lines),

        Message::Resized { width, height } => model.size = (width, height),
    }
    Vec::new()
}

fn back(model: &mut Model) -> Effects {
    match (model.over.is_empty(), model.view) {
        (false, _) => cancel(model),
        (true, ViewId::HOME) => vec![Effect::Quit],
        (true, _) => view::show(model, ViewId::HOME),
    }
}

/// Leaves what is open. At the top it ends what is being made, or else forgets the search, so that
/// nothing stays highlighted.
fn cancel(model: &mut Model) -> Effects {
    match model.over.pop() {
        Some(Over::Prompt(prompt)) if prompt.kind == PromptKind::Search => {
            search::give_up(model, prompt);
        }
        Some(Over::View(left)) => return view::left_alone(model, left),
        Some(_) => {}
        None if model.waits_for().is_some() => return refinement::end(model),
        None => model.search_for(None),
    }
    Vec::new()
}

fn toggle_percent(model: &mut Model) {
    model.percent_of = model.percent_of.next();
    let said = match model.percent_of {
        PercentOf::Base => "percentages are of all that was measured",
        PercentOf::View => "percentages are of what is shown",
        PercentOf::Parent => "percentages are of the row above; of the outermost, of what is shown",
    };
    model.notice = Some(Notice::Said(said.to_owned()));
}

fn accept(model: &mut Model) -> Effects {
    match model.over.last() {
        Some(Over::Menu(selected)) => {
            let message = model.menu_items().nth(*selected).map(|item| item.message.clone());
            model.over.pop();
            message.map_or_else(Vec::new, |message| apply(model, message))
        }
        Some(Over::Prompt(_)) => match prompt::accept(model) {
            Accepted::Done(effects) => effects,
            Accepted::Command(text) => run_command(model, &text),
        },
        _ => Vec::new(),
    }
}

/// Does what a command says; the palette has closed.
fn run_command(model: &mut Model, text: &str) -> Effects {
    let text = text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    if let Some(name) = commands::metric_named(text) {
        metric::look_at_named(model, name);
        return Vec::new();
    }
    if let Some(name) = commands::applied(text) {
        return failing(model, |model| refinement::apply_saved(model, name));
    }
    if let Some(name) = commands::saved_as(text) {
        return failing(model, |model| refinement::save(model, name));
    }
    if let Some(target) = commands::export_to(text) {
        return failing(model, |model| export::to(model, target).map_err(|(_, cause)| cause));
    }
    if let Ok(number) = text.parse() {
        return apply(model, Message::GoTo(number));
    }
    match offers::offered(&model.keymap, model.sheet().mode, text).into_iter().next() {
        Some(offer) => apply(model, offer.message),
        None => {
            let failed = format!("no command goes with “{text}”; : alone lists them all");
            model.notice = Some(Notice::Failed(failed));
            Vec::new()
        }
    }
}

/// Does something, or says why it cannot be done.
fn failing(model: &mut Model, what: impl FnOnce(&mut Model) -> Result<Effects, String>) -> Effects {
    what(model).unwrap_or_else(|cause| {
        model.notice = Some(Notice::Failed(cause));
        Vec::new()
    })
}

fn copy_path(model: &mut Model) -> Effects {
    let (Some(rows), Some(selected)) = (model.rows(), model.selected()) else { return Vec::new() };
    let path = rows.rows_to(selected.line);
    let names: Vec<&str> = path.into_iter().map(|row| model.row_name(row)).collect();
    let text = names.join(model.sheet().arrow);
    model.notice = Some(Notice::Said(format!(
        "copied the path of {}, if this terminal takes OSC 52",
        counted(names.len() as u64, "frame", model.form())
    )));
    vec![Effect::Copy(text)]
}
