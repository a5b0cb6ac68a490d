//! The [control page](csprof_format::launch::control) from the side of those who change it, and the
//! list of changes beside it, for who reads the profile.

use std::fmt;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use csprof_format::launch::MAX_SOURCES;
use csprof_format::launch::control::{
    CONTROL, CONTROL_BYTES, CONTROL_MAGIC, ControlPage, FIRST_ASKED_PHASE, PAUSED, RATE, RunClock,
};

use super::foreign_file;
use super::machine;
use super::run_dir::{CHANGES, RunDir};

/// Most bytes of it that are read: 100 000 lines.
const MOST_BYTES: u64 = 8 << 20;

/// Most changes that are told one by one.
const MOST_TOLD: usize = 8;

/// The control page of a run, open to be changed.
#[derive(Debug)]
pub struct Control {
    file: File,
    folder: PathBuf,
}

/// How a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// Each process is sampled from its start.
    Sampled,
    /// Paused.
    Paused,
    /// Paused, and nobody waits for its end.
    Prepared,
}

/// What is in the page.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// The time of the run without pauses.
    pub clock: RunClock,
    /// Whether sampling has ended for good.
    pub is_stopped: bool,
    /// How often sampling was begun or resumed.
    pub begun: u32,
    /// Whether nobody waits for its end.
    pub is_prepared: bool,
    /// What `begun` was when all that it had was last saved.
    pub saved: u32,
    /// Of each source, periods from one sample to the next. At least 1.
    pub every: [u32; MAX_SOURCES],
    /// Number of the phase that all processes are told to be in; 0 if in none.
    pub phase: u32,
}

/// A change of the page that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sampling of this run was stopped for good")
    }
}

impl std::error::Error for Stopped {}

