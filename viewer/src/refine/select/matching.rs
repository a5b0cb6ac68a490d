//! What a frame pattern means in a refined profile: for completion, and for lists of sets.

use super::chain;
use super::matcher::Matcher;
use super::predicate;
use crate::profile::{FrameKind, FrameRef, FunctionRef};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::error::{RefineError, Stopped, Unmatched};
use crate::refine::forest::refined::Refined;
use crate::refine::lang::syntax::{Chain, FramePattern, Predicate};
use crate::refine::watch::{Cancelled, Watch};

/// What a frame pattern means in a refined profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// The functions with samples that it means, by number.
    pub functions: Vec<FunctionRef>,
    /// Samples whose path goes through one of its frames.
    pub samples: u64,
}

/// The frames that a pattern means.
#[derive(Clone, Debug)]
pub struct FrameSet(Bits);

impl FrameSet {
    /// Whether a frame is in the set.
    #[must_use]
    pub fn contains(&self, frame: FrameRef) -> bool {
        self.0.contains(frame.index())
    }
}

/// A set of nodes.
#[derive(Clone, Debug)]
pub(crate) struct NodeSet(Bits);

impl NodeSet {
    /// No node of a forest.
    pub(crate) fn none(refined: &Refined) -> Self {
        Self(Bits::none(refined.node_count()))
    }

    /// Whether a node is in the set.
    pub(crate) fn contains(&self, node: usize) -> bool {
        self.0.contains(node)
    }
}

impl Refined {
    /// The nodes at which a match of a chain ends, wherever it begins. O(nodes).
    ///
    /// # Errors
    /// A frame of the chain matches nothing that is shown, or the watch asked for it.
    pub(crate) fn ends_of(&self, chain: &Chain, watch: &Watch<'_>) -> Result<NodeSet, Stopped> {
        let mut ends = self.ends_of_beginnings(chain, &[chain.length()], watch)?;
        Ok(ends.pop().unwrap_or_else(|| NodeSet::none(self)))
    }

    /// The same of the chain's beginnings of these lengths, in frames. O(nodes) for each.
    ///
    /// # Errors
    /// As for [`Refined::ends_of`].
    pub(crate) fn ends_of_beginnings(
        &self,
        chain: &Chain,
        lengths: &[usize],
        watch: &Watch<'_>,
    ) -> Result<Vec<NodeSet>, Stopped> {
        let patterns = std::iter::once(&chain.first).chain(chain.rest.iter().map(|(_, f)| f));
        let sets = patterns
            .map(|pattern| Ok(self.frames_of(pattern)?.0))
            .collect::<Result<Vec<_>, _>>()
            .map_err(Stopped::Refused)?;
        let start = Bits::none(self.frames.len());
        let ends = lengths.iter().map(|&length| {
            let rest = chain.rest.iter().take(length - 1).cloned().collect();
            let beginning = Chain { from_root: false, rest, to_leaf: true, ..chain.clone() };
            chain::through(self, &beginning, &sets[..length], &start, watch).map(NodeSet)
        });
        ends.collect::<Result<_, _>>().map_err(|Cancelled| Stopped::Cancelled)
    }

    /// Whether a match of a chain may end at some nodes of a procedure below one parent, and not at
    /// others.
    pub(crate) fn parts_procedures(&self, chain: &Chain) -> bool {
        predicate::parts_procedures(&Matcher::new(self), &Predicate::Through(chain.clone()))
    }

    /// Whether a match of a chain may have frames that stand for an outer part of a path that is
    /// not known: then the same activation may have paths with a match and paths without.
    pub(crate) fn meets_partial(&self, chain: &Chain) -> bool {
        if self.procedures.is_whole {
            return false;
        }
        let matcher = Matcher::new(self);
        let mut patterns = std::iter::once(&chain.first).chain(chain.rest.iter().map(|(_, f)| f));
        patterns.any(|pattern| {
            let frames = matcher.any_frames(pattern);
            frames.iter().any(|frame| self.frames[frame].kind == FrameKind::Partial)
        })
    }

    /// What a pattern means here; nothing, if it matches nothing. O(nodes).
    #[must_use]
    pub fn matching(&self, pattern: &FramePattern) -> Matching {
        let matcher = Matcher::new(self);
        let Ok(frames) = matcher.frames(pattern) else { return Matching::default() };
        let mut means = Bits::none(self.functions.len());
        let mut below = vec![false; self.node_count()];
        let mut samples = 0;
        for node in 1..self.node_count() {
            let is_below = below[self.parent[node] as usize];
            let frame = self.frame[node];
            let is_in = self.is_shown(node) && frames.contains(frame.index());
            if is_in {
                means.insert(self.frames[frame.index()].function.index());
            }
            if is_in && !is_below {
                samples += self.inclusive(node);
            }
            below[node] = is_in || is_below;
        }
        // Function numbers fit: frames hold them in the same type.
        Matching { functions: means.iter().map(|f| FunctionRef(f as u32)).collect(), samples }
    }

    /// The frames that a pattern means.
    ///
    /// # Errors
    /// It means none of the frames that are shown.
    pub fn frames_of(&self, pattern: &FramePattern) -> Result<FrameSet, RefineError> {
        let matcher = Matcher::new(self);
        matcher.frames(pattern).map(FrameSet).map_err(|unmatched| {
            let Unmatched { part, cause } = unmatched;
            RefineError { stage: self.outcomes.len(), part, cause }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::profile::from_outline;
    use crate::refine::{FramePattern, Refined};

    #[test]
    fn recursion_counts_once() {
        let profile = from_outline("f 1\n  g 2\n    f 4\nh 8\n").unwrap();
        let meant = Refined::base(&profile).matching(&FramePattern::Exact("f".to_owned()));
        assert_eq!((meant.functions.len(), meant.samples), (1, 7));
    }

    /// Which other names stand behind a name is not the same in every profile.
    #[test]
    fn a_name_in_quotes_is_what_stands_before_the_marks() {
        let outline = "\"memcpy [also memmove]\" 1\n\"tan [clone s]\" 2\n\"tan [clone t]\" 4\n\
                       \"f() [clone .cold]\" 8\nmemcpyx 16\n";
        let profile = from_outline(outline).unwrap();
        for (name, samples) in [
            ("memcpy", 1),
            ("memcpy [also mempcpy]", 1),
            ("memmove", 0),
            ("tan", 6),
            ("tan [clone t]", 4),
            ("tan [also x] [clone t]", 4),
            ("f()", 0),
            ("f() [clone .cold]", 8),
        ] {
            let meant = Refined::base(&profile).matching(&FramePattern::Exact(name.to_owned()));
            assert_eq!(meant.samples, samples, "{name}");
        }
    }
}
