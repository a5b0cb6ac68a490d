//! Families: the nodes of a profile that one activation may have.

use std::collections::HashMap;

use super::bits::Bits;
use super::children::node_number;
use super::lists::Lists;
use super::procedures::{Procedures, is_called};
use crate::profile::{Count, FrameKind, Profile};

/// The families of a profile's nodes.
#[derive(Debug)]
pub(crate) struct Families<C> {
    /// For each node the first one of its family; 0 for those that do not return.
    pub(crate) first: Vec<u32>,
    /// For these, how many returns the family recorded.
    pub(crate) edges: Vec<C>,
    /// Nodes whose path has an outer part that is not known.
    pub(crate) partial: Bits,
    /// Nodes of functions of which returns were counted in a later epoch of the thread.
    pub(crate) goes_on: Bits,
}

impl<C: Count> Families<C> {
    /// Finds them, with these edges. O(nodes).
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
                // The outermost frames of another thread, or of another epoch.
                lists.begin_again();
            }
            // What left by a tail call is no caller of its own: the call that an activation returns
            // to is that of the frame above.
            let mut caller = above as usize;
            while kinds[frame(caller)] == FrameKind::Tail {
                caller = nodes.parent[caller] as usize;
            }
            let caller = node_number(caller);
            let family = lists.add(number, caller, is_called(kinds[frame(node)]));
            let is_partial = kinds[frame(node)] == FrameKind::Partial;
            partial.insert_if(node, is_partial || partial.contains(above as usize));
            first[node] = family;
            edges[family as usize] += recorded[node];
        }
        let mut families = Self { first, edges, partial, goes_on: Bits::none(count) };
        families.go_on(profile, |node| keys[frame(node)], recorded);
        families
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
            // Procedures of which returns were counted later.
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
