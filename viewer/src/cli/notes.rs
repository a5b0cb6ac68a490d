//! What was said of the call paths of a program: a file of the user's for each
//! [program](crate::profile::program_key).

use std::io;

use crate::profile::Profile;
use crate::profile::program_key::{may_be_of, program_key, started};
use crate::state::{StateFolder, file_name};
use crate::views::notes::{Change, Notes};

/// The place of what was said of a program.
#[derive(Clone, Debug)]
pub(super) struct NotesFile {
    folder: Option<StateFolder>,
    program: String,
    /// What an earlier csprof took for the program: an interpreter or a launcher, whose notes are
    /// of several. Its file is read where there is no other, and stays.
    started: Option<String>,
}

impl NotesFile {
    /// The one for the program of a profile.
    pub(super) fn of(profile: &Profile) -> Self {
        let processes = &profile.info.processes[..];
        let (run, processes) = match profile.comparison.as_deref() {
            Some(comparison) => {
                let of_base = comparison.first_other.index().min(processes.len());
                (&comparison.sides[0].run, &processes[..of_base])
            }
            None => (&profile.info.run, processes),
        };
        let program = program_key(run, processes);
        let started = Some(started(run)).filter(|started| *started != program);
        Self { folder: StateFolder::of("notes"), program, started }
    }

    /// Why nothing is kept, where that is so.
    pub(super) fn why_none(&self) -> Option<&'static str> {
        self.folder.is_none().then(StateFolder::why_none)
    }

    /// What was said, and why it cannot be read.
    pub(super) fn load(&self) -> (Notes, Option<String>) {
        let none = Notes::new(&self.program);
        let Some(folder) = &self.folder else { return (none, None) };
        let read = folder.read(&file_name(self.program.as_bytes()));
        match read.and_then(|text| self.notes(folder, text)) {
            Ok(notes) => (notes, None),
            Err(cause) => (none, Some(cause.to_string())),
        }
    }

    /// The notes that a file has; without one, those of before.
    fn notes(&self, folder: &StateFolder, text: Option<String>) -> io::Result<Notes> {
        let read = |text: &str| Notes::read(text).ok_or_else(|| io::Error::other(UNREADABLE));
        if let Some(text) = text {
            return read(&text);
        }
        let mut notes = Notes::new(&self.program);
        let Some(started) = &self.started else { return Ok(notes) };
        if let Some(text) = folder.read(&file_name(started.as_bytes()))? {
            notes.list = read(&text)?.list;
            // Bookmarks and texts do not say which of its programs they are about; entries do.
            notes.list.retain(|note| {
                let command = note.entry.as_ref().map(|entry| &entry.then.command);
                command.is_none_or(|command| may_be_of(command, &self.program))
            });
        }
        Ok(notes)
    }

    /// Says something of a path; returns all that is said then, if it can be read, and why the
    /// change is not kept.
    pub(super) fn change(&self, change: &Change) -> (Option<Notes>, Option<String>) {
        let Some(folder) = &self.folder else {
            return (None, Some(StateFolder::why_none().to_owned()));
        };
        let mut found = None;
        let kept = folder.change(&file_name(self.program.as_bytes()), |text| {
            let notes = found.insert(self.notes(folder, text)?);
            notes.change(change).map_err(io::Error::other)?;
            Ok(notes.text())
        });
        match kept {
            Ok(()) => (found, None),
            // What is in the file, not what could not be put there.
            Err(cause) => {
                let (notes, unreadable) = self.load();
                (unreadable.is_none().then_some(notes), Some(cause.to_string()))
            }
        }
    }
}

/// What is said of a damaged file, which is left as it is.
const UNREADABLE: &str = "the notes on this program cannot be read";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;
    use crate::refine::{Refined, unwatched};
    use crate::views::notes::{Entry, Estimate, State, Then, What};
    use crate::views::path::Path;
    use crate::views::top_down::TopDown;
    use crate::views::tree::RowId;

    fn path(profile: &Profile) -> Path {
        let refined = Refined::base(profile);
        let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
        let main = tree.children(&refined, RowId::ROOT)[0];
        tree.path(&refined, main)
    }

    fn of(command: &[&str], folder: &std::path::Path) -> (NotesFile, Path) {
        let mut profile = from_outline("main 3\n").unwrap();
        profile.info.run.directory = b"/home/me".to_vec();
        profile.info.run.command = command.iter().map(|word| word.as_bytes().to_vec()).collect();
        let folder = StateFolder::within(folder, &["notes"]);
        (NotesFile { folder, ..NotesFile::of(&profile) }, path(&profile))
    }

    fn say(file: &NotesFile, path: &Path, what: What) -> Result<Notes, String> {
        match file.change(&Change { path: path.clone(), what }) {
            (notes, None) => Ok(notes.unwrap()),
            (_, Some(cause)) => Err(cause),
        }
    }

    #[test]
    fn scripts_of_one_interpreter_have_notes_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let (one, path) = of(&["python3", "x.py", "5"], folder.path());
        let (two, _) = of(&["python3", "y.py", "5"], folder.path());
        let (again, _) = of(&["python3.12", "-B", "x.py", "7"], folder.path());
        say(&one, &path, What::Bookmark(true)).unwrap();
        assert_eq!([&one, &two, &again].map(|file| file.load().0.list.len()), [1, 0, 1]);
    }

    #[test]
    fn notes_of_an_interpreter_are_still_read() {
        let folder = tempfile::tempdir().unwrap();
        let (old, path) = of(&["python3"], folder.path());
        let command = ["python3", "x.py"].map(str::to_owned).to_vec();
        let then = Then { command, ..Then::default() };
        let entry = Entry { state: State::Understood, estimate: Estimate::Nothing, then };
        say(&old, &path, What::Entry { before: None, entry: Some(entry) }).unwrap();
        let (one, _) = of(&["python3", "x.py"], folder.path());
        let (two, _) = of(&["python3", "y.py"], folder.path());
        // The entry says which program it is about.
        assert_eq!([&one, &two].map(|file| file.load().0.list.len()), [1, 0]);
        let text = What::Text { before: String::new(), text: "why?".to_owned() };
        let kept = say(&one, &path, text).unwrap();
        assert_eq!((kept.program.as_str(), kept.list.len()), ("/home/me/x.py", 1));
        assert!(kept.list[0].entry.is_some() && one.load().0 == kept);
        assert!(old.load().0.list[0].text.is_empty(), "what was there stays as it was");
    }

    #[test]
    fn what_another_viewer_said_is_not_replaced_unseen() {
        let folder = tempfile::tempdir().unwrap();
        let (file, path) = of(&["./a"], folder.path());
        let seen = say(&file, &path, What::Bookmark(true)).unwrap().list[0].clone();
        let text =
            |before: &str, text: &str| What::Text { before: before.into(), text: text.into() };
        say(&file, &path, text("", "theirs")).unwrap();
        // This viewer still sees the bookmark alone.
        assert!(
            say(&file, &path, text("", "mine")).unwrap_err().contains("another viewer changed it")
        );
        assert!(say(&file, &path, What::Removed(Box::new(seen))).is_err());
        let left = say(&file, &path, What::Bookmark(false)).unwrap();
        assert_eq!(left.list[0].text, "theirs");
        let (notes, failed) = file.change(&Change { path, what: text("", "mine") });
        assert!(failed.is_some());
        assert_eq!(notes.unwrap(), left, "what is there is shown");
    }
}
