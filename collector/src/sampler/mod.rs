//! The sampler: what turns the stacks of one thread into counted nodes.
//!
//! [`Sampler::sample`], and what it calls, is for handlers and synchronous sources; making, ending
//! and handing on a [`Sampler`] is setup side.

#![expect(unsafe_code, reason = "what is shared with code that blocks no signal")]

pub mod blocks;
mod buffers;
mod counter;
mod effort;
mod interrupted;
mod sample;
mod shared;
mod suspect;
mod uses;
mod way_back;

use alloc::boxed::Box;
use core::ops::Range;
use core::ptr::NonNull;

use csprof_format::address::FrameKind;
use csprof_format::loss::PartialReason;

use crate::arch::unwind::registers::Registers;
use crate::arena::{EndedThread, ThreadArena};
use crate::trampoline::path::Path;
use crate::trampoline::walked::Walked;
use crate::unwind::cache::RecipeCache;
use crate::unwind::validate::StackBounds;
pub use buffers::Buffers;
use effort::Effort;
pub use effort::worth_ns;
pub use shared::Shared;
#[cfg(debug_assertions)]
pub use shared::is_in_handler;
use uses::Uses;
pub use way_back::show_way_back;

/// Turns the stacks of one thread into counted nodes.
///
/// Used by its thread only, by the handler or with all signals blocked: whoever uses it has the one
/// reference to it. What is used with no signal blocked is [`Shared`].
pub struct Sampler {
    /// Counters and nodes, in shared memory.
    pub arena: ThreadArena,
    /// The epoch of `root`; `None` before the first sample.
    epoch: Option<u32>,
    /// The phase of `root`.
    phase: u32,
    /// The handover of `root`, as the bits of its key; 0 for none.
    handover: u64,
    /// Root node of the present epoch and phase; 0 before the first sample.
    epoch_root: u32,
    /// Node of the present handover below it, or the same.
    root: u32,
    /// Roots of partial paths below the root of epoch and phase; 0 where there is none yet.
    partial_roots: [u32; PartialReason::COUNT],
    /// The cached path.
    path: Path,
    /// The root above the nodes of the cached path.
    path_root: u32,
    /// The frames of the present sample.
    walked: Walked,
    /// What walking may still cost.
    effort: Effort,
    /// The same for samples of calls: neither kind is to be cut short because of the other.
    effort_of_calls: Effort,
    /// The same for contexts that hand over, of which there may be more than of either.
    effort_of_contexts: Effort,
    /// Nodes that were added for these since the last epoch and phase began.
    context_nodes: u32,
    /// Whether return addresses may be replaced.
    arms: bool,
    /// The record of the trampoline, and what else is used with no signal blocked.
    shared: NonNull<Shared>,
    /// Recipes used last.
    cache: Box<RecipeCache>,
    /// Where it was interrupted last.
    uses: Uses,
}

/// Where a sample begins, and what it stands for.
#[derive(Debug)]
pub struct Sample<'a> {
    /// Those of the first frame.
    pub registers: Registers,
    /// How that was met: interrupted, or in a call of the collector.
    pub kind: FrameKind,
    /// The number of the system call in which the thread waited, if it is known to have.
    pub waited_in: Option<u32>,
    /// Where in the kernel periods of it ended, as far as that is known: each of its weight is in
    /// one of these, or in none.
    pub inside: &'a [KernelPlace],
    /// The stack that the thread was given.
    pub stack: StackBounds,
    /// Number of the source's metric.
    pub metric: usize,
    /// Periods; 0 for a context, of which no sample is counted.
    pub weight: u64,
    /// The thread's time that it stands for, in nanoseconds: the walk may take a share of it.
    /// `None` for a sample of a call.
    pub time_ns: Option<u64>,
    /// Whether it may arm: not one that is taken back when its block is, for the returns that it
    /// has counted would stay.
    pub arms: bool,
}

/// A place in the kernel, and how many periods of a sample ended there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelPlace {
    /// The kernel's address.
    pub address: u64,
    /// Periods; at least 1.
    pub weight: u64,
}

impl Sampler {
    /// That of a thread on this stack, which has no sample yet. `place` is where the thread's
    /// [`Shared`] was before: see [`Sampler::leave_to_child`].
    ///
    /// # Safety
    /// `place` is a leaked box of which nobody else has a reference.
    #[must_use]
    pub unsafe fn new(
        arena: ThreadArena,
        buffers: Buffers,
        stack: StackBounds,
        arms: bool,
        place: Option<NonNull<Shared>>,
    ) -> Self {
        let Buffers { mut path, walked, cache } = buffers;
        let shared = Shared::new(stack, arena.returns_cell(), arena.lost_returns_cell());
        let shared = match place {
            // SAFETY: by contract.
            Some(place) => unsafe {
                place.write(shared);
                place
            },
            None => NonNull::from(Box::leak(Box::new(shared))),
        };
        path.clear();
        Self {
            arena,
            epoch: None,
            phase: 0,
            handover: 0,
            epoch_root: 0,
            root: 0,
            partial_roots: [0; PartialReason::COUNT],
            path,
            path_root: 0,
            walked,
            effort: Effort::of_new_thread(),
            effort_of_calls: Effort::of_new_thread(),
            effort_of_contexts: Effort::of_new_thread(),
            context_nodes: 0,
            arms,
            shared,
            cache,
            uses: Uses::new(),
        }
    }

    /// Puts the real return address back for good, and counts what has been left without returning.
    /// `live` is what is in use of the thread's stack.
    pub fn disarm_at_end(&mut self, live: Range<u64>) {
        let record = &self.shared().record;
        record.disarm(live.clone());
        self.arena.record_mut().lost_returns += record.left_at_end(live);
    }

    /// Gives the tree up; the file keeps it.
    ///
    /// # Safety
    /// Nobody finds the record any more, and nobody has a reference to what is shared.
    pub unsafe fn end(self) -> (EndedThread, Buffers) {
        let ended = self.arena.end();
        // SAFETY: made by `new` from a box, and found by nobody.
        drop(unsafe { Box::from_raw(self.shared.as_ptr()) });
        (ended, Buffers { path: self.path, walked: self.walked, cache: self.cache })
    }

    /// In the child of a fork, where the tree is the parent's: lets what is in use come to its end,
    /// with counts that are nobody's.
    pub fn keep(&mut self) {
        self.shared().record.abandon();
        self.arena.detach();
    }

    /// In the child of a fork: what the thread that it is now may use. The place of what is shared
    /// stays the same if it is given, for the trampoline may have looked at it already.
    #[must_use]
    pub fn leave_to_child(mut self) -> (Option<Buffers>, Option<NonNull<Shared>>) {
        // What is in use stays, these few pages.
        let (path, place) = if self.shared().is_in_use() {
            self.keep();
            (Path::new(), None)
        } else {
            self.arena.leave();
            (Some(self.path), Some(self.shared))
        };
        (path.map(|path| Buffers { path, walked: self.walked, cache: self.cache }), place)
    }

    /// What is used with no signal blocked.
    #[inline]
    pub const fn shared<'a>(&self) -> &'a Shared {
        // SAFETY: lives as long as its thread is sampled, and nobody has an exclusive reference to
        // it.
        unsafe { self.shared.as_ref() }
    }
}
