//! Phases that all processes of a run are told to be in: [slices of time](super::time_slices), and
//! those that `csprof control` begins while it goes on.
//!
//! The number of such a phase is in the control page, and what it is called in the run folder.

use std::collections::HashSet;
use std::io::{self, Write};
use std::ops::Range;
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
        Self { slices: TimeSlices::read(folder), asked: known(folder) }
    }

    /// All of them, when the run has gone on for so long.
    pub(super) fn named(&self, duration_ns: u64) -> Vec<RunPhase> {
        let slices = self.slices.iter().flat_map(|slices| slices.named(duration_ns));
        slices.chain(self.asked.iter().cloned()).collect()
    }
}

/// What [`asked`] finds of the folder's owner; none where it cannot be read.
fn known(folder: &Path) -> Vec<RunPhase> {
    asked(folder).unwrap_or_default()
}

/// Those that were asked for, in the order in which they began; lines that were cut off, or that
/// [`begin`] would not write, are passed over.
///
/// # Errors
///
/// Those of [`foreign_file::read`], but that there is no list.
fn asked(folder: &Path) -> io::Result<Vec<RunPhase>> {
    let text = match foreign_file::read(folder, PHASES, MOST_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        text => text?,
    };
    let (mut numbers, mut names) = (HashSet::new(), HashSet::new());
    let phase = |line: &str| {
        let mut parts = line.splitn(3, ' ');
        let number = parts.next()?.parse().ok().filter(|number| NUMBERS.contains(number))?;
        let start_ns = parts.next()?.parse().ok()?;
        let name = parts.next().filter(|name| is_name(name))?.to_owned();
        let is_new = !numbers.contains(&number) && !names.contains(&name);
        if is_new {
            numbers.insert(number);
            names.insert(name.clone());
        }
        is_new.then_some(RunPhase { number, name, start_ns })
    };
    Ok(whole_lines(&String::from_utf8_lossy(&text)).filter_map(phase).collect())
}

/// The lines that [`tell`] wrote to their end. Behind each of these the next one begins with an end
/// of line of its own; behind one that was cut off, also within its name, that ends what is there.
fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    let next = text.split('\n').skip(1);
    text.split('\n').zip(next).filter(|(_, next)| next.is_empty()).map(|(line, _)| line)
}

/// The numbers that they have; the root of a tree has room for no greater ones.
const NUMBERS: Range<u32> = FIRST_ASKED_PHASE..FIRST_ASKED_PHASE + MOST_PHASES as u32;
const _: () = assert!(MOST_PHASES as u32 <= FIRST_ASKED_PHASE && NUMBERS.end <= 1 << 24);

fn is_name(name: &str) -> bool {
    (1..=PHASE_NAME).contains(&name.len()) && !name.contains(char::is_control)
}

/// Has all processes of a run be in the phase of this name from now on; whether they were not
/// before.
///
/// # Errors
///
/// When there is no such name, or there are too many of them, or it cannot be told, or the run has
/// slices; and those of [`Control::pause`].
pub fn begin(folder: &Path, control: &Control, name: &str) -> Result<bool> {
    if !is_name(name) {
        bail!("the name of a phase has 1 to {PHASE_NAME} bytes, and no control characters");
    }
    control.change_phase(|| {
        let path = folder.join(PHASES);
        let cannot = || format!("{}: cannot be read", path.display());
        let begun = asked(folder).with_context(cannot)?;
        if let Some(known) = begun.iter().find(|phase| phase.name == name) {
            return Ok(known.number);
        }
        let last = begun.iter().map(|phase| phase.number).max();
        let number = last.map_or(NUMBERS.start, |last| last + 1);
        if !NUMBERS.contains(&number) {
            bail!("the run has {MOST_PHASES} phases already, as many as may be");
        }
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
/// When the run has slices; and those of [`Control::pause`].
pub fn end(control: &Control) -> Result<bool> {
    control.change_phase(|| Ok(0))
}

/// What the phase with this number is called, if it was asked for.
#[must_use]
pub fn name(folder: &Path, number: u32) -> Option<String> {
    known(folder).into_iter().find(|phase| phase.number == number).map(|phase| phase.name)
}

/// Adds a line to the list: one of its own also behind one that was cut off, for there was no room.
fn tell(folder: &Path, line: &str) -> Result<()> {
    let tell = || foreign_file::append(folder, PHASES)?.write_all(format!("\n{line}\n").as_bytes());
    tell().with_context(|| format!("{}: cannot be written", folder.join(PHASES).display()))
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
        // Lines that were cut off, wherever.
        let first = FIRST_ASKED_PHASE;
        let line = format!("\n{} 8 warm up\n", first + 1);
        for cut in 0..line.len() {
            fs::remove_file(run_dir.path().join(PHASES)).unwrap();
            let lines = format!("\n{first} 7 a\n{}", &line[..cut]);
            fs::write(run_dir.path().join(PHASES), lines).unwrap();
            assert_eq!(known(run_dir.path()).len(), 1, "{cut} bytes");
            end(&control).unwrap();
            assert!(begin(run_dir.path(), &control, "warm").unwrap());
            assert_eq!(control.state().unwrap().phase, first + 1);
            let names = known(run_dir.path()).into_iter().map(|phase| phase.name);
            assert_eq!(names.collect::<Vec<_>>(), ["a", "warm"], "{cut} bytes");
        }
        // A list that may be somebody else's is none to number phases by.
        fs::hard_link(run_dir.path().join(PHASES), run_dir.path().join("other")).unwrap();
        assert!(begin(run_dir.path(), &control, "c").is_err());
        assert_eq!(control.state().unwrap().phase, first + 1);
    }

    #[test]
    fn what_nobody_has_asked_for_is_passed_over() {
        let run_dir = RunDir::create().unwrap();
        let control = Control::create(&run_dir, Begins::Sampled).unwrap();
        let first = FIRST_ASKED_PHASE;
        let long = "x".repeat(PHASE_NAME + 1);
        let lines = format!(
            "{first} 1 a\n\n{first} 1 b\n\n{} 1 a\n\n{} 1 {long}\n\n{} 1 \u{1b}[31m\n\n7 1 c\n\n\
             {} 1 d\n\n{} 1 e\n",
            first + 1,
            first + 1,
            first + 1,
            u32::MAX,
            first + 2,
        );
        fs::write(run_dir.path().join(PHASES), lines).unwrap();
        let found = known(run_dir.path());
        let found: Vec<_> = found.iter().map(|phase| (phase.number, &*phase.name)).collect();
        assert_eq!(found, [(first, "a"), (first + 2, "e")]);
        for (number, asked) in (first + 3..).zip(["f", "b"]) {
            assert!(begin(run_dir.path(), &control, asked).unwrap());
            assert_eq!(control.state().unwrap().phase, number);
            assert_eq!(name(run_dir.path(), number).as_deref(), Some(asked));
        }
    }
}
