//! What was said of the call paths of a program: a file of the user's for each program.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::profile::Profile;
use crate::state::{StateFolder, file_name};
use crate::views::notes::{Change, Notes};

/// The place of what was said of a program.
#[derive(Clone, Debug)]
pub(super) struct NotesFile {
    folder: Option<StateFolder>,
    program: String,
}

impl NotesFile {
    /// The one for the program of a profile: what was started, by its path.
    pub(super) fn of(profile: &Profile) -> Self {
        let run = match profile.comparison.as_deref() {
            Some(comparison) => &comparison.sides[0].run,
            None => &profile.info.run,
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let program = run.command.first().map_or_else(String::new, |program| text(program));
        // A name without a folder was looked for in PATH.
        let program = match program.contains('/') {
            true => plain(&Path::new(&text(&run.directory)).join(program)),
            false => program,
        };
        Self { folder: StateFolder::of("notes"), program }
    }

    fn name(&self) -> String {
        file_name(self.program.as_bytes())
    }

    /// What was said, and why it cannot be read.
    pub(super) fn load(&self) -> (Notes, Option<String>) {
        let none = Notes::new(&self.program);
        let Some(folder) = &self.folder else { return (none, None) };
        match folder.read(&self.name()) {
            Ok(None) => (none, None),
            Ok(Some(text)) => match Notes::read(&text) {
                Some(notes) => (notes, None),
                None => (none, Some(UNREADABLE.to_owned())),
            },
            Err(cause) => (none, Some(format!("{UNREADABLE}: {cause}"))),
        }
    }

    /// Says something of a path; returns all that is said then.
    ///
    /// # Errors
    ///
    /// Why it cannot be kept.
    pub(super) fn change(&self, change: &Change) -> Result<Notes, String> {
        let folder = self.folder.as_ref().ok_or_else(StateFolder::why_none)?;
        let mut notes = Notes::new(&self.program);
        let kept = folder.change(&self.name(), |text| {
            if let Some(text) = text {
                notes = Notes::read(&text).ok_or_else(|| io::Error::other(UNREADABLE))?;
            }
            notes.change(change).map_err(io::Error::other)?;
            Ok(notes.text())
        });
        kept.map_err(|error| error.to_string())?;
        Ok(notes)
    }
}

/// What is said of a damaged file, which is left as it is.
const UNREADABLE: &str = "the notes on this program cannot be read";

/// A path without `.` and `..`.
fn plain(path: &Path) -> String {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain.to_string_lossy().into_owned()
}
