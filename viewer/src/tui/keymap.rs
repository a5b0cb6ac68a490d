//! The keys: one table of mode, key, message and words of help.
//!
//! The update function never sees a key; the help screen, the action menu and the line of hints
//! are made from this table, so they cannot say anything else than what the keys do.

use super::key::Key;
use super::message::{LineEdit, Message, PromptKind, RowStage, View};
use crate::set_files::SetFile;

/// What has the focus, and so decides what keys mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The top-down tree.
    Tree,
    /// The callers view.
    Callers,
    /// The flat view.
    Flat,
    /// The flat view as a tree of places.
    Places,
    /// The information page.
    Info,
    /// The tables of the current path.
    Tables,
    /// A page of text over the view: help, explanation, a command line.
    Page,
    /// The action menu.
    Menu,
    /// The list of stages.
    Stages,
    /// The list of processes and threads.
    Contexts,
    /// A prompt; printable keys are text.
    Prompt,
    /// A terminal too small for any of them: what other keys do could not be seen.
    TooSmall,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 12] = [
        Self::Tree,
        Self::Callers,
        Self::Flat,
        Self::Places,
        Self::Info,
        Self::Tables,
        Self::Page,
        Self::Menu,
        Self::Stages,
        Self::Contexts,
        Self::Prompt,
        Self::TooSmall,
    ];

    /// What the help screen calls it.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Tree => "the call tree",
            Self::Callers => "the callers view",
            Self::Flat => "the flat view",
            Self::Places => "the tree of places",
            Self::Info => "the information page",
            Self::Tables => "the tables",
            Self::Page => "pages of text",
            Self::Menu => "the action menu",
            Self::Stages => "the list of stages",
            Self::Contexts => "the list of processes and threads",
            Self::Prompt => "prompts",
            Self::TooSmall => "a terminal that is too small",
        }
    }
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

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The modes in which the keys have this meaning.
    pub modes: &'static [Mode],
    /// The keys, in written form, with blanks between them.
    pub keys: &'static str,
    /// What they do.
    pub message: Message<'static>,
    /// Where the help screen puts them.
    pub group: Group,
    /// What they do, in words.
    pub help: &'static str,
}

const LISTS: &[Mode] = &[
    Mode::Tree,
    Mode::Callers,
    Mode::Flat,
    Mode::Places,
    Mode::Info,
    Mode::Tables,
    Mode::Page,
    Mode::Menu,
    Mode::Stages,
    Mode::Contexts,
];
const VIEWS: &[Mode] =
    &[Mode::Tree, Mode::Callers, Mode::Flat, Mode::Places, Mode::Info, Mode::Tables];
const ROWS: &[Mode] = &[Mode::Tree, Mode::Callers, Mode::Flat, Mode::Places, Mode::Tables];
const NUMBERED: &[Mode] = &[
    Mode::Tree,
    Mode::Callers,
    Mode::Flat,
    Mode::Places,
    Mode::Tables,
    Mode::Stages,
    Mode::Contexts,
];
const COMMANDED: &[Mode] = &[
    Mode::Tree,
    Mode::Callers,
    Mode::Flat,
    Mode::Places,
    Mode::Info,
    Mode::Tables,
    Mode::Contexts,
];
const FLAT: &[Mode] = &[Mode::Flat, Mode::Places];
const TABLES: &[Mode] = &[Mode::Tables];
const TREES: &[Mode] = &[Mode::Tree, Mode::Callers, Mode::Places];
const NOT_TEXT: &[Mode] = LISTS;
const STAGES: &[Mode] = &[Mode::Stages];
const PROMPT: &[Mode] = &[Mode::Prompt];
const CHOICES: &[Mode] = &[Mode::Menu];
const ALL: &[Mode] = &Mode::ALL;

const fn bind(
    group: Group,
    modes: &'static [Mode],
    keys: &'static str,
    message: Message<'static>,
    help: &'static str,
) -> Binding {
    Binding { modes, keys, message, group, help }
}

