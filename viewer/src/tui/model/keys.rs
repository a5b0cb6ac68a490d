//! What has the focus, and what keys mean there.

use super::{Model, Over};
use crate::refine::Grain;
use crate::tui::key::Key;
use crate::tui::keymap::{self, Mode};
use crate::tui::message::{Message, View};

impl Model<'_> {
    /// What has the focus.
    #[must_use]
    pub fn mode(&self) -> Mode {
        if self.is_too_small() {
            return Mode::TooSmall;
        }
        match (self.over.last(), self.view) {
            (Some(Over::Page(_)), _) => Mode::Page,
            (Some(Over::Menu(_)), _) => Mode::Menu,
            (Some(Over::Stages(_)), _) => Mode::Stages,
            (Some(Over::Contexts(..)), _) => Mode::Contexts,
            (Some(Over::Prompt(_)), _) => Mode::Prompt,
            (None, _) => self.view_mode(),
        }
    }

    /// The mode of the view.
    #[must_use]
    pub fn view_mode(&self) -> Mode {
        match self.view {
            View::Tree => Mode::Tree,
            View::Callers => Mode::Callers,
            View::Flat if self.grain != Grain::Function => Mode::Places,
            View::Flat => Mode::Flat,
            View::Info => Mode::Info,
            View::Tables => Mode::Tables,
        }
    }

    /// What a key means now. In the action menu, the keys of its items mean what they mean in the
    /// view.
    #[must_use]
    pub fn message(&self, key: Key) -> Option<Message<'static>> {
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
    pub fn menu_items(&self) -> impl Iterator<Item = &'static keymap::Binding> + use<> {
        use keymap::Group::{Find, Move, Numbers, Refine};
        let mode = self.view_mode();
        let groups = [Refine, Find, Numbers, Move].into_iter();
        groups
            .flat_map(move |group| keymap::bindings(mode, group))
            .filter(|binding| binding.message.is_about_a_row())
    }
}