impl Control {
    /// Makes the page of a run that has no process yet.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn create(run_dir: &RunDir, begins: Begins) -> Result<Self> {
        let path = run_dir.arenas().join(CONTROL);
        let make = || {
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
            // Written to its end, so that each byte of it is there for who has mapped it.
            file.write_all_at(&[0; CONTROL_BYTES], 0)?;
            file.write_all_at(&CONTROL_MAGIC.to_le_bytes(), 0)?;
            // Processes that have dropped root's privileges read it, too.
            file.set_permissions(Permissions::from_mode(0o644))?;
            io::Result::Ok(file)
        };
        let file = make().with_context(|| format!("{}: cannot be written", path.display()))?;
        let control = Self { file, folder: run_dir.path().to_owned() };
        if begins == Begins::Sampled {
            control.put_u32(std::mem::offset_of!(ControlPage, begun), 1)?;
            return Ok(control);
        }
        let is_prepared = u32::from(begins == Begins::Prepared);
        control.put_u32(std::mem::offset_of!(ControlPage, prepared), is_prepared)?;
        control.pause()?;
        Ok(control)
    }

    /// Opens the page of a run.
    ///
    /// # Errors
    ///
    /// When there is none, or it is not this version's.
    pub fn open(run_dir: &RunDir) -> Result<Self> {
        let path = run_dir.arenas().join(CONTROL);
        let file = foreign_file::open(OpenOptions::new().read(true).write(true), &path);
        let file = file.with_context(|| {
            format!("{}: the run has nothing to control it by", run_dir.path().display())
        })?;
        let control = Self { file, folder: run_dir.path().to_owned() };
        if control.u64(0)? != CONTROL_MAGIC {
            bail!("{}: is of another version of csprof", path.display());
        }
        Ok(control)
    }

    /// What is in the page.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn state(&self) -> Result<State> {
        let mut every = [1; MAX_SOURCES];
        let first = std::mem::offset_of!(ControlPage, every);
        for (number, every) in every.iter_mut().enumerate() {
            *every = self.u32(first + 4 * number)?.max(1);
        }
        Ok(State {
            clock: RunClock(self.u64(std::mem::offset_of!(ControlPage, clock))?),
            is_stopped: self.u32(std::mem::offset_of!(ControlPage, stopped))? != 0,
            begun: self.u32(std::mem::offset_of!(ControlPage, begun))?,
            is_prepared: self.u32(std::mem::offset_of!(ControlPage, prepared))? != 0,
            saved: self.u32(std::mem::offset_of!(ControlPage, saved))?,
            every,
            phase: self.u32(std::mem::offset_of!(ControlPage, phase))?,
        })
    }

    /// Pauses sampling; whether it was not before.
    ///
    /// # Errors
    ///
    /// When the page cannot be written, or sampling was [`Stopped`].
    pub fn pause(&self) -> Result<bool> {
        self.change(|clock, now_ns| clock.pause(now_ns), "paused")
    }

    /// Resumes sampling; whether it was paused before.
    ///
    /// # Errors
    ///
    /// As [`pause`](Self::pause).
    pub fn resume(&self) -> Result<bool> {
        self.change(|clock, now_ns| clock.resume(now_ns), "resumed")
    }

    /// Ends sampling for good, `because`.
    ///
    /// # Errors
    ///
    /// As [`pause`](Self::pause).
    pub fn stop(&self, because: &str) -> Result<()> {
        let text = format!("stopped{because}");
        // One lock over both: nobody resumes it in between.
        let _locked = self.locked()?;
        if !self.change_locked(|clock, now_ns| clock.pause(now_ns), &text)? {
            self.note(&text);
        }
        self.put_u32(std::mem::offset_of!(ControlPage, stopped), 1)
    }

    /// Notes that all was saved that the run had, if it is paused.
    ///
    /// # Errors
    ///
    /// As [`pause`](Self::pause).
    pub fn note_saved(&self) -> Result<()> {
        let _locked = self.locked()?;
        let state = self.state()?;
        if state.clock.is_paused() {
            self.put_u32(std::mem::offset_of!(ControlPage, saved), state.begun)?;
        }
        Ok(())
    }

    /// Has a source be sampled once in `every` of its periods; `text` says it to people.
    ///
    /// # Errors
    ///
    /// As [`pause`](Self::pause).
    pub fn set_rate(&self, metric: usize, every: u32, text: &str) -> Result<()> {
        let _locked = self.locked()?;
        let first = std::mem::offset_of!(ControlPage, every);
        self.put_u32(first + 4 * metric.min(MAX_SOURCES - 1), every)?;
        self.note(text);
        Ok(())
    }

    /// Has all that is sampled from now on be in the slice of time with this number.
    ///
    /// # Errors
    ///
    /// When the page cannot be written.
    pub(super) fn begin_slice(&self, number: u32) -> Result<()> {
        self.put_u32(std::mem::offset_of!(ControlPage, phase), number)
    }

    /// Has all that is sampled from now on be in the phase with the number that `choose` makes; 0
    /// if in those of the processes' own. Nobody else chooses one meanwhile. Whether it was in
    /// another before.
    ///
    /// # Errors
    ///
    /// When the run has slices, or `choose` fails; and as [`pause`](Self::pause).
    pub(super) fn change_phase(&self, choose: impl FnOnce() -> Result<u32>) -> Result<bool> {
        let _locked = self.locked()?;
        let before = self.state()?.phase;
        if (1..FIRST_ASKED_PHASE).contains(&before) {
            bail!("the run has slices of time (--slice) in the place of phases");
        }
        let number = choose()?;
        self.put_u32(std::mem::offset_of!(ControlPage, phase), number)?;
        Ok(number != before)
    }

    fn change(&self, of: impl Fn(RunClock, u64) -> RunClock, text: &str) -> Result<bool> {
        let _locked = self.locked()?;
        self.change_locked(of, text)
    }

    /// The same, of who holds the lock.
    fn change_locked(&self, of: impl Fn(RunClock, u64) -> RunClock, text: &str) -> Result<bool> {
        let state = self.state()?;
        let now_ns = machine::monotonic_ns();
        let clock = of(state.clock, now_ns);
        if clock == state.clock {
            return Ok(false);
        }
        // In the order that readers rely on: see `ControlPage::clock`.
        self.put_u64(std::mem::offset_of!(ControlPage, changed_ns), now_ns)?;
        self.put_u64(std::mem::offset_of!(ControlPage, clock_again), clock.0)?;
        self.put_u64(std::mem::offset_of!(ControlPage, clock), clock.0)?;
        if !clock.is_paused() {
            let begun = state.begun.saturating_add(1);
            self.put_u32(std::mem::offset_of!(ControlPage, begun), begun)?;
        }
        self.note(text);
        Ok(true)
    }

    /// Locked until what this returns is dropped.
    fn locked(&self) -> Result<impl Drop> {
        struct Locked<'a>(&'a File);
        impl Drop for Locked<'_> {
            fn drop(&mut self) {
                let _ = self.0.unlock();
            }
        }
        self.file.lock().context("the control page of the run cannot be locked")?;
        let locked = Locked(&self.file);
        if self.u32(std::mem::offset_of!(ControlPage, stopped))? != 0 {
            return Err(Stopped.into());
        }
        Ok(locked)
    }

    /// Adds to the list of changes; without it, the run is the same.
    fn note(&self, text: &str) {
        if let Ok(mut file) = foreign_file::append(&self.folder, CHANGES) {
            let _ = writeln!(file, "{} {text}", machine::monotonic_ns());
        }
    }

    fn u64(&self, offset: usize) -> Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, offset as u64)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn u32(&self, offset: usize) -> Result<u32> {
        let mut bytes = [0; 4];
        self.file.read_exact_at(&mut bytes, offset as u64)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn put_u64(&self, offset: usize, value: u64) -> Result<()> {
        Ok(self.file.write_all_at(&value.to_le_bytes(), offset as u64)?)
    }

    fn put_u32(&self, offset: usize, value: u32) -> Result<()> {
        Ok(self.file.write_all_at(&value.to_le_bytes(), offset as u64)?)
    }
}

