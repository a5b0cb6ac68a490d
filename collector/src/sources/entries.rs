//! Entries of functions that begin phases (`record --phase-at`): breakpoints of the processor's, so
//! that no byte of the program's code is written. Each thread has an event for each function, which
//! waits for nothing while the function is not loaded.

use alloc::vec::Vec;

use super::event_handle::EventHandle;
use super::signal_info::SignalInfo;
use crate::phases;
use crate::process::Process;
use crate::sys::Awaited;

/// The events of a thread, in the order of the functions.
#[derive(Debug)]
pub(super) struct Entries(Vec<EventHandle>);

impl Entries {
    pub(super) const NONE: Self = Self(Vec::new());

    /// Opens them for the calling thread. `cookie` is the first of theirs. Setup side.
    pub(super) fn open(process: &Process, tid: u32, cookie: usize) -> Self {
        let open = |function| {
            let place = phases::functions::place(function);
            let awaited = Awaited::Code(place);
            let handle = EventHandle::new(awaited, tid, cookie + function, function);
            if let Err(refused) = handle.open() {
                phases::functions::refused(place, &refused);
            }
            handle
        };
        Self((0..phases::functions::count(process)).map(open).collect())
    }

    pub(super) fn handles(&self) -> impl Iterator<Item = &EventHandle> {
        self.0.iter()
    }

    /// If the signal tells of an entry, begins its phase: `Some(false)` if there were too many
    /// already. Signal side.
    #[inline(never)]
    pub(super) fn take(&self, signal: &SignalInfo) -> Option<bool> {
        let function = self.0.iter().position(|handle| handle.has_sent(signal))?;
        Some(phases::enter(function))
    }
}
