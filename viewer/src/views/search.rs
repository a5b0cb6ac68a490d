//! Incremental search by name over the whole top-down tree, opened or not.
//!
//! Searching does not filter: it goes to the next or previous row, in the order in which rows
//! would be shown if all were open. For each pattern, one pass over functions and one over nodes
//! mark where there is something to find, so that a step goes straight to it and makes no other
//! rows than those on the way.

use regex::{Regex, RegexBuilder};

use super::top_down::TopDown;
use super::tree::RowId;
use crate::refine::Refined;

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
pub struct Found {
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
    /// For each node, whether it or a node below it matches.
    below: Vec<bool>,
    /// Functions with samples whose name matches.
    found: usize,
}

impl Search {
    /// Marks what there is to find. O(functions + nodes).
    #[must_use]
    pub fn new(refined: &Refined<'_>, pattern: &NamePattern) -> Self {
        let functions: Vec<bool> =
            refined.functions.iter().map(|function| pattern.is_in(&function.name)).collect();
        let frames: Vec<bool> =
            refined.frames.iter().map(|frame| functions[frame.function.index()]).collect();
        let mut below = vec![false; refined.parent.len()];
        let mut seen = vec![false; refined.frames.len()];
        for n in (1..below.len()).rev() {
            let frame = refined.frame[n].index();
            if refined.is_shown(n) && (below[n] || frames[frame]) {
                below[n] = true;
                below[refined.parent[n] as usize] = true;
                seen[frame] = true;
            }
        }
        let seen = seen.iter().zip(&frames).zip(refined.frames.iter());
        let with_samples = seen.filter(|((seen, matches), _)| **seen && **matches);
        let mut found: Vec<_> = with_samples.map(|(_, frame)| frame.function).collect();
        found.sort_unstable();
        found.dedup();
        Self { functions, below, found: found.len() }
    }

    /// How many functions of the tree have the text in their name.
    #[must_use]
    pub fn functions_found(&self) -> usize {
        self.found
    }

    /// Whether the tree has any row to find.
    #[must_use]
    pub fn finds_anything(&self) -> bool {
        self.below[0]
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
        refined: &Refined<'_>,
        top: RowId,
        from: RowId,
        way: Way,
    ) -> Option<Found> {
        let straight = match way {
            Way::Forward => self.after(tree, refined, top, from),
            Way::Backward => self.before(tree, refined, top, from),
        };
        if let Some(row) = straight {
            return Some(Found { row, wrapped: false });
        }
        let round = match way {
            Way::Forward => self.first_at_or_below(tree, refined, top),
            Way::Backward => self.last_at_or_below(tree, refined, top),
        };
        round.map(|row| Found { row, wrapped: true })
    }

    /// `from` itself if it matches, else the next row that does: what typing goes to.
    pub fn at_or_after(
        &self,
        tree: &mut TopDown,
        refined: &Refined<'_>,
        top: RowId,
        from: RowId,
    ) -> Option<Found> {
        if self.matches(tree, from) {
            return Some(Found { row: from, wrapped: false });
        }
        self.step(tree, refined, top, from, Way::Forward)
    }

    fn after(
        &self,
        tree: &mut TopDown,
        refined: &Refined<'_>,
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
        refined: &Refined<'_>,
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
        refined: &Refined<'_>,
        row: RowId,
    ) -> Option<RowId> {
        if self.matches(tree, row) { Some(row) } else { self.first_below(tree, refined, row) }
    }

    fn first_below(&self, tree: &mut TopDown, refined: &Refined<'_>, row: RowId) -> Option<RowId> {
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

    fn last_at_or_below(
        &self,
        tree: &mut TopDown,
        refined: &Refined<'_>,
        row: RowId,
    ) -> Option<RowId> {
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
        tree.nodes(row).iter().any(|&node| self.below[node as usize])
    }

    fn siblings(
        &self,
        tree: &mut TopDown,
        refined: &Refined<'_>,
        parent: RowId,
    ) -> std::vec::IntoIter<RowId> {
        tree.children(refined, parent).to_vec().into_iter()
    }
}
