//! The views: one file each, and one line each in the list below, in the order of their digits.
//! Those at its end have no digit: they lie over another view until they are left.

mod butterfly;
pub(super) mod callers;
mod contexts;
mod distribution;
mod entries;
mod flame;
pub(super) mod flat;
mod info;
mod lazy;
mod notes;
mod source;
mod suggest;
pub(super) mod tables;
mod tree;
mod waits;

use std::sync::LazyLock;

use super::message::{Message, ViewId};
use super::mode::{Binding, Group, Mode, bind};
use super::scene::Scene;
use super::view::{BoxedView, ViewEntry};

/// The views. The first one is shown first, and leaving another one leads to it.
pub static VIEWS: [&ViewEntry; 13] = [
    &tree::ENTRY,
    &callers::ENTRY,
    &flat::ENTRY,
    &info::ENTRY,
    &tables::ENTRY,
    &flame::ENTRY,
    &source::ENTRY,
    &contexts::ENTRY,
    &butterfly::ENTRY,
    &distribution::ENTRY,
    &suggest::ENTRY,
    &notes::ENTRY,
    &waits::ENTRY,
];

/// How many of them have a digit, and a name in the header.
pub const TABS: usize = 7;

/// All views, without their rows.
#[must_use]
pub fn all(scene: &Scene) -> Vec<BoxedView> {
    VIEWS.iter().map(|view| (view.new)(scene)).collect()
}

/// A key for each view.
pub fn keys() -> &'static [Binding] {
    static BINDINGS: LazyLock<Vec<Binding>> = LazyLock::new(|| {
        let show = |at| Message::Show(ViewId(at));
        let views = VIEWS.into_iter().enumerate();
        views.map(|(at, view)| bind(Group::Views, view.key, show(at), view.help)).collect()
    });
    &BINDINGS
}

/// The modes of some views.
pub fn modes(views: &'static [&ViewEntry]) -> impl Iterator<Item = &'static Mode> {
    views.iter().flat_map(|view| view.modes).copied()
}
