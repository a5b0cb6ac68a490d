//! What has the focus, and what keys mean there.

use super::{Model, Over};
use crate::tui::key::{Code, Key};
use crate::tui::keymap::Meaning;
use crate::tui::message::Message;
use crate::tui::mode::{ACTIONS, Binding, CHOOSER, Group, Mode, PAGE, PROMPT, STAGES, TOO_SMALL};

impl Model {
    /// What has the focus.
    #[must_use]
    pub fn mode(&self) -> &'static Mode {
        if self.is_too_small() {
            return &TOO_SMALL;
        }
        match self.over.last() {
            Some(Over::Page(_)) => &PAGE,
            Some(Over::Menu(_)) => &ACTIONS,
            Some(Over::Stages(_)) => &STAGES,
            Some(Over::Columns(_)) => &CHOOSER,
            Some(Over::Prompt(_)) => &PROMPT,
            Some(Over::View(_)) | None => self.sheet().mode,
        }
    }

    /// What a key means now, after those that were pressed before. In the action menu, the keys of
    /// its items mean what they mean in the view. Digits without a meaning are counts.
    #[must_use]
    pub fn message(&mut self, key: Key) -> Option<Message> {
        let message = self.meaning(key);
        self.pressed = match message {
            Some(_) => self.begun.iter().copied().chain([key]).collect(),
            None => Vec::new(),
        };
        message
    }

    fn meaning(&self, key: Key) -> Option<Message> {
        let is_view = matches!(self.over.last(), Some(Over::View(_)) | None);
        let is_live = self.live.as_ref().is_some_and(|live| !live.is_over);
        // Rows open by other keys, too.
        if is_live && is_view && self.begun.is_empty() && key == Key::plain(Code::Char(' ')) {
            return Some(Message::Freeze);
        }
        let keys: Vec<Key> = self.begun.iter().copied().chain([key]).collect();
        match self.keymap.meaning(self.mode(), &keys) {
            Meaning::Message(message) => return Some(message),
            Meaning::Beginning => return Some(Message::Begun(key)),
            Meaning::Nothing if self.is_too_small() => return None,
            Meaning::Nothing => {}
        }
        if let (Code::Char(c @ '0'..='9'), false, false, [_]) =
            (key.code, key.control, key.alt, &keys[..])
            && !matches!(self.over.last(), Some(Over::Prompt(_)))
            && (c != '0' || self.count.is_some())
        {
            return Some(Message::Digit(c as u8 - b'0'));
        }
        if matches!(self.over.last(), Some(Over::Menu(_)))
            && let Some(item) = self.menu_items().find(|item| item.keys().any(|k| k == keys))
        {
            return Some(item.message.clone());
        }
        // A prompt has its own text in the line that says so.
        let is_told = !matches!(self.over.last(), Some(Over::Prompt(_))) || !self.begun.is_empty();
        is_told.then_some(Message::Unbound(keys))
    }

    /// What can be done with the selected row.
    pub fn menu_items(&self) -> impl Iterator<Item = &Binding> {
        use Group::{Find, Move, Numbers, Refine};
        let mode = self.sheet().mode;
        let groups = [Refine, Find, Numbers, Move].into_iter();
        groups
            .flat_map(move |group| self.keymap.bindings_of_group(mode, group))
            .filter(|binding| binding.message.is_about_a_row())
    }
}
