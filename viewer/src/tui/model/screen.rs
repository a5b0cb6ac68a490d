//! Where things are on the screen.

use super::{Model, Over};
use crate::tui::columns::{Columns, basis};
use crate::tui::scene::SMALLEST;
use crate::views::columns::Basis;

/// Lines above the rows of most views: title, stages, headings.
const TOP: usize = 3;

impl Model {
    /// What the numbers of the view are of.
    #[must_use]
    pub fn basis(&self) -> Basis<'_> {
        basis(self, self.of_rows())
    }

    /// The columns of the view.
    #[must_use]
    pub fn columns(&self) -> Columns {
        let width = usize::from(self.size.0);
        Columns::fit(width, &self.basis(), self.sheet().cost, &self.choice)
    }

    /// Whether the terminal is too small for more than one line of text.
    #[must_use]
    pub fn is_too_small(&self) -> bool {
        self.size.0 < SMALLEST.0 || self.size.1 < SMALLEST.1
    }

    /// Lines above the rows: title, stages, headings, and what the view has above them.
    #[must_use]
    pub fn top(&self) -> usize {
        TOP + if self.page().is_some() { 0 } else { self.view().lines_above() }
    }

    /// Lines at the bottom: hints or notice, a prompt, the list of stages, a menu.
    #[must_use]
    pub fn bottom_height(&self) -> usize {
        let most = usize::from(self.size.1).saturating_sub(self.top() + 2).max(1);
        let wanted = match self.over.last() {
            Some(Over::Prompt(prompt)) => prompt.height(),
            // A heading, a line for each stage, one for what all do, and the hints.
            Some(Over::Stages(_)) => self.stages.0.len().max(1) + 3,
            _ => 1,
        };
        wanted.min(most)
    }

    /// Lines for rows or for a page.
    #[must_use]
    pub fn body_height(&self) -> usize {
        usize::from(self.size.1).saturating_sub(self.top() + self.bottom_height())
    }
}
