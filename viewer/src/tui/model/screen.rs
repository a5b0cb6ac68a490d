//! Where things are on the screen.

use std::borrow::Cow;

use super::{Model, Over};
use crate::tui::caption;
use crate::tui::columns::{Columns, WantedColumns, basis};
use crate::tui::scene::SMALLEST;
use crate::views::columns::{Basis, Choice, Column, Unit};

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
        let cost = self.sheet().cost;
        let sort = self.rows().map_or(Column::INCLUSIVE, |rows| rows.sort().key);
        let (choices, path) = (self.own_choices(), self.path_width);
        let choices = choices.as_deref();
        Columns::fit(width, &self.basis(), WantedColumns { cost, sort, choices, path })
    }

    /// What the user chose of the columns: in the viewer, or else before.
    fn own_choices(&self) -> Option<Cow<'_, [Choice]>> {
        let chosen = self.choices.as_deref().map(Cow::Borrowed);
        chosen.or_else(|| self.basis().named(&self.named_columns).map(Cow::Owned))
    }

    /// The columns that the view may have, in their order.
    #[must_use]
    pub fn column_choices(&self) -> Vec<Choice> {
        self.own_choices().map_or_else(|| self.basis().choices(), Cow::into_owned)
    }

    /// Whether a column of how rows are spread is shown.
    #[must_use]
    pub fn shows_spread(&self) -> bool {
        let is_it = |choice: &Choice| choice.id.definition().unit == Unit::Strip && choice.is_shown;
        self.own_choices().is_some_and(|choices| choices.iter().any(is_it))
    }

    /// The lines that name the selected row in full.
    #[must_use]
    pub fn caption(&self) -> Vec<String> {
        caption::lines(self.view(), self, self.sideways)
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

    /// Lines at the bottom: the name of the selected row with hints or notice, a prompt, the list
    /// of stages or of columns.
    #[must_use]
    pub fn bottom_height(&self) -> usize {
        let most = usize::from(self.size.1).saturating_sub(self.top() + 2).max(1);
        let wanted = match self.over.last() {
            Some(Over::Prompt(prompt)) => prompt.height(),
            // A heading, a line for each stage, one for what all do, and the hints.
            Some(Over::Stages(_)) => self.stages.0.len().max(1) + 3,
            // A heading, a line for each column there may be, and the hints.
            Some(Over::Columns(_)) => {
                (self.column_choices().len() + 2).min(usize::from(self.size.1) / 2)
            }
            Some(Over::Page(_) | Over::View(_)) => 1,
            Some(Over::Menu(_)) | None => self.caption().len() + 1,
        };
        wanted.min(most)
    }

    /// Lines for rows or for a page.
    #[must_use]
    pub fn body_height(&self) -> usize {
        usize::from(self.size.1).saturating_sub(self.top() + self.bottom_height())
    }
}
