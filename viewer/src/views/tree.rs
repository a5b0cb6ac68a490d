//! A tree of rows, made as it is opened.
//!
//! Top-down and callers are one mechanism in two directions. A row stands for a set of *members*.
//! Opening it asks the [`Direction`] for the members one step further, and groups these by function
//! and kind of frame. Work and memory are in proportion to the rows that were opened.
//!
//! Invariants: the row ids of one tree never change, unless its rows are
//! [forgotten](RowTree::visit), and a row's parent has a smaller id; the
//! children of a row are distinct in (function, kind); in every opened top-down row,
//! inclusive = exclusive + Σ inclusive of its children. Where `callers of` turned paths round, the
//! first rows have all exclusive cost, and inclusive cost is that of the paths through a row.

use core::ops::Range;
use std::sync::Arc;

use super::columns::{Column, Id};
use super::outermost::{NodeFacts, Outermost};
use super::peer_costs::RanksOfSum;
use super::row::Row;
use super::sort::Sort;
use super::strips::SharedStrips;
use super::sums::{PerEdge, Samples, Sums, weights};
use crate::profile::{Count, Frame, FrameRef, MetricRef, of_each, processors};
use crate::refine::{CostsOf, Refined, WeightColumn, in_width};

/// Rows from which on a thread is worth what it costs.
const SHARED: usize = if cfg!(test) { 8 } else { 1 << 14 };

/// Siblings that a row is compared with when it is painted.
const MOST_SIBLINGS: usize = 256;

/// A row of one [`RowTree`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(pub(super) u32);

impl RowId {
    /// The row of everything.
    pub const ROOT: Self = Self(0);

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Which way the rows of a tree lead: to callees or to callers.
pub trait Direction: Sync {
    /// The members of rows.
    type Member: Copy + core::fmt::Debug + Sync;

    /// Whether a row keeps its members after it was opened. If not, there are never more members
    /// than nodes, however deep rows are opened.
    const KEEPS_MEMBERS: bool;

    /// Whether a member of a row may be below another one.
    const IS_NESTED: bool;

    /// Appends the members one step further than the row's own: those of all its children.
    fn step(
        &self,
        refined: &Refined,
        opened: Opened<'_, Self::Member>,
        out: &mut Vec<Self::Member>,
    );

    /// The frame that names the row this member belongs to.
    fn frame(&self, refined: &Refined, member: Self::Member) -> FrameRef;

    /// The node whose cost this member adds to its row. Its inclusive cost does not count again if
    /// it is below another member of the row.
    fn node(&self, member: Self::Member) -> u32;

    /// Where it and the members below it stand among those of their row, which come in that order;
    /// nowhere if none is ever below another.
    fn places(&self, member: Self::Member) -> Range<u32>;

    /// Whether there is a member one step further than this one.
    fn leads_on(&self, refined: &Refined, member: Self::Member) -> bool;
}

/// The row that is being opened.
#[derive(Clone, Copy, Debug)]
pub struct Opened<'t, M> {
    /// The row.
    pub row: &'t Row,
    /// Distance from the root of everything; 0 for the root itself.
    pub depth: u32,
    /// Its members, where the tree stores them.
    pub members: &'t [M],
}

#[derive(Clone, Debug)]
struct Entry {
    row: Row,
    parent: RowId,
    depth: u32,
    /// Range of `RowTree::members`.
    members: Range<u32>,
    /// Once opened.
    children: Option<Box<Children>>,
}

/// The children of a row. Most rows are never opened, so they lie apart.
#[derive(Clone, Debug)]
struct Children {
    /// Range of `RowTree::order`.
    range: Range<u32>,
    /// The one that was made first; the others follow it.
    first: u32,
    /// How they are ordered at present, and by which metric.
    sorted: (Sort, MetricRef),
}

