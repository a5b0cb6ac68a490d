//! A program's machine code as control flow: basic blocks, loops, and the jumps that leave a
//! function.
//!
//! Everything here is about one function at a time, whose code is given as bytes at ELF virtual
//! addresses ([`Memory`]); no file is read and no symbol known. [`Structure::of`] decodes the
//! function, makes a graph of its basic blocks, and finds its loops:
//!
//! | file | what it does |
//! |---|---|
//! | `code` | what is asked for, and what an instruction says |
//! | `sweep` | decodes instructions, in the order of addresses |
//! | `draft` | a function of which more parts become known |
//! | `landing_pads` | reads where exceptions go on |
//! | `blocks` | basic blocks and the edges between them |
//! | `tables` | finds where indirect jumps lead |
//! | `graph` | makes the blocks of a function |
//! | `nest` | finds the loops of a graph, and which lies in which |
//! | `listing` | instructions as text |
//! | `returned` | which addresses of functions code may return |
//!
//! Invariants: no bytes make it panic, and what it takes in time and memory is in proportion to the
//! bytes, or it says [`TooLarge`]. An indirect jump that is not understood leads nowhere, and is
//! [recorded](Structure::unresolved). Code that nothing known leads to may be reached by such a
//! jump, or by one through a pointer, so it counts as reached from outside, unless it is padding.
//! Of a function without such jumps it is dead, and what it leads to is not entered from there.

mod blocks;
mod code;
mod draft;
mod graph;
mod landing_pads;
mod listing;
mod nest;
mod returned;
mod sweep;
mod tables;
#[cfg(test)]
mod tests;

use core::ops::Range;

pub use self::code::{Function, Leave, Memory, Target, TooLarge};
pub use self::draft::{Draft, may_return};
pub use self::landing_pads::{LandingPad, landing_pads};
pub use self::listing::{Listed, listing};
pub use self::returned::returned;

use self::blocks::Blocks;
use self::graph::Found;
use self::nest::{Graph, NONE, Nest, NestedLoop};
use self::sweep::{Starts, Sweep};

/// Most loops in each other.
const DEEPEST: u32 = 256;

/// Blocks before one block that are looked at to learn what runs before a loop.
const MOST_BEFORE: usize = 256;

/// A loop of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Where it is entered; if [irreducible](Self::irreducible), one of the places.
    pub header: u64,
    /// The loop around it.
    pub parent: Option<usize>,
    /// It is entered elsewhere than at the header too.
    pub irreducible: bool,
}

/// What was found of a function.
#[derive(Debug)]
pub struct Structure {
    blocks: Blocks,
    nest: Nest,
    loops: Vec<Loop>,
    leaves: Vec<Leave>,
    unresolved: Vec<u64>,
    /// Where instructions begin, ordered.
    starts: Vec<Starts>,
}

impl Structure {
    /// Looks at a function. `never_returns` tells whether what is called never comes back.
    ///
    /// # Errors
    ///
    /// If there is too much of it.
    pub fn of(
        memory: &dyn Memory,
        function: &Function<'_>,
        never_returns: &dyn Fn(Target) -> bool,
    ) -> Result<Self, TooLarge> {
        Self::of_draft(Draft::new(memory, function)?, never_returns)
    }

    /// The same of a function of which all parts are known. What `never_returns` told of before, it
    /// has to tell again.
    ///
    /// # Errors
    ///
    /// If there is too much of it.
    pub fn of_draft(
        draft: Draft<'_>,
        never_returns: &dyn Fn(Target) -> bool,
    ) -> Result<Self, TooLarge> {
        let (found, entry, sweep) = draft.finish(never_returns)?;
        Self::new(found, entry, sweep)
    }

