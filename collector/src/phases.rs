//! Phases: what the program says that it is doing, by name (`csprof_phase`). The samples of a
//! phase have trees of their own, in every thread.
//!
//! A name has one number in the process however often its phase begins, so a program that goes
//! back and forth between two phases has two trees. A root says epoch and phase, and addresses mean
//! what they mean in the epoch: a phase begins no other, and costs no look at what is loaded.
//!
//! A run may have slices of time instead (`record --slice`), which begin in all its processes at
//! once: they are told by the control page. Or [functions] begin phases when they are entered.
//! While a phase of `csprof control` goes on, which the page tells, too, samples are in that; what
//! the process begins meanwhile goes on when that phase has ended.
//!
//! Beginning one is setup side. It takes a lock, with all signals blocked, and waits for nobody but
//! other threads that do the same; so a handler of the program may do it. The present number is for
//! either side.

pub mod functions;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use csprof_format::arena::{LogRecord, MOST_PHASES, PHASE_NAME};

use crate::messages::{self, Warning};
use crate::setup_lock::{SetupGuard, SetupLock};
use crate::{allocator, control, process};

/// Number of the present phase; 0, or more than [`MOST_PHASES`], if there is none.
static PRESENT: AtomicU32 = AtomicU32::new(0);

/// Phases that the process has begun, each time.
static BEGUN: AtomicU32 = AtomicU32::new(0);

/// What tells the present phase, as often as the process has begun it, from those before; in the
/// lower 24 bits. One that the run was told to be in goes on when it begins again, and when the
/// process begins one that it takes the place of. Either side.
#[must_use]
pub fn occasion() -> u32 {
    /// Set for what the run was told.
    const TOLD: u32 = 0x80_0000;
    let (mark, number) = match control::phase() {
        0 => (0, BEGUN.load(Ordering::Relaxed)),
        told => (TOLD, told),
    };
    mark | number & (TOLD - 1)
}

/// The phases that have begun, with their numbers, from 1.
type Known = BTreeMap<Vec<u8>, u32>;

static KNOWN: SetupLock<Known> = SetupLock::new(BTreeMap::new());

/// The number of the present phase; 0 if there is none. Either side.
#[must_use]
#[inline]
pub fn present() -> u32 {
    match control::phase() {
        0 => begun(),
        told => told,
    }
}

/// That which the process has begun itself.
#[inline]
fn begun() -> u32 {
    // Relaxed: other threads see it soon.
    let number = PRESENT.load(Ordering::Relaxed);
    if number as usize > MOST_PHASES { 0 } else { number }
}

/// A function of these that begin phases was entered. `false` if there were too many entries: from
/// here on the process is in no phase. Signal side.
pub fn enter(function: usize) -> bool {
    let number = functions::enter(function);
    // Of threads that enter functions at the same time, the last one counts.
    PRESENT.fetch_max(number.unwrap_or(u32::MAX), Ordering::Relaxed);
    BEGUN.fetch_add(1, Ordering::Relaxed);
    number.is_some()
}

/// The phase of this name begins; without a name, none does.
pub fn begin(name: &[u8]) {
    let by_function = process::current().is_some_and(|process| functions::count(process) > 0);
    if by_function || control::is_sliced() {
        let text =
            "phases that the program names are not kept beside those of --slice or --phase-at";
        return messages::warn_once(Warning::PhasesNotKept, text);
    }
    let name = name.get(..PHASE_NAME).unwrap_or(name);
    let mut known = KNOWN.lock();
    let number = if name.is_empty() { 0 } else { number_of(&mut known, name) };
    PRESENT.store(number, Ordering::Relaxed);
    BEGUN.fetch_add(1, Ordering::Relaxed);
}

fn number_of(known: &mut Known, name: &[u8]) -> u32 {
    if let Some(&number) = known.get(name) {
        return number;
    }
    if known.len() >= MOST_PHASES || allocator::is_low() {
        messages::warn_once(
            Warning::PhasesFull,
            &format!(
                "more than {MOST_PHASES} names of phases, or no memory for them: samples of further \
                 ones are in no phase"
            ),
        );
        return 0;
    }
    let number = known.len() as u32 + 1;
    known.insert(name.to_vec(), number);
    // Told before the first sample can have it.
    process::log(&LogRecord::Phase { number, name: name.to_vec() });
    number
}

/// The names, held over a fork.
pub struct HeldPhases {
    _known: SetupGuard<'static, Known>,
}

/// Locks the names, for a fork.
pub fn hold() -> HeldPhases {
    HeldPhases { _known: KNOWN.lock() }
}

/// Tells a forked child's log which phase it goes on with.
pub fn start_again() {
    let mut known = KNOWN.lock();
    let number = begun();
    let name = core::mem::take(&mut *known).into_iter().find(|(_, of)| *of == number);
    let number = match name {
        Some((name, _)) => number_of(&mut known, &name),
        None => functions::start_again(number),
    };
    PRESENT.store(number, Ordering::Relaxed);
}
