//! The information page: what was measured and how.

use std::ops::Range;

use super::super::canvas::Canvas;
use super::super::draw::page;
use super::super::info;
use super::super::mode::{FRAME, Keys, MOVE, Mode, REFINE, STEPS};
use super::super::page::Page;
use super::super::scene::Scene;
use super::super::view::{BoxedView, Entry, OF_ROWS, Repro, Sheet, View};

pub(super) static ENTRY: Entry = Entry {
    title: "Info",
    command: "info",
    help: "what was measured, and losses",
    modes: &[&MODE],
    new: |_| Box::new(Info { page: Page::default() }),
};

static MODE: Mode = Mode {
    title: "the information page",
    keys: &[&[Keys::Of(MOVE), Keys::Of(REFINE), Keys::Of(STEPS)], FRAME],
};

static SHEET: Sheet = Sheet {
    mode: &MODE,
    hints: &[("j k", "scroll"), ("tab", "next view"), ("?", "help"), ("q", "tree")],
    has_rows: false,
    ..OF_ROWS
};

#[derive(Clone, Debug)]
struct Info {
    page: Page,
}

impl View for Info {
    fn boxed(&self) -> BoxedView {
        Box::new(self.clone())
    }

    fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    fn draw(&self, canvas: &mut Canvas<'_>, scene: &Scene, lines: Range<usize>) {
        let (theme, width) = (scene.theme, canvas.width());
        let line = theme.glyphs.horizontal.repeat(width);
        canvas.text(0, lines.start - 1, &line, width, theme.faint());
        page::draw(canvas, theme, &self.page, lines);
    }

    fn scroll(&mut self, lines: isize) {
        self.page.scroll_by(lines);
    }

    fn keep_in_view(&mut self, width: usize, height: usize) {
        self.page.keep_in_view(width, height);
    }

    /// The page is made when it is first looked at. O(nodes) then.
    fn looked_at(&mut self, scene: &Scene) {
        if self.page.items.is_empty() {
            self.page = Page::new("", info::items(&scene.profile, scene.form()));
        }
    }

    fn reloaded(&mut self) {
        self.page = Page::default();
    }

    fn repro(&self, _compared: bool) -> Repro {
        Repro::OfFile("info")
    }
}
