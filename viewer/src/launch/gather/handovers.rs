//! Handovers: what a thread was given to do by another one gets the path of the code that gave it.
//!
//! In the arena, such a part of a thread's tree lies below a node that names a context, a node of
//! another thread. Here the keys of that context's path come above it, in the thread's own tree: so
//! whatever is known of trees holds for it, and each thread keeps its samples. The frames above are
//! on the stack of the thread that hands over as long as the other one works for it, so what their
//! addresses mean in its epoch, they mean in this one's.
//!
//! Also left out here: contexts in which nothing was sampled after all.

use std::collections::HashMap;

use csprof_format::address::{FrameKey, FrameKind};
use csprof_format::profile::PARALLEL_REGION;

use super::super::arena_read::{Arena, ArenaNode, ArenaThread};

/// Handovers on a path, one in the other.
const MOST_NESTED: usize = 64;

/// What made-up arenas may cost besides what they are themselves: steps along paths, and nodes.
#[derive(Debug)]
pub(super) struct Budget {
    steps: usize,
    nodes: usize,
}

impl Budget {
    /// For all arenas of a run.
    pub(super) fn new(arenas: &[Arena]) -> Self {
        let threads = arenas.iter().flat_map(|arena| &arena.threads);
        let nodes: usize = threads.map(|thread| thread.nodes.len()).sum();
        Self {
            steps: nodes.saturating_mul(64).saturating_add(1 << 26),
            nodes: nodes.saturating_mul(4).saturating_add(1 << 22),
        }
    }
}

/// Puts the paths of contexts above what was handed over from them, and leaves out contexts without
/// samples. Returns how many handovers lead to no context: what is below them stays below the root.
pub(super) fn settle(arena: &mut Arena, budget: &mut Budget) -> usize {
    let threads = &arena.threads;
    let by_index: HashMap<u32, &ArenaThread> =
        threads.iter().map(|thread| (thread.record.index, thread)).collect();
    let mut unknown = 0;
    let settled: Vec<Option<Settled>> = threads
        .iter()
        .map(|thread| {
            let settled = Settled::of(thread, &by_index, budget)?;
            unknown += settled.unknown;
            Some(settled)
        })
        .collect();
    for (thread, settled) in arena.threads.iter_mut().zip(settled) {
        let Some(Settled { nodes, numbers, .. }) = settled else { continue };
        thread.nodes = nodes;
        for time in &mut thread.times {
            time.node = numbers.get(time.node as usize).copied().unwrap_or(0);
        }
    }
    unknown
}

/// The nodes of a thread, made anew.
#[derive(Debug)]
struct Settled {
    nodes: Vec<ArenaNode>,
    /// The number that each node has now; 0 for none.
    numbers: Vec<u32>,
    unknown: usize,
}

impl Settled {
    /// `None` for a thread that stays as it is.
    fn of(
        thread: &ArenaThread,
        threads: &HashMap<u32, &ArenaThread>,
        budget: &mut Budget,
    ) -> Option<Self> {
        let is_used = is_used(thread);
        let is_handover = |node: &ArenaNode| kind(node) == Some(FrameKind::Handover);
        let has_handovers = thread.nodes.iter().any(is_handover);
        if is_used.iter().all(|used| *used) && !has_handovers {
            return None;
        }
        let mut settled = Self {
            nodes: thread.nodes.get(..1).unwrap_or_default().to_vec(),
            numbers: vec![0; thread.nodes.len()],
            unknown: 0,
        };
        // Two paths of the same keys are one, and a path may be there without a handover.
        let mut placed: HashMap<(u32, FrameKey), u32> = HashMap::new();
        for (number, node) in thread.nodes.iter().enumerate().skip(1) {
            if !is_used[number] {
                continue;
            }
            // A node that cannot be placed stays one.
            let known = (node.parent as usize) < number;
            let parent = if known { settled.numbers[node.parent as usize] } else { u32::MAX };
            let Some(key) = node.key.filter(|key| key.kind() == FrameKind::Handover) else {
                let at = node.key.filter(|_| has_handovers && known).map(|key| (parent, key));
                let there = at.and_then(|at| placed.get(&at).copied());
                settled.numbers[number] = match there {
                    Some(there) => {
                        settled.add(there, node);
                        there
                    }
                    None => settled.push(ArenaNode { parent, ..*node }),
                };
                placed.extend(at.map(|at| (at, settled.numbers[number])));
                continue;
            };
            let path = path(key, threads, budget);
            match path.filter(|_| known && node.parent != 0) {
                Some(path) => {
                    let before = settled.nodes.len();
                    let below = path.into_iter().rev().fold(parent, |parent, key| {
                        *placed.entry((parent, key)).or_insert_with(|| {
                            let key = Some(key);
                            settled.push(ArenaNode { key, parent, samples: 0, edges: 0 })
                        })
                    });
                    budget.nodes -= settled.nodes.len() - before;
                    settled.add(below, node);
                    settled.numbers[number] = below;
                }
                // Node 0 is none: what is directly below it stays what cannot be placed.
                None if known && node.parent != 0 => {
                    settled.add(parent, node);
                    settled.numbers[number] = parent;
                    settled.unknown += 1;
                }
                None => settled.numbers[number] = settled.push(ArenaNode { parent, ..*node }),
            }
        }
        Some(settled)
    }

