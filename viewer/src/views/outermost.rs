//! Which nodes of a row are outermost, and which of the calls in it are.
//!
//! The nodes of a row come depth first, each with its *places*: what is below it comes with a
//! beginning within them. So where the last outermost one ends tells it, without a stack.

use core::ops::Range;

/// Where the last outermost nodes of a row end; 0 before the first one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outermost<P> {
    /// The last one of all.
    any: P,
    /// Of those with edges.
    call: P,
    /// Of those with work of others.
    work_of_others: P,
}

/// What a node has that decides how its row counts it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeFacts {
    /// Whether it has edges.
    pub(super) edges: bool,
    /// Whether some of its samples may be of work for other threads.
    pub(super) work_of_others: bool,
}

/// How a node stands to those of its row that came before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// Whether no other node of the row is above it. Otherwise its inclusive cost is counted there.
    pub(super) is_outermost: bool,
    /// Whether it has edges, and no other node of the row with edges is above it.
    pub(super) is_outermost_call: bool,
    /// Whether it makes the row [mixed](is_mixed).
    pub(super) is_mixed: bool,
}

/// Whether a row is mixed: which of its samples are of outermost calls of the thread itself is not
/// told from what it did for other threads, so there is no cost per edge. That is so where a node
/// with edges has work of others, or a node of the row above it has: that one may be of a call of
/// the thread's own, too, which has no count yet. Any other node without edges is no call, or on a
/// path that is not whole, of which `knows_outermost` tells.
pub(super) fn is_mixed(has_edges: bool, is_in_work_of_others: bool) -> bool {
    has_edges && is_in_work_of_others
}

impl<P: Copy + Ord> Outermost<P> {
    /// The next node.
    #[inline]
    pub(super) fn enter(&mut self, places: Range<P>, facts: NodeFacts) -> Standing {
        let is_outermost_call = facts.edges && places.start >= self.call;
        if is_outermost_call {
            self.call = places.end;
        }
        let is_in_work_of_others = facts.work_of_others || places.start < self.work_of_others;
        if facts.work_of_others {
            self.work_of_others = self.work_of_others.max(places.end);
        }
        Standing {
            is_outermost: self.enter_uncounted(places),
            is_outermost_call,
            is_mixed: is_mixed(facts.edges, is_in_work_of_others),
        }
    }

    /// The next node, whatever it has; says whether it is outermost.
    #[inline]
    pub(super) fn enter_uncounted(&mut self, places: Range<P>) -> bool {
        let is_outermost = places.start >= self.any;
        if is_outermost {
            self.any = places.end;
        }
        is_outermost
    }

    /// Where the last outermost node ends.
    pub(super) fn end(&self) -> P {
        self.any
    }
}
