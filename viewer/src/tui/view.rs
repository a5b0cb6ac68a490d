//! What a view is to the frame around it: header, stages, last line, prompts.
//!
//! A view is one file in `views/`, and one line in the list there. The frame knows no view by name:
//! what it needs of one is here. Most of that is a [`Sheet`] of constants; the rest is what the
//! view shows, and what it does when that changes.

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::canvas::Canvas;
use super::made::{Made, Wanted};
use super::message::{Action, Message, Notice, PromptKind};
use super::mode::{Mode, PAGE};
use super::scene::Scene;
use super::table::{self, Look, Rows};
use super::theme::Glyphs;
use crate::export::table::Table;
use crate::profile::{FunctionKey, MetricRef};
use crate::refine::{NO_FUNCTION, Refined};
use crate::sources::Sources;
use crate::views::columns::{About, Explanation};
use crate::views::distribution::RowSubject;
use crate::views::notes::{Change, Notes};
use crate::views::path::Path;
use crate::views::search::NamePattern;
use crate::views::top_down::Downward;
use crate::views::{Cost, Sort};

/// A view that was chosen at run time.
pub type BoxedView = Box<dyn View>;

/// Rows to change, and what they were made from.
pub type RowsMut<'v> = (&'v mut (dyn Rows + 'v), &'v Refined);

/// A line of the list of views.
#[derive(Debug)]
pub struct ViewEntry {
    /// What the header calls it.
    pub title: &'static str,
    /// The command that shows it.
    pub command: &'static str,
    /// The key that shows it.
    pub key: &'static str,
    /// What it shows, in words for the help screen.
    pub help: &'static str,
    /// Its modes: one, or one for each kind of rows.
    pub modes: &'static [&'static Mode],
    /// Makes it, without its rows.
    pub new: fn(&Scene) -> BoxedView,
}

/// What the frame says of a view and does for it, as long as it shows rows of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Sheet {
    /// What keys mean in it, and what the help screen calls it.
    pub mode: &'static Mode,
    /// Keys and what they do, for the last line, the most needed first.
    pub hints: &'static [(&'static str, &'static str)],
    /// Whether it has rows; else it paints itself.
    pub has_rows: bool,
    /// Whether it paints its rows as a picture of its own, without columns.
    pub is_picture: bool,
    /// Whether its rows open.
    pub opens: bool,
    /// Whether rows lead from a function to its callers.
    pub leads_to_callers: bool,
    /// Whether a row costs what its function costs, or its path; not one that is counted only on
    /// paths through another.
    pub is_of_whole_rows: bool,
    /// Whether a search finds rows that have no line yet, by [`View::tree_mut`].
    pub is_searched_whole: bool,
    /// What a search looks at, for its prompt.
    pub searched: &'static str,
    /// Whether a search finds what one side of a comparison has alone.
    pub finds_one_sided: bool,
    /// Whether what the paths with a match on them cost is what the rows found cost together.
    pub has_cost_of_found: bool,
    /// What a double click on a row does.
    pub double_click: fn() -> Message,
    /// What comparisons are about, and by what rows are sorted at first.
    pub cost: Cost,
    /// Stands between the names of a path when it is copied.
    pub arrow: &'static str,
    /// What the row of the root is called, where it stands for the ends of paths.
    pub root: Option<&'static str>,
    /// What `=` says numbers are of.
    pub about: About,
}

/// What most views of rows have in common.
pub const OF_ROWS: Sheet = Sheet {
    mode: &PAGE,
    hints: &[],
    has_rows: true,
    is_picture: false,
    opens: false,
    leads_to_callers: false,
    is_of_whole_rows: true,
    is_searched_whole: false,
    searched: "names of rows that have a line",
    finds_one_sided: true,
    has_cost_of_found: true,
    double_click: || Message::OpenMenu,
    cost: Cost::Inclusive,
    arrow: " < ",
    root: None,
    about: About {
        context: NO_FUNCTION,
        inclusive: "all samples with the function anywhere on their path; recursion counts once",
        exclusive: "samples whose path ends here",
        no_edges: "none: no activation of its own whose return is watched",
    },
};

/// What to say where the stages leave no rows.
pub const NO_PATH_LEFT: &str =
    "no call path is left; u takes the last step back, F lists the stages";

/// What a view looks like, to look like it again after undo, and how it differs from another look.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// What its rows are about, where that can be changed.
    pub subject: Option<Subject>,
    /// The order of rows that have no look.
    pub sort: Option<Sort>,
    /// Its rows, those of each kind that were made.
    pub looks: Vec<Option<Look>>,
}

