//! The keys: lines of key, message and words of help, in lists of what belongs together.
//!
//! A mode is what has the focus, and says by the lists that it has what keys mean there. The update
//! function never sees a key; the help screen, the action menu and the line of hints are made from
//! these lists, so they cannot say anything else than what the keys do.

use std::borrow::Cow;

use super::key::Key;
use super::message::{Edge, LineEdit, Message, PromptKind, RowStage};
use crate::set_files::SetFile;

/// What has the focus, and so decides what keys mean.
#[derive(Debug)]
pub struct Mode {
    /// What the help screen calls it.
    pub title: &'static str,
    /// Its keys. Within a [`Group`] the help screen has them in this order.
    pub keys: &'static [&'static [Keys]],
}

/// Modes differ by what they are called.
impl PartialEq for Mode {
    fn eq(&self, other: &Self) -> bool {
        self.title == other.title
    }
}

/// Keys of a mode.
#[derive(Clone, Copy, Debug)]
pub enum Keys {
    /// Those of a list.
    Of(&'static [Binding]),
    /// A digit for each view.
    Views,
    /// A key for each view that lies over another one.
    ViewsOver,
}

/// Where the help screen puts a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Moving about.
    Move,
    /// Finding rows.
    Find,
    /// Refining by the selected row and otherwise.
    Refine,
    /// Numbers, order, and what can be taken along.
    Numbers,
    /// Views, pages and the program.
    Views,
    /// Typing.
    Typing,
}

impl Group {
    /// All groups in the order of the help screen.
    pub const ALL: [Self; 6] =
        [Self::Move, Self::Find, Self::Refine, Self::Numbers, Self::Views, Self::Typing];

    /// Its heading.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Move => "Move",
            Self::Find => "Find",
            Self::Refine => "Refine",
            Self::Numbers => "Numbers",
            Self::Views => "Views",
            Self::Typing => "Typing",
        }
    }
}

/// What some keys do.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The keys, in written form, with blanks between them. Several in a word are pressed one after
    /// the other.
    pub keys: Cow<'static, str>,
    /// What they do.
    pub message: Message,
    /// Where the help screen puts them.
    pub group: Group,
    /// What they do, in words.
    pub help: &'static str,
}

impl Binding {
    /// The keys of this line: what each of its words has one press.
    pub fn keys(&self) -> impl Iterator<Item = Vec<Key>> {
        // A word that is no key would be a mistake in a list; a test reads them all.
        self.keys.split(' ').filter(|word| !word.is_empty()).filter_map(Key::parse_all)
    }
}

/// A line of a list of keys.
pub const fn bind(
    group: Group,
    keys: &'static str,
    message: Message,
    help: &'static str,
) -> Binding {
    Binding { keys: Cow::Borrowed(keys), message, group, help }
}

use Group::{Find, Move, Numbers, Refine, Typing, Views};

/// Moving about in whatever list has the focus.
pub static MOVE: &[Binding] = &[
    bind(Move, "j <down>", Message::Down, "down"),
    bind(Move, "k <up>", Message::Up, "up"),
    bind(Move, "<pagedown> <C-f>", Message::PageDown, "a screen down"),
    bind(Move, "<pageup> <C-b>", Message::PageUp, "a screen up"),
    bind(Move, "<C-d>", Message::HalfPageDown, "half a screen down"),
    bind(Move, "<C-u>", Message::HalfPageUp, "half a screen up"),
    bind(Move, "g <home>", Message::First, "to the top"),
    bind(Move, "G <end>", Message::Last, "to the bottom"),
];

/// Names that are wider than their column.
pub static SIDEWAYS: &[Binding] = &[
    bind(Move, "]", Message::Sideways { right: true }, "scroll names to the right"),
    bind(Move, "[", Message::Sideways { right: false }, "scroll names back to the left"),
];

/// Moving the window, not the selection.
pub static PLACE: &[Binding] = &[
    bind(Move, "zz", Message::Put(Edge::Middle), "move the selected row to the middle"),
    bind(Move, "zt", Message::Put(Edge::Top), "move it to the top of the screen"),
    bind(Move, "zb", Message::Put(Edge::Bottom), "move it to the bottom"),
];

/// Moving about in text, as in other programs that show some.
pub static READ: &[Binding] = &[
    bind(Move, "<space>", Message::PageDown, "a screen down"),
    bind(Move, "b", Message::PageUp, "a screen up"),
];

