//! The stack on which csprof's handlers run, one for each thread that is sampled.
//!
//! The stack of the interrupted code may be short: a coroutine's of 4 KiB, an alternate stack of 8
//! KiB that a handler of the program has nearly used up, the heap of an Erlang process. So the
//! kernel is told that this is the thread's alternate stack (sigaltstack(2)), and a sample writes
//! nothing to the program's stacks, not even the kernel's frame.
//!
//! The program's own alternate stack is then the collector's business. The wrapper of sigaltstack
//! remembers it in a table here, and says in the kernel's setting which one of the table is meant:
//! the alternate stack that the kernel knows begins 16 bytes further up for each. The kernel saves
//! and restores that setting with every handler, as it would the program's own, so it holds in
//! handlers, after jumps out of them, and in the child of a vfork. Handlers that the program wants
//! on its alternate stack are moved there (`sampling/pass_on.rs`). A handler that switches contexts
//! may return in another thread, where the setting of the first one must not come to be: all
//! handlers return by [csprof's way](arch::signal_return).
//!
//! ```text
//! base             + 4 KiB                 + 12 KiB                                     + 64 KiB
//! | table          | NEEDED by a sample    | the kernel's frames, and below them a sample |
//! ```
//!
//! The kernel is not told where others ask it behind the wrapper's back: Go adopts an alternate
//! stack that it finds, and sanitizers unmap it when the thread ends. There, and in a thread whose
//! setting was changed by a system call of the program's own, the kernel's frame is where it would
//! be for the program's handlers, and the handler changes to this stack in its first instructions.

#![expect(unsafe_code, reason = "memory shared with the kernel and with assembly")]

use core::ffi::c_void;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use libc::stack_t;

use crate::{arch, sys};

arch::thread_word! {
    /// The top of each thread's; read by [`arch::handlers`], too.
    Top: u64 = "csprof_handler_stack"
}

/// Bytes of a handler stack and its table; touched where they are used. A sample needs the kernel's
/// frame (3.5 KB with AVX-512, 11 KB with AMX) and [`NEEDED`].
pub const SIZE: usize = 64 << 10;

/// Bytes below the kernel's frame that a sample needs at most. Tests measure it
/// (`tests/workloads/handler_stack.h`).
pub const NEEDED: usize = 8 << 10;

/// Of an alternate stack that is none while a handler runs there (linux/signal.h).
pub const SS_AUTODISARM: i32 = 1 << 31;

/// Alternate stacks of the program's that are remembered; the oldest is forgotten for the next.
const REMEMBERED: usize = 64;
/// Kernel frames begin above the table and what a handler needs.
const LOW: usize = arch::PAGE_SIZE + NEEDED;
const STEP: usize = 16;

// The way back from handlers knows a handler stack by its size.
const _: () = assert!(
    SIZE - LOW == arch::STACK_SIZES.1
        && (REMEMBERED - 1) * STEP == arch::STACK_SIZES.1 - arch::STACK_SIZES.0
);

/// What lies at the base.
#[repr(C)]
struct Table {
    /// Stacks remembered so far.
    count: AtomicU32,
    /// Entry 0 stays 0: no alternate stack. The others mean the same whichever thread has
    /// remembered them.
    stacks: [stack_t; REMEMBERED],
}

const _: () = assert!(size_of::<Table>() <= arch::PAGE_SIZE);

/// Whether the kernel was told of one, in this process or one that it was forked from.
static IS_KNOWN: AtomicBool = AtomicBool::new(false);

/// Whether the kernel may take a handler stack for the alternate stack of a thread.
#[must_use]
pub fn is_known() -> bool {
    // Relaxed: the first is the main thread's, before any of the program's code.
    IS_KNOWN.load(Ordering::Relaxed)
}

/// The top of the calling thread's handler stack; 0 if it has none. Either side.
#[inline]
pub fn top() -> u64 {
    Top::get()
}

/// Whether `address` lies on the calling thread's handler stack. Either side.
#[inline]
#[must_use]
pub fn contains(address: u64) -> bool {
    let top = top();
    top != 0 && top.wrapping_sub(address).wrapping_sub(1) < SIZE as u64
}

/// Calls `work` on the calling thread's handler stack, if it has one and does not stand on it. All
/// signals are blocked, so it holds nothing that is still needed.
pub fn call<T>(work: extern "C" fn(&mut T), argument: &mut T) {
    let here = 0_u64;
    if top() == 0 || contains((&raw const here).addr() as u64) {
        return work(argument);
    }
    // SAFETY: a reference is passed like a pointer, to one caller and for the length of the call.
    unsafe {
        let work = core::mem::transmute::<extern "C" fn(&mut T), extern "C" fn(*mut c_void)>(work);
        arch::call_on_stack((&raw mut *argument).cast(), work, top());
    }
}

/// The same, for the set-up side: `work` may take more than the 16 KiB that a thread may have for
/// all it does (`PTHREAD_STACK_MIN`).
pub fn with_room<T>(work: impl FnOnce() -> T) -> T {
    // Not a part of who calls it, whose frame would have what `work` needs.
    #[inline(never)]
    extern "C" fn run<T, W: FnOnce() -> T>(work: &mut (Option<W>, Option<T>)) {
        work.1 = work.0.take().map(|work| work());
    }
    let mut work = (Some(work), None);
    call(run, &mut work);
    let (_, Some(result)) = work else { unreachable!("it has run") };
    result
}

