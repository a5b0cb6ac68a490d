//! What has the focus, and what keys mean there.

use super::{Model, Over};
use crate::tui::key::Key;
use crate::tui::keymap;
use crate::tui::message::Message;
use crate::tui::mode::{ACTIONS, Binding, Group, Mode, PAGE, PROMPT, STAGES, TOO_SMALL};

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
            Some(Over::Prompt(_)) => &PROMPT,
            Some(Over::View(_)) | None => self.sheet().mode,
        }
    }

    /// What a key means now. In the action menu, the keys of its items mean what they mean in the
    /// view.
    #[must_use]
    pub fn message(&self, key: Key) -> Option<Message> {
        keymap::message(self.mode(), key).or_else(|| {
            if self.is_too_small() {
                return None;
            }
            let in_menu = matches!(self.over.last(), Some(Over::Menu(_)));
            if in_menu {
                let item = self.menu_items().find(|item| item.keys().any(|k| k == key))?;
                return Some(item.message.clone());
            }
            // Over a view there is a line to say so.
            self.over.is_empty().then_some(Message::Unbound(key))
        })
    }

    /// What can be done with the selected row.
    pub fn menu_items(&self) -> impl Iterator<Item = &'static Binding> + use<> {
        use Group::{Find, Move, Numbers, Refine};
        let mode = self.sheet().mode;
        let groups = [Refine, Find, Numbers, Move].into_iter();
        groups
            .flat_map(move |group| keymap::bindings_of_group(mode, group))
            .filter(|binding| binding.message.is_about_a_row())
    }
}
