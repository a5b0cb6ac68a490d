//! The system call, or the page fault, in which an interrupted thread waited.
//!
//! There are four ways to be interrupted in a wait, and each leaves other registers behind:
//! - the kernel has broken the call off, which it does where a thread waits and nowhere else: it
//!   will be made [again](super::restart), or has failed with `EINTR`;
//! - a wrapper has held the sample back until the call was over, and lets it through;
//! - the call waited with a mask that held the sample back, and has just returned;
//! - an instruction has [faulted](arch::has_faulted): its page has come, or is still to come.
//!
//! The last three may have found what they wait for, or worked all the time. They are waits where
//! the thread has waited since the sample before, and has run for less than half of the time that
//! this one stands for. A fault is none where the kernel has counted minor ones since, and no major
//! one: it may be one of those, which only work.
//!
//! A sample of a context switch comes where the thread next returns from the kernel, so in the call
//! in which it was switched, if it was in one, or else in the page fault. It waited there if it has
//! given the processor away of its own accord, and never otherwise, since the sample before.

use csprof_format::address::WAITS_FOR_PAGE;

use super::restart::call_to_be_made_again;
use crate::arch;
use crate::modules::rules;
use crate::phases::functions;
use crate::sys::{self, Spent, Switches};

/// The calls that wait with a mask, and do nothing else.
const MASKED: [i64; 4] =
    [libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2];

/// The number of the system call in which the thread waited, or what stands for a page fault, if
/// it is known to have. The sample stands for `sampled_ns`; `before` is what the thread had spent
/// at the one before, and becomes what it has spent now.
pub(super) fn waited_in(
    context: &libc::ucontext_t,
    sampled_ns: u64,
    before: &mut Spent,
) -> Option<u32> {
    let now = sys::spent();
    let before = core::mem::replace(before, now);
    let ran_ns = now.cpu_ns.saturating_sub(before.cpu_ns);
    let has_mostly_waited = now.waits != before.waits && ran_ns < sampled_ns / 2;
    if rules::is_wait(arch::pc(context)) {
        return arch::held_wait(context).filter(|_| has_mostly_waited);
    }
    if let Some(number) = call_to_be_made_again(context) {
        return u32::try_from(number).ok();
    }
    let is_minor =
        now.major_faults == before.major_faults && now.minor_faults != before.minor_faults;
    if has_mostly_waited && !is_minor && is_in_page_fault(context) {
        return Some(WAITS_FOR_PAGE);
    }
    let number = arch::returned_call(context, sys::probe_bytes)?;
    let is_masked = MASKED.contains(&i64::from(number));
    (is_masked && has_mostly_waited || arch::was_broken_off(context)).then_some(number)
}

/// The system call in which the thread waited that was switched, or what stands for a page fault;
/// `None` where it was switched for another reason, or it is not known. `before` is how it had been
/// switched at the sample before, and becomes how it has been now.
// Not inlined: as `waited_in`, whose caller comes before the walk.
#[inline(never)]
pub(super) fn switched_in(context: &libc::ucontext_t, before: &mut Switches) -> Option<u32> {
    let now = sys::switches();
    let before = core::mem::replace(before, now);
    if now.voluntary == before.voluntary || now.involuntary != before.involuntary {
        return None;
    }
    if rules::is_wait(arch::pc(context)) {
        return arch::held_wait(context);
    }
    if let Some(number) = call_to_be_made_again(context) {
        return u32::try_from(number).ok();
    }
    if arch::has_returned(context) {
        return arch::returned_call(context, sys::probe_bytes);
    }
    let is_for_page = now.major_faults != before.major_faults || is_in_page_fault(context);
    is_for_page.then_some(WAITS_FOR_PAGE)
}

/// Whether the thread is known to be in a page fault.
fn is_in_page_fault(context: &libc::ucontext_t) -> bool {
    // A breakpoint is a fault, too.
    !functions::are_entered_at(arch::pc(context)) && arch::has_faulted(context, bytes_of_page)
}

/// The bytes at `address`, if they lie on one page: a second one need not be in memory, and the
/// program may never use it.
fn bytes_of_page<const N: usize>(address: u64) -> Option<[u8; N]> {
    let is_one = address as usize % arch::PAGE_SIZE + N <= arch::PAGE_SIZE;
    is_one.then(|| sys::probe_bytes(address)).flatten()
}