/// A tree of rows, made as it is opened.
///
/// It borrows no profile, so that it can be kept beside one: methods take the [`Refined`] that the
/// tree was made from.
#[derive(Clone, Debug)]
pub struct RowTree<D: Direction> {
    pub(super) direction: D,
    entries: Vec<Entry>,
    members: Vec<D::Member>,
    /// How many of the members belong to rows that still need them.
    live: usize,
    /// How many members were ever made.
    made: usize,
    /// How many rows, counted from the first, can be closed and opened again.
    reopened: usize,
    order: Vec<RowId>,
    sort: Sort,
    /// Sections of the root's children that are ordered apart: the length of each, and whether its
    /// order is reversed. The children after them are one more section.
    sections: Vec<(usize, bool)>,
    /// For each [key of a row](Frame::row_key), one more than its position among the children being
    /// made; 0 outside of `open`. A table by number instead of a map: grouping is one load per
    /// member.
    position: Vec<u32>,
    /// The weight columns of rows.
    columns: Vec<WeightColumn>,
    /// What is known of the ranks of a sum.
    ranks: RanksOfSum,
    /// Makes the strips of rows, where they are wanted.
    strips: Option<SharedStrips>,
}

impl<D: Direction> RowTree<D> {
    /// A tree whose root has this row and these members.
    pub(super) fn with_root(
        direction: D,
        refined: &Refined,
        row: Row,
        members: Vec<D::Member>,
    ) -> Self {
        let root = Entry {
            row,
            parent: RowId::ROOT,
            depth: 0,
            members: 0..number(members.len()),
            children: None,
        };
        let position = vec![0; Frame::row_keys(refined.functions.len())];
        let entries = vec![root];
        let made = members.len();
        Self {
            direction,
            entries,
            members,
            live: made,
            made,
            reopened: 0,
            order: Vec::new(),
            sort: Sort::default(),
            sections: Vec::new(),
            position,
            columns: refined.weight_columns(),
            ranks: RanksOfSum::find(refined),
            strips: None,
        }
    }

    /// Gives the root its children. Used where they are known without grouping.
    pub(super) fn set_root_children(&mut self, refined: &Refined, rows: Vec<Row>) {
        let first = number(self.entries.len());
        self.entries.extend(rows.into_iter().map(|row| Entry {
            row,
            parent: RowId::ROOT,
            depth: 1,
            members: 0..0,
            children: None,
        }));
        self.adopt(refined, RowId::ROOT, first..number(self.entries.len()));
    }

    /// Divides the root's children into sections, which are ordered apart: the length of each, and
    /// whether its order is reversed.
    pub(super) fn set_sections(&mut self, sections: Vec<(usize, bool)>) {
        self.sections = sections;
    }

    /// Makes strips of rows from now on: when a row is opened, or, if rows keep their members, by
    /// [`fill_strip`](Self::fill_strip).
    pub fn set_strips(&mut self, strips: Option<SharedStrips>) {
        self.strips = strips;
    }

    /// Makes the strips of a row, if it has none and strips are wanted. O(members of the row).
    pub fn fill_strip(&mut self, refined: &Refined, id: RowId) {
        let (Some(strips), entry) = (&self.strips, &self.entries[id.index()]) else { return };
        if entry.row.strips.is_some() || entry.members.is_empty() || id == RowId::ROOT {
            return;
        }
        let mut above = Outermost::default();
        let members = self.members(id).iter().copied();
        let outermost =
            members.filter(|&member| above.enter_uncounted(self.direction.places(member)));
        let made = strips.of_nodes(refined, outermost.map(|member| self.direction.node(member)));
        self.entries[id.index()].row.strips = Some(made);
    }

    /// What a row shows.
    #[must_use]
    pub fn row(&self, id: RowId) -> &Row {
        &self.entries[id.index()].row
    }

    /// The row above, `None` for the root.
    #[must_use]
    pub fn parent(&self, id: RowId) -> Option<RowId> {
        (id != RowId::ROOT).then(|| self.entries[id.index()].parent)
    }

