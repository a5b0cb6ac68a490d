//! From instructions to basic blocks and the edges between them.

use super::blocks::{Blocks, MOST_BLOCKS, number};
use super::code::{Leave, Memory, Target, TooLarge};
use super::landing_pads::LandingPad;
use super::nest::Graph;
use super::sweep::{CodePart, Flow, FlowKind, Sweep};
use super::tables::{Indirect, Resolver};

/// Most edges of a function. An interpreter has one from each operation to each.
const MOST_EDGES: usize = 1 << 23;

/// How often jump tables are looked for anew, when those found have led to more.
const MOST_ROUNDS: usize = 8;

/// Instructions that are looked at for jump tables, in all; and for each byte of a function.
const TABLE_EFFORT: usize = 4 << 20;
const TABLE_EFFORT_OF_BYTE: usize = 64;

/// What was found beside the blocks.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) blocks: Blocks,
    pub(super) leaves: Vec<Leave>,
    pub(super) unresolved: Vec<u64>,
    /// Blocks that end with a return, or perhaps with a jump to what returns, or go on in the next
    /// function.
    pub(super) returns: Vec<u32>,
}

/// Builds the graph of a function.
pub(super) struct Builder<'a> {
    pub(super) sweep: &'a Sweep<'a>,
    pub(super) memory: &'a dyn Memory,
    pub(super) entry: u64,
    pub(super) pads: &'a [LandingPad],
    pub(super) never_returns: &'a dyn Fn(Target) -> bool,
}

