//! Commands by name: what is typed at `:`, and what a configuration file gives keys to.
//!
//! The name of a command is that of its message. What has a key in a mode is a command there; those
//! in the lists below are commands in every view, and most have no key.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::message::{Edge, LineEdit, Message, PromptKind, RowStage, ViewId};
use super::view::ViewEntry;
use super::views::{TABS, VIEWS};
use crate::refine::Axis;
use crate::set_files::SetFile;

/// A command.
#[derive(Clone, Debug)]
pub struct Command {
    /// What happens.
    pub message: Message,
    /// What happens, in words.
    pub help: &'static str,
}

const fn command(message: Message, help: &'static str) -> Command {
    Command { message, help }
}

/// What a command is called that does this: what is typed, and what a configuration file gives keys
/// to. `None` for what no command does.
#[must_use]
pub fn name(message: &Message) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(match message {
        Message::Up => "up",
        Message::Down => "down",
        Message::PageUp => "page-up",
        Message::PageDown => "page-down",
        Message::HalfPageUp => "half-page-up",
        Message::HalfPageDown => "half-page-down",
        Message::Put(Edge::Top) => "put-top",
        Message::Put(Edge::Middle) => "put-middle",
        Message::Put(Edge::Bottom) => "put-bottom",
        Message::First => "first",
        Message::Last => "last",
        Message::Open => "open",
        Message::Close => "close",
        Message::Toggle => "toggle",
        Message::OpenSubtree => "expand",
        Message::CloseAll => "close-all",
        Message::HotPath => "hot",
        Message::ToggleFolds => "folds",
        Message::ToggleNoise => "noise",
        Message::Sideways { right: true } => "sideways-right",
        Message::Sideways { right: false } => "sideways-left",
        Message::Show(view) => VIEWS.get(view.0)?.command,
        Message::NextView => "next-view",
        Message::PreviousView => "previous-view",
        Message::OpenMenu => "menu",
        Message::OpenHelp => "help",
        Message::OpenStages => "stages",
        Message::Own(action) => return Some(action.0.replace(' ', "-").into()),
        Message::Explain => "explain",
        Message::Back => "back",
        Message::Cancel => "cancel",
        Message::Quit => "quit",
        Message::Suspend => "suspend",
        Message::Repaint => "repaint",
        Message::Reload => "reload",
        Message::Freeze => "freeze",
        Message::Mark => "mark",
        Message::SortNext => "sort",
        Message::SortReverse => "reverse",
        Message::TogglePercent => "percent",
        Message::OpenColumns => "columns",
        Message::ColumnToggle => "column-toggle",
        Message::ColumnMove { down: false } => "column-left",
        Message::ColumnMove { down: true } => "column-right",
        Message::ColumnWidth { wider: true } => "column-wider",
        Message::ColumnWidth { wider: false } => "column-narrower",
        Message::ColumnsReset => "columns-reset",
        Message::NextMetric => "metric",
        Message::PreviousMetric => "previous-metric",
        Message::SearchNext => "next-found",
        Message::SearchPrevious => "previous-found",
        Message::SearchSelected => "search-name",
        Message::SearchOneSided { new: true } => "next-new",
        Message::SearchOneSided { new: false } => "next-gone",
        Message::OpenPrompt(PromptKind::Search) => "search",
        Message::OpenPrompt(PromptKind::Refine) => "refine",
        Message::OpenPrompt(PromptKind::Group) => "group",
        Message::OpenPrompt(PromptKind::Context(axis)) => axis.name(),
        Message::OpenPrompt(PromptKind::Set(SetFile::User)) => "set",
        Message::OpenPrompt(PromptKind::Set(SetFile::Beside)) => "set-here",
        Message::OpenPrompt(PromptKind::Command) => "commands",
        Message::OpenPrompt(PromptKind::Apply) => "apply",
        Message::OpenPrompt(PromptKind::SaveRefinement) => "save-refinement",
        Message::OpenPrompt(PromptKind::Export) => "export",
        Message::OpenPrompt(PromptKind::Folder) => "folder",
        Message::OpenPrompt(PromptKind::Note) => "note",
        Message::OpenPrompt(PromptKind::Fix) => "fix",
        Message::Bookmark => "bookmark",
        Message::Understood => "understood",
        Message::Refine(RowStage::Through) => "through",
        Message::Refine(RowStage::Exclude) => "exclude",
        Message::Refine(RowStage::Hide) => "hide",
        Message::Refine(RowStage::RootAt) => "root",
        Message::Refine(RowStage::Collapse) => "collapse",
        Message::Refine(RowStage::CallersOf) => "callers-of",
        Message::Refine(RowStage::StopAt) => "stop-at",
        Message::Refine(RowStage::ThroughPath) => "through-path",
        Message::ToggleStage("by loop") => "loops",
        Message::AddStage(stage) | Message::ToggleStage(stage) => {
            // What is small is told by the number, which is no part of a name.
            let name = stage.split_once(" incl").map_or(*stage, |(name, _)| name);
            return Some(name.replace(' ', "-").into());
        }
        Message::ClearStages => "clear",
        Message::Undo => "undo",
        Message::Redo => "redo",
        Message::StageUp => "stage-up",
        Message::StageDown => "stage-down",
        Message::StageDelete => "stage-delete",
        Message::StageToggle => "stage-toggle",
        Message::StageEdit => "stage-edit",
        Message::StageSave(SetFile::User) => "stage-save",
        Message::StageSave(SetFile::Beside) => "stage-save-here",
        Message::ListSets => "sets",
        Message::Edit(LineEdit::Backspace) => "line-backspace",
        Message::Edit(LineEdit::Delete) => "line-delete",
        Message::Edit(LineEdit::DeleteWord) => "line-delete-word",
        Message::Edit(LineEdit::DeleteToStart) => "line-delete-to-start",
        Message::Edit(LineEdit::Left) => "line-left",
        Message::Edit(LineEdit::Right) => "line-right",
        Message::Edit(LineEdit::Start) => "line-start",
        Message::Edit(LineEdit::End) => "line-end",
        Message::Recall { older: true } => "line-before",
        Message::Recall { older: false } => "line-after",
        Message::CompleteNext => "complete",
        Message::CompletePrevious => "complete-back",
        Message::Accept => "accept",
        Message::CopyPath => "copy",
        Message::Repro => "repro",
        _ => return None,
    }))
}

