//! A prompt at the bottom of the screen: the line being typed and what is known about it so far.

use std::cell::OnceCell;

use super::history::Moment;
use super::line::Line;
use super::message::{Completion, PromptKind};
use super::table::TablePlace;
use crate::set_files::SetFile;

/// Most completions that are offered at once.
pub const COMPLETIONS: usize = 6;

/// An open prompt.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// What it asks for.
    pub kind: PromptKind,
    /// The line.
    pub line: Line,
    /// What the word before the cursor could become, best first.
    pub completions: Vec<Completion>,
    /// Byte at which that word begins.
    pub word: usize,
    /// Number under which further completions were asked for.
    pub completing: Option<u64>,
    /// The completion that was taken last.
    pub taken: Option<usize>,
    /// How many accepted lines back the line was taken from, and what had been typed instead.
    pub recalled: Option<Box<(usize, String)>>,
    /// What is known about the line.
    pub trial: Trial,
    /// What was open and selected when the prompt opened: leaving a search goes back there.
    pub from: Option<TablePlace>,
    /// The same where there are no rows: the line that was selected, or the first one seen.
    pub from_line: usize,
    /// Set once an export has found that what is on the screen is a table.
    pub is_table: OnceCell<()>,
    /// The screen when the prompt opened: a search is one step from there.
    pub began: Option<Box<Moment>>,
}

/// What is known about the line being typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trial {
    /// Nothing to know.
    #[default]
    Nothing,
    /// It was sent to be tried out under this number.
    Waiting(u64),
    /// It cannot be read, or not be applied.
    Wrong {
        /// Byte of the line where the trouble is.
        at: usize,
        /// What the trouble is.
        cause: String,
    },
    /// It would show `shown` samples and take out `out` in all.
    Counted {
        /// Samples that would be shown.
        shown: u64,
        /// Samples that would be taken out.
        out: u64,
        /// Those of BASE and of OTHER that would be shown, where two profiles are compared.
        of_sides: [u64; 2],
    },
    /// A search, and what it found: which of how many, and what these cost together.
    Found(String),
    /// A search that found nothing.
    NotFound,
}

impl Prompt {
    /// A prompt with a first line.
    #[must_use]
    pub fn new(kind: PromptKind, text: &str, from: Option<TablePlace>) -> Self {
        Self {
            kind,
            line: Line::new(text),
            completions: Vec::new(),
            word: 0,
            completing: None,
            taken: None,
            recalled: None,
            trial: Trial::Nothing,
            from,
            from_line: 0,
            is_table: OnceCell::new(),
            began: None,
        }
    }

    /// What stands before the line.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self.kind {
            PromptKind::Search => "/",
            PromptKind::Refine | PromptKind::Group | PromptKind::Context(_) | PromptKind::Apply => {
                "refine: "
            }
            PromptKind::SaveRefinement => "save the stages as: ",
            PromptKind::Stage(_) => "stage: ",
            PromptKind::Set(SetFile::User) => "set: ",
            PromptKind::Set(SetFile::Beside) => "set of this profile: ",
            PromptKind::Export => "export to: ",
            PromptKind::Command => ":",
            PromptKind::Folder => "folder of sources: ",
            PromptKind::Note => "note: ",
            PromptKind::Fix => "to be fixed, saves: ",
        }
    }

    /// Lines it takes at the bottom of the screen: itself, what is known, completions.
    #[must_use]
    pub fn height(&self) -> usize {
        match self.kind {
            PromptKind::Search => 1,
            _ => 2 + self.completions.len().min(COMPLETIONS),
        }
    }

    /// Puts the next completion (the previous one, if not `forward`) in place of the word.
    pub fn complete(&mut self, forward: bool) {
        let count = self.completions.len();
        if count == 0 {
            return;
        }
        let next = match (self.taken, forward) {
            (None, true) => 0,
            (None, false) => count - 1,
            (Some(at), true) => (at + 1) % count,
            (Some(at), false) => (at + count - 1) % count,
        };
        self.line.replace_before(self.word, &self.completions[next].text);
        self.taken = Some(next);
    }
}
