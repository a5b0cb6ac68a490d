//! Everything that can happen to the viewer: one closed enum, from keys, mouse, shell and worker.

use std::sync::Arc;

use super::forest::{Forest, Refusal};
use super::key::Key;
use super::made::Made;
use super::reading::Refreshed;
use crate::profile::MetricRef;
use crate::refine::{Axis, Refined, Sets};
use crate::set_files::SetFile;
use crate::views::columns::Column;
use crate::views::notes::Notes;
use crate::views::search::Search;
use crate::views::sets::SetRow;

/// Something happened. The update function decides what it means in the present mode.
#[derive(Clone, Debug)]
pub enum Message {
    // Moving, in whatever list has the focus: rows, stages, a menu, the lines of a page.
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// One screen up.
    PageUp,
    /// One screen down.
    PageDown,
    /// Half a screen up.
    HalfPageUp,
    /// Half a screen down.
    HalfPageDown,
    /// Move the window so that the selected line is there.
    Put(Edge),
    /// To the line of this number, from 1.
    GoTo(usize),
    /// To the first line.
    First,
    /// To the last line.
    Last,

    // The tree.
    /// Open the selected row, or go to its first child if it is open.
    Open,
    /// Close the selected row, or go to its parent if it is closed.
    Close,
    /// Open the selected row if it is closed and close it if it is open.
    Toggle,
    /// Open everything below the selected row, up to a limit.
    OpenSubtree,
    /// Close all rows.
    CloseAll,
    /// Follow the hot path from the selected row.
    HotPath,
    /// Fold chains of rows, or show them all.
    ToggleFolds,
    /// Dim the rows of a comparison that differ by no more than noise, or show them as the others.
    ToggleNoise,
    /// Scroll names to the right, or back to the left.
    Sideways {
        /// Towards their ends.
        right: bool,
    },

    // Views and pages.
    /// Show a view.
    Show(ViewId),
    /// Show the next view.
    NextView,
    /// Show the previous view.
    PreviousView,
    /// Open the menu of what can be done with the selected row.
    OpenMenu,
    /// Open the help for this view.
    OpenHelp,
    /// Open the list of stages.
    OpenStages,
    /// What the view alone knows how to do.
    Own(Action),
    /// Explain the numbers of the selected row.
    Explain,
    /// Leave what is open; at the top, quit.
    Back,
    /// Leave what is open; at the top, do nothing.
    Cancel,
    /// Quit.
    Quit,
    /// Give the terminal back to the shell for a while.
    Suspend,
    /// Paint everything again.
    Repaint,
    /// Read the file again.
    Reload,
    /// Let what is shown of a program that runs stand still, or go on.
    Freeze,
    /// Show what comes from now on beside all there is, or all alone again.
    Mark,
    /// Keys that mean nothing here.
    Unbound(Vec<Key>),
    /// A key after which others may follow.
    Begun(Key),
    /// A digit of how often the next key is meant.
    Digit(u8),

    // Numbers and order.
    /// Sort by the next column.
    SortNext,
    /// Turn the order round.
    SortReverse,
    /// Sort by this column; if it is the column already, turn the order round.
    SortBy(Column),
    /// Change what percentages are of: all that was measured, what is shown, the row above.
    TogglePercent,
    /// List the columns to choose from.
    OpenColumns,
    /// Show the selected column, or hide it.
    ColumnToggle,
    /// Move the selected column one place.
    ColumnMove {
        /// To the right; else to the left.
        down: bool,
    },
    /// Make the selected column a cell wider or narrower.
    ColumnWidth {
        /// Wider; else narrower.
        wider: bool,
    },
    /// All columns as they are at first.
    ColumnsReset,
    /// Look at the next metric.
    NextMetric,
    /// Look at the previous metric.
    PreviousMetric,
    /// Look at this metric.
    LookAt(MetricRef),

    // Search.
    /// Go to the next row found.
    SearchNext,
    /// Go to the previous row found.
    SearchPrevious,
    /// Search for the name of the selected row.
    SearchSelected,
    /// Search the paths that one side of a comparison lacks: the new ones, or those that are gone.
    SearchOneSided {
        /// Those that only OTHER has.
        new: bool,
    },