/// What the program knows as the thread's alternate stack, by the kernel's setting. `None` if
/// that is not the handler stack; a disabled one is size 0. Either side.
#[must_use]
pub fn programs(setting: &stack_t) -> Option<stack_t> {
    let start = setting.ss_sp.addr() as u64;
    if setting.ss_flags & libc::SS_DISABLE != 0 || !contains(start) {
        return None;
    }
    let base = top() - SIZE as u64;
    let number = (start - base).wrapping_sub(LOW as u64) as usize / STEP;
    let known = number < REMEMBERED;
    // SAFETY: in the table of a handler stack, which is mapped as long as its thread has it.
    known
        .then(|| unsafe { (&raw const (*table(base)).stacks).cast::<stack_t>().add(number).read() })
}

/// Whether `address` lies in one of the program's alternate stacks that are none while a handler
/// runs there. It may have taken them back since. Either side.
#[must_use]
pub fn is_in_disarmed(address: u64) -> bool {
    let Some(base) = top().checked_sub(SIZE as u64) else { return false };
    (0..REMEMBERED).any(|number| {
        // SAFETY: as in `programs`.
        let known =
            unsafe { (&raw const (*table(base)).stacks).cast::<stack_t>().add(number).read() };
        known.ss_flags & SS_AUTODISARM != 0
            && address.wrapping_sub(known.ss_sp.addr() as u64) < known.ss_size as u64
    })
}

fn table(base: u64) -> *mut Table {
    core::ptr::with_exposed_provenance_mut(base as usize)
}

/// The kernel's setting that stands for this alternate stack of the program's; size 0 for none.
/// Async-signal-safe. The thread must have a handler stack.
#[must_use]
pub fn setting_for(wanted: &stack_t) -> stack_t {
    let base = top() - SIZE as u64;
    let number = if wanted.ss_size == 0 { 0 } else { remember(table(base), wanted) };
    let start = base as usize + LOW + number * STEP;
    stack_t {
        ss_sp: core::ptr::with_exposed_provenance_mut(start),
        ss_flags: arch::STACK_FLAGS,
        ss_size: base as usize + SIZE - start,
    }
}

fn remember(table: *mut Table, wanted: &stack_t) -> usize {
    let same = |known: &stack_t| {
        known.ss_sp == wanted.ss_sp
            && known.ss_size == wanted.ss_size
            && known.ss_flags == wanted.ss_flags
    };
    let stacks = {
        // SAFETY: the table of the calling thread's handler stack, at `number` below its length.
        |number: usize| unsafe { (&raw mut (*table).stacks).cast::<stack_t>().add(number) }
    };
    // SAFETY: as above.
    if let Some(number) = (0..REMEMBERED).find(|&number| same(unsafe { &*stacks(number) })) {
        return number;
    }
    // SAFETY: as above; atomic for handlers that interrupt this thread, and take the next number.
    let count = unsafe { &(*table).count }.fetch_add(1, Ordering::Relaxed) as usize;
    let number = 1 + count % (REMEMBERED - 1);
    // SAFETY: as above.
    unsafe { stacks(number).write(*wanted) };
    number
}

/// No alternate stack.
pub const NONE: stack_t =
    stack_t { ss_sp: core::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };

/// Memory for a handler stack, which no thread has.
#[derive(Debug)]
pub(super) struct HandlerStack(NonNull<u8>);

// SAFETY: memory that no thread uses.
unsafe impl Send for HandlerStack {}

impl HandlerStack {
    /// A new one; `None` if memory is refused.
    pub(super) fn new() -> Option<Self> {
        sys::map_anonymous(SIZE).ok().map(Self)
    }

    /// Gives the memory back.
    pub(super) fn release(self) {
        // SAFETY: the whole mapping, which no thread uses.
        unsafe { sys::unmap_anonymous(self.0, SIZE) };
    }

    /// Makes it the calling thread's, which has none; tells the kernel if `known` to it. All
    /// signals are blocked.
    pub(super) fn engage(self, known: bool) {
        Top::set((self.0.as_ptr().expose_provenance() + SIZE) as u64);
        IS_KNOWN.fetch_or(known, Ordering::Relaxed);
        // Where that fails, the kernel's frames go to the program's stacks.
        if known
            && let Ok(before) = sys::set_alternate_stack(&setting_for(&NONE))
            && before.ss_flags & libc::SS_DISABLE == 0
        {
            let _ = sys::set_alternate_stack(&setting_for(&before));
        }
    }

    /// That of a thread that ends, or is not there any more, which had this top; `None` for 0.
    /// Nobody else has it.
    pub(super) fn with_top(top: u64) -> Option<Self> {
        let base = usize::try_from(top).ok()?.checked_sub(SIZE)?;
        NonNull::new(core::ptr::with_exposed_provenance_mut(base)).map(Self)
    }

    /// Takes the calling thread's, which ends or is not sampled any more; `None` if it has none, or
    /// if it may stand on it. All signals are blocked.
    pub(super) fn disengage() -> Option<Self> {
        let here = 0_u64;
        if contains((&raw const here).addr() as u64) {
            return None;
        }
        let top = top();
        let stack = Self::with_top(top)?;
        let before = sys::set_alternate_stack(&NONE).ok()?;
        let own = programs(&before).unwrap_or(before);
        if own.ss_size != 0 {
            let _ = sys::set_alternate_stack(&own);
        }
        Top::set(0);
        Some(stack)
    }
}
