//! What the instructions of a function cost, and where its jumps lead.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use csprof_format::address::FrameKind as SavedKind;
use csprof_format::ids::ModuleId;

use super::Cost;
use super::flat::by_function;
use super::row::Row;
use crate::profile::{Frame, FrameKind, Function, FunctionRef};
use crate::refine::{Cancelled, Refined, Watch};

/// The address at which a frame was, and its module: of a call that of its last byte, since the
/// return address is that of the next instruction.
fn address_of(refined: &Refined, frame: &Frame) -> Option<(ModuleId, u64)> {
    let site = refined.profile.info.frames.get(frame.site?.index())?;
    let is_call = site.kind == SavedKind::Call;
    Some((site.module?, site.offset.checked_sub(u64::from(is_call))?))
}

/// The addresses at which samples met a function, and their module, in ascending order; where it
/// was inlined everywhere, those of the functions that it was inlined into.
///
/// # Errors
/// Why no instructions can be shown, for people.
pub fn addresses(refined: &Refined, function: FunctionRef) -> Result<(ModuleId, Vec<u64>), String> {
    let addresses = |is_inlined: bool| {
        let frames = refined.frames.iter().filter(|frame| frame.function == function);
        let frames = frames.filter(|frame| (frame.kind == FrameKind::Inline) == is_inlined);
        let mut found: Vec<_> = frames.filter_map(|frame| address_of(refined, frame)).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    let found =
        Some(addresses(false)).filter(|own| !own.is_empty()).unwrap_or_else(|| addresses(true));
    let Some(&(module, _)) = found.first() else {
        return Err(
            "no address of it is known: it is no code of a load module, or stages have put \
                    something else in its place"
                .to_owned(),
        );
    };
    if found.iter().any(|(other, _)| *other != module) {
        return Err("it ran in several builds of its module, whose instructions are not the same"
            .to_owned());
    }
    Ok((module, found.into_iter().map(|(_, address)| address).collect()))
}

/// What each of some instructions costs.
#[derive(Clone, Debug)]
pub struct InstructionCosts {
    /// What their rows are made from: the functions of rows are instructions.
    pub forest: Refined,
    /// The rows of those with samples, by their places among all.
    pub rows: BTreeMap<usize, Row>,
}

impl InstructionCosts {
    /// What instructions of a module cost: the addresses of each, ascending. O(nodes).
    ///
    /// # Errors
    /// The watch ended it.
    pub fn new(
        refined: &Refined,
        module: ModuleId,
        instructions: &[Range<u64>],
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        let refined = &refined.without_loops(watch)?;
        let first = refined.functions.len();
        let name = |range: &Range<u64>| Function {
            module: Some(module),
            ..Function::named(format!("{:#x}", range.start))
        };
        let place_of = |frame: &Frame| {
            let (of, address) = address_of(refined, frame)?;
            let after = instructions.partition_point(|range| range.start <= address);
            let at = after.checked_sub(1).filter(|_| of == module)?;
            instructions[at].contains(&address).then_some(at)
        };
        let forest = refined.clone().placed(instructions.iter().map(name).collect(), &place_of);
        let rows = by_function(&forest, watch)?.into_iter();
        let rows = rows.filter_map(|row| Some((row.function.index().checked_sub(first)?, row)));
        Ok(Self { rows: rows.collect(), forest })
    }

    /// The places of the instructions that cost most ([`hottest`]).
    #[must_use]
    pub fn hottest(&self, refined: &Refined) -> Vec<usize> {
        hottest(self.rows.iter().map(|(at, row)| (*at, row)), refined)
    }
}

/// What has exclusive samples of the metric that is looked at, most first; where nothing has any,
/// what has inclusive ones.
pub(super) fn hottest<'r, T>(
    rows: impl Iterator<Item = (T, &'r Row)> + Clone,
    refined: &Refined,
) -> Vec<T> {
    let by = |cost: Cost| {
        let samples = |row: &Row| cost.of(row.of(refined.metric));
        let mut hot: Vec<_> = rows.clone().filter(|(_, row)| samples(row) > 0).collect();
        hot.sort_by_key(|(_, row)| Reverse(samples(row)));
        hot.into_iter().map(|(what, _)| what).collect::<Vec<_>>()
    };
    let own = by(Cost::Exclusive);
    if own.is_empty() { by(Cost::Inclusive) } else { own }
}

/// A jump from one instruction to another, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    /// The jump.
    pub from: usize,
    /// Where it leads.
    pub to: usize,
    /// Which column its arrow has, 0 that next to the instructions.
    pub lane: usize,
}

impl Jump {
    /// The first and the last place that its arrow touches.
    #[must_use]
    pub fn span(&self) -> (usize, usize) {
        (self.from.min(self.to), self.from.max(self.to))
    }
}

/// Finds room for the arrows of jumps in so many columns: short ones are next to the instructions,
/// and those without room are left out.
#[must_use]
pub fn arrows(jumps: impl IntoIterator<Item = (usize, usize)>, lanes: usize) -> Vec<Jump> {
    let mut jumps: Vec<Jump> =
        jumps.into_iter().map(|(from, to)| Jump { from, to, lane: 0 }).collect();
    jumps.sort_by_key(|jump| {
        let (first, last) = jump.span();
        (last - first, first)
    });
    // What each column has, by first place; none of it overlaps.
    let mut taken: Vec<BTreeMap<usize, usize>> = vec![BTreeMap::new(); lanes];
    let mut placed = Vec::new();
    for jump in jumps {
        let (first, last) = jump.span();
        let is_free = |lane: &BTreeMap<usize, usize>| {
            lane.range(..=last).next_back().is_none_or(|(_, end)| *end < first)
        };
        if let Some(lane) = taken.iter().position(is_free) {
            taken[lane].insert(first, last);
            placed.push(Jump { lane, ..jump });
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_do_not_lie_over_each_other() {
        let told = |jumps: &[(usize, usize)], lanes| {
            let placed = arrows(jumps.iter().copied(), lanes);
            placed.into_iter().map(|jump| (jump.from, jump.to, jump.lane)).collect::<Vec<_>>()
        };
        assert_eq!(told(&[(9, 1), (2, 4), (6, 5)], 4), [(6, 5, 0), (2, 4, 0), (9, 1, 1)]);
        assert_eq!(told(&[(0, 4), (1, 5), (2, 6)], 2), [(0, 4, 0), (1, 5, 1)]);
        assert_eq!(told(&[(3, 3)], 1), [(3, 3, 0)]);
        assert_eq!(told(&[(0, 9)], 0), []);
        let many: Vec<_> = (0..200).map(|at| (at * 7 % 100, at * 13 % 100)).collect();
        for jump in arrows(many.iter().copied(), 3) {
            let (first, last) = jump.span();
            for other in arrows(many.iter().copied(), 3) {
                let (start, end) = other.span();
                let is_apart = end < first || last < start || other.lane != jump.lane;
                assert!(is_apart || other == jump);
            }
        }
    }
}