/// Opening and closing rows.
pub static OPEN: &[Binding] = &[
    bind(Move, "l <right>", Message::Open, "open the row, then go into it"),
    bind(Move, "h <left>", Message::Close, "close the row, then go to its parent"),
    bind(Move, "<space>", Message::Toggle, "open or close the row"),
    bind(Move, "e", Message::OpenSubtree, "open all below the row (at most 1000 rows)"),
    bind(Move, "E", Message::CloseAll, "close all rows"),
    bind(Find, "H", Message::HotPath, "follow the hot path; again: further"),
];

/// Going to rows and lines by what they say.
pub static FIND: &[Binding] = &[
    bind(Find, "/", Message::OpenPrompt(PromptKind::Search), "search; all rows stay"),
    bind(Find, "n", Message::SearchNext, "next found, the heaviest first"),
    bind(Find, "N", Message::SearchPrevious, "previous found"),
];

/// Going to rows by name.
pub static SEARCH: &[Binding] =
    &[bind(Find, "*", Message::SearchSelected, "search the name of this row")];

/// Refining otherwise than by a row.
pub static REFINE: &[Binding] = &[
    bind(Refine, "f", Message::OpenPrompt(PromptKind::Refine), "type a refinement"),
    bind(Refine, "L", Message::ToggleStage("by loop"), "loops as rows, or not"),
];

/// Refining by the selected row.
pub static REFINE_BY_ROW: &[Binding] = &[
    bind(Refine, "t", Message::Refine(RowStage::Through), "only paths through it"),
    bind(Refine, "x", Message::Refine(RowStage::Exclude), "only paths not through it"),
    bind(Refine, "d", Message::Refine(RowStage::Hide), "hide it: its cost goes to its caller"),
    bind(Refine, "o", Message::OpenPrompt(PromptKind::Group), "group it with others under a name"),
    bind(Refine, "Z", Message::Refine(RowStage::RootAt), "make it the root (zoom)"),
    bind(Refine, "c", Message::Refine(RowStage::Collapse), "collapse its recursion"),
    bind(
        Refine,
        "C",
        Message::Refine(RowStage::CallersOf),
        "its callers, upside down, from it to the root",
    ),
    bind(Refine, "b", Message::Refine(RowStage::StopAt), "stop at it: all below becomes its own"),
];

/// Going back and forth, and what was done.
pub static STEPS: &[Binding] = &[
    bind(Views, "u", Message::Undo, "undo the last step: stages, view, order, open rows"),
    bind(Views, "<C-r>", Message::Redo, "redo"),
    bind(Refine, "F", Message::OpenStages, "list the stages"),
];

/// The order of rows, and what percentages are of.
pub static SORT: &[Binding] = &[
    bind(Numbers, "s", Message::SortNext, "sort by the next column"),
    bind(Numbers, "S", Message::SortReverse, "turn the order round"),
    bind(Numbers, "|", Message::OpenColumns, "choose columns: show, hide, order, width"),
    bind(
        Numbers,
        "%",
        Message::TogglePercent,
        "percent of all, of what is shown, of the row above",
    ),
];

/// What the numbers are of and what they mean.
pub static NUMBERS: &[Binding] = &[
    bind(Numbers, "m", Message::NextMetric, "look at the next metric"),
    bind(Numbers, "M", Message::PreviousMetric, "look at the previous metric"),
    bind(Numbers, "=", Message::Explain, "explain the numbers of this row"),
];

/// Saying something of the path of the selected row.
pub static NOTES: &[Binding] = &[
    bind(Find, "A", Message::Bookmark, "set a bookmark here, or remove it"),
    bind(Find, "\"", Message::OpenPrompt(PromptKind::Note), "take a note of this path"),
    bind(Find, "U", Message::Understood, "this path is understood, or not (ledger)"),
    bind(Find, "X", Message::OpenPrompt(PromptKind::Fix), "this path is to be fixed (ledger)"),
];

/// Taking along what is selected.
pub static COPY: &[Binding] = &[bind(Numbers, "y", Message::CopyPath, "copy the call path"), WRITE];

const WRITE: Binding = bind(
    Numbers,
    "Y",
    Message::OpenPrompt(PromptKind::Export),
    "write this screen to a file, or copy it",
);

