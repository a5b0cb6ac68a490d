//! Where a profile was left: what `csprof view` keeps between one time and the next.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use crate::profile::Profile;
use crate::refine::{Refined, Sets};
use crate::state::{StateFolder, file_name};
use crate::tui::saved_screen::{SavedScreen, Unfit};
use crate::tui::stages::Stages;

/// Profiles whose screen is kept.
const MOST_PROFILES: usize = 200;

/// The place of what is kept of some files that are opened together.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    folder: StateFolder,
    name: String,
}

impl Memory {
    /// The place for these files, opened in this `way`. `None` if nothing can be kept of them: they
    /// are no files, such as a pipe, or there is no folder for it.
    pub(super) fn of(files: &[PathBuf], way: &str) -> Option<Self> {
        let folder = StateFolder::of("views")?;
        let mut key = way.as_bytes().to_vec();
        for file in files {
            let path = fs::canonicalize(file).ok()?;
            if file.as_os_str() == "-" || !fs::metadata(&path).ok()?.is_file() {
                return None;
            }
            key.push(0);
            key.extend(path.as_os_str().as_bytes());
        }
        Some(Self { folder, name: file_name(&key) })
    }

    /// The screen that was left, or why there is none that fits.
    pub(super) fn screen(&self, profile: &Profile) -> Result<Option<SavedScreen>, &'static str> {
        let Ok(text) = self.folder.read(&self.name) else {
            return Err("where this profile was left cannot be read");
        };
        let Some(text) = text else { return Ok(None) };
        match SavedScreen::read(&text, profile) {
            Ok(screen) => Ok(Some(screen)),
            Err(Unfit::Unreadable) => Err("where this profile was left cannot be read"),
            Err(Unfit::OtherProgram) => {
                Err("this file was a profile of another program before; it opens as at first")
            }
        }
    }

    /// Keeps a screen. What cannot be kept is forgotten: nothing depends on it.
    pub(super) fn keep(&self, screen: &SavedScreen) {
        if self.folder.replace(&self.name, &screen.text()).is_ok() {
            let _ = self.folder.keep_newest(MOST_PROFILES);
        }
    }
}

/// The profile refined by the stages of a screen, but for those that do not apply to it any more.
pub(super) fn refined(
    screen: &SavedScreen,
    profile: &Profile,
    sets: &Sets,
) -> Option<(Refined, Stages, usize)> {
    let all = screen.stages()?;
    let mut refined = Refined::base(profile);
    let mut kept = Stages::default();
    let before = all.0.len();
    for stage in all.0 {
        let Ok(read) = sets.parse(&stage.text) else { continue };
        if stage.on {
            match refined.clone().refine_unwatched(&read.stages) {
                // As at the prompt, a stage that leaves nothing changes nothing.
                Ok(next) if next.shown > 0 || refined.shown == 0 => refined = next,
                _ => continue,
            }
        }
        kept.0.push(stage);
    }
    let gone = before - kept.0.len();
    Some((refined, kept, gone))
}
