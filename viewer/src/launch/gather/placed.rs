//! Nodes of a thread's arena by epoch and phase, and in the order of a tree.

use std::collections::{BTreeMap, BTreeSet};

use csprof_format::address::{FrameKey, FrameKind};

use super::super::arena_read::{Arena, ArenaThread};
use super::super::load_map::LoadMaps;

/// The numbers of an epoch and of a phase, in the arena; of the phase 0 if there is none.
pub(super) type EpochAndPhase = (u32, u32);

/// The nodes of a thread that can be placed in a tree, by epoch and phase; ascending within each.
pub(super) struct PlacedNodes {
    pub(super) by_epoch: BTreeMap<EpochAndPhase, Vec<u32>>,
}

/// Follows every node to its root. Nodes are only ever appended below existing ones, so a node's
/// parent has a smaller number; what says otherwise is damage and is left out, with all below it.
pub(super) fn placed_nodes(thread: &ArenaThread, load_maps: &mut LoadMaps<'_>) -> PlacedNodes {
    let mut epoch_of: Vec<Option<EpochAndPhase>> = vec![None; thread.nodes.len()];
    let mut by_epoch: BTreeMap<EpochAndPhase, Vec<u32>> = BTreeMap::new();
    for (number, node) in thread.nodes.iter().enumerate().skip(1) {
        let epoch = match node.key {
            Some(key) if node.parent == 0 => key.epoch_and_phase(),
            Some(key) if key.kind() != FrameKind::Root && (node.parent as usize) < number => {
                epoch_of[node.parent as usize]
            }
            _ => None,
        };
        epoch_of[number] = epoch;
        if let Some(epoch) = epoch {
            by_epoch.entry(epoch).or_default().push(number as u32);
        }
    }
    for &(epoch, phase) in by_epoch.keys() {
        load_maps.ensure(epoch);
        load_maps.ensure_phase(phase);
    }
    PlacedNodes { by_epoch }
}

/// Who is below whom, as one list cut by an index: child lists of a tree given by its parents.
pub(super) struct Children {
    /// Places of all nodes but roots, grouped by parent; then the roots.
    list: Vec<u32>,
    /// First entry of each node's group, then that of the roots.
    first: Vec<u32>,
}

impl Children {
    /// Groups `members` (ascending node numbers) by parent, each group in the order of `key`.
    pub(super) fn of<K: Ord>(
        arena: &ArenaThread,
        members: &[u32],
        key: impl Fn(usize) -> K,
    ) -> Self {
        let roots = members.len();
        // Place of the parent among the members; roots have none and get a group of their own.
        let parents: Vec<usize> = members
            .iter()
            .map(|&node| {
                let parent = arena.nodes[node as usize].parent;
                if parent == 0 { roots } else { members.binary_search(&parent).unwrap_or(roots) }
            })
            .collect();
        let mut first = vec![0u32; members.len() + 2];
        for &parent in &parents {
            first[parent + 1] += 1;
        }
        for group in 0..=members.len() {
            first[group + 1] += first[group];
        }
        let mut list = vec![0u32; members.len()];
        let mut next = first.clone();
        for (place, &parent) in parents.iter().enumerate() {
            list[next[parent] as usize] = place as u32;
            next[parent] += 1;
        }
        for group in 0..=members.len() {
            let range = first[group] as usize..first[group + 1] as usize;
            if range.len() > 1 {
                list[range].sort_by_cached_key(|&place| key(place as usize));
            }
        }
        Self { list, first }
    }

    pub(super) fn below(&self, place: usize) -> &[u32] {
        &self.list[self.first[place] as usize..self.first[place + 1] as usize]
    }

    pub(super) fn roots(&self) -> &[u32] {
        self.below(self.first.len() - 2)
    }
}

/// Where the code of a frame is looked up; `None` for what is no code.
pub(super) fn code_address(key: FrameKey) -> Option<u64> {
    let kind = key.kind();
    let is_code = matches!(kind, FrameKind::Call | FrameKind::Leaf | FrameKind::Interrupted);
    is_code.then(|| key.address().wrapping_sub(kind.lookup_bias()))
}

/// Which mappings of its epoch the nodes of each phase are in, by their places in the load map.
pub(super) fn mappings_of_phases(
    arena: &Arena,
    load_maps: &LoadMaps<'_>,
    trees: &[PlacedNodes],
) -> BTreeMap<EpochAndPhase, BTreeSet<usize>> {
    let mut used: BTreeMap<EpochAndPhase, BTreeSet<usize>> = BTreeMap::new();
    for (thread, placed) in arena.threads.iter().zip(trees) {
        for (&(epoch, phase), nodes) in placed.by_epoch.iter().filter(|((_, phase), _)| *phase > 0)
        {
            let Some(known) = load_maps.epochs.get(&epoch) else { continue };
            let keys = nodes.iter().filter_map(|&node| thread.nodes[node as usize].key);
            let places = keys.filter_map(code_address).filter_map(|lookup| {
                let after = known.mappings.partition_point(|mapping| mapping.start <= lookup);
                after.checked_sub(1).filter(|&place| lookup < known.mappings[place].end)
            });
            used.entry((epoch, phase)).or_default().extend(places);
        }
    }
    used
}
