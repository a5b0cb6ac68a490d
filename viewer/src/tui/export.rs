//! Writing what is on the screen: into which file, in which form.
//!
//! What is written is what a command line gives, as that of `:repro`, so this is about words. Who
//! runs the viewer knows what they mean.

use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use super::message::{Completion, Notice};
use crate::export::format::Format;
use crate::export::table::{Table, TableForm};
use crate::export::{FORMATS, html};
use crate::profile::name_of_file;
use crate::views::number::{Form, bytes};
use csprof_format::whole_file::{self, Existing};

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportForm {
    /// Rows for people.
    Text,
    /// Rows for spreadsheets.
    Csv,
    /// Rows for scripts.
    Json,
    /// All call paths.
    Paths(&'static Format),
}

/// All forms.
pub(super) fn all() -> impl Iterator<Item = ExportForm> {
    let rows = [ExportForm::Text, ExportForm::Csv, ExportForm::Json];
    FORMATS.into_iter().map(ExportForm::Paths).chain(rows)
}

impl ExportForm {
    /// What `--format` calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Paths(format) => format.name,
        }
    }

    /// The same of a table, which is no picture.
    #[must_use]
    pub fn of_table(&self) -> Option<TableForm> {
        match self {
            Self::Text => Some(TableForm::Text),
            Self::Csv => Some(TableForm::Csv),
            Self::Json => Some(TableForm::Json),
            Self::Paths(format) if **format == html::FORMAT => Some(TableForm::Html),
            Self::Paths(_) => None,
        }
    }

    /// What a table in this form is.
    #[must_use]
    pub fn help_of_table(self) -> &'static str {
        match self {
            Self::Paths(_) => "the rows of the screen as a page for a browser",
            Self::Text | Self::Csv | Self::Json => self.help(),
        }
    }

    /// A table in this form.
    ///
    /// # Errors
    /// It is none of tables.
    pub fn of(&self, table: &Table) -> Result<Vec<u8>, String> {
        let form = self.of_table().ok_or("this is no form of tables")?;
        table.written(form).map_err(|error| error.to_string())
    }

    /// How names of its files end.
    const fn ending(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Csv | Self::Json | Self::Paths(_) => self.name(),
        }
    }

    /// What it is.
    pub(super) const fn help(self) -> &'static str {
        match self {
            Self::Text => "the rows of the screen as text",
            Self::Csv => "the rows of the screen for spreadsheets",
            Self::Json => "the rows of the screen for scripts",
            Self::Paths(format) => format.help,
        }
    }
}

/// Where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Into a file.
    File {
        /// The file.
        path: PathBuf,
        /// Whether it is replaced if it exists.
        replaces: bool,
    },
    /// On the user's clipboard.
    Clipboard,
}

/// What stands for the clipboard.
const CLIPBOARD: &str = "clipboard";

/// Most bytes for the clipboard: what they become in base 64 is what xterm and others still take.
const MOST_COPIED: usize = 74_994;

/// What a person wrote: a file by whose ending the form is chosen, or `clipboard`; behind `!` if a
/// file is to be replaced.
///
/// # Errors
/// The byte at which the trouble is, and what it is.
pub fn parse(text: &str) -> Result<(ExportForm, Target), (usize, String)> {
    let trimmed = text.trim();
    let (replaces, name) = match trimmed.strip_prefix('!') {
        Some(name) => (true, name.trim_start()),
        None => (false, trimmed),
    };
    if name == CLIPBOARD {
        return Ok((ExportForm::Text, Target::Clipboard));
    }
    let (rest, to_clipboard) = match name.strip_prefix("clipboard.") {
        Some(form) => (form, true),
        None => (name.rsplit_once('.').map_or("", |(_, ending)| ending), false),
    };
    match all().find(|form| form.ending().eq_ignore_ascii_case(rest)) {
        Some(form) if to_clipboard => Ok((form, Target::Clipboard)),
        Some(form) => Ok((form, Target::File { path: path(name), replaces })),
        None => {
            let endings: Vec<_> = all().map(|form| format!(".{}", form.ending())).collect();
            let cause = format!("a file ends in {}; or `clipboard`", endings.join(", "));
            Err((text.len() - text.trim_start().len(), cause))
        }
    }
}

/// The file of this name; `~` is the user's folder.
fn path(name: &str) -> PathBuf {
    match (name.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(name),
    }
}