    fn push(&mut self, node: ArenaNode) -> u32 {
        self.nodes.push(node);
        u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX)
    }

    /// Adds what a node counts, of a made-up arena, to the one in its place.
    fn add(&mut self, place: u32, node: &ArenaNode) {
        if let Some(at) = self.nodes.get_mut(place as usize) {
            at.samples = at.samples.saturating_add(node.samples);
            at.edges = at.edges.saturating_add(node.edges);
        }
    }
}

fn kind(node: &ArenaNode) -> Option<FrameKind> {
    node.key.map(FrameKey::kind)
}

/// Of each node whether there is anything in it, or below it: not of a context that nothing was
/// sampled in.
fn is_used(thread: &ArenaThread) -> Vec<bool> {
    let nodes = &thread.nodes;
    let is_above = [Some(FrameKind::Call), Some(FrameKind::Handover)];
    let mut is_used = vec![false; nodes.len()];
    for (number, node) in nodes.iter().enumerate().rev() {
        is_used[number] |= node.samples > 0 || node.edges > 0 || !is_above.contains(&kind(node));
        let parent = node.parent as usize;
        if is_used[number] && parent < number {
            is_used[parent] = true;
        }
    }
    is_used
}

/// The path of a handover, innermost first: the handover, and the keys of its context up to a root,
/// with those of the handovers that it lies in. `None` if it leads to none, or to more nodes than
/// may be made.
fn path(
    handover: FrameKey,
    threads: &HashMap<u32, &ArenaThread>,
    budget: &mut Budget,
) -> Option<Vec<FrameKey>> {
    let region = FrameKey::new(FrameKind::Handover, PARALLEL_REGION);
    let (mut path, mut next) = (Vec::new(), Some(handover));
    for _ in 0..MOST_NESTED {
        let Some((thread, mut number)) = next.take().and_then(FrameKey::thread_and_node) else {
            return Some(path);
        };
        if number == 0 && !path.is_empty() {
            // There was no room for that context: the one in it begins at the start of its thread.
            return Some(path);
        }
        path.push(region);
        let nodes = &threads.get(&thread)?.nodes;
        loop {
            budget.steps = budget.steps.checked_sub(1)?;
            if path.len() > budget.nodes {
                return None;
            }
            let node = nodes.get(number as usize)?;
            let key = node.key?;
            match key.kind() {
                FrameKind::Root => break,
                FrameKind::Handover => {
                    next = Some(key);
                    break;
                }
                _ if node.parent == 0 || node.parent >= number => return None,
                _ => path.push(key),
            }
            number = node.parent;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::super::super::arena_bytes::{ArenaBytes, NodeRow, ThreadRow, call, epoch};
    use super::super::super::arena_read::read;
    use super::*;

    fn given_by(thread: u32, node: u32) -> FrameKey {
        FrameKey::handover(thread, node).unwrap()
    }

    /// An arena with threads of these nodes, from 1: key, parent, samples.
    fn arena(threads: &[&[(FrameKey, u32, u64)]]) -> Arena {
        let bytes =
            threads.iter().fold(ArenaBytes::new(7, 500, 9500).log(&[epoch(0)]), |bytes, nodes| {
                let row = |&(key, parent, samples): &_| (key, parent, samples, 0);
                let nodes: Vec<NodeRow> = nodes.iter().map(row).collect();
                bytes.thread(&ThreadRow { tid: 7, nodes: &nodes, ..ThreadRow::default() })
            });
        let bytes = bytes.times(1, 0, &[(600, 5, 4)]).bytes;
        read(&mut Cursor::new(&bytes), bytes.len() as u64).unwrap()
    }

    fn settle_alone(arena: &mut Arena) -> usize {
        let mut budget = Budget::new(std::slice::from_ref(arena));
        settle(arena, &mut budget)
    }

    /// The keys of each path with samples, outermost first, and how many.
    fn paths(thread: &ArenaThread) -> Vec<(Vec<u64>, u64)> {
        let sampled = thread.nodes.iter().enumerate().filter(|(_, node)| node.samples > 0);
        let mut paths: Vec<_> = sampled
            .map(|(number, node)| {
                let (mut path, mut at) = (Vec::new(), number);
                while at != 0 {
                    let node = &thread.nodes[at];
                    assert!((node.parent as usize) < at);
                    path.push(node.key.unwrap().to_bits() & ((1 << 60) - 1));
                    at = node.parent as usize;
                }
                path.reverse();
                (path, node.samples)
            })
            .collect();
        paths.sort();
        paths
    }

    const ROOT: FrameKey = FrameKey::root(0, 0);
    const REGION: u64 = FrameKey::new(FrameKind::Handover, PARALLEL_REGION).to_bits();

    #[test]
    fn work_that_was_given_is_below_who_gave_it_one_in_the_other() {
        let mut arena = arena(&[
            &[(ROOT, 0, 0), (call(1), 1, 3), (call(2), 2, 0), (call(9), 2, 0)],
            &[
                (ROOT, 0, 0),
                (call(7), 1, 1),
                (given_by(0, 3), 1, 0),
                (call(7), 3, 0),
                (call(5), 4, 4),
            ],
            &[(ROOT, 0, 0), (given_by(1, 4), 1, 0), (call(6), 2, 2)],
            // Of no handover that nothing was sampled below is anything said.
            &[(ROOT, 0, 0), (given_by(9, 1), 1, 0), (call(6), 2, 0)],
        ]);
        let unknown = settle_alone(&mut arena);
        let bits = |address| call(address).to_bits();
        let root = ROOT.to_bits();
        assert_eq!(unknown, 0);
        assert_eq!(paths(&arena.threads[0]), [(vec![root, bits(1)], 3)]);
        // The contexts have no samples of their own, so nothing is left of them here.
        assert_eq!(arena.threads[0].nodes.len(), 3);
        assert_eq!(arena.threads[3].nodes.len(), 2);
        let given = vec![root, bits(1), bits(2), REGION, bits(7), bits(5)];
        let mut expected = vec![(given, 4), (vec![root, bits(7)], 1)];
        expected.sort();
        assert_eq!(paths(&arena.threads[1]), expected);
        let time = arena.threads[1].times[0];
        assert_eq!(arena.threads[1].nodes[time.node as usize].samples, 4);
        let given = vec![root, bits(1), bits(2), REGION, bits(7), REGION, bits(6)];
        assert_eq!(paths(&arena.threads[2]), [(given, 2)]);
    }

    /// Also below it, and where the thread's own tree has begun in the same way.
    #[test]
    fn two_contexts_of_one_path_are_one() {
        let mut arena = arena(&[
            // The same path in two phases, of which the second has nothing else.
            &[(ROOT, 0, 0), (call(1), 1, 1), (FrameKey::root(0, 1), 0, 0), (call(1), 3, 0)],
            &[
                (ROOT, 0, 0),
                (given_by(0, 2), 1, 0),
                (call(5), 2, 0),
                (call(6), 3, 4),
                (given_by(0, 4), 1, 0),
                (call(5), 5, 0),
                (call(6), 6, 2),
                (call(1), 1, 0),
                (call(8), 8, 7),
            ],
        ]);
        assert_eq!(settle_alone(&mut arena), 0);
        let bits = |address| call(address).to_bits();
        let (root, worker) = (ROOT.to_bits(), &arena.threads[1]);
        let given = vec![root, bits(1), REGION, bits(5), bits(6)];
        let mut expected = vec![(given, 6), (vec![root, bits(1), bits(8)], 7)];
        expected.sort();
        assert_eq!(paths(worker), expected);
        // Besides the one that is never used.
        assert_eq!(worker.nodes.len(), 1 + 6);
    }

    #[test]
    fn what_lies_in_a_context_without_room_begins_at_its_thread() {
        let mut arena = arena(&[
            &[(ROOT, 0, 0), (call(1), 1, 1)],
            &[(ROOT, 0, 0), (given_by(0, 0), 1, 0), (call(7), 2, 3)],
            &[(ROOT, 0, 0), (given_by(1, 3), 1, 0), (call(6), 2, 2)],
        ]);
        assert_eq!(settle_alone(&mut arena), 1);
        let (root, bits) = (ROOT.to_bits(), |address| call(address).to_bits());
        assert_eq!(paths(&arena.threads[1]), [(vec![root, bits(7)], 3)]);
        assert_eq!(paths(&arena.threads[2]), [(vec![root, bits(7), REGION, bits(6)], 2)]);
    }

    /// Of a circle, each round of which has many nodes; all arenas together have one budget.
    #[test]
    fn paths_cost_no_more_than_is_afforded() {
        let circle = &[(ROOT, 0, 0), (given_by(0, 4), 1, 0), (call(1), 2, 1), (call(2), 3, 1)];
        let mut budget = Budget { steps: 1000, nodes: 10 };
        let circular = arena(&[circle]);
        let threads = &circular.threads;
        let by_index = threads.iter().map(|thread| (thread.record.index, thread)).collect();
        assert_eq!(path(given_by(0, 4), &by_index, &mut budget), None);
        assert!(budget.steps >= 1000 - 2 * 10, "{budget:?}");

        let mut given = arena(&[
            &[(ROOT, 0, 0), (call(1), 1, 1), (call(2), 2, 0)],
            &[(ROOT, 0, 0), (given_by(0, 3), 1, 0), (call(5), 2, 4)],
        ]);
        let mut again = given.clone();
        let mut budget = Budget { steps: 1000, nodes: 5 };
        assert_eq!(settle(&mut given, &mut budget), 0);
        assert_eq!(budget.nodes, 2);
        assert_eq!(settle(&mut again, &mut budget), 1);
    }

    /// Of made-up arenas no sample is lost: what leads nowhere stays below the root.
    #[test]
    fn what_leads_nowhere_stays_below_the_root() {
        let mut arena = arena(&[
            // A circle, a thread and a node that are none, and a context that could not be read.
            &[(ROOT, 0, 0), (given_by(0, 3), 1, 5), (call(1), 2, 1)],
            &[(ROOT, 0, 0), (given_by(7, 1), 1, 0), (call(1), 2, 2)],
            &[(ROOT, 0, 0), (given_by(0, 99), 1, 0), (call(1), 2, 3)],
            &[(ROOT, 0, 0), (given_by(3, 3), 1, 0), (call(1), 2, 4)],
        ]);
        arena.threads[3].nodes[3].key = None;
        let unknown = settle_alone(&mut arena);
        assert_eq!(unknown, 4);
        let sum = |thread: &ArenaThread| thread.nodes.iter().map(|node| node.samples).sum::<u64>();
        let sums: Vec<u64> = arena.threads.iter().map(sum).collect();
        assert_eq!(sums, [6, 2, 3, 4]);
        for thread in &arena.threads {
            assert!(thread.nodes.iter().all(|node| kind(node) != Some(FrameKind::Handover)));
        }
    }

    /// Nor that of a handover which is below no root, which nobody could place.
    #[test]
    fn what_was_given_to_no_thread_stays_what_cannot_be_placed() {
        let given: &[_] = &[(ROOT, 0, 0), (call(1), 1, 1), (given_by(0, 2), 0, 5), (call(2), 3, 2)];
        for nodes in [given, &given[..3]] {
            let mut arena = arena(&[nodes]);
            assert_eq!(settle_alone(&mut arena), 0);
            let settled = &arena.threads[0].nodes;
            assert_eq!((settled.len(), settled[0].samples), (1 + nodes.len(), 0));
            assert_eq!((settled[3].samples, settled[3].parent), (5, 0));
            assert!(nodes.len() < 4 || settled[4].parent == 3);
        }
    }
}
