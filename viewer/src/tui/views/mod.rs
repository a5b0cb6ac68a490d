//! The views: one file each, and one line each in the list below, in the order of their digits.

pub(super) mod callers;
pub(super) mod flat;
mod info;
mod lazy;
pub(super) mod tables;
mod tree;

use std::sync::LazyLock;

use super::message::{Message, ViewId};
use super::mode::{Binding, Group, Mode, bind};
use super::scene::Scene;
use super::view::{BoxedView, Entry};

/// The views. The first one is shown first, and leaving another one leads to it.
pub static VIEWS: [&Entry; 5] =
    [&tree::ENTRY, &callers::ENTRY, &flat::ENTRY, &info::ENTRY, &tables::ENTRY];

const DIGITS: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// All views, without their rows.
#[must_use]
pub fn all(scene: &Scene) -> Vec<BoxedView> {
    VIEWS.iter().map(|view| (view.new)(scene)).collect()
}

/// A digit for each view.
pub fn digits() -> &'static [Binding] {
    static KEYS: LazyLock<Vec<Binding>> = LazyLock::new(|| {
        let digits = DIGITS.into_iter().zip(VIEWS).enumerate();
        let show = |at| Message::Show(ViewId(at));
        digits.map(|(at, (key, view))| bind(Group::Views, key, show(at), view.help)).collect()
    });
    &KEYS
}

/// The modes of the views.
pub fn modes() -> impl Iterator<Item = &'static Mode> {
    VIEWS.iter().flat_map(|view| view.modes).copied()
}