impl Memory {
    /// The looks of kinds of rows that were made in both.
    pub(super) fn looks_of_both<'m>(
        &'m self,
        other: &'m Self,
    ) -> impl Iterator<Item = (&'m Look, &'m Look)> {
        let pairs = self.looks.iter().zip(&other.looks);
        pairs.filter_map(|(one, other)| one.as_ref().zip(other.as_ref()))
    }

    /// How many rows it names that the memory before it does not.
    pub(super) fn rows_besides(&self, before: Option<&Self>) -> usize {
        let rows = |(at, look): (usize, &Option<Look>)| {
            let before = before.and_then(|before| before.looks.get(at)?.as_ref());
            look.as_ref().map_or(0, |look| look.rows_besides(before))
        };
        self.looks.iter().enumerate().map(rows).sum()
    }
}

/// What the rows of a view are about.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What kind of thing that is, in words.
    pub what: &'static str,
    /// The thing. Two of the same text are the same.
    pub text: String,
    /// For the view itself.
    pub own: Arc<dyn Any + Send + Sync>,
}

/// The command line that reports what a view shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repro {
    /// A subcommand about one file, with no further options.
    OfFile(&'static str),
    /// `report` or `diff`, with these options and those of all rows.
    OfRows(Vec<String>),
    /// `report` with these options, which writes it as text and JSON alone.
    OfText(Vec<String>),
    /// A picture of the call tree, of this further stage if there is one.
    OfPicture(Option<String>),
    /// None, and why.
    None(&'static str),
}

/// What a search finds in a view without rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finds {
    /// Its lines, those that cost most first.
    pub lines: Vec<usize>,
    /// What they cost together, each sample once, in words; `None` if that is not known.
    pub cost: Option<String>,
}

/// What an [`Action`] led to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What to say.
    pub notice: Option<Notice>,
    /// A stage to add; a view that lies over another one is left then.
    pub stage: Option<String>,
    /// A file to open in the user's editor, at a line.
    pub edit: Option<(PathBuf, u32)>,
    /// The row of the tree to go to.
    pub path: Option<Path>,
    /// What is to be said of a path.
    pub note: Option<Box<Change>>,
    /// A prompt to open about a path.
    pub ask: Option<(PromptKind, Path)>,
}

impl Outcome {
    /// Something to say.
    #[must_use]
    pub fn said(text: &str) -> Self {
        Self { notice: Some(Notice::Said(text.to_owned())), ..Self::default() }
    }

    /// Why it could not be done.
    #[must_use]
    pub fn failed(cause: impl Into<String>) -> Self {
        Self { notice: Some(Notice::Failed(cause.into())), ..Self::default() }
    }
}

/// What a view says of itself and does. It has its rows, and whatever else is its own.
pub trait View: Debug + Boxed {
    /// What is constant about it, for the rows that it shows now.
    fn sheet(&self) -> &'static Sheet;

    // What it shows.

    /// Its rows; `None` while they are being made.
    fn rows(&self) -> Option<&dyn Rows> {
        None
    }

    /// Its rows, to change them. `shown` is the refined profile that is shown.
    fn rows_mut<'v>(&'v mut self, _shown: &'v Refined) -> Option<RowsMut<'v>> {
        None
    }

    /// What a search finds in a view without rows; `None` while the lines that it shows are being
    /// made. Lines that are there are found without a cost while that is being made.
    fn find(&self, _pattern: &NamePattern, _scene: &Scene) -> Option<Finds> {
        Some(Finds::default())
    }

    /// What it shows as a table, where no command line has that; `None` where there is nothing.
    fn table(&self, _scene: &Scene) -> Option<Table> {
        None
    }

    /// Puts the lines of a view without rows in the order of its next column.
    fn sort_by_next(&mut self, _scene: &Scene) {}

    /// Turns that order round.
    fn reverse_order(&mut self, _scene: &Scene) {}

    /// Which line of a view without rows is selected, or else the first one that is seen.
    fn line(&self) -> usize {
        0
    }

    /// What its rows are made from.
    fn forest<'v>(&'v self, shown: &'v Refined) -> &'v Refined {
        shown
    }

    /// Whether its rows are made from what is shown without rows of loops, where it has some.
    fn lacks_loops(&self) -> bool {
        false
    }

