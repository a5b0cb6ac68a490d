//! Incremental search by name over the whole top-down tree, opened or not.
//!
//! A search does not filter: it goes from row to row, the heaviest first. For each pattern, one
//! pass over functions and one over nodes mark the nodes with matches at or below them. Another
//! pass groups the marked nodes like rows. It counts the rows found and adds up their costs,
//! without rows below other rows found. Rows are made only on the way to the row that is gone to.

use core::cmp::Reverse;
use core::ops::Range;
use std::collections::BinaryHeap;

use super::row::{Cost, Row, Weight};
use super::top_down::TopDown;
use super::tree::RowId;
use crate::profile::comparison::{BASE, OTHER};
use crate::profile::{Frame, FrameKind, FunctionRef};
use crate::refine::{Cancelled, Refined, Watch, WeightColumn};

/// Text to look for in function names. Case matters only if the text has upper case. In a
/// comparison [`IS_NEW`] and [`IS_GONE`] look for paths that only one side has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    text: String,
    /// Folded, where case does not matter.
    folded: Option<String>,
}

/// Looks for paths that only OTHER has, where they begin.
pub const IS_NEW: &str = "is:new";
/// Looks for paths that only BASE has, where they begin.
pub const IS_GONE: &str = "is:gone";

impl NamePattern {
    /// A pattern that finds `text` anywhere in a name; `None` if `text` is empty.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let ignores_case = !text.chars().any(char::is_uppercase);
        let folded = ignores_case.then(|| folded_text(text));
        (!text.is_empty()).then(|| Self { text: text.to_owned(), folded })
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The side of a comparison whose paths the other one lacks, if these are looked for.
    fn one_sided(&self, refined: &Refined) -> Option<usize> {
        refined.profile.comparison.as_ref()?;
        match &*self.text {
            IS_NEW => Some(OTHER),
            IS_GONE => Some(BASE),
            _ => None,
        }
    }

    /// For each function, whether its name has the text in it; or, in O(nodes), whether it has
    /// samples of the side whose paths are looked for, and none of the other one. O(functions).
    #[must_use]
    pub fn functions(&self, refined: &Refined) -> Vec<bool> {
        match self.one_sided(refined) {
            Some(side) => one_sided_functions(refined, side),
            None => refined.functions.iter().map(|function| self.is_in(&function.name)).collect(),
        }
    }

    /// Whether a row is of such a function; or whether it has samples of that side alone.
    #[must_use]
    pub fn finds(&self, row: &Row, refined: &Refined) -> bool {
        let by_sides = self.finds_sides(refined, || Cost::Inclusive.of_sides(row));
        by_sides.unwrap_or_else(|| self.is_in(&refined.functions[row.function.index()].name))
    }

    /// Whether what has so many samples of each side has those of one side alone, where that is
    /// what is looked for; `None` where it is text.
    #[must_use]
    pub fn finds_sides(&self, refined: &Refined, sides: impl FnOnce() -> [u64; 2]) -> Option<bool> {
        let side = self.one_sided(refined)?;
        let samples = sides();
        Some(samples[side] > 0 && samples[1 - side] == 0)
    }

    /// Whether a name has the text in it. Linear in both, whatever they are: `*` looks for names,
    /// and those may be as long as a file likes.
    #[must_use]
    pub fn is_in(&self, name: &str) -> bool {
        match &self.folded {
            Some(text) if name.is_ascii() => name.to_ascii_lowercase().contains(text),
            Some(text) => folded_text(name).contains(text),
            None => name.contains(&self.text),
        }
    }

    /// Where in a name the text is first found, in bytes: what to highlight. Linear, too.
    #[must_use]
    pub fn place_in(&self, name: &str) -> Option<Range<usize>> {
        if let Some(text) = &self.folded {
            return Folded::new(name).find(text);
        }
        let start = name.find(&self.text)?;
        Some(start..start + self.text.len())
    }
}

/// What letters that differ in case alone become: `ς` and `Σ` are `σ`, and `ß` is `ss`, so it may
/// be longer or shorter.
fn folded(letter: char) -> impl Iterator<Item = char> {
    letter.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

/// A text whose case does not matter. Nearly all letters of long names are ASCII's, whatever else
/// is in them, and these need no tables.
fn folded_text(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.is_ascii() {
            true => all.push(letter.to_ascii_lowercase()),
            false => all.extend(folded(letter)),
        }
    }
    all
}

/// A name whose case does not matter, and where its bytes come from.
struct Folded {
    text: String,
    /// For each byte the place of its letter in the name, and of the end the name's length.
    origins: Vec<usize>,
}