    /// Distance from the root: 0 for the root, 1 for its children.
    #[must_use]
    pub fn depth(&self, id: RowId) -> u32 {
        self.entries[id.index()].depth
    }

    /// How many members were ever made.
    #[must_use]
    pub fn made(&self) -> usize {
        self.made
    }

    /// How many rows there are, also closed ones.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.entries.len()
    }

    /// How children are ordered.
    #[must_use]
    pub fn sort(&self) -> Sort {
        self.sort
    }

    /// Orders children in another way. Children that [`RowTree::children`] returned before keep
    /// their order until it is called again.
    pub fn set_sort(&mut self, sort: Sort) {
        self.sort = sort;
    }

    /// The children of a row in the order of [`RowTree::sort`] for the metric that is looked at.
    /// They are made when this is called first, in O(children of the row's members).
    pub fn children(&mut self, refined: &Refined, id: RowId) -> &[RowId] {
        if self.entries[id.index()].children.is_none() {
            self.open(refined, id);
        }
        let Self { entries, order, sort, sections, .. } = self;
        let sections = if id == RowId::ROOT { &sections[..] } else { &[] };
        let Some(of) = &mut entries[id.index()].children else { return &[] };
        let sorted = (*sort, refined.metric);
        let is_stale = of.sorted != sorted;
        of.sorted = sorted;
        let children = &mut order[of.range.start as usize..of.range.end as usize];
        if is_stale {
            // Rows are large and may be many: those that lie behind each other are quicker to read.
            for (child, row) in children.iter_mut().zip(of.first..) {
                *child = RowId(row);
            }
            sort_rows(refined, entries, (*sort, sections), children);
        }
        children
    }

    /// The children of a row as [`RowTree::children`] last returned them; empty if never.
    #[must_use]
    pub fn opened_children(&self, id: RowId) -> &[RowId] {
        let range = self.entries[id.index()].children.as_ref().map(|of| &of.range);
        range.map_or(&[], |range| &self.order[range.start as usize..range.end as usize])
    }

    /// The rows below one, if it was opened: of many, the first ones in their order.
    pub fn first_below(&self, id: RowId) -> impl Iterator<Item = &Row> {
        self.opened_children(id).iter().take(MOST_SIBLINGS).map(|&below| self.row(below))
    }

    /// Whether the first child of each row has the most in a column of costs, since that is what
    /// children are ordered by. False where that is not certain.
    #[must_use]
    pub fn begins_with_most(&self, refined: &Refined, column: Column) -> bool {
        let is_cost = matches!(column.id, Id::Inclusive | Id::Exclusive);
        let is_plain = refined.profile.comparison.is_none() && self.sections.is_empty();
        is_cost && is_plain && self.sort == Sort::by(column)
    }

    /// How many members are kept.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.members.len()
    }

    /// Calls `visit` for every row of the first levels and its level, from 0, in the order of an
    /// entirely open tree. The rows below a row are forgotten after it, so that memory is that of
    /// one path and the siblings on it. The tree is closed afterwards.
    ///
    /// # Errors
    /// The first one of `visit`, which ends it.
    pub fn visit<E>(
        &mut self,
        refined: &Refined,
        levels: u32,
        mut visit: impl FnMut(&Row, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        /// A next step: to visit a row, or to forget the rows below one.
        enum Next {
            Row(RowId),
            Forget(RowId, [usize; 2]),
        }
        self.reopened = self.entries.len();
        let mut pending = vec![Next::Row(RowId::ROOT)];
        let mut failed = Ok(());
        while let Some(next) = pending.pop() {
            let row = match next {
                Next::Row(_) if failed.is_err() => continue,
                Next::Row(row) => row,
                Next::Forget(row, [entries, order]) => {
                    let gone = self.entries.drain(entries..);
                    self.live -= gone.map(|entry| entry.members.len()).sum::<usize>();
                    self.order.truncate(order);
                    self.entries[row.index()].children = None;
                    continue;
                }
            };
            let entry = &self.entries[row.index()];
            if let Some(level) = entry.depth.checked_sub(1) {
                self.fill_strip(refined, row);
                failed = visit(&self.entries[row.index()].row, level);
            }
            let entry = &self.entries[row.index()];
            if !entry.row.has_children || entry.depth >= levels {
                continue;
            }
            if entry.children.is_none() {
                let made = [self.entries.len(), self.order.len()];
                pending.push(Next::Forget(row, made));
            }
            pending.extend(self.children(refined, row).iter().rev().map(|&row| Next::Row(row)));
        }
        self.reopened = 0;
        self.compact();
        failed
    }

    pub(super) fn members(&self, id: RowId) -> &[D::Member] {
        let range = &self.entries[id.index()].members;
        &self.members[range.start as usize..range.end as usize]
    }

    /// Groups the members one step further by function and kind.
    fn open(&mut self, refined: &Refined, id: RowId) {
        let mut found = Vec::new();
        let entry = &self.entries[id.index()];
        let opened = Opened { row: &entry.row, depth: entry.depth, members: self.members(id) };
        let depth = entry.depth + 1;
        self.direction.step(refined, opened, &mut found);

        // First pass: a row for each pair that occurs, with its number of members.
        let first = self.entries.len();
        let mut group_of = Vec::with_capacity(found.len());
        for &member in &found {
            let number_of_frame = self.direction.frame(refined, member);
            let frame = refined.frames[number_of_frame.index()];
            let position = &mut self.position[frame.row_key() as usize];
            if *position == 0 {
                self.entries.push(Entry {
                    row: Row {
                        frame: frame.site.map(|_| number_of_frame),
                        ..Row::empty(frame.function, frame.kind)
                    },
                    parent: id,
                    depth,
                    members: 0..0,
                    children: None,
                });
                *position = number(self.entries.len() - first);
            }
            let group = *position - 1;
            group_of.push(group);
            let entry = &mut self.entries[first + group as usize];
            let is_there = |other: &FrameRef| refined.frames[other.index()].site == frame.site;
            entry.row.frame = entry.row.frame.filter(is_there);
            entry.row.has_children |= self.direction.leads_on(refined, member);
            entry.members.end += 1;
        }
        // Second pass: members move to where their row keeps them.
        let mut start = number(self.members.len());
        for entry in &mut self.entries[first..] {
            self.position[Frame::row_key_of(entry.row.function, entry.row.kind) as usize] = 0;
            let end = start + entry.members.end;
            entry.members = start..start;
            start = end;
        }
        self.members.extend_from_slice(&found);
        self.live += found.len();
        self.made += found.len();
        for (member, group) in found.into_iter().zip(group_of) {
            let place = &mut self.entries[first + group as usize].members.end;
            self.members[*place as usize] = member;
            *place += 1;
        }
        in_width!(&refined.costs, costs => self.weigh(refined, costs, first));
        self.adopt(refined, id, number(first)..number(self.entries.len()));
        if !D::KEEPS_MEMBERS {
            // The row's members are dropped when it is opened.
            (first..self.entries.len())
                .for_each(|row| self.fill_strip(refined, RowId(number(row))));
        }
        if !D::KEEPS_MEMBERS && id.index() >= self.reopened {
            let members = core::mem::take(&mut self.entries[id.index()].members);
            self.live -= members.len();
        }
        self.compact();
    }

    /// Adds the weights of their members to the rows from `first` on. Many are shared out among
    /// threads.
    fn weigh<C: Count>(&mut self, refined: &Refined, costs: &CostsOf<C>, first: usize) {
        let Self { direction, entries, members, columns, ranks, .. } = self;
        let (direction, members, columns) = (&*direction, &members[..], &columns[..]);
        let edges_of = costs.edges(refined);
        let samples: Vec<_> = Samples::of_metrics(costs).collect();
        let over_ranks = ranks.costs(refined);
        let knows_outermost = !D::IS_NESTED || refined.knows_outermost();
        let weigh = |rows: &mut [Entry]| {
            let mut sums = vec![Sums::default(); columns.len()];
            // The outermost nodes of a row, and all.
            let [mut outermost, mut all] = [Vec::new(), Vec::new()];
            for entry in rows {
                sums.fill(Sums::default());
                outermost.clear();
                all.clear();
                let (mut above, mut is_mixed) = (Outermost::default(), false);
                let range = entry.members.start as usize..entry.members.end as usize;
                for &member in &members[range] {
                    let number = direction.node(member);
                    let node = number as usize;
                    let kind = refined.frames[refined.frame[node].index()].kind;
                    let work_of_others = edges_of.has_work_of_others(node);
                    let edges = edges_of.of(node, kind);
                    let facts = NodeFacts { edges: edges.is_some(), work_of_others };
                    let standing = above.enter(direction.places(member), facts);
                    is_mixed |= standing.is_mixed;
                    if over_ranks.is_some() {
                        outermost.extend(standing.is_outermost.then_some(number));
                        all.push(number);
                    }
                    for (sums, column) in sums.iter_mut().zip(columns) {
                        if column.nodes.contains(&number) {
                            let samples = samples[column.metric.index()];
                            let own = samples.own(refined, node, edges);
                            sums.add(samples.inclusive[node], own, standing);
                        }
                    }
                }
                let per_edge = PerEdge::of_row(knows_outermost, is_mixed);
                entry.row.weights = weights(refined, &sums, per_edge);
                let made = over_ranks.as_ref().and_then(|of| of.of_row(&outermost, &all));
                entry.row.over_ranks = made.map(Arc::new);
            }
        };
        let rows = &mut entries[first..];
        let parts = (rows.len() / SHARED).clamp(1, processors());
        let length = rows.len().div_ceil(parts).max(1);
        of_each(rows.chunks_mut(length).collect(), weigh);
    }

    /// Drops the members that no row needs, if they are more than half.
    fn compact(&mut self) {
        const FEW: usize = 1 << 12;
        // Then the pass over all rows pays off.
        if self.members.len() <= 2 * self.live + self.entries.len() + FEW {
            return;
        }
        let mut kept = Vec::with_capacity(self.live);
        for entry in &mut self.entries {
            let start = number(kept.len());
            let range = entry.members.start as usize..entry.members.end as usize;
            kept.extend_from_slice(&self.members[range]);
            entry.members = start..number(kept.len());
        }
        self.members = kept;
    }

    /// Makes the rows of a range the children of `id`, in order.
    fn adopt(&mut self, refined: &Refined, id: RowId, rows: Range<u32>) {
        let (start, first) = (self.order.len(), rows.start);
        self.order.extend(rows.map(RowId));
        let sections = if id == RowId::ROOT { &self.sections[..] } else { &[] };
        sort_rows(refined, &self.entries, (self.sort, sections), &mut self.order[start..]);
        let range = number(start)..number(self.order.len());
        let children = Children { range, first, sorted: (self.sort, refined.metric) };
        self.entries[id.index()].children = Some(Box::new(children));
    }
}

fn sort_rows(
    refined: &Refined,
    entries: &[Entry],
    (sort, sections): (Sort, &[(usize, bool)]),
    rows: &mut [RowId],
) {
    let row = |id: RowId| &entries[id.index()].row;
    let mut rest = rows;
    for &(length, is_mirrored) in sections {
        let (section, after) = rest.split_at_mut(length.min(rest.len()));
        let sort = Sort { reversed: sort.reversed != is_mirrored, ..sort };
        sort.order(refined, row, section);
        rest = after;
    }
    sort.order(refined, row, rest);
}

/// A length as an index of 32 bits. Members are never many more than nodes, which are numbered in
/// 32 bits, nor are rows, except in the callers view, where opening everything would run out of
/// memory first; saturating makes that an empty range instead of a wrong one.
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
