//! The frames that a stage is about, where one pattern says which: what could become a set.

use super::syntax::{FramePattern, Predicate, Stage};

impl Stage {
    /// The frames it is about, if it is about those of one pattern.
    #[must_use]
    pub fn pattern(&self) -> Option<&FramePattern> {
        match self {
            Self::Hide(pattern)
            | Self::StopAt(pattern)
            | Self::Cut(pattern)
            | Self::Group { pattern, .. }
            | Self::RootAt { pattern, .. }
            | Self::Collapse(pattern)
            | Self::CollapseRun(pattern)
            | Self::Fold(pattern)
            | Self::CallersOf(pattern) => Some(pattern),
            Self::Where(predicate) => predicate.pattern(),
            Self::By(_) | Self::Split(_) | Self::Small(_) => None,
        }
    }
}

impl Predicate {
    fn pattern(&self) -> Option<&FramePattern> {
        match self {
            Self::Not(inner) => inner.pattern(),
            Self::Through(chain) => chain.rest.is_empty().then_some(&chain.first),
            Self::Under(pattern)
            | Self::In(pattern)
            | Self::Leaf(pattern)
            | Self::Times { pattern, .. } => Some(pattern),
            _ => None,
        }
    }
}