/// The table.
pub static KEYS: &[Binding] = {
    use Group::{Find, Move, Numbers, Refine, Typing, Views};
    &[
        bind(Move, LISTS, "j <down>", Message::Down, "down"),
        bind(Move, LISTS, "k <up>", Message::Up, "up"),
        bind(Move, LISTS, "<pagedown> <C-d>", Message::PageDown, "a screen down"),
        bind(Move, LISTS, "<pageup> <C-u>", Message::PageUp, "a screen up"),
        bind(Move, LISTS, "g <home>", Message::First, "to the top"),
        bind(Move, LISTS, "G <end>", Message::Last, "to the bottom"),
        bind(Move, TREES, "l <right>", Message::Open, "open the row, then go into it"),
        bind(Move, TREES, "h <left>", Message::Close, "close the row, then go to its parent"),
        bind(Move, TREES, "<space>", Message::Toggle, "open or close the row"),
        bind(Move, TREES, "e", Message::OpenSubtree, "open all below the row (at most 1000 rows)"),
        bind(Move, TREES, "E", Message::CloseAll, "close all rows"),
        bind(Find, TREES, "H", Message::HotPath, "follow the hot path; again: further"),
        bind(Find, ROWS, "/", Message::OpenPrompt(PromptKind::Search), "search names (rows stay)"),
        bind(Find, ROWS, "n", Message::SearchNext, "next found"),
        bind(Find, ROWS, "N", Message::SearchPrevious, "previous found"),
        bind(Find, ROWS, "*", Message::SearchSelected, "search the name of this row"),
        bind(Refine, VIEWS, "f", Message::OpenPrompt(PromptKind::Refine), "type a refinement"),
        bind(Refine, ROWS, "t", Message::Refine(RowStage::Through), "only paths through it"),
        bind(Refine, ROWS, "x", Message::Refine(RowStage::Exclude), "only paths not through it"),
        bind(
            Refine,
            ROWS,
            "d",
            Message::Refine(RowStage::Hide),
            "hide it: its cost goes to its caller",
        ),
        bind(
            Refine,
            ROWS,
            "o",
            Message::OpenPrompt(PromptKind::Group),
            "group it with others under a name",
        ),
        bind(Refine, ROWS, "z", Message::Refine(RowStage::RootAt), "make it the root (zoom)"),
        bind(Refine, ROWS, "c", Message::Refine(RowStage::Collapse), "collapse its recursion"),
        bind(
            Refine,
            ROWS,
            "C",
            Message::Refine(RowStage::CallersOf),
            "its callers, upside down, from it to the root",
        ),
        bind(
            Refine,
            ROWS,
            "b",
            Message::Refine(RowStage::StopAt),
            "stop at it: all below becomes its own",
        ),
        bind(
            Refine,
            &[Mode::Tree],
            "T",
            Message::Refine(RowStage::ThroughPath),
            "only paths that begin as this row's",
        ),
        bind(
            Views,
            VIEWS,
            "u",
            Message::Undo,
            "undo the last step: stages, view, order, open rows",
        ),
        bind(Views, VIEWS, "<C-r>", Message::Redo, "redo"),
        bind(Refine, VIEWS, "F", Message::OpenStages, "list the stages"),
        bind(Numbers, FLAT, "<lt>", Message::Coarser, "functions in their files, in load modules"),
        bind(Numbers, FLAT, ">", Message::Finer, "back to functions, then their lines"),
        bind(Refine, STAGES, "K", Message::StageUp, "move the stage up"),
        bind(Refine, STAGES, "J", Message::StageDown, "move the stage down"),
        bind(Refine, STAGES, "<space>", Message::StageToggle, "switch the stage off or on"),
        bind(Refine, STAGES, "d <del>", Message::StageDelete, "delete the stage"),
        bind(Refine, STAGES, "e <enter>", Message::StageEdit, "edit the stage"),
        bind(
            Refine,
            STAGES,
            "w",
            Message::StageSave(SetFile::User),
            "save its frames as a set (@name), for all profiles",
        ),
        bind(
            Refine,
            STAGES,
            "W",
            Message::StageSave(SetFile::Beside),
            "the same, for this profile alone",
        ),
        bind(Refine, STAGES, "f", Message::OpenPrompt(PromptKind::Refine), "add a stage"),
        bind(Refine, STAGES, "u", Message::Undo, "undo"),
        bind(Refine, STAGES, "<C-r>", Message::Redo, "redo"),
        bind(Numbers, ROWS, "s", Message::SortNext, "sort by the next column"),
        bind(Numbers, ROWS, "S", Message::SortReverse, "turn the order round"),
        bind(
            Numbers,
            ROWS,
            "%",
            Message::TogglePercent,
            "percent of all measured, or of what is shown",
        ),
        bind(Numbers, NUMBERED, "m", Message::NextMetric, "look at the next metric"),
        bind(Numbers, NUMBERED, "M", Message::PreviousMetric, "look at the previous metric"),
        bind(Numbers, NUMBERED, "=", Message::Explain, "explain the numbers of this row"),
        bind(Numbers, ROWS, "y", Message::CopyPath, "copy the call path"),
        bind(Find, TABLES, "<enter> l", Message::ExtendPath, "make the path longer by this row"),
        bind(Find, TABLES, "<backspace> h", Message::ShortenPath, "one step back"),
        bind(Find, TABLES, "i", Message::ToggleReach, "direct calls, or at any distance"),
        bind(Find, TABLES, "w", Message::ToggleWay, "what it calls, or what calls it"),
        bind(Refine, TABLES, "T", Message::RefineByPath, "only paths through the current path"),
        bind(
            Views,
            &[Mode::Tree, Mode::Callers, Mode::Flat, Mode::Places],
            "<enter>",
            Message::OpenMenu,
            "what can be done with this row",
        ),
        bind(Views, TABLES, "<space>", Message::OpenMenu, "what can be done with this row"),
        bind(Views, VIEWS, "1", Message::Show(View::Tree), "call tree"),
        bind(Views, VIEWS, "2", Message::Show(View::Callers), "callers of each function"),
        bind(Views, VIEWS, "3", Message::Show(View::Flat), "functions"),
        bind(Views, VIEWS, "4", Message::Show(View::Info), "what was measured, and losses"),
        bind(
            Views,
            VIEWS,
            "5",
            Message::Show(View::Tables),
            "tables of a path: its cost, longer by each function",
        ),
        bind(Views, VIEWS, "<tab>", Message::NextView, "next view"),
        bind(Views, VIEWS, "<S-tab>", Message::PreviousView, "previous view"),
        bind(Views, COMMANDED, ":", Message::OpenPrompt(PromptKind::Command), "commands"),
        bind(Views, NOT_TEXT, "?", Message::OpenHelp, "this help"),
        bind(
            Views,
            VIEWS,
            "P",
            Message::OpenContexts,
            "processes and threads, and their imbalance",
        ),
        bind(Refine, &[Mode::Contexts], "<enter>", Message::Accept, "only the samples of this one"),
        bind(Views, CHOICES, "<enter> <right> l", Message::Accept, "do it"),
        bind(Views, NOT_TEXT, "q", Message::Back, "back; at the top: quit"),
        bind(Views, NOT_TEXT, "<esc>", Message::Cancel, "back; never quits"),
        bind(Views, NOT_TEXT, "<C-c>", Message::Quit, "quit"),
        bind(Views, &[Mode::TooSmall], "q <C-c>", Message::Quit, "quit"),
        bind(Views, ALL, "<C-z>", Message::Suspend, "suspend; fg in the shell comes back"),
        bind(Views, ALL, "<C-l>", Message::Repaint, "paint the screen again"),
        bind(Typing, PROMPT, "<enter>", Message::Accept, "accept"),
        bind(Typing, PROMPT, "<C-p>", Message::Recall { older: true }, "the line typed before"),
        bind(Typing, PROMPT, "<C-n>", Message::Recall { older: false }, "the line typed after it"),
        bind(Typing, PROMPT, "<esc> <C-c>", Message::Cancel, "leave without effect"),
        bind(Typing, PROMPT, "<tab> <down>", Message::CompleteNext, "next completion"),
        bind(Typing, PROMPT, "<S-tab> <up>", Message::CompletePrevious, "previous completion"),
        bind(
            Typing,
            PROMPT,
            "<backspace> <C-h>",
            Message::Edit(LineEdit::Backspace),
            "delete backward",
        ),
        bind(Typing, PROMPT, "<del> <C-d>", Message::Edit(LineEdit::Delete), "delete forward"),
        bind(Typing, PROMPT, "<C-w>", Message::Edit(LineEdit::DeleteWord), "delete a word"),
        bind(Typing, PROMPT, "<C-u>", Message::Edit(LineEdit::DeleteToStart), "delete to start"),
        bind(Typing, PROMPT, "<left> <C-b>", Message::Edit(LineEdit::Left), "left"),
        bind(Typing, PROMPT, "<right> <C-f>", Message::Edit(LineEdit::Right), "right"),
        bind(Typing, PROMPT, "<home> <C-a>", Message::Edit(LineEdit::Start), "start of the line"),
        bind(Typing, PROMPT, "<end> <C-e>", Message::Edit(LineEdit::End), "end of the line"),
    ]
};

