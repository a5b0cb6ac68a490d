//! Functions whose entries begin phases (`record --phase-at`): where they lie at present, and what
//! has entered them.
//!
//! Each entry is a phase of its own, so its number is that of its record in a table of the arena,
//! which takes [`MOST_PHASES`]. The table is made when the process starts; a handler takes the next
//! record, fills it in, and then lets samples be in that phase. When the table is full the process
//! is in no phase, and no function is looked for any more: so whatever a program does, it pays for
//! a bounded number of entries.

#![expect(unsafe_code, reason = "a table in shared memory")]

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use csprof_format::arena::{EntryRecord, ExtentHeader, ExtentKind, LogRecord, MOST_PHASES};
use csprof_format::launch::{MOST_PHASE_FUNCTIONS, PhaseFunction};

use crate::messages::{self, Warning};
use crate::process::{self, Process};
use crate::sys::{self, Clock, Errno, PerfError};

/// Runtime address of each function; 0 while it is not loaded, or not to be looked for.
static ADDRESSES: [AtomicU64; MOST_PHASE_FUNCTIONS] =
    [const { AtomicU64::new(0) }; MOST_PHASE_FUNCTIONS];
/// Whether one has changed since [`take_change`].
static CHANGED: AtomicBool = AtomicBool::new(false);
/// The table of this process; null where it has none.
static TABLE: AtomicPtr<EntryRecord> = AtomicPtr::new(null_mut());
/// Records taken, or more.
static TAKEN: AtomicU32 = AtomicU32::new(0);
/// Entries of each function.
static COUNTS: [AtomicU32; MOST_PHASE_FUNCTIONS] =
    [const { AtomicU32::new(0) }; MOST_PHASE_FUNCTIONS];

const TABLE_BYTES: usize = size_of::<ExtentHeader>() + MOST_PHASES * size_of::<EntryRecord>();

/// The functions that were asked for. Setup side.
fn asked(process: &Process) -> &[PhaseFunction] {
    &process.config.phase_functions
}

/// How many there are. Setup side.
#[must_use]
pub fn count(process: &Process) -> usize {
    asked(process).len()
}

/// Where a function lies at present; 0 if nowhere.
#[must_use]
pub fn place(function: usize) -> &'static AtomicU64 {
    static NOWHERE: AtomicU64 = AtomicU64::new(0);
    ADDRESSES.get(function).unwrap_or(&NOWHERE)
}

/// Whether one that is looked for lies at this address. Signal side.
#[must_use]
pub fn are_entered_at(address: u64) -> bool {
    ADDRESSES.iter().any(|place| place.load(Ordering::Relaxed) == address)
}

/// Makes the table, if it is needed. The process has no other thread. Setup side.
pub fn begin() {
    let Some(process) = process::current().filter(|process| count(process) > 0) else { return };
    for (number, function) in (0..).zip(asked(process)) {
        let name = function.name.as_bytes().to_vec();
        process::log(&LogRecord::PhaseFunction { number, name });
    }
    let Ok(extent) = process.arena.extent(ExtentKind::Entries, 0, 0, TABLE_BYTES) else {
        messages::note("--phase-at: memory for phases was refused: no function begins one");
        return;
    };
    // SAFETY: inside the extent just mapped, whose header is 32 bytes long.
    let table = unsafe { extent.add(size_of::<ExtentHeader>()) };
    // Release: pairs with the acquire in `enter`.
    TABLE.store(table.cast().as_ptr(), Ordering::Release);
}

