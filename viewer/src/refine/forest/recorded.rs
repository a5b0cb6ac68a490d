//! Edge counts: as they were recorded, and their bounds after stages took samples out.
//!
//! [`edges`](super::edges) finds the bounds.

use super::bits::Bits;
use super::families::Families;
use super::lazy::Lazy;
use super::procedures::Procedures;
use crate::profile::{Column, Count, FrameKind};

/// How a stage affects edge counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// Not at all: of each activation it keeps all samples or none.
    None,
    /// Activations may lose some of their samples.
    TakesOut,
    /// The same, and which samples are taken out depends on the line or on the epoch.
    Parts,
}

/// Edge counts and samples of each node before any samples were taken out.
#[derive(Clone, Debug)]
pub(crate) struct Recorded<C> {
    /// Least edge count; [`Count::MAX`] for nodes that a stage put in.
    pub(crate) low: Column<C>,
    /// Greatest edge count; the same column if all are exact.
    pub(crate) high: Column<C>,
    /// Inclusive samples.
    pub(crate) inclusive: Column<C>,
    /// Whether `low` decides which nodes have edges ([`Count::MAX`]: none), instead of the kind of
    /// the frame: so in a tree of callers, where edges are those of the function at the root.
    pub(crate) marked: bool,
    /// Whether nodes of a tree of callers have samples of work that was done for other threads'
    /// activations of their function.
    pub(crate) has_work_of_others: bool,
    /// The greatest effect of the stages since then.
    pub(crate) effect: Effect,
    /// The edges of the profile's nodes; none in a tree of callers.
    pub(crate) loaded: Column<C>,
    /// Their families; made when first needed.
    pub(crate) families: Lazy<Families<C>>,
}

impl<C: Count> Recorded<C> {
    /// Exact counts of the nodes whose frame is of a kind that is called.
    pub(crate) fn of_kinds(edges: Column<C>, inclusive: Column<C>) -> Self {
        Self {
            low: edges.clone(),
            high: edges.clone(),
            loaded: edges,
            inclusive,
            marked: false,
            has_work_of_others: false,
            effect: Effect::None,
            families: Lazy::default(),
        }
    }

    /// Counts in a tree of callers.
    pub(crate) fn of_callers(
        low: Column<C>,
        high: Column<C>,
        inclusive: Column<C>,
        has_work_of_others: bool,
    ) -> Self {
        Self {
            low,
            high,
            inclusive,
            marked: true,
            has_work_of_others,
            effect: Effect::None,
            loaded: Vec::new().into(),
            families: Lazy::default(),
        }
    }

    /// No counts for so many nodes.
    pub(crate) fn none(nodes: usize) -> Self {
        let none: Column<C> = vec![C::MAX; nodes].into();
        Self::of_callers(none.clone(), none.clone(), none, false)
    }

    /// A stage was applied.
    pub(crate) fn after(&mut self, effect: Effect) {
        self.effect = self.effect.max(effect);
    }

    /// Whether no node has more edges than samples.
    pub(crate) fn is_bounded(&self) -> bool {
        let counts = self.high.iter().zip(&self.inclusive);
        counts.into_iter().all(|(&edges, &samples)| edges <= samples || edges == C::MAX)
    }

    /// The counts of all nodes whose frame is of a kind that has edges, if nothing has made them
    /// less exact since they were recorded.
    pub(crate) fn exact(
        &self,
        procedures: &Procedures,
        inclusive: &Column<C>,
    ) -> Option<&Column<C>> {
        let is_whole = self.are_as_recorded(procedures) && self.low.is(&self.high);
        (is_whole && self.inclusive.is(inclusive) && !self.marked).then_some(&self.low)
    }

    /// Whether the counts of nodes that are shown are those that were recorded, or follow from them
    /// node by node.
    pub(crate) fn are_as_recorded(&self, procedures: &Procedures) -> bool {
        self.marked || (self.effect == Effect::None && procedures.is_plain)
    }
}

/// Bounds of edge counts that cannot be computed from the recorded count of each node alone.
#[derive(Debug)]
pub(crate) struct Bounds<C> {
    /// Least counts; [`Count::MAX`] for nodes that have none.
    pub(crate) low: Vec<C>,
    /// Greatest counts; 0 for nodes that have none. A node whose outer callers are not known may
    /// have a greatest count and no least one.
    pub(crate) high: Vec<C>,
    /// Nodes above handovers, in profiles that have some.
    pub(crate) above_handovers: Option<Bits>,
}

impl<C> Bounds<C> {
    /// Memory that they take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let above_handovers = self.above_handovers.as_ref().map_or(0, Bits::bytes);
        size_of_val(&self.low[..]) + size_of_val(&self.high[..]) + above_handovers
    }
}