/// What a line that begins so could become: files that are called as the profile is, in the forms
/// in which this screen can be written, with what each is.
pub(super) fn completions(
    profile: &str,
    text: &str,
    forms: &[(ExportForm, &'static str)],
) -> Vec<Completion> {
    let base = name_of_file(profile);
    let stem = base.strip_suffix(".csprof").unwrap_or(base);
    let files = forms.iter().map(|(form, help)| (format!("{stem}.{}", form.ending()), *help));
    let has_text = forms.iter().any(|(form, _)| *form == ExportForm::Text);
    let clipboard = (CLIPBOARD.to_owned(), "the rows as text, if the terminal takes OSC 52");
    let names = files.chain(has_text.then_some(clipboard));
    let fitting = names.filter(|(name, _)| name.starts_with(text));
    fitting.map(|(text, note)| Completion { text, note: note.to_owned() }).collect()
}

/// Puts what was written, which is this in words, where it is to go. Returns what to copy, and what
/// to say.
pub(super) fn put(
    written: Result<Vec<u8>, String>,
    target: &Target,
    what: &str,
    read: &[String],
) -> (Option<String>, Notice) {
    let size = |text: &[u8]| bytes(text.len() as u64, Form::Unicode);
    let text = match written {
        Ok(text) => text,
        Err(cause) => return (None, Notice::Failed(cause)),
    };
    match target {
        Target::Clipboard if text.len() > MOST_COPIED => {
            let most = bytes(MOST_COPIED as u64, Form::Unicode);
            let cause = format!("{} are too much for the clipboard: {most}", size(&text));
            (None, Notice::Failed(format!("{cause}; write a file")))
        }
        Target::Clipboard => {
            let said = format!("copied {}, if this terminal takes OSC 52", size(&text));
            (Some(String::from_utf8_lossy(&text).into_owned()), Notice::Said(said))
        }
        Target::File { path, replaces } => {
            let name = path.display();
            // It would be waited for until somebody reads.
            let is_pipe = |about: std::fs::Metadata| about.file_type().is_fifo();
            if std::fs::metadata(path).is_ok_and(is_pipe) {
                return (
                    None,
                    Notice::Failed(format!("{name} is a pipe; csprof export -o writes to it")),
                );
            }
            if read.iter().any(|of| whole_file::is_same(Path::new(of), path)) {
                return (None, Notice::Failed(format!("{name} is the profile; name another file")));
            }
            let existing = if *replaces { Existing::Replaced } else { Existing::Kept };
            let notice = match whole_file::save(path, existing, |file| file.write_all(&text)) {
                Ok(()) => Notice::Said(format!("{name}, {}: {what}", size(&text))),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Notice::Failed(format!("{name} exists; :export! {name} replaces it"))
                }
                Err(error) => Notice::Failed(format!("{name} is not written: {error}")),
            };
            (None, notice)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_ending_says_the_form() {
        let file = |path: &str, replaces| Target::File { path: path.into(), replaces };
        for (text, form, target) in [
            ("a.txt", ExportForm::Text, file("a.txt", false)),
            (" runs/a b.CSV ", ExportForm::Csv, file("runs/a b.CSV", false)),
            ("! a.json", ExportForm::Json, file("a.json", true)),
            ("!a.b.svg", ExportForm::Paths(FORMATS[1]), file("a.b.svg", true)),
            ("clipboard", ExportForm::Text, Target::Clipboard),
            ("clipboard.csv", ExportForm::Csv, Target::Clipboard),
            ("./clipboard.csv", ExportForm::Csv, file("./clipboard.csv", false)),
        ] {
            assert_eq!(parse(text), Ok((form, target)), "{text}");
        }
        for wrong in ["", "!", "a", "a.csprof", "svg", "a.svg/", ".."] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_file_is_replaced_only_if_it_was_said_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let put = |replaces, text: &str| {
            let target = Target::File { path: path.clone(), replaces };
            let read = [folder.path().join("profile").display().to_string()];
            put(Ok(text.as_bytes().to_vec()), &target, ExportForm::Text.help(), &read).1
        };
        assert!(matches!(put(false, "one"), Notice::Said(_)));
        let Notice::Failed(cause) = put(false, "two") else { panic!() };
        assert!(cause.contains(":export! "), "{cause}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        assert!(matches!(put(true, "two"), Notice::Said(_)));
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        fs::hard_link(&path, folder.path().join("profile")).unwrap();
        assert!(matches!(put(true, "three"), Notice::Failed(_)));
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
    }

    #[test]
    fn the_clipboard_has_an_end() {
        let copied =
            |bytes| put(Ok(vec![b'x'; bytes]), &Target::Clipboard, ExportForm::Text.help(), &[]);
        assert_eq!(copied(MOST_COPIED).0.map(|text| text.len()), Some(MOST_COPIED));
        assert!(matches!(copied(MOST_COPIED + 1), (None, Notice::Failed(_))));
    }
}