    fn new(found: Found, entry: u64, sweep: Sweep<'_>) -> Result<Self, TooLarge> {
        let Found { blocks, leaves, unresolved, returns: _ } = found;
        let roots = roots(&blocks, entry, &sweep);
        let entered = blocks.find(entry).map(|entry| blocks.reached(&[entry]));
        let is_understood =
            unresolved.is_empty() && leaves.iter().all(|leave| leave.target != Target::Unknown);
        let alive = entered.as_ref().filter(|_| is_understood);
        let nest = match alive.filter(|alive| roots.iter().any(|&root| !alive[root as usize])) {
            Some(alive) => Nest::of(&without_dead_edges(blocks.edges(), alive), &roots),
            None => Nest::of(blocks.edges(), &roots),
        };
        let told = |found: &NestedLoop| Loop {
            header: blocks.start(found.header),
            parent: (found.parent != NONE).then_some(found.parent as usize),
            irreducible: found.irreducible,
        };
        let loops = nest.loops.iter().map(told).collect();
        let starts = sweep.into_starts();
        let structure = Self { nest, loops, leaves, unresolved, starts, blocks };
        if structure.nest.depth() > DEEPEST { Err(TooLarge) } else { Ok(structure) }
    }

    /// Its loops, each before those inside it, which follow it at once.
    #[must_use]
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// The loops that an address lies in, the outermost first.
    #[must_use]
    pub fn loops_at(&self, address: u64) -> Vec<usize> {
        let innermost = self.blocks.find(address).map(|block| self.nest.innermost[block as usize]);
        let innermost = innermost.filter(|&found| found != NONE).map(|found| found as usize);
        let around = core::iter::successors(innermost, |&inner| self.loops[inner].parent);
        let mut loops: Vec<usize> = around.collect();
        loops.reverse();
        loops
    }

