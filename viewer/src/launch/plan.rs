//! When a run is sampled: what `record` does to the [control page](super::control) by itself.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use csprof_format::launch::{PHASE_FUNCTIONS, PhaseFunction};
use nix::sys::signal::Signal;

use super::control::{Begins, Control};
use super::run_dir::RunDir;
use super::time_slices::Slicer;

/// When a run is sampled, as it was asked for before its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Sampling begins so long after the program.
    pub delay: Option<Duration>,
    /// And ends for good so long after that.
    pub duration: Option<Duration>,
    /// It begins when somebody asks for it.
    pub paused: bool,
    /// A signal to csprof that pauses or resumes it.
    pub toggle: Option<Signal>,
    /// It ends for good when the arenas have so many bytes, all together.
    pub most_bytes: Option<u64>,
    /// Length of the slices of time that it has, each a phase.
    pub slice: Option<Duration>,
    /// Functions of which each entry begins a phase.
    pub phase_functions: Vec<PhaseFunction>,
}

impl Plan {
    /// How the run begins.
    #[must_use]
    pub fn begins(&self) -> Begins {
        match self.paused || self.delay.is_some_and(|delay| !delay.is_zero()) {
            true => Begins::Paused,
            false => Begins::Sampled,
        }
    }

    /// Leaves in the folder of a run that has no process yet what its processes look for.
    pub(super) fn tell_functions(&self, run_dir: &RunDir) -> Result<()> {
        if self.phase_functions.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = self.phase_functions.iter().map(ToString::to_string).collect();
        let path = run_dir.arenas().join(PHASE_FUNCTIONS);
        symlink(lines.join("\n"), &path)
            .with_context(|| format!("{}: cannot be written", path.display()))
    }
}

/// A plan that is being carried out.
#[derive(Debug)]
pub(super) struct Carried<'a> {
    plan: Plan,
    control: &'a Control,
    run_dir: &'a RunDir,
    slicer: Option<Slicer<'a>>,
    start: Instant,
}

impl<'a> Carried<'a> {
    /// The program, with its slices, has just begun.
    pub(super) fn out(
        plan: Plan,
        control: &'a Control,
        run_dir: &'a RunDir,
        slicer: Option<Slicer<'a>>,
    ) -> Self {
        let delay = plan.delay.filter(|delay| !delay.is_zero());
        Self { plan: Plan { delay, ..plan }, control, run_dir, slicer, start: Instant::now() }
    }

    /// Does what is due. A change that fails is told of by nobody: who has the run folder is about
    /// to find that it cannot be written to.
    pub(super) fn step(&mut self) {
        self.slicer.iter_mut().for_each(Slicer::step);
        let passed = self.start.elapsed();
        if self.plan.delay.is_some_and(|delay| passed >= delay) {
            let _ = self.control.resume();
            self.plan.delay = None;
            self.start = Instant::now();
        } else if self.plan.delay.is_none() && self.plan.duration.is_some_and(|end| passed >= end) {
            let _ = self.control.stop(" as --duration asked");
            self.plan.duration = None;
        }
        if self.plan.most_bytes.is_some_and(|most| self.run_dir.bytes() >= most) {
            let _ = self.control.stop(" as --max-size asked");
            self.plan.most_bytes = None;
        }
    }

    /// How long until something may be due, `most` at most.
    pub(super) fn next(&self, most: Duration) -> Duration {
        let due = self.plan.delay.or(self.plan.duration);
        let due = due.map(|due| due.saturating_sub(self.start.elapsed()));
        let slice = self.slicer.as_ref().map(Slicer::next);
        due.into_iter().chain(slice).fold(most, Duration::min)
    }
}
