//! Stages applied to a profile, one after the other, and the account of what they did.

use std::fmt;
use std::sync::Arc;

use super::bits::Bits;
use super::matcher::Matcher;
use super::stages::{self, Unmatched};
use super::{Column, FramePattern, Outcome, Refined, Refinement, Stage};
use crate::profile::{FrameRef, FunctionRef, Profile};

/// Why a stage cannot be applied: it asks for something the profile does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefineError {
    /// Which stage, from 0.
    pub stage: usize,
    /// The part of it that matches nothing, as the language writes it.
    pub part: String,
    /// What it was compared with: frames, threads, …
    pub among: &'static str,
    /// What there is instead, nearest first; empty if nothing is near.
    pub suggestions: Vec<String>,
}

impl fmt::Display for RefineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {} matches {}", self.among, self.part)?;
        if !self.suggestions.is_empty() {
            write!(f, "; there is {}", self.suggestions.join(", "))?;
        }
        Ok(())
    }
}

impl std::error::Error for RefineError {}

/// Applies all stages to a profile.
///
/// # Errors
/// A pattern matches no frame that its stage is shown, or a context no thread. Without stages
/// there is no error.
pub fn apply<'p>(
    profile: &'p Profile,
    refinement: &Refinement,
) -> Result<Refined<'p>, RefineError> {
    let mut refined = Refined::base(profile);
    for stage in &refinement.stages {
        refined = refined.then(stage)?;
    }
    Ok(refined)
}

impl<'p> Refined<'p> {
    /// The profile itself: no stages, everything shown. O(nodes), for the inclusive sums.
    #[must_use]
    pub fn base(profile: &'p Profile) -> Self {
        let inclusive = profile.nodes.inclusive();
        let total = inclusive.first().copied().unwrap_or(0);
        Self {
            profile,
            functions: Column::Loaded(&profile.functions),
            frames: Column::Loaded(&profile.frames),
            parent: Column::Loaded(&profile.nodes.parent),
            frame: Column::Loaded(&profile.nodes.frame),
            exclusive: Column::Loaded(&profile.nodes.samples),
            inclusive: inclusive.into(),
            edges_low: Column::Loaded(&profile.nodes.edges),
            edges_high: Column::Loaded(&profile.nodes.edges),
            streams: Column::Loaded(&profile.streams),
            outcomes: Vec::new(),
            base: total,
            shown: total,
            out: 0,
        }
    }

    /// What one more stage makes of this. The present value stays as it is, so a viewer that
    /// keeps both can undo the stage; columns that the stage does not change are shared.
    ///
    /// # Errors
    /// As for [`apply`].
    pub fn then(&self, stage: &Stage) -> Result<Self, RefineError> {
        let (mut next, moved) = stages::run(self, stage).map_err(|unmatched| {
            let Unmatched { part, among, suggestions } = unmatched;
            RefineError { stage: self.outcomes.len(), part, among, suggestions }
        })?;
        next.shown = next.inclusive.first().copied().unwrap_or(0);
        next.out = next.base - next.shown;
        next.outcomes.push(Outcome {
            input: self.shown,
            shown: next.shown,
            out: self.shown - next.shown,
            moved,
        });
        Ok(next)
    }

    /// Number of nodes, those not shown included.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.parent.len()
    }

    /// Whether the edge counts of all nodes are exact.
    #[must_use]
    pub fn edges_are_exact(&self) -> bool {
        match (&self.edges_low, &self.edges_high) {
            (Column::Loaded(_), Column::Loaded(_)) => true,
            (Column::Made(low), Column::Made(high)) if Arc::ptr_eq(low, high) => true,
            (low, high) => low[..] == high[..],
        }
    }
}

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
            let is_in = self.inclusive[node] > 0 && frames.contains(frame.index());
            if is_in {
                means.insert(self.frames[frame.index()].function.index());
            }
            if is_in && !is_below {
                samples += self.inclusive[node];
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
        matcher.frames(pattern).map(FrameSet).map_err(|none| {
            let Unmatched { part, among, suggestions } = matcher.explain(&none);
            RefineError { stage: self.outcomes.len(), part, among, suggestions }
        })
    }
}
