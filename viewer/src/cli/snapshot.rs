//! The profile of what a run has sampled so far, while it goes on.

use anyhow::{Result, bail};

use super::closing::{resolve, summary, tell, told_of_cache};
use crate::launch::output::Output;
use crate::launch::running::{Running, Snapshot};
use crate::profile::Profile;
use crate::symbols::files::DiskFiles;

/// Saves what a run has sampled up to here, with names if `with_symbols`, and says so. Returns how
/// many files of it could not be read.
///
/// # Errors
///
/// When the run has ended, has no process yet, will save its own profile there, or the profile
/// cannot be saved.
pub(super) fn save_snapshot(run: &Running, output: &Output, with_symbols: bool) -> Result<usize> {
    if let Some(own) = run.output.as_deref().filter(|own| output.is_same_file(own)) {
        bail!(
            "{}: here the run saves its whole profile when it ends, in the place of what is there \
             then; choose another name",
            own.display()
        );
    }
    let snapshot = run.read()?;
    if snapshot.profile.processes.is_empty() {
        bail!("{run}: no process of it is sampled yet");
    }
    let unread = snapshot.unread;
    save(snapshot, output, with_symbols)?;
    Ok(unread)
}

/// Saves what was gathered, with names if `with_symbols`, and says so.
///
/// # Errors
///
/// When the profile cannot be saved.
pub(super) fn save(snapshot: Snapshot, output: &Output, with_symbols: bool) -> Result<()> {
    let Snapshot { mut profile, copies, .. } = snapshot;
    let files = DiskFiles::from_environment(&[]).and_copies(copies);
    if with_symbols {
        let warnings = resolve(&mut profile, &files, &|| false);
        profile.run.warnings.extend(warnings);
    }
    let path = output.save(&profile)?;
    files.remember();
    tell(&told_of_cache());
    tell(&summary(&path, &Profile::from_saved(profile)));
    Ok(())
}