/// After a fork, in the child: makes its own table, in which the phase of its parent goes on as the
/// first. Returns its number; 0 if there is none. Setup side.
pub(super) fn start_again(present: u32) -> u32 {
    let parents = TABLE.swap(null_mut(), Ordering::Relaxed);
    let Some(parents) = NonNull::new(parents) else { return 0 };
    let goes_on = record_of(parents.as_ptr(), present).map(|record| {
        // SAFETY: a record of the table, which the parent filled in before it had this number.
        unsafe { record.read() }
    });
    // SAFETY: the whole mapping of the parent's extent, of which nobody here has the address.
    unsafe {
        let extent = parents.cast::<u8>().sub(size_of::<ExtentHeader>());
        sys::unmap(extent, TABLE_BYTES.next_multiple_of(crate::arch::PAGE_SIZE));
    }
    if is_full() {
        messages::note("--phase-at: all phases began before the fork; this process begins none");
        return 0;
    }
    TAKEN.store(0, Ordering::Relaxed);
    begin();
    match goes_on {
        Some(record) => take(record.function, record.count).unwrap_or(0),
        None => 0,
    }
}

/// Has functions be looked for where they are loaded now: `address_of` says where each is. Setup
/// side.
pub fn find(address_of: impl Fn(&PhaseFunction) -> Option<u64>) {
    let Some(process) = process::current().filter(|process| count(process) > 0) else { return };
    for (function, place) in asked(process).iter().zip(&ADDRESSES) {
        let address = if is_full() { 0 } else { address_of(function).unwrap_or(0) };
        if place.swap(address, Ordering::Relaxed) != address {
            CHANGED.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether a function has come or gone since this was asked last. Setup side.
pub fn take_change() -> bool {
    CHANGED.swap(false, Ordering::Relaxed)
}

fn is_full() -> bool {
    TAKEN.load(Ordering::Relaxed) as usize >= MOST_PHASES
}

/// A function was entered. Returns the number of the phase that begins; `None` if there are too
/// many: then nobody looks for functions any more. Signal side.
pub(super) fn enter(function: usize) -> Option<u32> {
    let count = COUNTS.get(function)?.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    let number = take(function as u32, count);
    if number.is_none() {
        ADDRESSES.iter().for_each(|place| place.store(0, Ordering::Relaxed));
    }
    number
}

/// Takes the next record. Either side.
fn take(function: u32, count: u32) -> Option<u32> {
    let table = TABLE.load(Ordering::Acquire);
    if table.is_null() || is_full() {
        return None;
    }
    let number = TAKEN.fetch_add(1, Ordering::Relaxed).saturating_add(1);
    let record = record_of(table, number)?;
    let time_ns = sys::now_ns(Clock::Monotonic).max(1);
    // SAFETY: a record of the table, which nobody else has taken. Its time is written last: it says
    // that the rest is there.
    unsafe {
        (&raw mut (*record).function).write(function);
        (&raw mut (*record).count).write(count);
        AtomicU64::from_ptr(&raw mut (*record).time_ns).store(time_ns, Ordering::Release);
    }
    Some(number)
}

/// The record of the phase with this number, from 1.
fn record_of(table: *mut EntryRecord, number: u32) -> Option<*mut EntryRecord> {
    let place = (number as usize).checked_sub(1).filter(|&place| place < MOST_PHASES)?;
    Some(table.wrapping_add(place))
}

/// Says that the kernel does not tell of the entries of the function whose [`place`] this is. Setup
/// side.
pub fn refused(place: &AtomicU64, &PerfError(Errno(error)): &PerfError) {
    let Some(process) = process::current() else { return };
    let mut places = ADDRESSES.iter().zip(asked(process));
    let function = places.find(|(other, _)| core::ptr::eq(*other, place));
    let name = function.map_or("", |(_, function)| &*function.name);
    let why = match error {
        libc::ENOSPC => "the processor's breakpoints are all taken, by a debugger perhaps",
        libc::EACCES | libc::EPERM => {
            "the kernel does not permit breakpoints; see /proc/sys/kernel/perf_event_paranoid"
        }
        libc::EMFILE => "no file number is free; see `ulimit -n`",
        _ => "this kernel or machine has no breakpoints; csprof.h names phases without them",
    };
    messages::warn_once(
        Warning::BreakpointRefused,
        &alloc::format!("--phase-at {name}: a thread begins no phases: {why} (error {error})"),
    );
}