/// Taking along all that is shown.
pub static EXPORT: &[Binding] = &[WRITE];

/// The action menu.
pub static MENU: &[Binding] =
    &[bind(Views, "<enter>", Message::OpenMenu, "what can be done with this row")];

/// Going from view to view.
pub static NEIGHBORS: &[Binding] = &[
    bind(Views, "<tab>", Message::NextView, "next view"),
    bind(Views, "<S-tab>", Message::PreviousView, "previous view"),
];

/// Commands by their names.
pub static COMMANDS: &[Binding] =
    &[bind(Views, ":", Message::OpenPrompt(PromptKind::Command), "commands")];

/// Help.
pub static HELP: &[Binding] = &[bind(Views, "?", Message::OpenHelp, "this help")];

/// Looking at a program that runs.
pub static LIVE: &[Binding] = &[
    bind(Views, "R", Message::Freeze, "stand still, or go on (view --live; also space)"),
    bind(Views, "W", Message::Mark, "what comes from now on, or all again (view --live)"),
];

/// Leaving what is open.
pub static LEAVE: &[Binding] = &[
    bind(Views, "q", Message::Back, "back; at the top: quit"),
    bind(Views, "<esc>", Message::Cancel, "back; never quits"),
    bind(Views, "<C-c>", Message::Quit, "quit"),
];

/// What works everywhere.
pub static ALWAYS: &[Binding] = &[
    bind(Views, "<C-z>", Message::Suspend, "suspend; fg in the shell comes back"),
    bind(Views, "<C-l>", Message::Repaint, "paint the screen again"),
];

static STAGES_KEYS: &[Binding] = &[
    bind(Refine, "K", Message::StageUp, "move the stage up"),
    bind(Refine, "J", Message::StageDown, "move the stage down"),
    bind(Refine, "<space>", Message::StageToggle, "switch the stage off or on"),
    bind(Refine, "d <del>", Message::StageDelete, "delete the stage"),
    bind(Refine, "e <enter>", Message::StageEdit, "edit the stage"),
    bind(
        Refine,
        "w",
        Message::StageSave(SetFile::User),
        "save its frames as a set (@name), for all profiles",
    ),
    bind(Refine, "W", Message::StageSave(SetFile::Beside), "the same, for this profile alone"),
    bind(Refine, "f", Message::OpenPrompt(PromptKind::Refine), "add a stage"),
    bind(Refine, "a", Message::OpenPrompt(PromptKind::Apply), "add stages saved under a name"),
    bind(
        Refine,
        "A",
        Message::OpenPrompt(PromptKind::SaveRefinement),
        "save those that are on under a name, as a refinement",
    ),
    bind(Refine, "u", Message::Undo, "undo"),
    bind(Refine, "<C-r>", Message::Redo, "redo"),
];

static CHOOSER_KEYS: &[Binding] = &[
    bind(Numbers, "<space> <enter>", Message::ColumnToggle, "show the column, or hide it"),
    bind(Numbers, "K", Message::ColumnMove { down: false }, "move it to the left"),
    bind(Numbers, "J", Message::ColumnMove { down: true }, "move it to the right"),
    bind(Numbers, "+ > l <right>", Message::ColumnWidth { wider: true }, "make it wider"),
    bind(Numbers, "- <lt> h <left>", Message::ColumnWidth { wider: false }, "make it narrower"),
    bind(Numbers, "r", Message::ColumnsReset, "all columns as they were at first"),
    bind(
        Numbers,
        "%",
        Message::TogglePercent,
        "percent of all, of what is shown, of the row above",
    ),
];

static CHOICES: &[Binding] = &[bind(Views, "<enter> <right> l", Message::Accept, "do it")];

static TOO_SMALL_KEYS: &[Binding] = &[bind(Views, "q <C-c>", Message::Quit, "quit")];

