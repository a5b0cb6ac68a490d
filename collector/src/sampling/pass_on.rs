//! The first function of every signal that comes to the collector: it is a sample, or the
//! program's. The program's go on to its handler, on the stack where the kernel would have called
//! it and with the mask that it asked for.
//!
//! Two kinds come here. The profiling signal that is no sample (from the program's own timers, from
//! raise or kill). And every signal of which the handler asks for the alternate stack, which the
//! kernel believes to be the thread's [handler stack](handler_stack): there the kernel's frame is
//! copied to the place that the kernel would have chosen (`get_sigframe`,
//! arch/x86/kernel/signal.c), and the handler is entered there. It finds what it would find alone;
//! and if it switches contexts, or is interrupted by a sample, what it has left on its stack stays
//! untouched.

#![expect(unsafe_code, reason = "copies the kernel's frame")]

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use libc::{siginfo_t, stack_t, ucontext_t};

use super::handler::on_signal;
use crate::arch;
use crate::modules::{self, rules};
use crate::sources::{SIGNAL, loan, may_be_own};
use crate::sys::{self, Disposition, Sender};
use crate::thread::handler_stack;

/// How the program's handler is called.
#[repr(C, align(16))]
pub(super) struct Onward {
    pub(super) handler: *mut c_void,
    /// The stack pointer at its entry: the address of the kernel's frame.
    pub(super) frame: u64,
    pub(super) info: *mut siginfo_t,
    pub(super) context: *mut ucontext_t,
    /// Whether the mask is to be set; else it is as the program asked already.
    pub(super) sets_mask: u64,
    pub(super) mask: u64,
    /// Whether `setting` is to be given to sigaltstack(2).
    pub(super) sets_stack: u64,
    pub(super) setting: stack_t,
}

/// What [`Chooser`] found.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    /// The program's handler.
    pub handler: *mut c_void,
    /// The mask for it, if that is not the one that the kernel has set.
    pub mask: Option<u64>,
    /// Whether it asked for the alternate stack.
    pub on_alternate_stack: bool,
}

/// Says which handler of the program's is to be called for a profiling signal that is no sample, if
/// any.
pub type Chooser = fn(&siginfo_t, &mut ucontext_t) -> Option<Chosen>;

/// The [`Chooser`]; null before the collector has started.
static CHOOSER: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Sets who chooses.
pub fn set_chooser(chooser: Chooser) {
    // Relaxed: set before the handler is.
    CHOOSER.store(chooser as *mut c_void, Ordering::Relaxed);
}

/// By signal: the program's handler where the kernel's is [`on_handled`](super::entry::on_handled).
static HANDLERS: [AtomicUsize; 65] = [const { AtomicUsize::new(0) }; 65];

/// The program's handler for a signal whose handler, for the kernel, is
/// [`on_handled`](super::entry::on_handled). Either side.
#[must_use]
pub fn handler_of(signal: i32) -> usize {
    let known = usize::try_from(signal).ok().and_then(|signal| HANDLERS.get(signal));
    // Relaxed, here and below: a program whose threads race to set a handler cannot tell which came
    // last.
    known.map_or(libc::SIG_DFL, |handler| handler.load(Ordering::Relaxed))
}

/// Sets it. The handlers of signals without one are 0.
pub fn set_handler_of(signal: i32, handler: usize) {
    if let Some(known) = usize::try_from(signal).ok().and_then(|signal| HANDLERS.get(signal)) {
        known.store(handler, Ordering::Relaxed);
    }
}

arch::thread_word! {
    /// The `si_code` of the profiling signal that the thread is about to send itself, or 0.
    Sending: u64 = "csprof_sending"
}

arch::thread_word! {
    /// The value that comes with it.
    SentValue: u64 = "csprof_sent_value"
}

arch::thread_word! {
    /// Its sender: the process, and the user in the upper half.
    SentBy: u64 = "csprof_sent_by"
}

arch::thread_word! {
    /// The thread.
    SentFrom: u64 = "csprof_sent_from"
}

