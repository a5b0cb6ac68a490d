//! Keys that mean something else in `perf report` or `less`: what they do here, and which key does
//! what they do there, is said when such a key is pressed for the first time.

use super::super::commands;
use super::super::habits::HABITS;
use super::super::key::Key;
use super::super::message::{Message, Notice};
use super::super::mode::OVER_VIEWS;
use super::super::model::{Model, Over};
use super::super::name::width;

/// What there is to say of a key.
pub(super) struct Saying {
    key: &'static str,
    words: String,
    /// Whether the key does nothing here.
    is_unbound: bool,
}

/// What there is to say of the key by which a message comes.
pub(super) fn of(model: &Model, message: &Message) -> Option<Saying> {
    let told = model.told.as_ref()?;
    // Clicks send the same messages.
    let pressed = Some(&model.pressed).filter(|keys| !keys.is_empty())?;
    let mode = model.mode();
    // In prompts keys are text, and in lists over a view they are those of the list.
    if OVER_VIEWS.contains(&mode) || model.count.is_some() || !model.begun.is_empty() {
        return None;
    }
    let is_unbound = matches!(message, Message::Unbound(_));
    let name = match is_unbound {
        true => String::new(),
        false => commands::name(message)?.into_owned(),
    };
    let habit = HABITS.iter().find(|habit| {
        !told.contains(habit.key)
            && Key::parse_all(habit.key).as_ref() == Some(pressed)
            && habit.here(&model.keymap, mode).as_ref() == Some(&name)
    })?;
    let (key, program, there) = (habit.key, habit.program, habit.there);
    let is_it = |help: &&str| !help.is_empty();
    let of_name = |of: &Message| commands::name(of).is_some_and(|of| of == name);
    let binding = model.keymap.bindings(mode).find(|binding| of_name(&binding.message));
    // Without what is explained of it.
    let does = binding.and_then(|own| own.help.split([';', ':', '(', ',']).next());
    let does = does.map(str::trim_end).filter(is_it).unwrap_or("no key here");
    let instead = match habit.instead(&model.keymap, mode) {
        Some(instead) => format!("{there} is {instead}"),
        None => format!("{there} is no key here"),
    };
    let words = format!("{key}: {does}; in {program}: {instead}");
    Some(Saying { key, words, is_unbound })
}

/// Says it, unless there is something else to say that leaves no room: then the next time.
pub(super) fn tell(model: &mut Model, saying: Option<Saying>) {
    let Some(Saying { key, words, is_unbound }) = saying else { return };
    // A prompt stands where it would be said.
    if matches!(model.over.last(), Some(Over::Prompt(_))) {
        return;
    }
    let said = match &model.notice {
        Some(Notice::Said(said)) if !is_unbound => format!("{said}; {words}"),
        None | Some(Notice::Said(_)) => words,
        Some(Notice::Failed(_)) => return,
    };
    if width(&said) + 2 <= usize::from(model.size.0) {
        model.told.get_or_insert_default().insert(key);
        model.notice = Some(Notice::Said(said));
    }
}