static PROMPT_KEYS: &[Binding] = &[
    bind(Typing, "<enter>", Message::Accept, "accept"),
    bind(Typing, "<C-p>", Message::Recall { older: true }, "the line typed before"),
    bind(Typing, "<C-n>", Message::Recall { older: false }, "the line typed after it"),
    bind(Typing, "<esc> <C-c>", Message::Cancel, "leave without effect"),
    bind(Typing, "<tab> <down>", Message::CompleteNext, "next completion"),
    bind(Typing, "<S-tab> <up>", Message::CompletePrevious, "previous completion"),
    bind(Typing, "<backspace> <C-h>", Message::Edit(LineEdit::Backspace), "delete backward"),
    bind(Typing, "<del> <C-d>", Message::Edit(LineEdit::Delete), "delete forward"),
    bind(Typing, "<C-w>", Message::Edit(LineEdit::DeleteWord), "delete a word"),
    bind(Typing, "<C-u>", Message::Edit(LineEdit::DeleteToStart), "delete to start"),
    bind(Typing, "<left> <C-b>", Message::Edit(LineEdit::Left), "left"),
    bind(Typing, "<right> <C-f>", Message::Edit(LineEdit::Right), "right"),
    bind(Typing, "<home> <C-a>", Message::Edit(LineEdit::Start), "start of the line"),
    bind(Typing, "<end> <C-e>", Message::Edit(LineEdit::End), "end of the line"),
];

/// Keys of views of rows that do not open, before those for what was done.
pub const LIST: &[Keys] = &[
    Keys::Of(MOVE),
    Keys::Of(PLACE),
    Keys::Of(SIDEWAYS),
    Keys::Of(FIND),
    Keys::Of(SEARCH),
    Keys::Of(REFINE),
    Keys::Of(REFINE_BY_ROW),
];

/// The same where rows open.
pub const TREE: &[Keys] = &[
    Keys::Of(MOVE),
    Keys::Of(PLACE),
    Keys::Of(OPEN),
    Keys::Of(SIDEWAYS),
    Keys::Of(FIND),
    Keys::Of(SEARCH),
    Keys::Of(REFINE),
    Keys::Of(REFINE_BY_ROW),
];

/// Keys of views with columns of numbers.
pub const COLUMNS: &[Keys] = &[Keys::Of(SORT), Keys::Of(NUMBERS), Keys::Of(COPY)];

/// Keys of the frame around all views.
pub const FRAME: &[Keys] = &[
    Keys::Views,
    Keys::Of(NEIGHBORS),
    Keys::Of(COMMANDS),
    Keys::Of(LIVE),
    Keys::Of(HELP),
    Keys::ViewsOver,
    Keys::Of(LEAVE),
    Keys::Of(ALWAYS),
];

/// A page of text over the view: help, explanation, a command line.
pub static PAGE: Mode = Mode {
    title: "pages of text",
    keys: &[&[
        Keys::Of(MOVE),
        Keys::Of(READ),
        Keys::Of(FIND),
        Keys::Of(HELP),
        Keys::Of(LEAVE),
        Keys::Of(ALWAYS),
    ]],
};

/// The action menu. The keys of its items mean there what they mean in the view.
pub static ACTIONS: Mode = Mode {
    title: "the action menu",
    keys: &[&[
        Keys::Of(MOVE),
        Keys::Of(HELP),
        Keys::Of(CHOICES),
        Keys::Of(LEAVE),
        Keys::Of(ALWAYS),
    ]],
};

/// The list of stages.
pub static STAGES: Mode = Mode {
    title: "the list of stages",
    keys: &[&[
        Keys::Of(MOVE),
        Keys::Of(STAGES_KEYS),
        Keys::Of(NUMBERS),
        Keys::Of(HELP),
        Keys::Of(LEAVE),
        Keys::Of(ALWAYS),
    ]],
};

/// The columns to choose from.
pub static CHOOSER: Mode = Mode {
    title: "the list of columns",
    keys: &[&[
        Keys::Of(MOVE),
        Keys::Of(CHOOSER_KEYS),
        Keys::Of(HELP),
        Keys::Of(LEAVE),
        Keys::Of(ALWAYS),
    ]],
};

/// A prompt; printable keys are text.
pub static PROMPT: Mode =
    Mode { title: "prompts", keys: &[&[Keys::Of(ALWAYS), Keys::Of(PROMPT_KEYS)]] };

/// A terminal too small for any of them: what other keys do could not be seen.
pub static TOO_SMALL: Mode = Mode {
    title: "a terminal that is too small",
    keys: &[&[Keys::Of(TOO_SMALL_KEYS), Keys::Of(ALWAYS)]],
};

/// The modes besides those of the views.
pub static OVER_VIEWS: [&Mode; 6] = [&PAGE, &ACTIONS, &STAGES, &CHOOSER, &PROMPT, &TOO_SMALL];
