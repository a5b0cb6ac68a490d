//! When samples were taken.

/// Samples of a node, of one metric, that were taken at one time.
///
/// Where a metric is of elapsed time, samples that came together stand for one period each, one
/// after the other, of which the last one ended at the time: a wait has its samples when it is
/// over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampleTime {
    /// Microseconds since the start of the run.
    pub time_us: u64,
    /// Number of the node in [`Nodes`](crate::profile::Nodes).
    pub node: u32,
    /// Number of the metric among [all](crate::profile::Profile::metrics).
    pub metric: u8,
    /// How many, at least one.
    pub samples: u32,
}

impl SampleTime {
    /// What no two rows of a tree have in common, and what they are ordered by.
    #[must_use]
    pub const fn place(&self) -> (u64, u32, u8) {
        (self.time_us, self.node, self.metric)
    }
}
