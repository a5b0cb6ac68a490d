//! Nodes that are being added.

use std::iter::once;

use super::column::Column;
use super::counts::{Counts, CountsBuilder};
use super::in_parts::of_each;
use super::model::{FrameRef, Nodes};

/// Columns of nodes to which nodes are added. As [`Nodes`].
#[derive(Clone, Debug, Default)]
pub struct NodesBuilder {
    /// Parent of each node; 0 for node 0.
    pub parent: Vec<u32>,
    /// Frame of each node.
    pub frame: Vec<FrameRef>,
    /// Exclusive samples, of all metrics together.
    pub samples: CountsBuilder,
    /// What of them each further metric has.
    pub further: Vec<CountsBuilder>,
    /// Returns of sampled activations.
    pub edges: CountsBuilder,
}

impl NodesBuilder {
    /// The root of everything, for so many further metrics.
    #[must_use]
    pub fn new(further: usize) -> Self {
        let mut nodes =
            Self { further: vec![CountsBuilder::default(); further], ..Self::default() };
        nodes.push(0, FrameRef::ROOT, 0, 0);
        nodes
    }

    /// Makes room for so many nodes.
    pub(super) fn reserve(&mut self, nodes: usize) {
        self.parent.reserve(nodes);
        self.frame.reserve(nodes);
        self.edges.reserve(nodes);
        once(&mut self.samples).chain(&mut self.further).for_each(|column| column.reserve(nodes));
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// Adds a node and returns its number. All its samples are the first metric's.
    #[inline]
    pub fn push(&mut self, parent: u32, frame: FrameRef, samples: u64, edges: u64) -> u32 {
        let id = u32::try_from(self.len()).unwrap_or(u32::MAX);
        self.parent.push(parent);
        self.frame.push(frame);
        self.samples.push(samples);
        self.further.iter_mut().for_each(|column| column.push(0));
        self.edges.push(edges);
        id
    }

    /// Puts behind these nodes those of another one, all but its root: their parents are moved
    /// along, and those that hang below its root hang below this one's.
    pub(super) fn append(&mut self, next: Self) {
        let before = u32::try_from(self.len()).unwrap_or(u32::MAX) - 1;
        let Self { parent, frame, samples, further, edges } = self;
        let moved = |&parent: &u32| if parent == 0 { 0 } else { parent + before };
        let counts = once((samples, next.samples)).chain(further.iter_mut().zip(next.further));
        let mut works: Vec<Box<dyn FnOnce() + Send + '_>> = Vec::new();
        for (column, next) in counts.chain(once((edges, next.edges))) {
            works.push(Box::new(move || column.append(&next, 1)));
        }
        let (parents, frames) = (next.parent, next.frame);
        works.push(Box::new(move || parent.extend(parents[1..].iter().map(moved))));
        works.push(Box::new(move || frame.extend_from_slice(&frames[1..])));
        of_each(works, |work| work());
    }

    /// The nodes of a profile.
    #[must_use]
    pub fn finish(self) -> Nodes {
        let Self { parent, frame, samples, further, edges } = self;
        Nodes {
            parent: Column::of_profile(parent),
            frame: Column::of_profile(frame),
            samples: samples.finish(),
            further: further.into_iter().map(CountsBuilder::finish).collect(),
            edges: edges.finish(),
        }
    }
}

impl From<&Nodes> for NodesBuilder {
    fn from(nodes: &Nodes) -> Self {
        let builder = |counts: &Counts| counts.iter().collect();
        Self {
            parent: nodes.parent.to_vec(),
            frame: nodes.frame.to_vec(),
            samples: builder(&nodes.samples),
            further: nodes.further.iter().map(builder).collect(),
            edges: builder(&nodes.edges),
        }
    }
}
