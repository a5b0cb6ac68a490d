//! What depends on the processor, and on the kernel and the C library of that processor.
//!
//! The rest of the collector knows none of it: no instruction, no register, no layout of what a
//! signal saves, no name or number that other architectures do not have. A folder holds it for each
//! architecture, behind the names that are listed here. It names nothing of the collector but
//! [`eh_frame`](crate::eh_frame): what its code needs of the layers above is passed to its macros.
//!
//! - functions in front of others: [`stub!`], which hands a [`Call`] over and takes a [`Route`];
//!   [`gathering_stub!`], [`thread_start_stub!`]; a change of stacks,
//!   [`call_on_stack`];
//! - the kernel's entry: [`handlers!`], [`prepare_handlers`]; what handlers may reach,
//!   [`as_in_handler`];
//! - what a handler is given: [`registers`], [`pc`], [`sp`], [`fingerprint`]; to move its frame,
//!   [`frame_end`], [`frame_moved`], [`RED_ZONE`], [`FRAME_ALIGNMENT`]; to find and know it again,
//!   [`handler_frames`], [`mark_frame`], [`is_marked_frame`];
//! - the way back from a handler: [`signal_return`], [`SA_RESTORER`],
//!   [`STACK_FLAGS`], [`STACK_SIZES`];
//! - system calls: [`system_call`]; one that was interrupted, [`repeated_call`],
//!   [`fail_repeated_call`], [`has_failed`], [`SYSTEM_CALL`]; those that others do not have,
//!   [`POLL`], [`SELECT`], [`EPOLL_WAIT`], [`RESTARTED_CALLS`], [`ENDED_CALLS`], [`FORK_CALLS`]; in
//!   which of them a thread waited, [`NO_CALL`], [`held_wait`], [`has_returned`],
//!   [`returned_call`], [`was_broken_off`]; or in a fault, [`has_faulted`]; or sent itself a
//!   signal, [`has_sent`];
//! - thread-local storage: [`thread_word!`], [`thread_words!`], [`thread_bytes!`],
//!   [`thread_pointer`], [`jump_target`];
//! - the return trampoline: [`trampoline!`], [`InterruptedReturn`], [`trampoline_start`],
//!   [`trampoline_end`], [`STRIDE`];
//! - code: [`is_plt_jump`], [`LONGEST_STUB`], [`SET_SPLIT_STACK_END`], [`fault`], `dead_end!`,
//!   [`hide_symbols!`];
//! - unwinding: [`unwind`], with registers, recipes, the step, rows of CFI, inference, decoding;
//! - facts: [`PAGE_SIZE`], [`ELF_MACHINE`], [`USER_END`], [`FIRST_GLIBC`], [`IMPORTS`],
//!   [`LIBUNWIND_STEP`], [`has_shadow_stack`].
//!
//! And the symbols `memcpy`, `memmove`, `memset`, `memcmp`, `bcmp` and `strlen`, bound inside the
//! library. docs/decisions/architectures.md says what another one needs.

#[cfg(not(target_arch = "x86_64"))]
compile_error!(
    "the collector has no folder for this architecture: see collector/src/arch/mod.rs and \
     docs/decisions/architectures.md"
);

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64;

#[cfg(target_arch = "x86_64")]
use x86_64 as here;

pub use here::unwind;

pub(crate) use here::call::{
    ENDED_CALLS, EPOLL_WAIT, FORK_CALLS, NO_CALL, POLL, RESTARTED_CALLS, SELECT, SYSTEM_CALL,
    fail_repeated_call, has_failed, has_faulted, has_returned, has_sent, held_wait, repeated_call,
    returned_call, system_call, was_broken_off,
};
#[cfg(panic = "abort")]
pub(crate) use here::code::dead_end;
pub(crate) use here::code::{LONGEST_STUB, SET_SPLIT_STACK_END, fault, hide_symbols, is_plt_jump};
pub(crate) use here::context::{
    FRAME_ALIGNMENT, RED_ZONE, fingerprint, frame_end, frame_moved, handler_frames,
    is_marked_frame, mark_frame, pc, registers, sp,
};
pub(crate) use here::entry::{as_in_handler, handlers, prepare_handlers};
pub(crate) use here::processor::{
    ELF_MACHINE, FIRST_GLIBC, IMPORTS, LIBUNWIND_STEP, PAGE_SIZE, USER_END, has_shadow_stack,
};
pub(crate) use here::signal_return::{SA_RESTORER, STACK_FLAGS, STACK_SIZES, signal_return};
pub(crate) use here::stubs::{
    Call, Room, Route, call_on_stack, gathering_stub, stub, stub_part, thread_start_stub,
};
pub(crate) use here::thread_local::{
    jump_target, thread_bytes, thread_pointer, thread_word, thread_words,
};
pub(crate) use here::trampoline::{
    InterruptedReturn, STRIDE, trampoline, trampoline_end, trampoline_start,
};

#[cfg(test)]
mod tests;
