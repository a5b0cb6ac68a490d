//! What a thread's own code and its handler both use, with no signal blocked.

#![expect(unsafe_code, reason = "what the calling thread shares with its handler")]

use core::ops::Deref;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, compiler_fence};

use csprof_format::launch::MAX_SOURCES;

use super::counter::Counter;
use super::suspect::Suspect;
use crate::trampoline::{self, Record};
use crate::unwind::validate::StackBounds;

/// What the thread's own code and its handler both use, with no signal blocked: words that are read
/// and written one by one, through shared references only.
#[derive(Debug)]
#[repr(C)]
pub struct Shared {
    /// First, for the thread finds it as its [current](trampoline::current) record.
    pub record: Record,
    /// The stack that the thread was given.
    pub stack: StackBounds,
    /// The thread's counter of lost returns, in the arena.
    pub lost_returns: *mut u64,
    /// Whether the thread is in its handler.
    pub in_handler: AtomicBool,
    /// What may be an unwinder, and at work.
    pub suspect: Suspect,
    /// What synchronous sources count, by number of their metric.
    counters: [Counter; MAX_SOURCES],
    /// Calls of functions with no signal blocked that are under way: more than one if a handler of
    /// the program came in between.
    users: AtomicU32,
    /// The handover that the thread's code was called by, as the bits of its key; 0 for none.
    handover: AtomicU64,
    /// The context that handed over last.
    context: LastContext,
}

/// The context that handed over last, as long as it is certain to be the same: the activation that
/// did is the one with the armed slot, and none has been left since.
#[derive(Debug)]
struct LastContext {
    /// The bits of the handover's key; 0 for none. Written last.
    key: AtomicU64,
    /// Where the activation goes on, its stack pointer there, its armed slot, and returns so far.
    place: [AtomicU64; 4],
}

/// What a function with no signal blocked does with it, from its beginning to its end.
#[derive(Debug)]
pub struct Use<'a>(&'a Shared);

impl<'a> Use<'a> {
    fn begin(shared: &'a Shared) -> Self {
        // Relaxed: one thread, and its handlers.
        shared.users.store(shared.users.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        Self(shared)
    }
}

impl Deref for Use<'_> {
    type Target = Shared;
    fn deref(&self) -> &Shared {
        self.0
    }
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        let users = &self.0.users;
        users.store(users.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Relaxed);
    }
}

impl Shared {
    /// That of a thread on this stack. The counters are its own, of returns and of lost ones.
    #[must_use]
    pub const fn new(stack: StackBounds, returns: *mut u64, lost_returns: *mut u64) -> Self {
        Self {
            record: Record::new(returns),
            stack,
            lost_returns,
            in_handler: AtomicBool::new(false),
            suspect: Suspect::none(),
            counters: [const { Counter::off() }; MAX_SOURCES],
            users: AtomicU32::new(0),
            handover: AtomicU64::new(0),
            context: LastContext {
                key: AtomicU64::new(0),
                place: [const { AtomicU64::new(0) }; 4],
            },
        }
    }

    /// The calling thread's, if it is sampled.
    #[must_use]
    pub fn here<'a>() -> Option<Use<'a>> {
        Self::current().map(Use::begin)
    }

    fn current<'a>() -> Option<&'a Self> {
        // SAFETY: null, or the first field of a value that stays until its own thread sets another.
        // Nobody has an exclusive reference to it.
        unsafe { trampoline::current().cast::<Self>().as_ref() }
    }

    /// What the synchronous source of this metric counts.
    #[must_use]
    #[inline]
    pub fn counter(&self, metric: usize) -> Option<&Counter> {
        self.counters.get(metric)
    }

    /// The bits of the key of the handover that the thread's code was called by; 0 for none. Either
    /// side.
    #[must_use]
    #[inline]
    pub fn handover(&self) -> u64 {
        // Relaxed, here and below: one thread, and its handlers.
        self.handover.load(Ordering::Relaxed)
    }

    /// What the thread's code was called by from now on, if it was by `before` until now; whether
    /// it was. In the child of a fork it was not.
    pub fn change_handover(&self, before: u64, now: u64) -> bool {
        let is_same = self.handover() == before;
        if is_same {
            self.handover.store(now, Ordering::Relaxed);
        }
        is_same
    }

    /// The bits of the key of the handover by the activation that goes on at `ip` with the stack
    /// pointer `sp`, if it is the one that handed over last. Not blocked, for the thread's own
    /// code.
    #[must_use]
    pub fn last_context(&self, ip: u64, sp: u64) -> Option<u64> {
        let key = self.context.key.load(Ordering::Relaxed);
        let place = [ip, sp, self.record.armed_slot(), self.left()];
        let is_same =
            self.context.place.iter().zip(place).all(|(of, is)| of.load(Ordering::Relaxed) == is);
        (key != 0 && is_same && self.record.is_in_place(sp..self.stack.high)).then_some(key)
    }

    /// Keeps a context that handed over: its own slot is the one that is armed.
    pub fn keep_context(&self, ip: u64, sp: u64, key: u64) {
        self.context.key.store(0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        for (of, is) in
            self.context.place.iter().zip([ip, sp, self.record.armed_slot(), self.left()])
        {
            of.store(is, Ordering::Relaxed);
        }
        compiler_fence(Ordering::SeqCst);
        self.context.key.store(key, Ordering::Relaxed);
    }

    /// Cached activations that were left so far.
    fn left(&self) -> u64 {
        // SAFETY: a word of the thread's arena, which is mapped as long as it is sampled.
        let lost = unsafe { self.lost_returns.read_volatile() };
        self.record.returns().wrapping_add(lost)
    }

    /// Whether code that a handler of the program has interrupted may go on with it, or with the
    /// path and the counts: the trampoline, or functions with no signal blocked. To be asked when
    /// the record was just [suspended](Record::suspend); `true` also where a handler has left them
    /// by a jump.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        // The slot of a return that the trampoline is busy with does not hold its entry any more.
        self.users.load(Ordering::Relaxed) > 0 || self.record.armed_slot() != 0
    }
}

/// Whether the calling thread is in its handler.
#[cfg(debug_assertions)]
#[must_use]
pub fn is_in_handler() -> bool {
    Shared::current().is_some_and(|shared| shared.in_handler.load(Ordering::Relaxed))
}