    /// Where the code of a loop is, with that of the loops inside it: disjoint, ordered.
    #[must_use]
    pub fn ranges(&self, number: usize) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let own = u32::try_from(number).unwrap_or(NONE);
        for (block, &innermost) in (0..).zip(&self.nest.innermost) {
            if !self.nest.holds(own, innermost) {
                continue;
            }
            let (start, end) = (self.blocks.start(block), self.blocks.end(block));
            match ranges.last_mut().filter(|last| last.end == start) {
                Some(last) => last.end = end,
                None => ranges.push(start..end),
            }
        }
        ranges
    }

    /// The block in which a loop begins.
    #[must_use]
    pub fn header(&self, number: usize) -> Range<u64> {
        self.block(self.nest.loops[number].header)
    }

    /// The blocks from which a loop leads back to its header.
    pub fn latches(&self, number: usize) -> impl Iterator<Item = Range<u64>> {
        self.nest.loops[number].latches.iter().map(|&block| self.block(block))
    }

    /// Whether control may leave a loop behind its header.
    #[must_use]
    pub fn header_leaves(&self, number: usize) -> bool {
        let own = u32::try_from(number).unwrap_or(NONE);
        let mut to = self.blocks.edges().successors(self.nest.loops[number].header).iter();
        to.any(|&to| !self.nest.holds(own, self.nest.innermost[to as usize]))
    }

    /// The blocks that run before a loop, within the loop around it: the nearest, so many at most.
    #[must_use]
    pub fn before(&self, number: usize, most: usize) -> Vec<Range<u64>> {
        let found = &self.nest.loops[number];
        let own = u32::try_from(number).unwrap_or(NONE);
        let inside =
            |outer, block: u32| self.nest.holds(outer, self.nest.innermost[block as usize]);
        let around = self.nest.loops.get(found.parent as usize).map(|around| around.header);
        let mut blocks = vec![found.header];
        let mut next = 0;
        while let Some(&block) = blocks.get(next).filter(|_| blocks.len() <= most) {
            next += 1;
            if Some(block) == around {
                continue;
            }
            for &before in self.blocks.predecessors(block).iter().take(MOST_BEFORE) {
                if blocks.len() > most {
                    break;
                }
                let is_around = found.parent == NONE || inside(found.parent, before);
                if is_around && !inside(own, before) && !blocks.contains(&before) {
                    blocks.push(before);
                }
            }
        }
        blocks.iter().skip(1).take(most).map(|&block| self.block(block)).collect()
    }

    /// The addresses of the instructions of a block, ordered; of many, so many of the first and
    /// the last. A large block costs no more than they do.
    #[must_use]
    pub fn addresses(&self, block: Range<u64>, most: usize) -> Vec<u64> {
        let after = self.starts.partition_point(|part| part.first() <= block.start);
        let Some(part) = self.starts[..after].last() else { return Vec::new() };
        let last: Vec<u64> = part.within(block.clone()).rev().take(most.div_ceil(2)).collect();
        let first_of_last = last.last().map_or(block.end, |&first| first);
        let first = part.within(block.start..first_of_last).take(most / 2);
        first.chain(last.iter().rev().copied()).collect()
    }

    fn block(&self, number: u32) -> Range<u64> {
        self.blocks.start(number)..self.blocks.end(number)
    }

    /// The basic blocks, ordered, and where each leads: numbers of blocks.
    pub fn blocks(&self) -> impl Iterator<Item = (Range<u64>, &[u32])> {
        let numbers = 0..u32::try_from(self.blocks.len()).unwrap_or(NONE);
        numbers.map(|block| (self.block(block), self.blocks.edges().successors(block)))
    }

    /// Jumps that leave the function, ordered.
    #[must_use]
    pub fn leaves(&self) -> &[Leave] {
        &self.leaves
    }

    /// Addresses of jumps through tables that are not understood.
    #[must_use]
    pub fn unresolved(&self) -> &[u64] {
        &self.unresolved
    }

    /// Bytes of memory that it takes, about.
    #[must_use]
    pub fn memory(&self) -> usize {
        // Bounds, innermost loop and ends of two lists of edges; an edge stands in both.
        let (blocks, edges) = (self.blocks.len(), self.blocks.edges().edges());
        28 * blocks
            + 8 * edges
            + size_of::<Leave>() * self.leaves.len()
            + (size_of::<NestedLoop>() + size_of::<Loop>()) * self.loops.len()
            + self.starts.iter().map(Starts::memory).sum::<usize>()
    }
}

/// Blocks at which control comes from outside, the entry first.
fn roots(blocks: &Blocks, entry: u64, sweep: &Sweep<'_>) -> Vec<u32> {
    let numbers = 0..u32::try_from(blocks.len()).unwrap_or(NONE);
    let mut roots: Vec<u32> = blocks.find(entry).into_iter().collect();
    let is_root = |&block: &u32| {
        blocks.predecessors(block).is_empty()
            && !blocks.is_entry(block)
            && !sweep.is_padding(blocks.start(block), blocks.end(block))
    };
    roots.extend(numbers.clone().filter(is_root));
    let mut is_reached = blocks.reached(&roots);
    // A loop that nothing known leads to.
    for block in numbers {
        if !is_reached[block as usize] && !blocks.predecessors(block).is_empty() {
            let is_padding =
                |&before: &u32| sweep.is_padding(blocks.start(before), blocks.end(before));
            if blocks.predecessors(block).iter().all(is_padding) {
                continue;
            }
            roots.push(block);
            blocks.mark(&[block], &mut is_reached);
        }
    }
    roots
}

/// A graph without the edges from dead blocks to others.
fn without_dead_edges(edges: &Graph, alive: &[bool]) -> Graph {
    let mut kept = Graph::new();
    let mut to: Vec<u32> = Vec::new();
    for block in 0..u32::try_from(edges.len()).unwrap_or(NONE) {
        let is_alive = alive[block as usize];
        to.clear();
        to.extend(edges.successors(block).iter().filter(|&&to| is_alive || !alive[to as usize]));
        kept.push(&to);
    }
    kept
}
