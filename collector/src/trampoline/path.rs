//! The cached path: the activations that were on the stack at the last sample and have not been
//! seen to return.
//!
//! An array of trampoline entries behind a sentinel, outermost first. The trampoline pops from
//! its end without telling anybody but the record; [`Path::follow`] catches up.

use super::walked::{Arming, Buffer, WalkedFrame};
use super::{Activation, Record};

/// The cached path.
#[derive(Debug)]
pub struct Path(Buffer<Activation>);

impl Path {
    /// An empty path; `None` if memory is refused.
    #[must_use]
    pub fn new() -> Option<Self> {
        let mut path = Self(Buffer::new()?);
        path.0.push(Activation::sentinel());
        Some(path)
    }

    /// Forgets all activations.
    pub fn clear(&mut self) {
        self.0.truncate(1);
    }

    /// Whether it has never been long.
    #[must_use]
    pub const fn is_small(&self) -> bool {
        self.0.is_small()
    }

    /// Gives the memory back. The value is not used again.
    pub fn release(&mut self) {
        self.0.release();
    }

    /// Number of entries, the sentinel included.
    pub(crate) const fn len(&self) -> usize {
        self.0.as_slice().len()
    }

    pub(crate) const fn entries(&self) -> &[Activation] {
        self.0.as_slice()
    }

    /// Drops what the trampoline has popped. Returns the index of the armed entry, 0 if none is.
    pub(crate) fn follow(&mut self, record: &Record) -> usize {
        if record.inner().is_null() {
            self.clear();
            return 0;
        }
        let index = |entry: *const Activation| {
            entry.addr().wrapping_sub(self.0.start().addr()) / size_of::<Activation>()
        };
        let (inner, armed) = (index(record.inner()), index(record.armed()));
        self.0.truncate(inner + 1);
        if record.armed_slot() != 0 && armed < self.len() { armed } else { 0 }
    }

    /// Keeps the first `keep` entries, the sentinel among them, and adds `frames`, which are
    /// innermost first, each with its edge count and the mark of its call site. `false` if memory
    /// is refused; the path is then empty.
    pub(crate) fn replace_from(
        &mut self,
        keep: usize,
        frames: &[WalkedFrame],
        edge_cell: impl Fn(&WalkedFrame) -> *mut u64,
        site: impl Fn(&WalkedFrame) -> u32,
    ) -> bool {
        self.0.truncate(keep.max(1));
        for frame in frames.iter().rev() {
            let index = self.len();
            let outward = self.nearest_safe(index - 1);
            let next = (outward as i64 - index as i64) * size_of::<Activation>() as i64;
            let entry = Activation {
                slot: frame.slot,
                real: frame.real,
                edge: edge_cell(frame),
                next,
                node: frame.node,
                site: if frame.arming == Arming::Safe { site(frame) } else { 0 },
            };
            if entry.edge.is_null() || !self.0.push(entry) {
                self.clear();
                return false;
            }
        }
        true
    }

    /// The innermost entry at or outside `index` that may be armed; 0 if there is none.
    pub(crate) fn nearest_safe(&self, index: usize) -> usize {
        match self.entries().get(index) {
            Some(entry) if entry.is_safe() => index,
            Some(entry) => {
                let distance = entry.next / size_of::<Activation>() as i64;
                index.saturating_add_signed(distance as isize).min(index)
            }
            None => 0,
        }
    }

    /// The node of a cached activation; `None` for the sentinel and for what is not in the path.
    pub(crate) fn node_of(&self, entry: *const Activation) -> Option<u32> {
        let index = entry.addr().checked_sub(self.0.start().addr())? / size_of::<Activation>();
        (index > 0).then(|| self.entries().get(index)).flatten().map(|entry| entry.node)
    }

    pub(crate) fn entry(&self, index: usize) -> *const Activation {
        self.entries().get(index).map_or(self.0.start(), core::ptr::from_ref)
    }
}