impl Binding {
    /// The keys of this line.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        // A word that is no key would be a mistake in the table; a test reads them all.
        self.keys.split(' ').filter_map(|word| Some(Key::parse_first(word)?.0))
    }
}

/// What a key means in a mode. In prompts, printable characters without a meaning are text.
#[must_use]
pub fn message(mode: Mode, key: Key) -> Option<Message<'static>> {
    let bound = KEYS
        .iter()
        .find(|binding| binding.modes.contains(&mode) && binding.keys().any(|k| k == key));
    match (bound, key) {
        (Some(binding), _) => Some(binding.message.clone()),
        (None, Key { code: super::key::Code::Char(c), control: false, alt: false })
            if mode == Mode::Prompt =>
        {
            Some(Message::Typed(c))
        }
        _ => None,
    }
}

/// What to say of a key that means nothing in a mode.
#[must_use]
pub fn unbound(mode: Mode, key: Key) -> String {
    let elsewhere = KEYS.iter().filter(|binding| binding.keys().any(|k| k == key));
    let views: Vec<&str> = elsewhere
        .flat_map(|binding| binding.modes)
        .filter(|mode| VIEWS.contains(mode))
        .map(|mode| mode.title())
        .collect();
    if views.is_empty() {
        format!("{key} is no key of {}; ? lists those that are", mode.title())
    } else {
        format!("{key} is for {}; ? lists the keys here", views.join(" and "))
    }
}

