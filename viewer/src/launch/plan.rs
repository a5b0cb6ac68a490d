//! When a run is sampled: what `record` does to the [control page](super::control) by itself.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::control::{Begins, Control};
use super::run_dir::RunDir;

/// When a run is sampled, as it was asked for before its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
}

/// A plan that is being carried out.
#[derive(Debug)]
pub(super) struct Carried<'a> {
    plan: Plan,
    control: &'a Control,
    run_dir: &'a RunDir,
    start: Instant,
}

impl<'a> Carried<'a> {
    /// The program has just begun.
    pub(super) fn out(plan: Plan, control: &'a Control, run_dir: &'a RunDir) -> Self {
        let delay = plan.delay.filter(|delay| !delay.is_zero());
        Self { plan: Plan { delay, ..plan }, control, run_dir, start: Instant::now() }
    }

    /// Does what is due. A change that fails is told of by nobody: who has the run folder is about
    /// to find that it cannot be written to.
    pub(super) fn step(&mut self) {
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
        due.map_or(most, |due| due.saturating_sub(self.start.elapsed())).min(most)
    }
}
