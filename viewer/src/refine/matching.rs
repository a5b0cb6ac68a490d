//! What a frame pattern means in a refined profile: for completion, and for lists of sets.

use super::bits::Bits;
use super::matcher::Matcher;
use super::stages::Unmatched;
use super::{Cause, FramePattern, RefineError, Refined};
use crate::profile::{FrameRef, FunctionRef};

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

impl Refined<'_> {
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
            let is_in = self.inclusive(node) > 0 && frames.contains(frame.index());
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
            let Unmatched { part, among, suggestions } = unmatched;
            let cause = Cause::Unmatched { among, suggestions };
            RefineError { stage: self.outcomes.len(), part, cause }
        })
    }
}
