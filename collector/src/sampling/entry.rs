//! Where the kernel enters: stubs that make the processor's state what Rust code may rely on,
//! change to the thread's [handler stack](crate::thread::handler_stack), and ask a function what
//! the signal is. It is a sample, and they return; or it is the program's, and they go on with its
//! handler as if the kernel had called that one ([`pass_on`](super::pass_on)).
//!
//! Stack. On the stack that the kernel chose, a stub writes nothing where the thread has a handler
//! stack and stands elsewhere: the kernel's own frame is all that the program's stack must hold.

#![expect(unsafe_code, reason = "assembly")]

use super::pass_on::{Onward, on_handled_signal, on_profiling_signal, on_trap_signal};
use crate::arch;
use crate::thread::handler_stack;

arch::handlers! {
    Onward, handler_stack::SIZE;
    change {
    /// The handler of the profiling signal.
    on_profile = on_profiling_signal;
    /// The handler of [`TRAP`](crate::sources::loan::TRAP), from the first loan on.
    on_trap = on_trap_signal;
    }
    stay {
    /// What the kernel calls for a handler of the program that asks for the alternate stack. No
    /// signal is blocked for it, so it stays on the stack that the kernel knows: on one that others
    /// use, too (threads by clone(2) with their creator's thread-local storage), or that the kernel
    /// does not know (where the program has set an alternate stack by a system call of its own),
    /// the next signal's frame would overwrite this one's.
    on_handled = on_handled_signal;
    }
}