    // Refinement.
    /// Open a prompt.
    OpenPrompt(PromptKind),
    /// Refine by the selected row.
    Refine(RowStage),
    /// Add this stage.
    AddStage(&'static str),
    /// Add this stage, or remove it where it is on.
    ToggleStage(&'static str),
    /// Remove all stages.
    ClearStages,
    /// Take back the last step.
    Undo,
    /// Do again what was taken back.
    Redo,
    /// Move the selected stage one place up.
    StageUp,
    /// Move the selected stage one place down.
    StageDown,
    /// Delete the selected stage.
    StageDelete,
    /// Switch the selected stage off or on.
    StageToggle,
    /// Edit the text of the selected stage.
    StageEdit,
    /// Save the frames of the selected stage as a set.
    StageSave(SetFile),
    /// List the sets of frames.
    ListSets,

    // Typing.
    /// A printable character.
    Typed(char),
    /// Pasted text.
    Pasted(String),
    /// A change of the line being typed.
    Edit(LineEdit),
    /// Put a line that was accepted earlier in place of the present one.
    Recall {
        /// The one before that shown; else the one after it.
        older: bool,
    },
    /// Take the next completion.
    CompleteNext,
    /// Take the previous completion.
    CompletePrevious,
    /// Accept the line, the menu item, the selected stage.
    Accept,

    // What is said of call paths.
    /// Set a bookmark at the selected row, or remove it.
    Bookmark,
    /// Enter the selected row in the ledger as understood, or take that back.
    Understood,

    // What can be taken along.
    /// Copy the call path of the selected row.
    CopyPath,
    /// Show the command line that reports what this screen shows.
    Repro,

    // Mouse, in cells from the top left corner.
    /// The left button was pressed.
    Click {
        /// Column.
        x: u16,
        /// Row.
        y: u16,
    },
    /// The right button was pressed.
    RightClick {
        /// Column.
        x: u16,
        /// Row.
        y: u16,
    },
    /// The left button was pressed twice at one place.
    DoubleClick {
        /// Column.
        x: u16,
        /// Row.
        y: u16,
    },
    /// The mouse moved while the left button was pressed.
    Drag {
        /// Column.
        x: u16,
        /// Row.
        y: u16,
    },
    /// The wheel turned; negative is up.
    Wheel(i8),

    // From the shell.
    /// The terminal has this size now, in cells.
    Resized {
        /// Columns.
        width: u16,
        /// Lines.
        height: u16,
    },
    /// A refinement that was asked for is done.
    Refined {
        /// The number under which it was asked for.
        ticket: u64,
        /// What came out.
        forest: Box<Forest>,
    },
    /// What a view wanted to be made of what is shown.
    Made {
        /// The number under which it was asked for.
        ticket: u64,
        /// For that view, and others of the same.
        made: Made,
    },
    /// What the word being typed could become.
    Completed {
        /// The number under which it was asked for.
        ticket: u64,
        /// Byte at which the word begins.
        word: usize,
        /// What it could become, best first.
        completions: Vec<Completion>,
    },
    /// A refinement being typed was tried out.
    Tried {
        /// The number under which it was asked for.
        ticket: u64,
        /// Samples that would be shown.
        shown: u64,
        /// Samples that would be taken out.
        out: u64,
        /// Those of BASE and of OTHER that would be shown, where two profiles are compared.
        of_sides: [u64; 2],
    },
    /// What a search finds was marked.
    Searched {
        /// The request's number.
        ticket: u64,
        /// What there is to find.
        search: Box<Search>,
    },
    /// What the sets of frames mean in what is shown.
    SetsCounted {
        /// The number under which it was asked for.
        ticket: u64,
        /// One for each set.
        rows: Vec<SetRow>,
    },
    /// The file has been read again, and refined.
    Reloaded {
        /// The number under which it was asked for.
        ticket: u64,
        /// The profile without stages.
        base: Box<Refined>,
        /// The refined profile.
        forest: Box<Forest>,
    },
    /// The wait for the next reading of a program that runs is over.
    Tick {
        /// The number under which it was asked for.
        wait: u64,
    },
    /// A program that runs has been read again.
    Refreshed(Box<Refreshed>),
    /// The sets of frames there are now.
    SetsLoaded {
        /// The sets.
        sets: Arc<Sets>,
        /// What to say.
        notice: Notice,
    },
    /// Something was to be said of a call path.
    Noted {
        /// All that is said now, as far as that is known.
        notes: Option<Arc<Notes>>,
        /// What to say, or why it could not be kept.
        said: Result<&'static str, String>,
    },
    /// What was on the screen has been written, or could not be.
    Exported {
        /// Text for the clipboard.
        copied: Option<String>,
        /// What to say.
        notice: Notice,
    },
    /// Something that was asked for takes its time.
    Progress {
        /// The number under which it was asked for.
        ticket: u64,
        /// The fraction that is done, from 0 to 1.
        done: f64,
    },
    /// A refinement was refused: a pattern that matches nothing, for instance.
    Refused {
        /// The number under which it was asked for.
        ticket: u64,
        /// Why.
        refusal: Refusal,
    },
}

impl Message {
    /// Whether the user did something, which makes the last notice old.
    #[must_use]
    pub fn is_from_user(&self) -> bool {
        !matches!(
            self,
            Self::Resized { .. }
                | Self::Refined { .. }
                | Self::Reloaded { .. }
                | Self::Refreshed(_)
                | Self::Tick { .. }
                | Self::Made { .. }
                | Self::Tried { .. }
                | Self::Completed { .. }
                | Self::Searched { .. }
                | Self::SetsCounted { .. }
                | Self::SetsLoaded { .. }
                | Self::Exported { .. }
                | Self::Noted { .. }
                | Self::Progress { .. }
                | Self::Refused { .. }
        )
    }

    /// Whether it may change which rows there are or how they are shown, so that the user may want
    /// it taken back. Moving about, pages and typing are no such thing.
    #[must_use]
    pub fn may_be_a_step(&self) -> bool {
        matches!(
            self,
            Self::Open
                | Self::Close
                | Self::Toggle
                | Self::OpenSubtree
                | Self::CloseAll
                | Self::HotPath
                | Self::ToggleFolds
                | Self::Show(_)
                | Self::NextView
                | Self::PreviousView
                | Self::Own(_)
                | Self::Back
                | Self::Cancel
                | Self::SortNext
                | Self::SortReverse
                | Self::SortBy(_)
                | Self::TogglePercent
                | Self::NextMetric
                | Self::PreviousMetric
                | Self::LookAt(_)
                | Self::Refine(_)
                | Self::AddStage(_)
                | Self::ToggleStage(_)
                | Self::ClearStages
                | Self::StageUp
                | Self::StageDown
                | Self::StageDelete
                | Self::StageToggle
                | Self::Accept
                | Self::Click { .. }
                | Self::RightClick { .. }
                | Self::DoubleClick { .. }
        )
    }

    /// How often a count may have it happen: once where it does no more when it happens again; and
    /// not often where it orders all rows or goes round a few things.
    #[must_use]
    pub fn most_times(&self) -> usize {
        match self {
            Self::Up
            | Self::Down
            | Self::PageUp
            | Self::PageDown
            | Self::HalfPageUp
            | Self::HalfPageDown
            | Self::Open
            | Self::Close
            | Self::SearchNext
            | Self::SearchPrevious
            | Self::Own(_) => usize::MAX,
            Self::NextMetric | Self::PreviousMetric | Self::SortNext => 20,
            _ => 1,
        }
    }

    /// Whether it does something with the selected row, so that the action menu offers it.
    #[must_use]
    pub fn is_about_a_row(&self) -> bool {
        matches!(
            self,
            Self::Refine(_)
                | Self::OpenPrompt(PromptKind::Group)
                | Self::HotPath
                | Self::OpenSubtree
                | Self::SearchSelected
                | Self::Explain
                | Self::CopyPath
                | Self::Understood
                | Self::OpenPrompt(PromptKind::Note | PromptKind::Fix)
        )
    }
}

/// What to say of a change of notes that was refused.
#[must_use]
pub fn not_kept(cause: &str) -> String {
    format!("not kept: {cause}")
}

/// One of the views, by its place among them; the digits choose them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ViewId(pub usize);

impl ViewId {
    /// The view that is shown first, and to which leaving another one leads.
    pub const HOME: Self = Self(0);
}

/// A place in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The first line.
    Top,
    /// The middle.
    Middle,
    /// The last line.
    Bottom,
}

/// Something that a key does in one view alone, by a name of the view's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action(pub &'static str);

/// A line at the bottom of the screen that says what happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// For information.
    Said(String),
    /// What was asked for could not be done.
    Failed(String),
}