impl Builder<'_> {
    pub(super) fn run(&self) -> Result<Found, TooLarge> {
        let stops: Vec<bool> = (self.sweep.flows.iter())
            .map(|flow| match flow.kind {
                FlowKind::Call(target) => (self.never_returns)(target),
                _ => false,
            })
            .collect();
        let mut leaders = self.leaders(&stops);
        // Indirect jumps by address, with what is known of them.
        let mut indirect: Vec<(u64, Indirect)> = (self.sweep.flows.iter())
            .filter(|flow| flow.kind == FlowKind::Jump(Target::Unknown))
            .map(|flow| (flow.at, Indirect::Unresolved))
            .collect();
        let bytes: u64 =
            self.sweep.parts.iter().map(|part| part.range.end - part.range.start).sum();
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut effort = bytes.saturating_mul(TABLE_EFFORT_OF_BYTE).min(TABLE_EFFORT);
        let mut found = self.connect(&leaders, &stops, &indirect)?;
        for _ in 0..MOST_ROUNDS {
            let mut is_new = false;
            for (at, indirect) in &mut indirect {
                if matches!(indirect, Indirect::Table(_)) || effort == 0 {
                    continue;
                }
                let Some(block) = found.blocks.find(*at) else { continue };
                let (sweep, memory, blocks) = (self.sweep, self.memory, &found.blocks);
                let mut resolver = Resolver { sweep, memory, blocks, effort: &mut effort };
                let now = resolver.resolve(block);
                if let Indirect::Table(targets) = &now {
                    leaders.extend(targets);
                }
                is_new |= now != *indirect;
                *indirect = now;
            }
            if !is_new {
                break;
            }
            leaders.sort_unstable();
            leaders.dedup();
            found = self.connect(&leaders, &stops, &indirect)?;
        }
        Ok(found)
    }

    /// Addresses at which blocks begin, ordered.
    fn leaders(&self, stops: &[bool]) -> Vec<u64> {
        let mut leaders: Vec<u64> = self.sweep.parts.iter().map(|part| part.range.start).collect();
        leaders.extend(self.sweep.target(self.entry));
        leaders.extend(self.pads.iter().filter_map(|pad| self.sweep.target(pad.pad)));
        for (flow, &stops) in self.sweep.flows.iter().zip(stops) {
            match flow.kind {
                // Behind a call that leads to a landing pad control may not go on.
                FlowKind::Call(_) if !stops && self.pad(flow.at).is_none() => continue,
                FlowKind::Jump(Target::Code(to)) | FlowKind::Branch(to) => {
                    leaders.extend(self.sweep.target(to));
                }
                _ => {}
            }
            leaders.push(flow.next);
        }
        leaders.retain(|&leader| self.sweep.part(leader).is_some());
        leaders.sort_unstable();
        leaders.dedup();
        leaders
    }

    /// Where an exception goes on that leaves a call.
    fn pad(&self, call: u64) -> Option<u64> {
        let after = self.pads.partition_point(|pad| pad.calls.start <= call);
        let pad = self.pads[..after].last().filter(|pad| pad.calls.contains(&call))?;
        self.sweep.target(pad.pad)
    }

    /// Makes blocks and edges.
    fn connect(
        &self,
        leaders: &[u64],
        stops: &[bool],
        indirect: &[(u64, Indirect)],
    ) -> Result<Found, TooLarge> {
        if leaders.len() > MOST_BLOCKS {
            return Err(TooLarge);
        }
        let mut found = Found::default();
        let blocks = &mut found.blocks;
        for (at, &start) in leaders.iter().enumerate() {
            let Some(part) = self.sweep.part(start) else { continue };
            let next = leaders.get(at + 1).copied().unwrap_or(u64::MAX);
            blocks.push(start, next.min(part.range.end));
        }
        let mut edges = Graph::new();
        let mut successors = Vec::new();
        let mut flow = 0;
        for block in 0..number(found.blocks.len()) {
            successors.clear();
            let (start, end) = (found.blocks.start(block), found.blocks.end(block));
            let mut goes_on = true;
            let mut last = None;
            while let Some(&this) = self.sweep.flows.get(flow).filter(|this| this.at < end) {
                if this.at >= start {
                    let stops = stops[flow];
                    goes_on =
                        self.follow(block, this, stops, indirect, &mut found, &mut successors);
                    last = Some(this);
                }
                flow += 1;
            }
            if goes_on
                && self.sweep.part(start).is_some_and(|part: &CodePart<'_>| end < part.range.end)
            {
                successors.extend(found.blocks.find(end));
            } else if goes_on {
                // A function may go on in the next one, unless it ends with a call: behind that
                // compilers leave out what is never reached.
                let is_end = |last: &Flow| {
                    matches!(last.kind, FlowKind::Call(_)) && self.sweep.is_padding(last.next, end)
                };
                if !last.as_ref().is_some_and(is_end) {
                    found.returns.push(block);
                }
            }
            successors.sort_unstable();
            successors.dedup();
            edges.push(&successors);
            if edges.edges() > MOST_EDGES {
                return Err(TooLarge);
            }
        }
        found.blocks.join(edges, self.entry);
        Ok(found)
    }

    /// Adds what one instruction of a block does; returns whether it goes on to the next.
    fn follow(
        &self,
        block: u32,
        flow: Flow,
        stops: bool,
        indirect: &[(u64, Indirect)],
        found: &mut Found,
        successors: &mut Vec<u32>,
    ) -> bool {
        let inside = |to, found: &Found| self.sweep.target(to).and_then(|to| found.blocks.find(to));
        let leave = |target, conditional, found: &mut Found| {
            found.leaves.push(Leave { at: flow.at, target, conditional });
        };
        match flow.kind {
            FlowKind::Jump(Target::Code(to)) => {
                match inside(to, found) {
                    Some(block) => successors.push(block),
                    None => leave(Target::Code(to), false, found),
                }
                false
            }
            FlowKind::Branch(to) => {
                match inside(to, found) {
                    Some(block) => successors.push(block),
                    None => leave(Target::Code(to), true, found),
                }
                true
            }
            FlowKind::Jump(Target::Slot(slot)) => {
                leave(Target::Slot(slot), false, found);
                false
            }
            FlowKind::Jump(Target::Unknown) => {
                let known = indirect.binary_search_by_key(&flow.at, |&(at, _)| at);
                match known.ok().map(|at| &indirect[at].1) {
                    Some(Indirect::Table(targets)) => {
                        for &to in targets {
                            match inside(to, found) {
                                Some(block) => successors.push(block),
                                None => leave(Target::Code(to), true, found),
                            }
                        }
                    }
                    Some(Indirect::Pointer) => leave(Target::Unknown, false, found),
                    _ => {
                        found.unresolved.push(flow.at);
                        found.returns.push(block);
                    }
                }
                false
            }
            FlowKind::Call(_) => {
                successors.extend(self.pad(flow.at).and_then(|pad| found.blocks.find(pad)));
                !stops
            }
            FlowKind::Return => {
                found.returns.push(block);
                false
            }
            FlowKind::Stop => false,
        }
    }
}