/// The edge counts of the nodes of a forest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeCounts<'c, C> {
    low: &'c [C],
    high: &'c [C],
    /// Samples when the counts were recorded, if bounds follow from the node alone.
    before: Option<&'c [C]>,
    now: &'c [C],
    above_handovers: Option<&'c Bits>,
    has_work_of_others: bool,
    marked: bool,
    is_part: bool,
    /// Whether nodes whose outer callers are not known have counts.
    has_partial: bool,
    /// Whether nodes below one another may count the same returns, as in a tree of callers.
    pub(crate) is_of_callers: bool,
}

impl<'c, C: Count> EdgeCounts<'c, C> {
    pub(crate) fn new(
        recorded: &'c Recorded<C>,
        now: &'c [C],
        found: Option<&'c Bounds<C>>,
    ) -> Self {
        let is_of_callers = recorded.marked;
        let is_part = is_of_callers && recorded.effect == Effect::Parts;
        match found {
            Some(Bounds { low, high, above_handovers }) => Self {
                low,
                high,
                before: None,
                now,
                above_handovers: above_handovers.as_ref(),
                has_work_of_others: false,
                marked: true,
                is_part,
                has_partial: false,
                is_of_callers,
            },
            None => Self {
                low: &recorded.low,
                high: &recorded.high,
                before: Some(&recorded.inclusive),
                now,
                above_handovers: None,
                has_work_of_others: recorded.has_work_of_others,
                marked: recorded.marked,
                is_part,
                has_partial: false,
                is_of_callers,
            },
        }
    }

    /// The counts for rows that may lack some of a procedure's nodes below one parent: the bounds
    /// that hold for each node alone.
    pub(crate) fn of_part(self) -> Self {
        Self { is_part: true, ..self.with_partial() }
    }

    /// The counts for rows that may lack some nodes of an activation whose outer callers are not
    /// known.
    pub(crate) fn with_partial(self) -> Self {
        Self { has_partial: !self.is_of_callers, ..self }
    }

    /// Whether a node is of something that is called, and its samples may be of work that this
    /// thread did for another one; in a tree of callers with such work, any node.
    #[inline]
    pub(crate) fn has_work_of_others(&self, node: usize) -> bool {
        self.has_work_of_others || self.above_handovers.is_some_and(|above| above.contains(node))
    }

    /// As [`of`](Self::of), in 64 bits.
    pub(crate) fn wide(&self, node: usize, kind: FrameKind) -> Option<(u64, u64)> {
        let (low, high) = self.of(node, kind)?;
        Some((low.into(), high.into()))
    }

    /// The edges of a node by which its samples may be divided.
    pub(crate) fn divisor(&self, node: usize, kind: FrameKind) -> RowEdges {
        match self.wide(node, kind) {
            Some(_) if self.has_work_of_others(node) => RowEdges::Mixed,
            edges => edges.into(),
        }
    }

    /// The least and the greatest possible count of a node whose frame is of this kind; `None` if
    /// it has no edges.
    #[inline]
    pub(crate) fn of(&self, node: usize, kind: FrameKind) -> Option<(C, C)> {
        let (low, high) = (self.low[node], self.high[node]);
        let is_partial = self.has_partial && low == C::MAX && high > C::default();
        let has_edges = match kind {
            kind if !kind.is_in_paths() => false,
            _ if self.marked => low != C::MAX || is_partial,
            kind => kind.is_called(),
        };
        let low = if is_partial { C::default() } else { low };
        has_edges.then(|| {
            let now = self.now[node];
            let before = self.before.map_or(now, |before| before[node]);
            let bounds = match before > now {
                true => (less(low, before - now).min(now), high.min(now)),
                false => (low, high),
            };
            if self.is_part { (bounds.0, now.max(bounds.0)) } else { bounds }
        })
    }
}

/// The edges of a node, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RowEdges {
    /// They have none.
    #[default]
    None,
    /// The least and the greatest possible count.
    Range(u64, u64),
    /// They have some, but not all samples that stand with them need be of these calls: some may be
    /// of work for other threads. So nothing can be said of a cost per edge.
    Mixed,
}

impl RowEdges {
    /// The least and the greatest possible count, if they have one that can be used.
    #[inline]
    pub(crate) fn range(self) -> Option<(u64, u64)> {
        if let Self::Range(low, high) = self { Some((low, high)) } else { None }
    }

    /// The edges of these nodes and of others.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Mixed, _) | (_, Self::Mixed) => Self::Mixed,
            (Self::None, edges) | (edges, Self::None) => edges,
            (Self::Range(a, b), Self::Range(c, d)) => Self::Range(a + c, b + d),
        }
    }
}

impl From<Option<(u64, u64)>> for RowEdges {
    fn from(range: Option<(u64, u64)>) -> Self {
        range.map_or(Self::None, |(low, high)| Self::Range(low, high))
    }
}

/// Saturating subtraction.
pub(crate) fn less<C: Count>(count: C, by: C) -> C {
    if count > by { count - by } else { C::default() }
}