/// The lines of the table for a mode and a group.
pub fn bindings(mode: Mode, group: Group) -> impl Iterator<Item = &'static Binding> {
    KEYS.iter().filter(move |b| b.group == group && b.modes.contains(&mode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn every_word_is_a_key() {
        for binding in KEYS {
            for word in binding.keys.split(' ') {
                let (key, rest) = Key::parse_first(word).unwrap();
                assert_eq!((key.to_string().as_str(), rest), (word, ""));
            }
        }
    }

    #[test]
    fn a_key_without_a_meaning_says_where_it_has_one() {
        let said = |key: &str| unbound(Mode::Flat, Key::parse_first(key).unwrap().0);
        assert_eq!(
            said("H"),
            "H is for the call tree and the callers view and the tree of places; ? lists the keys here"
        );
        assert_eq!(said("Q"), "Q is no key of the flat view; ? lists those that are");
    }

    #[test]
    fn no_key_has_two_meanings_in_a_mode() {
        for mode in Mode::ALL {
            let mut seen = HashMap::new();
            for binding in KEYS.iter().filter(|binding| binding.modes.contains(&mode)) {
                for key in binding.keys() {
                    let other = seen.insert(key, binding.help);
                    assert_eq!(other, None, "{key} in {mode:?}: also {:?}", binding.help);
                }
            }
        }
    }

    #[test]
    fn text_is_typed_only_at_prompts() {
        let key = Key::parse_first("q").unwrap().0;
        assert!(matches!(message(Mode::Prompt, key), Some(Message::Typed('q'))));
        assert!(matches!(message(Mode::Tree, key), Some(Message::Back)));
    }

    #[test]
    fn escape_never_quits() {
        let escape = Key::parse_first("<esc>").unwrap().0;
        for mode in Mode::ALL {
            let does = message(mode, escape);
            assert!(
                matches!(does, Some(Message::Cancel)) || (mode == Mode::TooSmall && does.is_none()),
                "{mode:?}"
            );
        }
    }
}
