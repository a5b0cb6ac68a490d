//! Where things are on the screen, and how numbers are written there.

use csprof_format::ids::ProcessId;

use super::{Model, Over, PercentOf};
use crate::tui::columns::Columns;
use crate::tui::message::View;
use crate::tui::theme::Theme;
use crate::views::Cost;
use crate::views::number::Form;

/// Terminals smaller than this get one line of text.
pub const SMALLEST: (u16, u16) = (40, 10);

/// Lines above the rows of most views: title, stages, headings.
pub const TOP: usize = 3;

impl Model<'_> {
    /// What percentages are of, in samples.
    #[must_use]
    pub fn whole(&self) -> u64 {
        match self.percent_of {
            PercentOf::Base => self.refined.base,
            PercentOf::View => self.refined.shown,
        }
    }

    /// What percentages of a process's samples are of: of two that are compared, its own.
    #[must_use]
    pub fn whole_for(&self, process: ProcessId) -> u64 {
        let Some(comparison) = self.comparison() else { return self.whole() };
        let side = usize::from(process >= comparison.first_other);
        match self.percent_of {
            PercentOf::Base => comparison.sides[side].total,
            PercentOf::View => self.shown_of_sides[side],
        }
    }

    /// Which characters numbers may use.
    #[must_use]
    pub fn form(&self) -> Form {
        form(self.theme)
    }

    /// The columns of the view.
    #[must_use]
    pub fn columns(&self) -> Columns {
        let width = usize::from(self.size.0);
        match (self.comparison(), self.view) {
            (None, _) if self.has_several_metrics() => Columns::of_metrics(width, &self.refined),
            (None, _) => Columns::fit(width),
            (Some(_), View::Callers | View::Flat) if !self.has_places() => {
                Columns::of_comparison(width, Cost::Exclusive)
            }
            (Some(_), _) => Columns::of_comparison(width, Cost::Inclusive),
        }
    }

    /// Whether the terminal is too small for more than one line of text.
    #[must_use]
    pub fn is_too_small(&self) -> bool {
        self.size.0 < SMALLEST.0 || self.size.1 < SMALLEST.1
    }

    /// Lines above the rows: title, stages, headings, and in the tables the path.
    #[must_use]
    pub fn top(&self) -> usize {
        let has_page = matches!(self.over.last(), Some(Over::Page(_)));
        TOP + usize::from(self.view == View::Tables && !has_page)
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

/// Which characters numbers may use.
pub(super) fn form(theme: Theme) -> Form {
    if theme.is_ascii() { Form::Ascii } else { Form::Unicode }
}