/// Notes that the calling thread is about to send itself the profiling signal: the handler is to
/// know it also if the kernel merges it with a sample. Until it comes, or the next is noted.
pub fn about_to_send(sender: Sender, code: i32, value: u64) {
    Sending::set(0);
    SentValue::set(value);
    SentBy::set(u64::from(sender.user) << 32 | u64::from(sender.process));
    SentFrom::set(u64::from(sender.thread));
    Sending::set(u64::from(code.cast_unsigned()));
}

/// What the thread has just sent itself, if it has not come yet.
fn just_sent(context: &ucontext_t) -> Option<siginfo_t> {
    let code = Sending::get();
    let (by, from) = (SentBy::get(), SentFrom::get());
    let sender = Sender { process: by as u32, thread: from as u32, user: (by >> 32) as u32 };
    if code == 0 || !arch::has_sent(context, sender.process, sender.thread, SIGNAL) {
        return None;
    }
    Some(sys::sent_by(sender, SIGNAL, code as u32 as i32, SentValue::get()))
}

/// The profiling signal: a sample, or the program's.
pub(super) unsafe extern "C" fn on_profiling_signal(
    _: i32,
    info: *mut siginfo_t,
    context: *mut ucontext_t,
    frame: u64,
    onward: *mut Onward,
) -> bool {
    // Before the sample, which may change where the thread goes on.
    // SAFETY: the kernel passes live structures.
    let (sent, is_own) = unsafe { (just_sent(&*context), may_be_own(&*info)) };
    // SAFETY: the three arguments of the kernel.
    let is_sample = unsafe { on_signal(info, context) };
    if let Some(sent) = sent {
        Sending::set(0);
        // What the thread sent was merged with a sample, also with one that is none any more.
        if is_sample || is_own {
            // SAFETY: the kernel's structure, in its frame.
            unsafe { info.write(sent) };
        }
    } else if is_sample {
        return false;
    // SAFETY: the kernel passes a live structure.
    } else if Sending::get() == u64::from(unsafe { (*info).si_code }.cast_unsigned()) {
        // It comes behind the handler of another signal.
        Sending::set(0);
    }
    let chooser = CHOOSER.load(Ordering::Relaxed);
    if chooser.is_null() {
        return false;
    }
    // SAFETY: stored by `set_chooser` from this type.
    let chooser = unsafe { core::mem::transmute::<*mut c_void, Chooser>(chooser) };
    // SAFETY: the kernel passes live structures.
    let Some(chosen) = chooser(unsafe { &*info }, unsafe { &mut *context }) else {
        return false;
    };
    // SAFETY: by contract; `onward` is room for one.
    unsafe {
        let place =
            KernelFrame { info, context, frame, on_alternate_stack: chosen.on_alternate_stack };
        onward.write(place.onward(chosen.handler));
        (*onward).sets_mask = u64::from(chosen.mask.is_some());
        (*onward).mask = chosen.mask.unwrap_or(0);
    }
    true
}

/// SIGTRAP, from the first loan on: a sample, or the program's. A sample that comes after the loan
/// is none any more; the next one will count its time.
pub(super) unsafe extern "C" fn on_trap_signal(
    signal: i32,
    info: *mut siginfo_t,
    context: *mut ucontext_t,
    frame: u64,
    onward: *mut Onward,
) -> bool {
    // SAFETY: the arguments of the kernel; `onward` is room for one.
    unsafe {
        if (*info).si_code == loan::TRAP_PERF {
            if loan::on_loan() {
                on_signal(info, context);
            }
            return false;
        }
        let handler = loan::program_handler();
        if handler == loan::default_handler() {
            let answer = core::mem::transmute::<*mut c_void, sys::Handler>(handler);
            answer(signal, info, context);
            return false;
        }
        // Where the handler did not ask for it, the frame is where it belongs.
        let place = KernelFrame { info, context, frame, on_alternate_stack: true };
        onward.write(place.onward(handler));
    }
    true
}

