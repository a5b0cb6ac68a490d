//! Keys that mean something else in `perf report` or `less`: what they do here, and which key does
//! what they do there, is said when such a key is pressed for the first time.

use super::super::commands;
use super::super::key::Key;
use super::super::keymap::Meaning;
use super::super::message::{Message, Notice, PromptKind, ViewId};
use super::super::mode::{Binding, OVER_VIEWS};
use super::super::model::Model;
use super::super::name::width;
use crate::refine::Axis;

/// What a key does in another program.
struct Habit {
    key: &'static str,
    program: &'static str,
    /// What it does there.
    there: &'static str,
    /// What does that here, if anything does.
    here: Option<Message>,
}

const fn habit(
    key: &'static str,
    program: &'static str,
    there: &'static str,
    here: Option<Message>,
) -> Habit {
    Habit { key, program, there, here }
}

const LESS: &str = "less";
const PERF: &str = "perf report";

/// The views that take the place of pages of perf's.
const INFORMATION: ViewId = ViewId(3);
const SOURCE: ViewId = ViewId(6);

/// Keys of `perf report` (6.1, its help on `h`) and of less, and of vim as far as it is less's. Of
/// several of one key the first that means another thing here is told. `j`, `k` and digits are left
/// out: what they do is seen at once, and they are pressed all the time.
static HABITS: &[Habit] = &[
    habit("a", PERF, "annotate", Some(Message::Show(SOURCE))),
    habit("C", PERF, "close all rows", Some(Message::CloseAll)),
    habit("d", LESS, "half a screen down", Some(Message::HalfPageDown)),
    habit("E", PERF, "open all rows", Some(Message::OpenSubtree)),
    habit("F", PERF, "percent of what is shown", Some(Message::TogglePercent)),
    habit("H", PERF, "show headings", None),
    habit("i", PERF, "facts of the file", Some(Message::Show(INFORMATION))),
    habit("L", PERF, "hide what is small", Some(Message::AddStage("small incl(time) < 0.5%"))),
    habit("m", PERF, "menu", Some(Message::OpenMenu)),
    habit("P", PERF, "write as text", Some(Message::OpenPrompt(PromptKind::Export))),
    habit("s", PERF, "another file", None),
    habit("S", PERF, "only this socket", None),
    habit(
        "t",
        PERF,
        "only this thread",
        Some(Message::OpenPrompt(PromptKind::Context(Axis::Thread))),
    ),
    habit("b", LESS, "a screen up", Some(Message::PageUp)),
    habit("e", LESS, "a line down", Some(Message::Down)),
    habit("f", LESS, "a screen down", Some(Message::PageDown)),
    habit("h", LESS, "help", Some(Message::OpenHelp)),
    habit("u", LESS, "half a screen up", Some(Message::HalfPageUp)),
    habit("y", LESS, "a line up", Some(Message::Up)),
    habit("'", LESS, "to a mark", None),
    habit("R", LESS, "paint again", Some(Message::Repaint)),
    habit("r", LESS, "paint again", Some(Message::Repaint)),
];

/// What there is to say of the key by which a message comes: the key and the words.
pub(super) fn of(model: &Model, message: &Message) -> Option<(&'static str, String)> {
    let told = model.told.as_ref()?;
    let mode = model.mode();
    // In prompts keys are text, and in lists over a view they are those of the list.
    if OVER_VIEWS.contains(&mode) || model.count.is_some() || !model.begun.is_empty() {
        return None;
    }
    let is_of = |key: &str| match (message, Key::parse_all(key)) {
        (Message::Unbound(keys), Some(own)) => *keys == own,
        (_, Some(own)) => match model.keymap.meaning(mode, &own) {
            Meaning::Message(meant) => is_same(&meant, message),
            Meaning::Beginning | Meaning::Nothing => false,
        },
        (_, None) => false,
    };
    let habit = HABITS.iter().find(|habit| {
        let is_here = habit.here.as_ref().is_some_and(|here| is_same(here, message));
        !is_here && !told.contains(habit.key) && is_of(habit.key)
    })?;
    let key_of = |wanted: &Message| {
        let of_mode = model.keymap.bindings(mode).find(|of| is_same(&of.message, wanted));
        let key = of_mode.and_then(|of| of.keys.split(' ').find(|key| !key.is_empty()));
        let command = || commands::name(wanted).map(|name| format!(":{name}"));
        key.map(str::to_owned).or_else(command)
    };
    let instead = habit.here.as_ref().and_then(key_of);
    let instead = match instead {
        Some(key) => format!("{}'s {} is {key}", habit.program, habit.there),
        None => format!("there is no {} as in {}", habit.there, habit.program),
    };
    let own = model.keymap.bindings(mode).find(|of| is_same(&of.message, message));
    let does = own.map_or_else(|| "no key here".to_owned(), |own| in_short(own).to_owned());
    Some((habit.key, format!("{}: {does}; {instead}", habit.key)))
}

/// What a key does, without what is explained of it.
fn in_short(binding: &Binding) -> &'static str {
    binding.help.split([';', ':', '(', ',']).next().unwrap_or_default().trim_end()
}

/// Whether two messages are one command.
fn is_same(one: &Message, other: &Message) -> bool {
    let names = [one, other].map(commands::name);
    names[0].is_some() && names[0] == names[1]
}

/// Says it, unless there is something else to say that leaves no room: then the next time.
pub(super) fn tell(model: &mut Model, habit: Option<(&'static str, String)>) {
    let Some((key, words)) = habit else { return };
    let said = match &model.notice {
        None => words,
        Some(Notice::Said(said)) if !matches!(key, "a" | "i" | "r") => format!("{said}; {words}"),
        // That the key means nothing here.
        Some(Notice::Said(_)) => words,
        Some(Notice::Failed(_)) => return,
    };
    if width(&said) + 2 <= usize::from(model.size.0) {
        model.told.get_or_insert_default().insert(key);
        model.notice = Some(Notice::Said(said));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::views::VIEWS;
    use super::*;

    /// The keys are keys, views are those that are meant, and what does it here has a name.
    #[test]
    fn habits_are_of_keys_and_commands_that_there_are() {
        for Habit { key, here, .. } in HABITS {
            assert!(Key::parse_all(key).is_some_and(|keys| keys.len() == 1), "{key}");
            assert!(here.as_ref().is_none_or(|here| commands::name(here).is_some()), "{key}");
        }
        let titles = [INFORMATION, SOURCE].map(|view| VIEWS[view.0].title);
        assert_eq!(titles, ["Info", "Source"]);
    }
}
