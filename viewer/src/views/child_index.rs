//! Children of nodes: the columns know parents only, every view goes downward.

pub use crate::refine::ChildIndex;