/// Something the word before the cursor could become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The text to insert.
    pub text: String,
    /// What it is, in a few words.
    pub note: String,
}

/// A refinement that one key makes of the selected row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStage {
    /// Only paths through the function.
    Through,
    /// Only paths that do not go through it.
    Exclude,
    /// Without its frames; their cost goes to the callers.
    Hide,
    /// As the root: only what is below it.
    RootAt,
    /// Its recursion as one frame.
    Collapse,
    /// Its callers, upside down.
    CallersOf,
    /// Without what is below it; that cost becomes its own.
    StopAt,
    /// Only paths that begin as this row does.
    ThroughPath,
}

/// What a prompt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptKind {
    /// Text to look for in names.
    Search,
    /// A refinement to add.
    Refine,
    /// The new text of a stage, by its place.
    Stage(usize),
    /// A refinement that groups the selected row's function, begun with all but the name.
    Group,
    /// A refinement to some ranks, threads or other contexts, begun with all but which.
    Context(Axis),
    /// The definition of a set of frames, to be saved in a file.
    Set(SetFile),
    /// The name of a saved refinement, to be added.
    Apply,
    /// The name under which the stages are saved.
    SaveRefinement,
    /// Where to write what is on the screen.
    Export,
    /// A command.
    Command,
    /// A folder to look for source files in.
    Folder,
    /// A line of text about a call path.
    Note,
    /// What fixing a call path would save.
    Fix,
}

/// A change of the line being typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEdit {
    /// Delete the character before the cursor.
    Backspace,
    /// Delete the character at the cursor.
    Delete,
    /// Delete the word before the cursor.
    DeleteWord,
    /// Delete everything before the cursor.
    DeleteToStart,
    /// Move one character left.
    Left,
    /// Move one character right.
    Right,
    /// Move to the start.
    Start,
    /// Move to the end.
    End,
}
