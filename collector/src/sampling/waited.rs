//! The system call in which an interrupted thread waited.
//!
//! There are three ways to be interrupted in a wait, and each leaves other registers behind:
//! - the kernel has broken the call off and will make it [again](super::restart);
//! - a wrapper has held the sample back until the wait was over, and lets it through;
//! - the call waited with a mask that held the sample back, and has just returned.
//!
//! What a thread did in a call that moves bytes as well is not known, and such a call is no wait
//! here, unless it was broken off: the kernel does that where it waits alone.

use super::restart::call_to_be_made_again;
use crate::arch;
use crate::modules::rules;
use crate::sys;

/// The calls that wait with a mask, and do nothing else.
const MASKED: [i64; 4] =
    [libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2];

/// The number of the system call in which the thread waited, if it is known to have.
pub(super) fn waited_in(context: &libc::ucontext_t) -> Option<u32> {
    if rules::is_wait(arch::pc(context)) {
        return arch::held_wait(context);
    }
    if let Some(number) = call_to_be_made_again(context) {
        return u32::try_from(number).ok();
    }
    let number = arch::returned_call(context, sys::probe_bytes)?;
    MASKED.contains(&i64::from(number)).then_some(number)
}
