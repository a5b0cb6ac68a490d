//! Where stages moved the samples that have a time.
//!
//! A stage moves all samples of a node together. So it is enough to know for each node of the
//! profile where its samples are.

use std::sync::Arc;

use crate::profile::{Profile, TimedSamples, Window};

/// Follows the nodes of a profile that have samples with a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timing {
    /// For each node with times, the node that its samples are on now; [`GONE`] if they were taken
    /// out.
    at: Arc<Vec<u32>>,
    /// The part of the run that stages left.
    window: Window,
}

const GONE: u32 = u32::MAX;

impl Timing {
    /// As the profile was loaded.
    pub(crate) fn of(profile: &Profile) -> Self {
        Self { at: Arc::new(profile.times.nodes().to_vec()), window: Window::default() }
    }

    /// A stage moved samples: `to` has the new node of those of a node, or `None` if they were
    /// taken out. O(nodes with times).
    pub(crate) fn follow(&mut self, to: impl Fn(u32) -> Option<u32>) {
        if self.at.is_empty() {
            return;
        }
        for at in Arc::make_mut(&mut self.at).iter_mut().filter(|at| **at != GONE) {
            *at = to(*at).unwrap_or(GONE);
        }
    }

    /// Whether any sample has a time.
    pub(crate) fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The part of the run that is left.
    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Leaves only this part of what is left.
    pub(crate) fn keep(&mut self, window: Window) {
        self.window = self.window.and(window);
    }

    /// The samples with a time that are shown, each with its node.
    pub(crate) fn shown<'t>(
        &'t self,
        profile: &'t Profile,
    ) -> impl Iterator<Item = (u32, &'t TimedSamples)> {
        let node = |row: &TimedSamples| self.at.get(row.place as usize).copied();
        let rows = profile.times.rows().iter();
        let rows = rows.filter_map(move |row| Some((node(row)?, row)));
        rows.filter(|(node, _)| *node != GONE)
    }

    /// How many of such samples are shown, and are of a part of the run.
    pub(crate) fn within(&self, profile: &Profile, row: &TimedSamples, part: Window) -> u64 {
        profile.times.within(row, self.window.and(part))
    }
}
