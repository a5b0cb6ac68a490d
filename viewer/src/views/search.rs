//! Incremental search by name over the whole top-down tree, opened or not.
//!
//! Searching does not filter: it goes to the next or previous row, in the order in which rows
//! would be shown if all were open. For each pattern, one pass over functions and one over nodes
//! mark where there is something to find, so that a step goes straight to it and makes no other
//! rows than those on the way.

use regex::{Regex, RegexBuilder};

use super::top_down::TopDown;
use super::tree::RowId;
use crate::refine::{Cancelled, Refined, Watch};

/// Text to look for in function names. Upper and lower case differ only if the text has upper
/// case in it.
#[derive(Clone, Debug)]
pub struct NamePattern {
    text: String,
    regex: Regex,
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for NamePattern {}

impl NamePattern {
    /// A pattern that finds `text` anywhere in a name; `None` if `text` is empty or longer than
    /// any name (the compiled pattern would exceed `regex`'s size limit of 10 MB).
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let ignore_case = !text.chars().any(char::is_uppercase);
        let regex =
            RegexBuilder::new(&regex::escape(text)).case_insensitive(ignore_case).build().ok()?;
        Some(Self { text: text.to_owned(), regex })
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a name has the text in it.
    #[must_use]
    pub fn is_in(&self, name: &str) -> bool {
        self.regex.is_match(name)
    }

    /// Where in a name the text is first found, in bytes: what to highlight.
    #[must_use]
    pub fn place_in(&self, name: &str) -> Option<core::ops::Range<usize>> {
        self.regex.find(name).map(|found| found.range())
    }
}

/// Which way to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Down the screen.
    Forward,
    /// Up the screen.
    Backward,
}

/// A row that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The row. It may be below closed ones: `Visible::reveal` opens the way to it.
    pub row: RowId,
    /// Whether the search went past the end of the tree and began again at the other.
    pub wrapped: bool,
}

/// One pattern on one refined profile.
#[derive(Clone, Debug)]
pub struct Search {
    /// For each function, whether its name matches.
    functions: Vec<bool>,
    /// For each node, the samples of all metrics at or below the outermost matches at or below it;
    /// 0 where there is none. More than fit count as the most that do.
    below: Vec<u32>,
    /// Functions with samples whose name matches.
    found: usize,
}

impl Search {
    /// Marks what there is to find. O(functions + nodes).
    ///
    /// # Errors
    /// The watch ended it.
    pub fn new(
        refined: &Refined,
        pattern: &NamePattern,
        watch: &Watch<'_>,
    ) -> Result<Self, Cancelled> {
        watch.begin(0, 1, 1, refined.node_count());
        let functions: Vec<bool> =
            refined.functions.iter().map(|function| pattern.is_in(&function.name)).collect();
        let frames: Vec<bool> =
            refined.frames.iter().map(|frame| functions[frame.function.index()]).collect();
        let mut below = vec![0u32; refined.parent.len()];
        let mut seen = vec![false; refined.frames.len()];
        let mut count = below.len();
        while count > 1 {
            let end = count;
            count = count.saturating_sub(1 << 16).max(1);
            watch.step(end - count)?;
            for n in (count..end).rev() {
                let frame = refined.frame[n].index();
                if frames[frame] && refined.is_shown(n) {
                    below[n] = refined.samples_below(n);
                    seen[frame] = true;
                }
                let cost = below[n];
                if cost > 0 {
                    let above = &mut below[refined.parent[n] as usize];
                    *above = above.saturating_add(cost);
                }
            }
        }
        watch.end();
        let seen = seen.iter().zip(&frames).zip(refined.frames.iter());
        let with_samples = seen.filter(|((seen, matches), _)| **seen && **matches);
        let mut found: Vec<_> = with_samples.map(|(_, frame)| frame.function).collect();
        found.sort_unstable();
        found.dedup();
        Ok(Self { functions, below, found: found.len() })
    }

    /// How many functions of the tree have the text in their name.
    #[must_use]
    pub fn functions_found(&self) -> usize {
        self.found
    }

    /// Whether the tree has any row to find.
    #[must_use]
    pub fn finds_anything(&self) -> bool {
        self.below[0] > 0
    }

    /// Whether a row's own name matches.
    #[must_use]
    pub fn matches(&self, tree: &TopDown, row: RowId) -> bool {
        row != RowId::ROOT && self.functions[tree.row(row).function.index()]
    }

