//! What the update function wants done outside the model; only the shell does it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::export::{ExportForm, Target};
use super::made::Wanted;
use super::stages::Stages;
use crate::export::table::Table;
use crate::profile::MetricRef;
use crate::refine::{FramePattern, Sets};
use crate::set_files::SetFile;
use crate::views::notes::Change;
use crate::views::search::NamePattern;

/// Something to do outside the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Refine the profile and answer with a message.
    Refine(Request),
    /// Read the file again and refine it; answer as for `Refine`, or with `Message::Reloaded`.
    Reload(Request),
    /// Read a program that runs again and refine it; answer with `Message::Refreshed`.
    Refresh {
        /// What is to be shown.
        request: Request,
        /// What the view wants to be made of that.
        wanted: Option<Wanted>,
    },
    /// Answer with `Message::Tick` after this time.
    Wait {
        /// The time.
        pause: Duration,
        /// Number for the answer.
        wait: u64,
    },
    /// End the request of this number, or all that is being made, unanswered.
    Cancel(Option<u64>),
    /// Define a set of frames in a file, and answer with all sets there are then.
    SaveSet {
        /// The file.
        file: SetFile,
        /// The name, without `@`.
        name: String,
        /// The frames.
        pattern: FramePattern,
    },
    /// Save stages under a name, and answer with all sets and refinements there are then.
    SaveRefinement {
        /// The name, without `@`.
        name: String,
        /// The stages.
        refinement: String,
        /// Whether those that the name has are to be replaced.
        replaces: bool,
    },
    /// Write what this command line gives of the profile; answer with `Message::Exported`.
    Export {
        /// Its words.
        words: Vec<String>,
        /// The form that it asks for.
        form: ExportForm,
        /// Where it goes.
        target: Target,
    },
    /// Write this table; answer with `Message::Exported`.
    ExportTable {
        /// The table.
        table: Box<Table>,
        /// The form.
        form: ExportForm,
        /// Where it goes.
        target: Target,
    },
    /// Open a file in the user's editor at a line, from 1.
    Edit {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u32,
    },
    /// Say something of a call path, and answer with all that is said of them then.
    Note(Box<Change>),
    /// Put text on the user's clipboard.
    Copy(String),
    /// Print a line on standard output after the viewer has ended.
    PrintAtEnd(String),
    /// Give the terminal back to the shell until the job continues.
    Suspend,
    /// Forget what is on the screen and paint it all.
    Repaint,
    /// End the viewer.
    Quit,
}

/// A refinement to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number for the answer.
    pub ticket: u64,
    /// What for.
    pub purpose: Purpose,
    /// The stages; those that are on are applied.
    pub stages: Stages,
    /// The sets of frames that they may name.
    pub sets: Arc<Sets>,
    /// The metric that the answer is about.
    pub metric: MetricRef,
}

impl Request {
    /// Whether files are read for the answer.
    #[must_use]
    pub fn reads_files(&self) -> bool {
        matches!(&self.purpose, Purpose::View(wanted) if wanted.reads_files)
    }
}

/// What a refinement is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be shown: answered with `Message::Refined`.
    Show,
    /// For what a view wants to be made of it: answered with `Message::Made`.
    View(Wanted),
    /// To complete the word that ends at a byte of a line: answered with `Message::Completed`.
    Complete {
        /// The line.
        text: String,
        /// The byte.
        cursor: usize,
    },
    /// To mark what a search finds in it: answered with `Message::Searched`.
    Search {
        /// What is searched for.
        pattern: NamePattern,
        /// Whether rows of loops are left out.
        without_loops: bool,
    },
    /// To know what the sets of frames mean in it: answered with `Message::SetsCounted`.
    Sets,
    /// To know what it would show: answered with `Message::Tried`.
    Try,
}
