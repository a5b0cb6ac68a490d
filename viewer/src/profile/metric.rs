//! Which of the metrics of a profile is meant.

/// One of the metrics of a profile: 0 is the first,
/// [`metric`](csprof_format::profile::Profile::metric), and `n` the further one with number
/// `n - 1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricRef(pub u8);

impl MetricRef {
    /// The first metric; the only one of most profiles.
    pub const FIRST: Self = Self(0);

    /// Position among all metrics.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
