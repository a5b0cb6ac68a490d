//! How handlers of the program return: by [csprof's way](arch::signal_return), which can do so in
//! another thread than the handler was called in. The C library gives the kernel its own with each
//! action, so it is replaced behind it; the program is told of the C library's.
//!
//! Actions with which the program gives one of its own, by rt_sigaction(2), keep that.

#![expect(unsafe_code, reason = "actions of the program")]

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::others::replace;
use crate::preload::view::sampled;
use crate::sources::loan::bit;
use crate::sys::{self, KernelAction};
use crate::thread::handler_stack;
use crate::{arch, modules, sampler};

/// The C library's, once an action has been seen with it.
static OF_LIBRARY: AtomicUsize = AtomicUsize::new(0);

/// The signals whose handlers have csprof's.
static OWN: AtomicU64 = AtomicU64::new(0);

/// To be called when the C library has set an action of `signal`.
pub(super) fn lead_back(signal: i32) {
    let may_be_foreign = handler_stack::is_known() && !modules::asks_kernel_for_stacks();
    if !may_be_foreign || !(1..=64).contains(&signal) || !sampled() {
        return;
    }
    let mut there = sys::action_of(signal);
    let Some(mut next) = by_own_way(there) else { return };
    // Relaxed: the same whoever says it.
    OF_LIBRARY.store(there.restorer, Ordering::Relaxed);
    sampler::show_way_back(there.restorer as u64);
    OWN.fetch_or(bit(signal), Ordering::Relaxed);
    // As in `replace`, where another thread sets one in between.
    loop {
        // SAFETY: an action of the kernel's, or one that differs in its way back.
        match unsafe { sys::exchange_action(signal, &next) } {
            Ok(displaced) if displaced != there => {
                there = next;
                next = by_own_way(displaced).unwrap_or(displaced);
            }
            _ => return,
        }
    }
}

/// The action with csprof's way back; `None` if it needs none, or has it.
fn by_own_way(action: KernelAction) -> Option<KernelAction> {
    let is_handled = ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.handler);
    let own = arch::signal_return();
    let is_other = action.flags & arch::SA_RESTORER != 0 && action.restorer != own;
    (is_handled && is_other).then_some(KernelAction { restorer: own, ..action })
}

/// The way back that the program knows of, where the kernel has this one.
pub(super) fn told(restorer: usize) -> usize {
    let of_library = OF_LIBRARY.load(Ordering::Relaxed);
    if restorer == arch::signal_return() && of_library != 0 { of_library } else { restorer }
}

/// To be called when the process has been sealed: handlers return by the C library's, from which
/// its filter may allow it alone.
pub(super) fn settle() {
    let own = OWN.swap(0, Ordering::Relaxed);
    (1..=64).filter(|&signal| own & bit(signal) != 0).for_each(|signal| {
        // The C library gives its own with each.
        replace(signal, |action| action);
    });
}