    /// The nearest matching row after or before `from`, within the rows below `top`, going round
    /// at the end. `from` itself is found last, after everything else.
    pub fn step(
        &self,
        tree: &mut TopDown,
        refined: &Refined,
        top: RowId,
        from: RowId,
        way: Way,
    ) -> Option<Hit> {
        let straight = match way {
            Way::Forward => self.after(tree, refined, top, from),
            Way::Backward => self.before(tree, refined, top, from),
        };
        if let Some(row) = straight {
            return Some(Hit { row, wrapped: false });
        }
        let round = match way {
            Way::Forward => self.first_at_or_below(tree, refined, top),
            Way::Backward => self.last_at_or_below(tree, refined, top),
        };
        round.map(|row| Hit { row, wrapped: true })
    }

    /// The row that typing goes to: from the root on, where most of what matches costs. Among
    /// equals the first that is shown.
    pub fn heaviest(&self, tree: &mut TopDown, refined: &Refined) -> Option<RowId> {
        let mut at = RowId::ROOT;
        while !self.matches(tree, at) {
            tree.children(refined, at);
            let cost = |row: RowId| -> u64 {
                tree.nodes(row).iter().map(|&node| u64::from(self.below[node as usize])).sum()
            };
            let (most, child) = tree
                .opened_children(at)
                .iter()
                .copied()
                .map(|row| (cost(row), row))
                .reduce(|best, next| if next.0 > best.0 { next } else { best })?;
            if most == 0 {
                return None;
            }
            at = child;
        }
        Some(at)
    }

    /// The rows that match, in the order in which they would be shown, and whether these are all:
    /// not if they are more than `most`, or rows of too many nodes would have to be made for them.
    pub fn rows(&self, tree: &mut TopDown, refined: &Refined, most: usize) -> (Vec<RowId>, bool) {
        const MOST_MADE: usize = 1 << 18;
        let most_made = tree.made().saturating_add(MOST_MADE);
        let mut found = Vec::new();
        let mut pending = vec![RowId::ROOT];
        while let Some(row) = pending.pop() {
            if found.len() == most || tree.made() > most_made {
                return (found, false);
            }
            if self.matches(tree, row) {
                found.push(row);
            }
            let children = self.siblings(tree, refined, row).rev();
            pending.extend(children.filter(|&child| self.leads_to_match(tree, child)));
        }
        (found, true)
    }

    fn after(
        &self,
        tree: &mut TopDown,
        refined: &Refined,
        top: RowId,
        from: RowId,
    ) -> Option<RowId> {
        if let Some(found) = self.first_below(tree, refined, from) {
            return Some(found);
        }
        let mut at = from;
        while at != top {
            let parent = tree.parent(at)?;
            let next = self.siblings(tree, refined, parent).skip_while(|&row| row != at).skip(1);
            if let Some(row) = next.into_iter().find(|&row| self.leads_to_match(tree, row)) {
                return self.first_at_or_below(tree, refined, row);
            }
            at = parent;
        }
        None
    }

    fn before(
        &self,
        tree: &mut TopDown,
        refined: &Refined,
        top: RowId,
        from: RowId,
    ) -> Option<RowId> {
        let mut at = from;
        while at != top {
            let parent = tree.parent(at)?;
            let earlier = self.siblings(tree, refined, parent).take_while(|&row| row != at);
            if let Some(row) = earlier.filter(|&row| self.leads_to_match(tree, row)).last() {
                return self.last_at_or_below(tree, refined, row);
            }
            if self.matches(tree, parent) {
                return Some(parent);
            }
            at = parent;
        }
        None
    }

    fn first_at_or_below(
        &self,
        tree: &mut TopDown,
        refined: &Refined,
        row: RowId,
    ) -> Option<RowId> {
        if self.matches(tree, row) { Some(row) } else { self.first_below(tree, refined, row) }
    }

    fn first_below(&self, tree: &mut TopDown, refined: &Refined, row: RowId) -> Option<RowId> {
        let mut at = row;
        loop {
            if !self.leads_to_match(tree, at) {
                return None;
            }
            let mut children = self.siblings(tree, refined, at);
            at = children.find(|&child| self.leads_to_match(tree, child))?;
            if self.matches(tree, at) {
                return Some(at);
            }
        }
    }

    fn last_at_or_below(&self, tree: &mut TopDown, refined: &Refined, row: RowId) -> Option<RowId> {
        let mut at = row;
        loop {
            let mut children = self.siblings(tree, refined, at).rev();
            match children.find(|&child| self.leads_to_match(tree, child)) {
                Some(child) => at = child,
                None => return self.matches(tree, at).then_some(at),
            }
        }
    }

    /// Whether a row or one below it matches.
    fn leads_to_match(&self, tree: &TopDown, row: RowId) -> bool {
        tree.nodes(row).iter().any(|&node| self.below[node as usize] > 0)
    }

    fn siblings(
        &self,
        tree: &mut TopDown,
        refined: &Refined,
        parent: RowId,
    ) -> std::vec::IntoIter<RowId> {
        tree.children(refined, parent).to_vec().into_iter()
    }
}