/// For how long a run was paused until a moment of the monotonic clock; 0 if it cannot be.
#[must_use]
pub fn paused_ns(run_dir: &RunDir, until_ns: u64) -> u64 {
    let state = Control::open(run_dir).and_then(|control| control.state());
    state.map_or(0, |state| state.clock.paused_ns(until_ns))
}

/// What there is to say of the changes to a run that began at `start_ns` of the monotonic clock and
/// took `duration_ns`: in one line, what pauses there were; and in another each, what else.
#[must_use]
pub fn told(run_dir: &RunDir, start_ns: u64, duration_ns: u64) -> Vec<String> {
    let changes = foreign_file::read(run_dir.path(), CHANGES, MOST_BYTES).unwrap_or_default();
    let changes = String::from_utf8_lossy(&changes);
    let Ok(state) = Control::open(run_dir).and_then(|control| control.state()) else {
        return Vec::new();
    };
    let (mut pauses, mut rates) = (Vec::new(), Vec::new());
    for (time_ns, text) in changes.lines().filter_map(|line| line.split_once(' ')) {
        let Ok(time_ns) = time_ns.parse::<u64>() else { continue };
        let after = Duration::from_nanos(time_ns.saturating_sub(start_ns)).as_secs_f64();
        match text.strip_prefix(RATE) {
            Some(rate) => rates.push(format!("{RATE}{rate} from {after:.1} s on")),
            None => pauses.push(format!("{text} at {after:.1} s")),
        }
    }
    let mut told = Vec::new();
    if !pauses.is_empty() {
        let end_ns = start_ns.saturating_add(duration_ns);
        let paused = Duration::from_nanos(state.clock.paused_ns(end_ns).min(duration_ns));
        let more = pauses.len().saturating_sub(MOST_TOLD);
        pauses.truncate(MOST_TOLD);
        if more > 0 {
            pauses.push(format!("and {more} changes more"));
        }
        told.push(format!(
            "{PAUSED} for {:.1} s of the run's {:.1} s: {}",
            paused.as_secs_f64(),
            Duration::from_nanos(duration_ns).as_secs_f64(),
            pauses.join(", ")
        ));
    }
    let more = rates.len().saturating_sub(MOST_TOLD);
    rates.truncate(MOST_TOLD);
    told.extend(rates);
    if more > 0 {
        told.push(format!("{RATE}sources was changed {more} times more"));
    }
    told
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn changes_are_made_in_order_and_told() {
        let run_dir = RunDir::create().unwrap();
        let start_ns = machine::monotonic_ns();
        let control = Control::create(&run_dir, Begins::Paused).unwrap();
        let state = control.state().unwrap();
        assert!(state.clock.is_paused() && state.begun == 0 && state.every == [1; MAX_SOURCES]);
        assert!(!control.pause().unwrap() && control.resume().unwrap());
        let other = Control::open(&run_dir).unwrap();
        assert!(!other.resume().unwrap());
        assert_eq!(other.state().unwrap().begun, 1);
        other.set_rate(2, 4, "the rate of realtime was 50/s").unwrap();
        assert_eq!(control.state().unwrap().every[..4], [1, 1, 4, 1]);
        assert!(other.pause().unwrap());
        control.stop(" (asked)").unwrap();
        let refused = other.resume().unwrap_err();
        assert_eq!(refused.downcast_ref(), Some(&Stopped));

        let told = told(&run_dir, start_ns, machine::monotonic_ns() - start_ns);
        let [pauses, rate] = &told[..] else { panic!("{told:?}") };
        assert!(pauses.starts_with(PAUSED), "{pauses}");
        let order = ["paused at", "resumed at", "paused at", "stopped (asked) at"];
        let found: Vec<_> = pauses.split(": ").nth(1).unwrap().split(", ").collect();
        assert!(found.iter().zip(order).all(|(one, begins)| one.starts_with(begins)), "{pauses}");
        assert_eq!(found.len(), order.len());
        assert!(rate.starts_with("the rate of realtime was 50/s from"), "{rate}");
    }

    #[test]
    fn changes_are_noted_in_the_folder_alone() {
        let elsewhere = tempfile::tempdir().unwrap();
        let target = elsewhere.path().join("target");
        for is_symbolic in [true, false] {
            let run_dir = RunDir::create_at(elsewhere.path()).unwrap();
            fs::write(&target, "").unwrap();
            let link = run_dir.path().join(CHANGES);
            let made = match is_symbolic {
                true => std::os::unix::fs::symlink(&target, link),
                false => fs::hard_link(&target, link),
            };
            made.unwrap();
            Control::create(&run_dir, Begins::Paused).unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), "");
        }
    }

    #[test]
    fn a_file_that_is_no_page_is_refused() {
        let run_dir = RunDir::create().unwrap();
        assert!(Control::open(&run_dir).is_err());
        fs::write(run_dir.arenas().join(CONTROL), [7; CONTROL_BYTES]).unwrap();
        let error = Control::open(&run_dir).unwrap_err().to_string();
        assert!(error.ends_with("another version of csprof"), "{error}");
    }
}
