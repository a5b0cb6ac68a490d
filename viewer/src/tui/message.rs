//! Everything that can happen to the viewer: one closed enum, from keys, mouse, shell and worker.

use std::sync::Arc;

use super::forest::{Forest, Refusal};
use super::key::Key;

use super::model::{Inverted, Notice};
use super::prompt::Completion;
use crate::profile::MetricRef;
use crate::refine::{Axis, Sets};
use crate::set_files::SetFile;
use crate::views::SortKey;
use crate::views::hall::ListedRows;
use crate::views::search::Search;
use crate::views::sets::SetRow;

/// Something happened. The update function decides what it means in the present mode.
#[derive(Clone, Debug)]
pub enum Message<'p> {
    // Moving, in whatever list has the focus: rows, stages, a menu, the lines of a page.
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// One screen up.
    PageUp,
    /// One screen down.
    PageDown,
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

    // Views and pages.
    /// Show a view.
    Show(View),
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
    /// Rows of the flat view are in what holds them: functions, files, load modules.
    Coarser,
    /// Rows of the flat view are what is in them: load modules, files, functions, lines.
    Finer,
    /// Open the list of processes and threads.
    OpenContexts,
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
    /// A key that means nothing here.
    Unbound(Key),

    // Tables of the current path.
    /// Make the path longer by the selected row.
    ExtendPath,
    /// Take the last function off the path again.
    ShortenPath,
    /// Show direct calls only, or those at any distance.
    ToggleReach,
    /// Show what the path calls, or what calls it.
    ToggleWay,
    /// Keep only the paths through the current path.
    RefineByPath,

    // Numbers and order.
    /// Sort by the next column.
    SortNext,
    /// Turn the order round.
    SortReverse,
    /// Sort by this column; if it is the column already, turn the order round.
    SortBy(SortKey),
    /// Change what percentages are of: everything measured, or what is shown.
    TogglePercent,
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

    // Refinement.
    /// Open a prompt.
    OpenPrompt(PromptKind),
    /// Refine by the selected row.
    Refine(RowStage),
    /// Add this stage.
    AddStage(&'static str),
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
    /// The left button was pressed twice at one place.
    DoubleClick {
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
        forest: Box<Forest<'p>>,
    },
    /// The callers of what is shown, asked for when they were first looked at.
    Inverted {
        /// The number under which they were asked for.
        ticket: u64,
        /// Functions and their callers.
        inverted: Box<Inverted>,
    },
    /// The places of what is shown, asked for when they were first looked at.
    Placed {
        /// The number under which they were asked for.
        ticket: u64,
        /// Load modules, files, functions, lines.
        forest: Box<Forest<'p>>,
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
    /// The table of the current path.
    Tabled {
        /// The number under which it was asked for.
        ticket: u64,
        /// Its rows, below one for the path itself.
        list: Box<ListedRows>,
    },
    /// What the sets of frames mean in what is shown.
    SetsCounted {
        /// The number under which it was asked for.
        ticket: u64,
        /// One for each set.
        rows: Vec<SetRow>,
    },
    /// The sets of frames there are now.
    SetsLoaded {
        /// The sets.
        sets: Arc<Sets>,
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

impl Message<'_> {
    /// Whether the user did something, which makes the last notice old.
    #[must_use]
    pub fn is_from_user(&self) -> bool {
        !matches!(
            self,
            Self::Resized { .. }
                | Self::Refined { .. }
                | Self::Inverted { .. }
                | Self::Placed { .. }
                | Self::Tried { .. }
                | Self::Completed { .. }
                | Self::Searched { .. }
                | Self::Tabled { .. }
                | Self::SetsCounted { .. }
                | Self::SetsLoaded { .. }
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
                | Self::Show(_)
                | Self::NextView
                | Self::PreviousView
                | Self::Coarser
                | Self::Finer
                | Self::Back
                | Self::Cancel
                | Self::ExtendPath
                | Self::ShortenPath
                | Self::ToggleReach
                | Self::ToggleWay
                | Self::RefineByPath
                | Self::SortNext
                | Self::SortReverse
                | Self::SortBy(_)
                | Self::TogglePercent
                | Self::NextMetric
                | Self::PreviousMetric
                | Self::LookAt(_)
                | Self::Refine(_)
                | Self::AddStage(_)
                | Self::ClearStages
                | Self::StageUp
                | Self::StageDown
                | Self::StageDelete
                | Self::StageToggle
                | Self::Accept
                | Self::Click { .. }
                | Self::DoubleClick { .. }
        )
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
        )
    }
}

/// One of the views; the digits choose them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// Calling contexts from the root.
    #[default]
    Tree,
    /// Functions, and below each its callers.
    Callers,
    /// Functions.
    Flat,
    /// What was measured and how.
    Info,
    /// What the current path costs, made longer by each function.
    Tables,
}

impl View {
    /// All views, in the order of their digits.
    pub const ALL: [Self; 5] = [Self::Tree, Self::Callers, Self::Flat, Self::Info, Self::Tables];

    /// What the header calls it.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Tree => "Tree",
            Self::Callers => "Callers",
            Self::Flat => "Flat",
            Self::Info => "Info",
            Self::Tables => "Tables",
        }
    }
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
    /// A refinement to ranks or threads, begun with all but which.
    Context(Axis),
    /// The definition of a set of frames, to be saved in a file.
    Set(SetFile),
    /// A command.
    Command,
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
