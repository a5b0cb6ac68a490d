//! The commands of the palette (`:`): everything that has a name besides a key, or no key at all.

use std::sync::LazyLock;

use super::message::{Message, PromptKind, ViewId};
use super::view::ViewEntry;
use super::views::{TABS, VIEWS};
use crate::refine::Axis;
use crate::set_files::SetFile;

/// A command.
#[derive(Clone, Debug)]
pub struct Command {
    /// What is typed.
    pub name: &'static str,
    /// What happens.
    pub message: Message,
    /// What happens, in words.
    pub help: &'static str,
}

const fn command(name: &'static str, message: Message, help: &'static str) -> Command {
    Command { name, message, help }
}

/// The commands that come before those of views that lie over another one.
static FIRST: &[Command] = &[
    command("repro", Message::Repro, "the command line that reports what this screen shows"),
    command(
        "export",
        Message::OpenPrompt(PromptKind::Export),
        "write this screen: export FILE.html, .svg, .txt, .csv, .json; or copy it",
    ),
    command("refine", Message::OpenPrompt(PromptKind::Refine), "type a refinement"),
    command("clear", Message::ClearStages, "remove all stages"),
    command("stages", Message::OpenStages, "list the stages"),
];

/// The commands that come before those of the other views.
static BEFORE: &[Command] = &[
    command("undo", Message::Undo, "take back the last step: stages, view, order, open rows"),
    command("redo", Message::Redo, "do it again"),
    command("hot", Message::HotPath, "follow the hot path"),
    command("expand", Message::OpenSubtree, "open all below the selected row"),
    command("fold", Message::CloseAll, "close all rows"),
    command(
        "rank",
        Message::OpenPrompt(PromptKind::Context(Axis::Rank)),
        "only the samples of some ranks",
    ),
    command(
        "thread",
        Message::OpenPrompt(PromptKind::Context(Axis::Thread)),
        "only the samples of some threads, by name or id",
    ),
    command("split-rank", Message::AddStage("split rank"), "a row for each rank above all"),
    command(
        "split-process",
        Message::AddStage("split process"),
        "a row for each process above all",
    ),
    command("split-thread", Message::AddStage("split thread"), "a row for each thread above all"),
    command("split-epoch", Message::AddStage("split epoch"), "a row for each epoch above all"),
    command("by-module", Message::AddStage("by module"), "rows are load modules"),
    command("by-file", Message::AddStage("by file"), "rows are source files"),
    command("by-line", Message::AddStage("by line"), "rows are lines of functions"),
    command("by-address", Message::AddStage("by address"), "rows are addresses in functions"),
    command("loops", Message::ToggleStage("by loop"), "loops as rows, or not"),
    command(
        "small",
        Message::AddStage("small incl(time) < 0.5%"),
        "rows below 0.5 % as one row for each caller",
    ),
    command("sets", Message::ListSets, "the sets of frames (@mpi), and what they match here"),
    command(
        "set",
        Message::OpenPrompt(PromptKind::Set(SetFile::User)),
        "define a set of frames: @name = {f, g}",
    ),
    command(
        "set-here",
        Message::OpenPrompt(PromptKind::Set(SetFile::Beside)),
        "define a set of frames for this profile alone",
    ),
    command("percent", Message::TogglePercent, "percent of all measured, or of what is shown"),
    command("metric", Message::NextMetric, "look at the next metric; metric NAME at that one"),
    command("explain", Message::Explain, "explain the numbers of the selected row"),
    command("copy", Message::CopyPath, "copy the call path of the selected row"),
];

/// The commands that come after those of the views.
static AFTER: &[Command] = &[
    command("help", Message::OpenHelp, "keys and what the numbers mean"),
    command("reload", Message::Reload, "read the file again; view, stages and rows stay"),
    command("repaint", Message::Repaint, "paint the screen again"),
    command("quit", Message::Quit, "leave the viewer"),
];

/// All commands.
pub fn all() -> impl Iterator<Item = &'static Command> {
    static COMMANDS: LazyLock<Vec<Command>> = LazyLock::new(|| {
        let show = |(at, view): (usize, &&ViewEntry)| {
            command(view.command, Message::Show(ViewId(at)), view.help)
        };
        let views: Vec<_> = VIEWS.iter().enumerate().map(show).collect();
        let (views, over) = views.split_at(TABS);
        [FIRST, over, BEFORE, views, AFTER].concat()
    });
    COMMANDS.iter()
}

/// The commands whose name begins with `text`; all, if nothing was typed.
pub fn beginning_with(text: &str) -> impl Iterator<Item = &'static Command> {
    all().filter(move |command| command.name.starts_with(text))
}

/// What begins the command that looks at a metric by its name.
const METRIC: &str = "metric ";

/// The name of a metric, if that is what the command is about.
#[must_use]
pub fn metric_named(text: &str) -> Option<&str> {
    text.strip_prefix(METRIC).map(str::trim)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        for (place, command) in all().enumerate() {
            assert!(all().take(place).all(|other| other.name != command.name));
        }
    }
}