/// A signal of the program whose handler asked for the alternate stack. Its mask is set already.
pub(super) unsafe extern "C" fn on_handled_signal(
    signal: i32,
    info: *mut siginfo_t,
    context: *mut ucontext_t,
    frame: u64,
    onward: *mut Onward,
) -> bool {
    let handler = handler_of(signal);
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        return false;
    }
    let handler = core::ptr::with_exposed_provenance_mut(handler);
    // SAFETY: the kernel passes live structures.
    let (pc, sp) = unsafe { (arch::pc(&*context), arch::sp(&*context)) };
    // The place of another frame, which was being copied there, is not there.
    let is_fault = signal == libc::SIGSEGV || signal == libc::SIGBUS;
    if is_fault && handler_stack::contains(sp) && rules::is_own_code(pc) {
        end_by_overflow();
    }
    // SAFETY: the arguments of the kernel; `onward` is room for one.
    unsafe {
        let place = KernelFrame { info, context, frame, on_alternate_stack: true };
        onward.write(place.onward(handler));
    }
    true
}

/// Where the kernel has called a handler, and what for.
pub(super) struct KernelFrame {
    pub(super) info: *mut siginfo_t,
    pub(super) context: *mut ucontext_t,
    /// Address of its frame: return address, `ucontext_t`, `siginfo_t`, registers of the vector
    /// units.
    pub(super) frame: u64,
    /// Whether the program's handler asked for the alternate stack.
    pub(super) on_alternate_stack: bool,
}

impl KernelFrame {
    /// How to call `handler`, with the kernel's frame where the kernel would have put it.
    ///
    /// # Safety
    /// To be called once for a frame, in the handler, with what the kernel passed to it.
    pub(super) unsafe fn onward(self, handler: *mut c_void) -> Onward {
        let Self { info, context, frame, on_alternate_stack } = self;
        let mut onward = Onward {
            handler,
            frame,
            info,
            context,
            sets_mask: 0,
            mask: 0,
            sets_stack: 0,
            setting: handler_stack::NONE,
        };
        // SAFETY: the kernel passes live structures.
        let (setting, sp) = unsafe { ((*context).uc_stack, arch::sp(&*context)) };
        let programs = handler_stack::programs(&setting);
        let Some(own) = programs.filter(|_| handler_stack::contains(frame)) else {
            return onward;
        };
        // Somebody who goes around the wrappers runs on the handler stack already.
        let is_adopted = own.ss_size == 0 && modules::asks_kernel_for_stacks();
        if is_adopted || handler_stack::contains(sp) {
            return onward;
        }
        let low = own.ss_sp.addr() as u64;
        let disarms = own.ss_flags & handler_stack::SS_AUTODISARM != 0;
        let stands_on_it = !disarms && sp > low && sp - low <= own.ss_size as u64;
        let enters = on_alternate_stack && own.ss_size != 0 && !stands_on_it;
        let limit = if enters { low + own.ss_size as u64 } else { sp - arch::RED_ZONE };
        // SAFETY: the kernel's.
        let end = unsafe { arch::frame_end(&*context) };
        // Downwards, to where it is aligned as it was.
        let moved = end.wrapping_sub(limit).next_multiple_of(arch::FRAME_ALIGNMENT);
        let target = frame.wrapping_sub(moved);
        if (enters || stands_on_it) && (target < low || target > limit) {
            end_by_overflow();
        }
        let length = (end - frame) as usize;
        let start = core::ptr::with_exposed_provenance::<u8>(frame as usize);
        let to = core::ptr::with_exposed_provenance_mut::<u8>(target as usize);
        // SAFETY: the whole frame, as the kernel has laid it out; to memory below what is in use of
        // the stack on which the kernel would have put it. If that is not there, the process ends
        // as it would have.
        unsafe { to.copy_from_nonoverlapping(start, length) };
        onward.frame = target;
        onward.info = info.wrapping_byte_sub(moved as usize);
        onward.context = context.wrapping_byte_sub(moved as usize);
        // SAFETY: in the copy.
        unsafe { arch::frame_moved(&mut *onward.context, moved) };
        // Also of a sealed process: else the next handler would overwrite this one's frames.
        if enters && disarms {
            onward.setting = handler_stack::setting_for(&handler_stack::NONE);
            onward.sets_stack = 1;
        }
        onward
    }
}

/// The alternate stack has no room for the frame: the kernel would have ended the process
/// (`force_sigsegv`).
fn end_by_overflow() -> ! {
    let _ = sys::set_disposition(libc::SIGSEGV, Disposition::Default);
    loop {
        arch::fault();
    }
}