    /// Its rows, to find some that have no line yet.
    fn tree_mut<'v>(
        &'v mut self,
        _shown: &'v Refined,
    ) -> Option<(&'v mut table::Table<Downward>, &'v Refined)> {
        None
    }

    /// The heading of the rows.
    fn heading(&self) -> Cow<'static, str> {
        Cow::Borrowed("")
    }

    /// What stands in place of rows that are not there.
    fn instead_of_rows(&self) -> Cow<'static, str> {
        Cow::Borrowed("counting…")
    }

    /// What to say where there are no rows.
    fn if_empty(&self, _shown: &Refined) -> &'static str {
        NO_PATH_LEFT
    }

    /// What stands before the row of a line, in place of the sign that opens rows.
    fn sign(&self, _line: usize, _glyphs: &Glyphs) -> Option<&'static str> {
        None
    }

    /// How many lines it has above the headings.
    fn lines_above(&self) -> usize {
        0
    }

    /// Paints these lines, from line `y` on.
    fn draw_above(&self, _canvas: &mut Canvas<'_>, _scene: &Scene, _y: usize) {}

    /// Paints all of a view without rows, or of a picture, on these lines; the line above them is
    /// free, too.
    fn draw(&self, _canvas: &mut Canvas<'_>, _scene: &Scene, _lines: Range<usize>) {}

    /// Which line of a list without rows is seen on this one of so many lines of the screen.
    fn line_at(&self, _line: usize, _height: usize) -> Option<usize> {
        None
    }

    /// Selects a line of a view without rows, or lets the window begin with it.
    fn select_line(&mut self, _line: usize) {}

    /// Selects a line of a view without rows, and lets so many lines be seen above it.
    fn put(&mut self, line: usize, _above: usize) {
        self.select_line(line);
    }

    /// What is selected in a view without rows, and what its numbers are made of.
    fn explained(&self, _scene: &Scene) -> Option<(String, Explanation)> {
        None
    }

    /// What to say when it is shown, or when what it lacked is there.
    fn told(&self, _scene: &Scene) -> Option<Notice> {
        None
    }

    /// Moves a view without rows by lines.
    fn scroll(&mut self, _lines: isize) {}

    /// Lays a view without rows, or a picture, out for a screen of this size.
    fn lay_out(&mut self, _shown: &Refined, _width: usize, _height: usize) {}

    /// Selects the row of a picture at this cell and line; `false` if there is none.
    fn select_at(&mut self, _x: usize, _line: usize, _shown: &Refined) -> bool {
        false
    }

    /// The selected row, where rows lead from callers to callees in the profile that is shown.
    fn selected_path(&self, _shown: &Refined) -> Option<Path> {
        None
    }

    /// The function that a view without rows is about, and the line that is selected.
    fn about_function(&self) -> Option<(FunctionKey, Option<u32>)> {
        None
    }

    // What happens to it.

    /// It was left at this function and line.
    fn return_to(&mut self, _function: &FunctionKey, _line: Option<u32>, _shown: &Refined) {}

    /// Another view was left for it, in which this function was selected, and this row.
    fn entered(&mut self, _function: Option<FunctionKey>, _path: Option<Path>, _shown: &Refined) {}

    /// A view over another one is shown, in which this row was selected.
    fn entered_row(&mut self, _row: Option<(RowSubject, String)>, _shown: &Refined) {}

    /// Whether a column of how rows are spread is shown.
    fn show_spread(&mut self, _is_shown: bool, _shown: &Refined) {}

    /// What it lacks to show anything.
    fn wanted(&self) -> Option<Wanted> {
        None
    }

    /// Takes what is its own of what was made.
    fn take(&mut self, _made: &mut Made, _shown: &Refined) {}

    /// What it wanted cannot be made. Returns what to say.
    fn refused(&mut self, cause: String) -> Option<Notice> {
        Some(Notice::Failed(cause))
    }

    /// Forgets its rows, but not what they look like: other stages take the place of `shown`.
    fn forget(&mut self, shown: &Refined) {
        self.look_at(shown.metric);
    }

    /// The file was read again: what it knows of the profile itself is old.
    fn reloaded(&mut self) {}

    /// Another metric is looked at.
    fn look_at(&mut self, _metric: MetricRef) {}

    /// Does what one of its own keys asks for.
    fn act(&mut self, _action: Action, _shown: &Refined) -> Outcome {
        Outcome::default()
    }

    /// Source files are looked for there.
    fn look_in(&mut self, _sources: &Sources) {}

    /// This is what was said of call paths, with changes that may yet be refused.
    fn noted(&mut self, _notes: &Arc<Notes>) {}

    /// A change of what was said of a call path is kept, or was refused; in the order in which
    /// changes were asked for.
    fn answered(&mut self, _change: &Change, _is_kept: bool) {}

    // What is kept of it.

    /// What it looks like. Costs what is open, if that has changed.
    fn memory(&mut self, _shown: &Refined) -> Memory {
        Memory::default()
    }

    /// Lets its rows be about what they were about; the rows may have to be made.
    fn turn_to(&mut self, _subject: &Subject, _shown: &Refined) {}

    /// Looks like this again: at once, or when its rows are there.
    fn recall(&mut self, _memory: &Memory, _shown: &Refined) {}

    /// The command line that reports it.
    fn repro(&self, shown: &Refined) -> Repro;
}

/// What can be had again in a box.
pub trait Boxed {
    /// The same view again.
    fn boxed(&self) -> BoxedView;
}

impl<V: View + Clone + 'static> Boxed for V {
    fn boxed(&self) -> BoxedView {
        Box::new(self.clone())
    }
}

impl Clone for BoxedView {
    fn clone(&self) -> Self {
        self.boxed()
    }
}
