//! Families: sets of nodes that samples of one activation may lie on. They have one caller, and
//! functions of one procedure.

use std::collections::HashMap;

use super::bits::Bits;
use super::children::node_number;
use super::lists::Lists;
use super::procedures::Procedures;
use crate::profile::{Count, FrameKind, Profile};

/// The families of a profile's nodes.
#[derive(Debug)]
pub(crate) struct Families<C> {
    /// For each node, the first node of its family; 0 if it has no edges.
    pub(crate) first: Vec<u32>,
    /// At the first node of a family, its recorded edges.
    pub(crate) edges: Vec<C>,
    /// Nodes whose outer callers are not known.
    pub(crate) partial: Bits,
    /// Nodes above handovers. They are copies of what another thread had on its stack, in whose
    /// tree these activations are counted. This thread may have called the same code itself as
    /// well: then they have its samples and returns, too.
    pub(crate) above_handovers: Bits,
    /// Nodes of procedures with edges in a later epoch of the thread.
    pub(crate) goes_on: Bits,
}

impl<C: Count> Families<C> {
    /// Finds the families, with the recorded edges of each node. O(nodes).
    pub(crate) fn find(profile: &Profile, procedures: &Procedures, recorded: &[C]) -> Self {
        let nodes = &profile.nodes;
        let count = nodes.len();
        let keys: Vec<u32> = profile.frames.iter().map(|frame| procedures.number(frame)).collect();
        let kinds: Vec<FrameKind> = profile.frames.iter().map(|frame| frame.kind).collect();
        let frame = |node: usize| nodes.frame[node].index();
        let mut begins: Vec<u32> = profile.streams.iter().map(|s| s.nodes.start).collect();
        begins.sort_unstable();
        let mut begins = begins.into_iter().peekable();
        let mut lists = Lists::new(&nodes.frame, keys.clone());
        let mut first = vec![0; count];
        let mut edges = vec![C::default(); count];
        let mut partial = Bits::none(count);
        for node in 1..count {
            let (number, above) = (node_number(node), nodes.parent[node]);
            while begins.next_if(|&begin| begin <= number).is_some() {
                // Another thread or epoch begins.
                lists.begin_again();
            }
            // An activation does not return to a function that left by a tail call, but to the
            // frame above that.
            let mut caller = above as usize;
            while kinds[frame(caller)] == FrameKind::Tail {
                caller = nodes.parent[caller] as usize;
            }
            let caller = node_number(caller);
            let family = lists.add(number, caller, kinds[frame(node)].is_called());
            let is_partial = kinds[frame(node)] == FrameKind::Partial;
            partial.insert_if(node, is_partial || partial.contains(above as usize));
            first[node] = family;
            edges[family as usize] += recorded[node];
        }
        let mut above_handovers = Bits::none(count);
        let backward = if procedures.has_handovers { 1..count } else { 0..0 };
        for node in backward.rev() {
            let is_handover = kinds[frame(node)] == FrameKind::Handover;
            let above = nodes.parent[node] as usize;
            above_handovers.insert_if(above, is_handover || above_handovers.contains(node));
        }
        let goes_on = Bits::none(count);
        let mut families = Self { first, edges, partial, above_handovers, goes_on };
        families.go_on(profile, |node| keys[frame(node)], recorded);
        families
    }

    /// Whether returns of the thread's own activations may have been counted that have samples at a
    /// node: in its family, in that of a later epoch, or where the whole path was found.
    pub(crate) fn may_have_returned(&self, node: usize) -> bool {
        let family = self.first[node] as usize;
        let has_edges = family != 0 && self.edges[family] > C::default();
        has_edges || self.goes_on.contains(node) || self.partial.contains(node)
    }

    /// Finds out which activations may have gone on in a later epoch.
    fn go_on(&mut self, profile: &Profile, procedure: impl Fn(usize) -> u32, recorded: &[C]) {
        let mut threads: HashMap<usize, Vec<usize>> = HashMap::new();
        for (number, stream) in profile.streams.iter().enumerate() {
            threads.entry(stream.thread.index()).or_default().push(number);
        }
        for mut streams in threads.into_values().filter(|streams| streams.len() > 1) {
            let epoch = |&stream: &usize| {
                let epoch = profile.streams[stream].epoch.index();
                profile.info.epochs.get(epoch).map_or(0, |epoch| epoch.number)
            };
            streams.sort_by_key(epoch);
            // Procedures with edges in later epochs.
            let mut later = Bits::none(profile.functions.len());
            for stream in streams.into_iter().rev() {
                let nodes = profile.streams[stream].nodes.clone();
                let nodes = || nodes.clone().map(|node| node as usize);
                for node in nodes().filter(|&node| self.first[node] != 0) {
                    self.goes_on.insert_if(node, later.contains(procedure(node) as usize));
                }
                for node in nodes().filter(|&node| recorded[node] > C::default()) {
                    later.insert(procedure(node) as usize);
                }
            }
        }
    }
}