impl Folded {
    fn new(name: &str) -> Self {
        let (mut text, mut origins) = (String::with_capacity(name.len()), Vec::new());
        for (place, letter) in name.char_indices() {
            text.extend(folded(letter));
            origins.resize(text.len(), place);
        }
        origins.push(name.len());
        Self { text, origins }
    }

    /// Whole letters of the name.
    fn find(&self, text: &str) -> Option<Range<usize>> {
        let start = self.text.find(text)?;
        let last = self.origins[start + text.len() - 1];
        let end = self.origins[start + text.len()..].iter().find(|&&place| place > last)?;
        Some(self.origins[start]..*end)
    }
}

/// How many of the rows found can be gone to: the heaviest ones.
pub const MOST_HITS: usize = 10_000;

/// One pattern on one refined profile, for the metric that is looked at.
#[derive(Clone, Debug)]
pub struct Search {
    /// For each function, whether its name matches.
    functions: Vec<bool>,
    /// A node of each row found, the heaviest first; among equals, the nearest to the root.
    hits: Vec<u32>,
    /// How many rows are found, these among them.
    rows: u64,
    /// The cost of all rows found together; each sample counts once.
    cost: Option<Row>,
}

impl Search {
    /// Finds all matches. O(functions + nodes).
    ///
    /// # Errors
    /// The watch ended it.
    pub fn new(
        refined: &Refined,
        pattern: &NamePattern,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        refined.index_children(watch)?;
        let count = refined.node_count();
        watch.begin(0, 1, 2, count);
        let one_sided = pattern.one_sided(refined);
        let functions = pattern.functions(refined);
        let frames: Vec<bool> =
            refined.frames.iter().map(|frame| functions[frame.function.index()]).collect();
        let mut leads = vec![false; count];
        watch.backward(1..count, |nodes| {
            for n in nodes.rev() {
                let may_match = one_sided.is_some() || frames[refined.frame[n].index()];
                leads[n] |= may_match && refined.is_shown(n);
                leads[refined.parent[n] as usize] |= leads[n];
            }
        })?;
        let mut rows = LeadingRows::new(refined, &functions, &leads);
        rows.one_sided = one_sided;
        rows.find(watch)?;
        watch.end();
        let LeadingRows { hits, found, outermost, weights, .. } = rows;
        let mut hits = hits.into_vec();
        hits.sort_unstable();
        let hits = hits.into_iter().map(|Reverse(hit)| hit.node).collect();
        // Where nodes do not add up, samples may be of several rows.
        let is_known = refined.shown_by_column.is_none() || outermost <= 1;
        let cost = is_known.then(|| {
            let weight = |inclusive| Weight { inclusive, ..Weight::NONE };
            let weights = refined.in_row(weights).into_iter().map(weight).collect();
            Row { weights, ..Row::empty(FunctionRef::ROOT, FrameKind::Root) }
        });
        Ok(Self { functions, hits, rows: found, cost })
    }

    /// How many rows of the tree match.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The cost of all paths with a match on them; each sample counts once. `None` where rows of
    /// the tree have samples in common, so that it is not known.
    #[must_use]
    pub fn cost(&self) -> Option<&Row> {
        self.cost.as_ref()
    }

    /// How many rows can be gone to: all, or the [`MOST_HITS`] heaviest.
    #[must_use]
    pub fn hits(&self) -> usize {
        self.hits.len()
    }

    /// Whether the name of each function matches.
    #[must_use]
    pub fn functions(&self) -> &[bool] {
        &self.functions
    }

    /// The row found with so many heavier ones; it is made if it was not.
    pub fn row(&self, tree: &mut TopDown, refined: &Refined, hit: usize) -> Option<RowId> {
        let mut path = vec![*self.hits.get(hit)?];
        while let Some(&node) = path.last().filter(|node| refined.parent[**node as usize] != 0) {
            path.push(refined.parent[node as usize]);
        }
        let mut at = RowId::ROOT;
        for node in path.into_iter().rev() {
            let frame = refined.frames[refined.frame[node as usize].index()];
            tree.children(refined, at);
            let children = tree.opened_children(at).iter().copied();
            at = { children }.find(|&child| {
                let row = tree.row(child);
                (row.function, row.kind) == (frame.function, frame.kind)
            })?;
        }
        Some(at)
    }
}