/// The commands that come before those of views that lie over another one.
static FIRST: &[Command] = &[
    command(Message::Repro, "the command line that reports what this screen shows"),
    command(
        Message::OpenPrompt(PromptKind::Export),
        "write this screen: export FILE.html, .svg, .txt, .csv, .json; or copy it",
    ),
    command(Message::OpenPrompt(PromptKind::Refine), "type a refinement"),
    command(Message::ClearStages, "remove all stages"),
    command(Message::OpenStages, "list the stages"),
];

/// The commands that come before those of the other views.
static BEFORE: &[Command] = &[
    command(Message::Undo, "take back the last step: stages, view, order, open rows"),
    command(Message::Redo, "do it again"),
    command(Message::HotPath, "follow the hot path"),
    command(Message::OpenSubtree, "open all below the selected row"),
    command(Message::CloseAll, "close all rows"),
    command(Message::ToggleFolds, "show folded rows of the call tree, or fold them"),
    command(Message::ToggleNoise, "dim rows of a comparison within noise, or not"),
    command(Message::SearchOneSided { new: true }, "next path that only the other run has"),
    command(Message::SearchOneSided { new: false }, "next path that only the base run has"),
];

/// The commands that come behind those of contexts.
static STAGES: &[Command] = &[
    command(Message::AddStage("by module"), "rows are load modules"),
    command(Message::AddStage("by file"), "rows are source files"),
    command(Message::AddStage("by line"), "rows are lines of functions"),
    command(Message::AddStage("by address"), "rows are addresses in functions"),
    command(Message::ToggleStage("by loop"), "loops as rows, or not"),
    command(
        Message::AddStage("small incl(time) < 0.5%"),
        "rows below 0.5 % as one row for each caller",
    ),
    command(
        Message::OpenPrompt(PromptKind::SaveRefinement),
        "save the stages under a name: save-refinement NAME",
    ),
    command(
        Message::OpenPrompt(PromptKind::Apply),
        "add the stages that were saved under a name: apply NAME",
    ),
    command(Message::ListSets, "the sets of frames (@mpi), and what they match here"),
    command(
        Message::OpenPrompt(PromptKind::Set(SetFile::User)),
        "define a set of frames: @name = {f, g}",
    ),
    command(
        Message::OpenPrompt(PromptKind::Set(SetFile::Beside)),
        "define a set of frames for this profile alone",
    ),
    command(Message::TogglePercent, "percent of all, of what is shown, of the row above"),
    command(Message::OpenColumns, "choose columns: show, hide, order, width"),
    command(Message::NextMetric, "look at the next metric; metric NAME at that one"),
    command(Message::Bookmark, "set a bookmark at this path, or remove it"),
    command(Message::OpenPrompt(PromptKind::Note), "take a note of this path"),
    command(Message::Understood, "this path is understood, or not: for the ledger"),
    command(Message::OpenPrompt(PromptKind::Fix), "this path is to be fixed: for the ledger"),
    command(Message::Explain, "explain the numbers of the selected row"),
    command(Message::CopyPath, "copy the call path of the selected row"),
];

