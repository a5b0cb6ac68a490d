//! The information page: what was measured and how.

use std::ops::Range;

use super::super::canvas::Canvas;
use super::super::info;
use super::super::made::{Made, Wanted};
use super::super::mode::{EXPORT, FIND, FRAME, Keys, MOVE, Mode, READ, REFINE, STEPS};
use super::super::page::Page;
use super::super::scene::Scene;
use super::super::view::{Finds, OF_ROWS, Repro, Sheet, View, ViewEntry};
use crate::refine::Refined;
use crate::views::number::Form;
use crate::views::search::NamePattern;

pub(super) static ENTRY: ViewEntry = ViewEntry {
    title: "Info",
    command: "info",
    key: "4",
    help: "what was measured, and losses",
    modes: &[&MODE],
    new: |scene| Box::new(Info { page: Page::default(), form: scene.form() }),
};

static MODE: Mode = Mode {
    title: "the information page",
    keys: &[
        &[Keys::Of(MOVE), Keys::Of(READ), Keys::Of(FIND), Keys::Of(REFINE), Keys::Of(STEPS)],
        &[Keys::Of(EXPORT)],
        FRAME,
    ],
};

static SHEET: Sheet = Sheet {
    mode: &MODE,
    hints: &[
        ("j k", "scroll"),
        ("/", "search"),
        ("tab", "next view"),
        ("?", "help"),
        ("q", "tree"),
    ],
    has_rows: false,
    searched: "text of this page",
    finds_one_sided: false,
    ..OF_ROWS
};

#[derive(Clone, Debug)]
struct Info {
    page: Page,
    form: Form,
}

impl View for Info {
    fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    fn draw(&self, canvas: &mut Canvas<'_>, scene: &Scene, lines: Range<usize>) {
        let (theme, width) = (scene.theme, canvas.width());
        canvas.rule(lines.start - 1);
        if self.page.items.is_empty() {
            let counting = theme.plain(&self.instead_of_rows()).into_owned();
            canvas.text(1, lines.start, &counting, width, theme.faint());
        }
        self.page.draw_found(canvas, theme, lines, scene.search.as_ref());
    }

    fn scroll(&mut self, lines: isize) {
        self.page.scroll_by(lines);
    }

    fn find(&self, pattern: &NamePattern, _scene: &Scene) -> Option<Finds> {
        let is_there = !self.page.items.is_empty();
        is_there.then(|| Finds { lines: self.page.find(pattern), cost: None })
    }

    fn line(&self) -> usize {
        self.page.scroll
    }

    fn select_line(&mut self, line: usize) {
        self.page.scroll = line;
    }

    fn put(&mut self, line: usize, above: usize) {
        self.page.put(line, above);
    }

    fn lay_out(&mut self, _shown: &Refined, width: usize, height: usize) {
        self.page.keep_in_view(width, height);
    }

    fn wanted(&self) -> Option<Wanted> {
        let form = self.form;
        self.page.items.is_empty().then(|| {
            Wanted::new("info", String::new(), move |refined, _| {
                Ok(Made::default().with(Page::new("", info::items(&refined.profile, form))))
            })
        })
    }

    fn take(&mut self, made: &mut Made, _shown: &Refined) {
        self.page = made.take().unwrap_or_else(|| std::mem::take(&mut self.page));
    }

    fn reloaded(&mut self) {
        self.page = Page::default();
    }

    fn repro(&self, _shown: &Refined) -> Repro {
        Repro::OfFile("info")
    }
}