/// Whether each function has samples of this side only.
fn one_sided_functions(refined: &Refined, side: usize) -> Vec<bool> {
    let parts = refined.parts();
    let mut has = vec![[false; 2]; refined.functions.len()];
    for node in (1..refined.node_count()).filter(|node| refined.inclusive(*node) > 0) {
        let function = refined.frames[refined.frame[node].index()].function;
        // Nodes are numbered in 32 bits.
        let side = usize::from(!parts[BASE].contains(&(node as u32)));
        has[function.index()][side] = true;
    }
    has.into_iter().map(|has| has[side] && !has[1 - side]).collect()
}

/// A row found. The greatest is gone to first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    cost: u128,
    /// Rows that were met later are smaller.
    met: Reverse<u64>,
    node: u32,
}

/// The rows that lead to matches, level by level, grouped as [`super::tree::RowTree`] groups them.
struct LeadingRows<'s> {
    refined: &'s Refined,
    functions: &'s [bool],
    leads: &'s [bool],
    /// If set, rows match that only this side has, whatever their functions are.
    one_sided: Option<usize>,
    /// The heaviest so far.
    hits: BinaryHeap<Reverse<Hit>>,
    found: u64,
    /// Rows found that are below no other.
    outermost: usize,
    columns: Vec<WeightColumn>,
    /// Their samples in each weight column.
    weights: Vec<u64>,
    /// Of two profiles that are compared, the nodes of each and what a sample of them weighs.
    sides: Vec<(Range<u32>, u128)>,
}

impl<'s> LeadingRows<'s> {
    fn new(refined: &'s Refined, functions: &'s [bool], leads: &'s [bool]) -> Self {
        let columns = refined.weight_columns();
        let weights = vec![0; columns.len()];
        let sides = refined.profile.comparison.as_ref().map_or_else(Vec::new, |comparison| {
            refined.parts().into_iter().zip(comparison.weights()).collect()
        });
        let (hits, found, outermost) = (BinaryHeap::new(), 0, 0);
        let one_sided = None;
        Self {
            refined,
            functions,
            leads,
            one_sided,
            hits,
            found,
            outermost,
            columns,
            weights,
            sides,
        }
    }

    fn find(&mut self, watch: &Watch<'_>) -> Result<(), Cancelled> {
        const STRETCH: usize = 1 << 12;
        let children = self.refined.children();
        // One more than the number of the group of each function and kind; 0 between rows.
        let mut group_of = vec![0u32; Frame::row_keys(self.refined.functions.len())];
        // The nodes of the rows of a level, and the rows: their nodes, and whether they match or
        // are below one that does.
        let mut nodes = vec![0u32];
        let mut rows = vec![(0..1, false)];
        let mut done = 0;
        while !rows.is_empty() {
            let (mut next_nodes, mut next_rows) = (Vec::new(), Vec::new());
            for (range, is_inside) in rows {
                done += range.len();
                if done >= STRETCH {
                    watch.step(std::mem::take(&mut done))?;
                }
                let below = nodes[range].iter().flat_map(|&node| children.of(node));
                let mut found: Vec<(u32, u32)> = Vec::new();
                let mut groups = Vec::new();
                for &node in below.filter(|node| self.leads[**node as usize]) {
                    let frame = self.refined.frames[self.refined.frame[node as usize].index()];
                    let group = &mut group_of[frame.row_key() as usize];
                    if *group == 0 {
                        groups.push(frame.row_key());
                        // Fewer than nodes, which are numbered in 32 bits.
                        *group = groups.len() as u32;
                    }
                    found.push((*group, node));
                }
                // Stable: the nodes of a row stay in their order.
                found.sort_by_key(|(group, _)| *group);
                for of_row in found.chunk_by(|one, other| one.0 == other.0) {
                    let key = groups[of_row[0].0 as usize - 1];
                    group_of[key as usize] = 0;
                    let (function, _) = Frame::of_row_key(key);
                    let start = next_nodes.len();
                    next_nodes.extend(of_row.iter().map(|(_, node)| *node));
                    let range = start..next_nodes.len();
                    let row = &next_nodes[range.clone()];
                    let is_match = match self.one_sided {
                        // What is below has what it lacks from above.
                        Some(side) => !is_inside && self.has_alone(row, side),
                        None => self.functions[function.index()],
                    };
                    if is_match {
                        self.add(&next_nodes[range.clone()], is_inside);
                    }
                    next_rows.push((range, is_inside || is_match));
                }
            }
            (nodes, rows) = (next_nodes, next_rows);
        }
        Ok(())
    }

