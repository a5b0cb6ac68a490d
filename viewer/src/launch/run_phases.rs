//! Phases that all processes of a run are told to be in: [slices of time](super::time_slices), and
//! those that `csprof control` begins while it goes on.
//!
//! The number of such a phase is in the control page, and what it is called in the run folder.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use csprof_format::arena::{MOST_PHASES, PHASE_NAME};
use csprof_format::launch::control::FIRST_ASKED_PHASE;

use super::control::Control;
use super::run_dir::PHASES;
use super::time_slices::{RunPhase, TimeSlices};
use super::{foreign_file, machine};

/// Most bytes of [`PHASES`] that are read: all that [`MOST_PHASES`] take.
const MOST_BYTES: u64 = 1 << 20;

/// Those that began.
#[derive(Clone, Debug, Default)]
pub struct RunPhases {
    slices: Option<TimeSlices>,
    asked: Vec<RunPhase>,
}

impl RunPhases {
    /// Those that a run folder tells of.
    pub(super) fn read(folder: &Path) -> Self {
        Self { slices: TimeSlices::read(folder), asked: asked(folder) }
    }

    /// All of them, when the run has gone on for so long.
    pub(super) fn named(&self, duration_ns: u64) -> Vec<RunPhase> {
        let slices = self.slices.iter().flat_map(|slices| slices.named(duration_ns));
        slices.chain(self.asked.iter().cloned()).collect()
    }
}

/// Those that were asked for, each once, in the order in which they began.
fn asked(folder: &Path) -> Vec<RunPhase> {
    let text = foreign_file::read(folder, PHASES, MOST_BYTES).unwrap_or_default();
    let phase = |line: &str| {
        let mut parts = line.splitn(3, ' ');
        let number = parts.next()?.parse().ok().filter(|&number| number >= FIRST_ASKED_PHASE)?;
        let start_ns = parts.next()?.parse().ok()?;
        let name = parts.next().filter(|name| !name.is_empty())?.to_owned();
        Some(RunPhase { number, name, start_ns })
    };
    String::from_utf8_lossy(&text).lines().filter_map(phase).collect()
}

/// Has all processes of a run be in the phase of this name from now on; whether they were not
/// before.
///
/// # Errors
///
/// When there is no such name, or there are too many of them, or it cannot be told; and those of
/// [`Control::pause`].
pub fn begin(folder: &Path, control: &Control, name: &str) -> Result<bool> {
    if name.is_empty() || name.len() > PHASE_NAME || name.contains(char::is_control) {
        bail!("the name of a phase has 1 to {PHASE_NAME} bytes, and no control characters");
    }
    control.change_phase(|| {
        let begun = asked(folder);
        if let Some(known) = begun.iter().find(|phase| phase.name == name) {
            return Ok(known.number);
        }
        if begun.len() >= MOST_PHASES {
            bail!("the run has {MOST_PHASES} phases already, as many as may be");
        }
        let number = begun.last().map_or(FIRST_ASKED_PHASE, |last| last.number.saturating_add(1));
        // First what it is, then that samples are in it.
        tell(folder, &format!("{number} {} {name}", machine::monotonic_ns()))?;
        Ok(number)
    })
}

/// Ends the phase that [`begin`] began: from now on each process is in what it has begun itself.
/// Whether there was one.
///
/// # Errors
///
/// Those of [`Control::pause`].
pub fn end(control: &Control) -> Result<bool> {
    control.change_phase(|| Ok(0))
}

/// What the phase with this number is called, if it was asked for.
#[must_use]
pub fn name(folder: &Path, number: u32) -> Option<String> {
    asked(folder).into_iter().find(|phase| phase.number == number).map(|phase| phase.name)
}

/// Adds a line to the list. For root the folder may be another user's, who must not have it write
/// to a file that lies elsewhere.
fn tell(folder: &Path, line: &str) -> Result<()> {
    let path = folder.join(PHASES);
    let tell = || {
        let mut options = OpenOptions::new();
        let mut file = foreign_file::open(options.append(true).create(true), &path)?;
        if file.metadata()?.nlink() != 1 {
            return Err(std::io::Error::other("it has another name elsewhere"));
        }
        // A line of its own also behind one that was cut off, for there was no room.
        file.write_all(format!("\n{line}\n").as_bytes())
    };
    tell().with_context(|| format!("{}: cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::control::Begins;
    use super::super::run_dir::{RunDir, SLICES};
    use super::*;

    #[test]
    fn phases_have_one_number_each_and_are_found_in_the_folder() {
        let run_dir = RunDir::create().unwrap();
        let folder = run_dir.path();
        let control = Control::create(&run_dir, Begins::Sampled).unwrap();
        let present = || control.state().unwrap().phase;
        assert!(!end(&control).unwrap());
        let mut numbers = Vec::new();
        for (phase, changes) in
            [("warm up", true), ("warm up", false), ("s", true), ("warm up", true)]
        {
            assert_eq!(begin(folder, &control, phase).unwrap(), changes);
            assert_eq!(name(folder, present()).as_deref(), Some(phase));
            numbers.push(present());
        }
        let first = FIRST_ASKED_PHASE;
        assert_eq!(numbers, [first, first, first + 1, first]);
        assert!(end(&control).unwrap() && present() == 0);
        let phases = RunPhases::read(folder).named(0);
        let names: Vec<_> = phases.iter().map(|of| (of.number, &*of.name)).collect();
        assert_eq!(names, [(first, "warm up"), (first + 1, "s")]);
        assert!(phases[0].start_ns > 0 && phases.is_sorted_by_key(|phase| phase.start_ns));

        for wrong in ["", "a\nb", &"x".repeat(PHASE_NAME + 1)] {
            let refused = begin(folder, &control, wrong).unwrap_err().to_string();
            assert!(refused.starts_with("the name of a phase has"), "{refused}");
        }
        control.stop("").unwrap();
        assert!(begin(folder, &control, "late").is_err() && end(&control).is_err());
    }

    #[test]
    fn a_run_with_slices_has_no_others() {
        let run_dir = RunDir::create().unwrap();
        let control = Control::create(&run_dir, Begins::Sampled).unwrap();
        control.begin_slice(3).unwrap();
        let refused = begin(run_dir.path(), &control, "steady").unwrap_err().to_string();
        assert!(refused.contains("--slice"), "{refused}");
        assert!(end(&control).is_err());
        assert_eq!(control.state().unwrap().phase, 3);
        fs::write(run_dir.path().join(SLICES), "1000000000\n1 7\n").unwrap();
        assert_eq!(RunPhases::read(run_dir.path()).named(1)[0].name, "0s..1s");
    }

    #[test]
    fn what_cannot_be_told_does_not_begin() {
        let run_dir = RunDir::create().unwrap();
        let control = Control::create(&run_dir, Begins::Sampled).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let target = elsewhere.path().join("target");
        fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, run_dir.path().join(PHASES)).unwrap();
        assert!(begin(run_dir.path(), &control, "steady").is_err());
        assert_eq!(control.state().unwrap().phase, 0);
        assert_eq!(fs::read_to_string(&target).unwrap(), "");
        // Lines that were cut off.
        fs::remove_file(run_dir.path().join(PHASES)).unwrap();
        let first = FIRST_ASKED_PHASE;
        let lines = format!("\n{first} 7 a\n\n6553\n{} 8\n", first + 1);
        fs::write(run_dir.path().join(PHASES), lines).unwrap();
        assert!(begin(run_dir.path(), &control, "b").unwrap());
        assert_eq!(control.state().unwrap().phase, first + 1);
        assert_eq!(asked(run_dir.path()).len(), 2);
    }
}
