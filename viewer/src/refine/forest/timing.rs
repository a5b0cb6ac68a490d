//! Where the samples are now that have a time, and which times are left.
//!
//! The samples of a node move together, whatever a stage does. So it is enough to know of each node
//! of the profile where its samples are.

use std::sync::Arc;

use crate::profile::{Profile, TimedSamples, Window};

/// Follows the nodes of a profile that have samples with a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timing {
    /// For each of them the node that its samples are on; [`GONE`] if they were taken out.
    at: Arc<Vec<u32>>,
    /// What the stages left of the run.
    window: Window,
}

const GONE: u32 = u32::MAX;

impl Timing {
    /// As the profile was loaded.
    pub(crate) fn of(profile: &Profile) -> Self {
        Self { at: Arc::new(profile.times.nodes().to_vec()), window: Window::default() }
    }

    /// A stage moves all samples of some nodes to others, and takes those of some out: `to` says
    /// where those of a node are then. O(nodes with times).
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

    /// What is left of the run.
    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Only this part of the run is left.
    pub(crate) fn keep(&mut self, window: Window) {
        self.window = self.window.and(window);
    }

    /// Samples that are shown and have a time: the node that they are on, and they.
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