    /// A row of these nodes matches; `is_inside`: below another one that does.
    fn add(&mut self, nodes: &[u32], is_inside: bool) {
        let cost = nodes.iter().map(|&node| self.cost(node)).fold(0, u128::saturating_add);
        self.hits.push(Reverse(Hit { cost, met: Reverse(self.found), node: nodes[0] }));
        if self.hits.len() > MOST_HITS {
            self.hits.pop();
        }
        self.found += 1;
        if is_inside {
            return;
        }
        self.outermost += 1;
        for (sum, column) in self.weights.iter_mut().zip(&self.columns) {
            let of_column = nodes.iter().filter(|node| column.nodes.contains(node));
            let costs = of_column.map(|&node| self.refined.of_metric(node as usize, column.metric));
            *sum = costs.fold(*sum, |sum, (inclusive, _)| sum.saturating_add(inclusive));
        }
    }

    /// Whether a row of these nodes has samples of this side alone.
    fn has_alone(&self, nodes: &[u32], side: usize) -> bool {
        let sampled = nodes.iter().filter(|node| self.refined.inclusive(**node as usize) > 0);
        let mut sampled = sampled.peekable();
        sampled.peek().is_some() && sampled.all(|node| self.sides[side].0.contains(node))
    }

    /// What a node costs: of two profiles that are compared, in the unit in which they compare.
    fn cost(&self, node: u32) -> u128 {
        let cost = u128::from(self.refined.inclusive(node as usize));
        let side = self.sides.iter().find(|(nodes, _)| nodes.contains(&node));
        cost.saturating_mul(side.map_or(1, |(_, weight)| *weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Profile, from_outline};
    use crate::refine::unwatched;

    /// What one side lacks is found where it begins, the heaviest first; below a row that is new,
    /// all is new.
    #[test]
    fn paths_of_one_side_are_found_where_they_begin() {
        let [base, other] = [
            "main 1\n  old 4\n    f 2\n  both 3\n    gone 1\n",
            "main 1\n  both 3\n    f 2\n  fresh 1\n    f 9\n      leaf 1\n",
        ]
        .map(|outline| from_outline(outline).unwrap());
        let both = Profile::compared(("base", base.clone()), ("other", other), &[]).unwrap();
        let found = |profile: &Profile, text: &str| {
            let refined = Refined::base(profile);
            let pattern = NamePattern::new(text).unwrap();
            let search = unwatched(|watch| Search::new(&refined, &pattern, watch));
            let mut tree = unwatched(|watch| TopDown::new(&refined, watch));
            let rows = (0..search.hits()).map(|hit| {
                let row = search.row(&mut tree, &refined, hit).unwrap();
                refined.functions[tree.row(row).function.index()].name.to_string()
            });
            let rows: Vec<String> = rows.collect();
            let functions = search.functions().iter().zip(refined.functions.iter());
            let functions = functions.filter(|(found, _)| **found);
            let functions: Vec<_> = functions.map(|(_, of)| of.name.to_string()).collect();
            (rows, functions)
        };
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (rows, functions) = found(&both, IS_NEW);
        assert_eq!((rows, functions), (names(&["fresh", "f"]), names(&["fresh", "leaf"])));
        let (rows, functions) = found(&both, IS_GONE);
        assert_eq!((rows, functions), (names(&["old", "gone"]), names(&["old", "gone"])));
        // Elsewhere it is a text like any other.
        assert_eq!(found(&base, IS_NEW), (Vec::new(), Vec::new()));
    }

    #[test]
    fn case_matters_where_the_text_has_upper_case_and_letters_may_change_their_length() {
        for (text, name, place) in [
            ("copy", "MPI_Copy", Some(4..8)),
            ("Copy", "MPI_copy", None),
            ("Copy", "MPI_Copy", Some(4..8)),
            ("über", "a::Über::b", Some(3..8)),
            ("οδος", "ΟΔΟΣ", Some(0..8)),
            ("μs", "5µs", Some(1..4)),
            // İ becomes two letters, of three bytes instead of two.
            ("nbul", "İstaNBUL", Some(5..9)),
            ("i", "xİy", Some(1..3)),
            ("straße", "STRAẞE", Some(0..8)),
            ("ǅ", "aǅ", Some(1..3)),
            ("z", "İ", None),
            ("longer", "long", None),
        ] {
            let pattern = NamePattern::new(text).unwrap();
            assert_eq!(pattern.place_in(name), place, "{text} in {name}");
            assert_eq!(pattern.is_in(name), place.is_some(), "{text} in {name}");
        }
        assert_eq!(NamePattern::new(""), None);
    }
}
