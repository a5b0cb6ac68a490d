//! Where a profile was left: what `csprof view` keeps between one time and the next.

use std::cell::RefCell;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::progress::Progress;
use crate::print::printable;
use crate::profile::Profile;
use crate::refine::{Refined, Sets, Watch};
use crate::state::{StateFolder, file_name};
use crate::tui::saved_screen::{SavedScreen, Unfit};
use crate::tui::stages::Stages;

/// What is said of a file that is damaged, or is not the user's alone.
const UNREADABLE: &str = "where this profile was left cannot be read";

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
    pub(super) fn screen(&self, profile: &Profile) -> Result<Option<SavedScreen>, String> {
        let text = self.folder.read(&self.name);
        let text = text.map_err(|cause| format!("{UNREADABLE}: {cause}"))?;
        let Some(text) = text else { return Ok(None) };
        match SavedScreen::read(&text, profile) {
            Ok(screen) => Ok(Some(screen)),
            Err(Unfit::Unreadable) => Err(UNREADABLE.to_owned()),
            Err(Unfit::OtherProgram) => {
                Err("this file was a profile of another program before; it opens as at first"
                    .into())
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

/// A profile refined by the stages of a screen.
pub(super) struct Resumed {
    pub(super) refined: Refined,
    /// All its stages. Those that do not apply to the profile any more are off.
    pub(super) stages: Stages,
    /// Which ones these are.
    pub(super) unfit: Vec<String>,
}

/// The profile, given without stages, refined by those of a screen, but for those that do not
/// apply to it any more.
pub(super) fn resumed(screen: &SavedScreen, base: &Refined, sets: &Sets) -> Option<Resumed> {
    let mut stages = screen.stages()?;
    let mut refined = base.clone();
    let mut unfit = Vec::new();
    let count = stages.0.len();
    // Of a large profile it takes a moment.
    let progress = RefCell::new(Progress::new("refining as it was left"));
    for (number, stage) in stages.0.iter_mut().enumerate().filter(|(_, stage)| stage.on) {
        let tell = |done: f64| {
            let tenths = ((number as f64 + done) * 1000.0) as usize;
            progress.borrow_mut().report(tenths, count * 1000);
        };
        tell(0.0);
        let next = sets.parse(&stage.text).ok().and_then(|read| {
            refined.clone().refine(&read.stages, &Watch::none().reporting(&tell)).ok()
        });
        match next {
            // As at the prompt, a stage that leaves nothing changes nothing.
            Some(next) if next.shown > 0 || refined.shown == 0 => refined = next,
            _ => {
                stage.on = false;
                unfit.push(stage.text.clone());
            }
        }
    }
    Some(Resumed { refined, stages, unfit })
}

/// What to say of stages that do not apply any more.
pub(super) fn remark(unfit: &[String]) -> Option<String> {
    let (first, others) = unfit.split_first()?;
    let first = format!("switched off, since it does not apply any more: `{}`", printable(first));
    Some(match others.len() {
        0 => format!("{first} (F lists the stages)"),
        more => format!("{first}, and {more} more (F lists the stages)"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::from_outline;

    #[test]
    fn stages_that_do_not_apply_are_kept_and_named() {
        let profile = from_outline("main 3\n  solve 4\n").unwrap();
        let about = SavedScreen::begun(
            &profile,
            &[("hide gone", true), ("hide solve", true), ("sing", true), ("hide lost", false)],
        );
        let Resumed { refined, stages, unfit } =
            resumed(&about, &Refined::base(&profile), &Sets::default()).unwrap();
        assert_eq!(refined.outcomes.len(), 1);
        let kept: Vec<_> = stages.0.iter().map(|stage| (stage.text.as_str(), stage.on)).collect();
        let off = |text| (text, false);
        assert_eq!(kept, [off("hide gone"), ("hide solve", true), off("sing"), off("hide lost")]);
        assert_eq!(unfit, ["hide gone", "sing"]);
        let said = remark(&unfit).unwrap();
        assert!(said.contains("`hide gone`, and 1 more"), "{said}");
        assert_eq!(remark(&[]), None);
    }
}
