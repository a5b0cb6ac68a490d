//! Call path refinement: which paths are shown, and as what.
//!
//! A [`Refined`] forest is what every view, report and export is computed from. Without stages it
//! is the loaded profile itself. Each stage turns one forest into the next and keeps account of
//! what it took out: `shown + out = base` in integers, whatever the stages are.

use std::borrow::Cow;

use crate::profile::{Frame, FrameRef, Function, Profile};

/// A profile after refinement.
///
/// `parent[n] < n` for every node but node 0, the root of everything; inlined frames have no edge
/// counts. Nodes without samples below them (taken out, or merged into others) have
/// `inclusive == 0` and are not shown.
#[derive(Clone, Debug)]
pub struct Refined<'p> {
    /// The profile that was refined.
    pub profile: &'p Profile,
    /// Functions: those of the profile, then the groups that stages made.
    pub functions: Cow<'p, [Function]>,
    /// Frames: those of the profile, then those that stages made.
    pub frames: Cow<'p, [Frame]>,
    /// Parent of each node; 0 for node 0.
    pub parent: Cow<'p, [u32]>,
    /// Frame of each node.
    pub frame: Cow<'p, [FrameRef]>,
    /// Exclusive samples shown.
    pub exclusive: Cow<'p, [u64]>,
    /// Inclusive samples shown: own plus those of all nodes below.
    pub inclusive: Vec<u64>,
    /// Least possible edge count of each node.
    pub edges_low: Cow<'p, [u64]>,
    /// Greatest possible edge count of each node; equal to `edges_low` where exact.
    pub edges_high: Cow<'p, [u64]>,
    /// One for each stage, in order.
    pub outcomes: Vec<Outcome>,
    /// Samples of the profile.
    pub base: u64,
    /// Samples shown. `shown + out = base`.
    pub shown: u64,
    /// Samples taken out by the stages together.
    pub out: u64,
}

/// What one stage did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Samples that entered the stage.
    pub input: u64,
    /// Samples it let through. `shown + out = input`.
    pub shown: u64,
    /// Samples it took out.
    pub out: u64,
    /// Samples it moved to another frame.
    pub moved: u64,
}

impl<'p> Refined<'p> {
    /// The profile itself: no stages, everything shown. O(nodes), for the inclusive sums.
    #[must_use]
    pub fn base(profile: &'p Profile) -> Self {
        let nodes = &profile.nodes;
        let inclusive = nodes.inclusive();
        let total = inclusive.first().copied().unwrap_or(0);
        Self {
            profile,
            functions: Cow::Borrowed(&profile.functions),
            frames: Cow::Borrowed(&profile.frames),
            parent: Cow::Borrowed(&nodes.parent),
            frame: Cow::Borrowed(&nodes.frame),
            exclusive: Cow::Borrowed(&nodes.samples),
            inclusive,
            edges_low: Cow::Borrowed(&nodes.edges),
            edges_high: Cow::Borrowed(&nodes.edges),
            outcomes: Vec::new(),
            base: total,
            shown: total,
            out: 0,
        }
    }
}