/// The commands that come after those of the views.
static AFTER: &[Command] = &[
    command(Message::OpenHelp, "keys and what the numbers mean"),
    command(Message::Reload, "read the file again; view, stages and rows stay"),
    command(Message::Repaint, "paint the screen again"),
    command(Message::Quit, "leave the viewer"),
];

/// The commands that can be typed in every view.
pub fn all() -> impl Iterator<Item = &'static Command> {
    static COMMANDS: LazyLock<Vec<Command>> = LazyLock::new(|| {
        let show = |(at, view): (usize, &&ViewEntry)| command(Message::Show(ViewId(at)), view.help);
        let views: Vec<_> = VIEWS.iter().enumerate().map(show).collect();
        let (views, over) = views.split_at(TABS);
        let contexts = Axis::ALL.map(|(axis, _)| axis);
        let only = |axis: Axis| {
            command(Message::OpenPrompt(PromptKind::Context(axis)), axis.definition().only)
        };
        let split = |axis: Axis| {
            let of = axis.definition();
            command(Message::AddStage(of.split), of.split_help)
        };
        [FIRST, over, BEFORE, &contexts.map(only), &contexts.map(split), STAGES, views, AFTER]
            .concat()
    });
    COMMANDS.iter()
}

/// What begins the command that looks at a metric by its name.
const METRIC: &str = "metric ";

/// The name of a metric, if that is what the command is about.
#[must_use]
pub fn metric_named(text: &str) -> Option<&str> {
    text.strip_prefix(METRIC).map(str::trim)
}

/// The command that adds a saved refinement, and the one that saves one.
const APPLY: &str = "apply ";
const SAVE: &str = "save-refinement";

/// The name of the refinement to be added, if that is what the command is about.
#[must_use]
pub fn applied(text: &str) -> Option<&str> {
    text.strip_prefix(APPLY).map(str::trim)
}

/// The name under which the stages are to be saved, if that is what the command is about:
/// `save-refinement NAME`, `save-refinement! NAME` in place of another one.
#[must_use]
pub fn saved_as(text: &str) -> Option<&str> {
    text.strip_prefix(SAVE).filter(|rest| rest.starts_with([' ', '!'])).map(str::trim)
}

/// The command that adds a saved refinement.
#[must_use]
pub fn to_apply(name: &str) -> String {
    format!("{APPLY}{name}")
}

/// What begins the command that writes what is on the screen.
const EXPORT: &str = "export";

/// Where it goes, if that is what the command is about: `export FILE`, `export! FILE`.
#[must_use]
pub fn export_to(text: &str) -> Option<&str> {
    text.strip_prefix(EXPORT).filter(|rest| rest.starts_with([' ', '!']))
}

/// The command that looks at a metric.
#[must_use]
pub fn to_look_at(source: &str) -> String {
    format!("{METRIC}{source}")
}
