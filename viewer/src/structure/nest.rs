//! The loops of a control flow graph, and which lies in which.
//!
//! A loop is found at its header, the first of its nodes that a depth-first search reaches: it
//! holds what leads back to the header without leaving what the search reached from there. Inner
//! loops are found first and count as one node from then on. This is Havlak's algorithm ("Nesting
//! of reducible and irreducible loops", TOPLAS 1997), which is Tarjan's ("Testing flow graph
//! reducibility", 1974) for graphs that are not reducible, in the form of Ramalingam ("Identifying
//! loops in almost linear time", TOPLAS 1999): an edge that leads neither down nor up the tree of
//! the search is added where the paths to its two ends part. It takes almost linear time on any
//! graph, and no recursion.
//!
//! Where a loop is entered at its header alone, the result depends on the graph alone. A loop that
//! is entered elsewhere too is irreducible, and its header the entry that the search took.

/// A directed graph whose nodes are numbers.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// First of the successors of each node, and their number.
    first: Vec<u32>,
    successors: Vec<u32>,
}

impl Graph {
    /// A graph without nodes.
    pub(super) fn new() -> Self {
        Self { first: vec![0], successors: Vec::new() }
    }

    /// Adds a node. Its successors may be added later.
    pub(super) fn push(&mut self, successors: &[u32]) {
        self.successors.extend_from_slice(successors);
        self.first.push(number(self.successors.len()));
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// Number of edges.
    pub(super) fn edges(&self) -> usize {
        self.successors.len()
    }

    /// Where the edges of a node lead.
    pub(super) fn successors(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.successors[self.first[node] as usize..self.first[node + 1] as usize]
    }

    /// The same nodes with all edges turned round.
    pub(super) fn reversed(&self) -> Self {
        let mut first = vec![0_u32; self.first.len()];
        for &to in &self.successors {
            first[to as usize + 1] += 1;
        }
        for node in 1..first.len() {
            first[node] += first[node - 1];
        }
        let mut next = first.clone();
        let mut successors = vec![0; self.successors.len()];
        for from in 0..number(self.len()) {
            for &to in self.successors(from) {
                let place = &mut next[to as usize];
                successors[*place as usize] = from;
                *place += 1;
            }
        }
        Self { first, successors }
    }
}

/// No node, no loop.
pub(super) const NONE: u32 = u32::MAX;

/// Nodes and loops are fewer than 2³²: each takes several bytes of code.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(NONE)
}

/// The loops of a graph, each before those inside it, which follow it at once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Nest {
    /// All loops.
    pub(super) loops: Vec<NestedLoop>,
    /// The innermost loop of each node, or [`NONE`].
    pub(super) innermost: Vec<u32>,
}

/// One loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NestedLoop {
    /// The node at which it is entered; if irreducible, one of them.
    pub(super) header: u32,
    /// The loop around it, or [`NONE`].
    pub(super) parent: u32,
    /// One past the number of the last loop inside it.
    pub(super) end: u32,
    /// It is entered at other nodes than the header too.
    pub(super) irreducible: bool,
    /// Nodes with an edge to the header from inside, in ascending order.
    pub(super) latches: Vec<u32>,
}

impl Nest {
    /// Finds the loops that are reached from `roots`.
    pub(super) fn of(graph: &Graph, roots: &[u32]) -> Self {
        let search = Search::run(graph, roots);
        let (found, innermost) = find(&search);
        let mut nest = in_order(found, innermost);
        nest.mark_irreducible(graph, roots, &search);
        nest
    }

    /// Whether loop number `inner` is loop `outer` or lies in it.
    pub(super) fn holds(&self, outer: u32, inner: u32) -> bool {
        inner != NONE && outer <= inner && inner < self.loops[outer as usize].end
    }

    /// How many loops lie in each other at most.
    pub(super) fn depth(&self) -> u32 {
        let mut depths = vec![0_u32; self.loops.len()];
        for (at, inner) in self.loops.iter().enumerate() {
            depths[at] = depths.get(inner.parent as usize).copied().unwrap_or(0) + 1;
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// Marks the loops that an edge enters elsewhere than at the header.
    fn mark_irreducible(&mut self, graph: &Graph, roots: &[u32], search: &Search) {
        // From each loop to itself or, where it is marked, to the next loop outward that is not.
        let mut unmarked: Vec<u32> = (0..number(self.loops.len())).collect();
        let inner = search
            .order
            .iter()
            .skip(1)
            .flat_map(|&from| graph.successors(from).iter().map(move |&to| (Some(from), to)));
        let edges = roots.iter().map(|&root| (None, root)).chain(inner);
        for (from, to) in edges {
            let inside = from.map_or(NONE, |from| self.innermost[from as usize]);
            let mut at = self.innermost[to as usize];
            if at != NONE && self.loops[at as usize].header == to {
                at = self.loops[at as usize].parent;
            }
            loop {
                at = representative(&mut unmarked, at);
                if at == NONE || self.holds(at, inside) {
                    break;
                }
                let entered = &mut self.loops[at as usize];
                entered.irreducible = true;
                unmarked[at as usize] = entered.parent;
            }
        }
    }
}

/// The node that stands for a set of nodes: where the arrows of `next` end. Shortens the way.
fn representative(next: &mut [u32], mut node: u32) -> u32 {
    while node != NONE && next[node as usize] != node {
        let after = next[node as usize];
        if after != NONE {
            next[node as usize] = next[after as usize];
        }
        node = after;
    }
    node
}

/// A depth-first search. A node of its own, with the number [`root`](Self::root), leads to all
/// roots.
struct Search {
    /// The number of the node above all.
    root: u32,
    /// All nodes that are reached, in the order in which they are, [`root`](Self::root) first.
    order: Vec<u32>,
    /// From where each node was reached first; [`NONE`] if never.
    parent: Vec<u32>,
    /// Edges up the tree as (header, source), ordered by header.
    back: Vec<(u32, u32)>,
    /// All edges that are neither in the tree nor lead up: (where the paths from the root to its
    /// ends part, source, target), ordered by the first.
    across: Vec<(u32, u32, u32)>,
}

impl Search {
    fn run(graph: &Graph, roots: &[u32]) -> Self {
        let root = number(graph.len());
        let mut order = vec![root];
        let mut parent = vec![NONE; graph.len() + 1];
        let (mut back, mut across) = (Vec::new(), Vec::new());
        // From nodes that are done to the nearest above that is not.
        let mut open: Vec<u32> = (0..=root).collect();
        let mut is_done = vec![false; graph.len() + 1];
        let mut path: Vec<(u32, usize)> = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let successors = if node == root { roots } else { graph.successors(node) };
            let Some(&to) = successors.get(*next) else {
                path.pop();
                is_done[node as usize] = true;
                if let Some(&(above, _)) = path.last() {
                    open[node as usize] = above;
                }
                continue;
            };
            *next += 1;
            if parent[to as usize] == NONE {
                parent[to as usize] = node;
                order.push(to);
                path.push((to, 0));
            } else if is_done[to as usize] {
                across.push((representative(&mut open, to), node, to));
            } else {
                back.push((to, node));
            }
        }
        back.sort_unstable();
        across.sort_unstable();
        Self { root, order, parent, back, across }
    }

    /// Sources of the edges up to a node.
    fn back_to(&self, header: u32) -> &[(u32, u32)] {
        let start = self.back.partition_point(|&(to, _)| to < header);
        let count = self.back[start..].partition_point(|&(to, _)| to == header);
        &self.back[start..start + count]
    }

    /// Edges between two paths that part at a node.
    fn across_at(&self, node: u32) -> &[(u32, u32, u32)] {
        let start = self.across.partition_point(|&(at, ..)| at < node);
        let count = self.across[start..].partition_point(|&(at, ..)| at == node);
        &self.across[start..start + count]
    }
}

/// Finds the loops, inner ones before those around them, and the innermost loop of each node.
fn find(search: &Search) -> (Vec<NestedLoop>, Vec<u32>) {
    let nodes = search.parent.len();
    let mut loops: Vec<NestedLoop> = Vec::new();
    let mut innermost = vec![NONE; nodes];
    // From the nodes of loops that are found to their headers.
    let mut collapsed: Vec<u32> = (0..number(nodes)).collect();
    // Sources of edges across that were added, as a list for each target.
    let mut added: Vec<(u32, u32)> = Vec::new();
    let mut last_added = vec![NONE; nodes];
    // The header for which a node was last seen.
    let mut seen_for = vec![NONE; nodes];
    for &header in search.order.iter().skip(1).rev() {
        for &(_, from, to) in search.across_at(header) {
            let to = representative(&mut collapsed, to) as usize;
            added.push((from, last_added[to]));
            last_added[to] = number(added.len() - 1);
        }
        let back = search.back_to(header);
        if back.is_empty() {
            continue;
        }
        let this = number(loops.len());
        let mut body = Vec::new();
        seen_for[header as usize] = header;
        let mut see = |node: u32, collapsed: &mut [u32], body: &mut Vec<u32>| {
            let node = representative(collapsed, node);
            if seen_for[node as usize] != header {
                seen_for[node as usize] = header;
                body.push(node);
            }
        };
        for &(_, latch) in back {
            see(latch, &mut collapsed, &mut body);
        }
        let mut next = 0;
        while let Some(&node) = body.get(next) {
            next += 1;
            see(search.parent[node as usize], &mut collapsed, &mut body);
            let mut at = last_added[node as usize];
            while let Some(&(from, before)) = added.get(at as usize) {
                see(from, &mut collapsed, &mut body);
                at = before;
            }
        }
        for &node in &body {
            collapsed[node as usize] = header;
            match loops.get_mut(innermost[node as usize] as usize) {
                Some(inner) => inner.parent = this,
                None => innermost[node as usize] = this,
            }
        }
        innermost[header as usize] = this;
        let latches = back.iter().map(|&(_, latch)| latch).collect();
        loops.push(NestedLoop { header, parent: NONE, end: 0, irreducible: false, latches });
    }
    innermost.truncate(search.root as usize);
    (loops, innermost)
}

/// Numbers loops so that each stands before those inside it, and they at once behind it.
fn in_order(mut found: Vec<NestedLoop>, mut innermost: Vec<u32>) -> Nest {
    // Loops around others were found after them.
    let mut sizes = vec![1_u32; found.len()];
    for (at, inner) in found.iter().enumerate() {
        if let Some(size) = sizes.get(at).copied()
            && let Some(outer) = sizes.get_mut(inner.parent as usize)
        {
            *outer += size;
        }
    }
    let mut numbers = vec![0_u32; found.len()];
    // The next free number inside each loop.
    let mut free = vec![0_u32; found.len()];
    let mut free_outside = 0;
    for at in (0..found.len()).rev() {
        let place = free.get_mut(found[at].parent as usize).unwrap_or(&mut free_outside);
        numbers[at] = *place;
        *place += sizes[at];
        free[at] = numbers[at] + 1;
    }
    let renumber = |old: &mut u32| *old = numbers.get(*old as usize).map_or(NONE, |&new| new);
    for (at, found) in found.iter_mut().enumerate() {
        renumber(&mut found.parent);
        found.end = numbers[at] + sizes[at];
    }
    innermost.iter_mut().for_each(renumber);
    let mut loops: Vec<_> = numbers.iter().copied().zip(found).collect();
    loops.sort_unstable_by_key(|&(number, _)| number);
    Nest { loops: loops.into_iter().map(|(_, found)| found).collect(), innermost }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph from its edges, as `0>1 1>2`; the root is 0.
    fn graph(edges: &str) -> Graph {
        let edges: Vec<(u32, u32)> = edges
            .split_whitespace()
            .map(|edge| {
                let (from, to) = edge.split_once('>').unwrap();
                (from.parse().unwrap(), to.parse().unwrap())
            })
            .collect();
        let nodes = edges.iter().map(|&(from, to)| from.max(to) + 1).max().unwrap();
        let mut graph = Graph::new();
        for node in 0..nodes {
            let to: Vec<u32> =
                edges.iter().filter(|&&(from, _)| from == node).map(|&(_, to)| to).collect();
            graph.push(&to);
        }
        graph
    }

    /// Loops as `header(inner loops and nodes)`, in the order of nodes; `!` if irreducible.
    fn nest(edges: &str) -> String {
        let nest = Nest::of(&graph(edges), &[0]);
        fn print(nest: &Nest, parent: u32) -> String {
            let mut parts = Vec::new();
            for (node, &within) in (0..).zip(&nest.innermost) {
                let own = nest.loops.get(within as usize).filter(|own| own.header == node);
                if let Some(own) = own {
                    if own.parent == parent {
                        let mark = if own.irreducible { "!" } else { "" };
                        parts.push(format!("{node}{mark}({})", print(nest, within)));
                    }
                } else if within == parent && parent != NONE {
                    parts.push(node.to_string());
                }
            }
            parts.join(" ")
        }
        print(&nest, NONE)
    }

    #[test]
    fn loops_lie_in_each_other() {
        let cases = [
            ("0>1 1>2", ""),
            ("0>1 1>1 1>2", "1()"),
            ("0>1 1>2 2>1 2>3", "1(2)"),
            // for { for { for } } with one exit each
            ("0>1 1>2 2>3 3>4 4>3 4>5 5>2 5>6 6>1 6>7", "1(2(3(4) 5) 6)"),
            // two loops, one behind the other, in one
            ("0>1 1>2 2>2 2>3 3>3 3>1", "1(2() 3())"),
            // `continue`: two latches of one header
            ("0>1 1>2 2>1 2>3 3>1 3>4", "1(2 3)"),
            // entered in the middle
            ("0>1 0>2 1>2 2>1 2>3", "1!(2)"),
            // an inner loop that is entered in the middle by the outer one
            ("0>1 1>2 1>3 2>3 3>2 3>1", "1(2!(3))"),
            // a jump from before all into the innermost of three
            ("0>1 1>2 2>3 3>4 4>3 4>2 4>1 0>4", "1!(2!(3!(4)))"),
            // into its header
            ("0>1 1>2 2>3 3>4 4>3 4>2 4>1 0>3", "1!(2!(3(4)))"),
        ];
        for (edges, expected) in cases {
            assert_eq!(nest(edges), expected, "{edges}");
        }
    }

    /// All loops by their definition: what of the nodes not above leads from a header to itself.
    fn slow(graph: &Graph) -> Vec<(u32, Vec<u32>)> {
        let search = Search::run(graph, &[0]);
        let nodes = number(graph.len());
        let is_below = |node: u32, above: u32| {
            let mut at = node;
            while at != NONE && at != above && at != search.root {
                at = search.parent[at as usize];
            }
            at == above
        };
        let mut found = Vec::new();
        for header in 0..nodes {
            if search.parent[header as usize] == NONE {
                continue;
            }
            // Backwards from the header's sources, through what the search reached below it.
            let mut body = vec![];
            let mut work: Vec<u32> = (0..nodes)
                .filter(|&n| graph.successors(n).contains(&header) && is_below(n, header))
                .collect();
            if work.is_empty() {
                continue;
            }
            while let Some(node) = work.pop() {
                if node == header || body.contains(&node) {
                    continue;
                }
                body.push(node);
                work.extend(
                    (0..nodes)
                        .filter(|&n| graph.successors(n).contains(&node) && is_below(n, header)),
                );
            }
            body.push(header);
            body.sort_unstable();
            found.push((header, body));
        }
        found
    }

    #[test]
    fn random_graphs_have_the_loops_of_the_definition() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            u32::try_from(state % below).unwrap()
        };
        let (mut seen, mut irreducible) = (0, 0);
        for _ in 0..3000 {
            let nodes = u64::from(2 + random(9));
            let mut graph = Graph::new();
            for _ in 0..nodes {
                let mut to: Vec<u32> = (0..random(4)).map(|_| random(nodes)).collect();
                to.sort_unstable();
                to.dedup();
                graph.push(&to);
            }
            let nest = Nest::of(&graph, &[0]);
            let expected = slow(&graph);
            assert_eq!(nest.loops.len(), expected.len());
            for (at, found) in (0..).zip(&nest.loops) {
                let body: Vec<u32> = (0..)
                    .zip(&nest.innermost)
                    .filter(|&(_, &inner)| nest.holds(at, inner))
                    .map(|(node, _)| node)
                    .collect();
                let (_, slow) =
                    expected.iter().find(|(header, _)| *header == found.header).unwrap();
                assert_eq!(&body, slow, "{graph:?}");
                let reached = Search::run(&graph, &[0]).order;
                let enters = |from: u32| {
                    !body.contains(&from)
                        && graph
                            .successors(from)
                            .iter()
                            .any(|to| body.contains(to) && *to != found.header)
                };
                let is_entered = body.contains(&0) && found.header != 0
                    || reached.iter().skip(1).any(|&from| enters(from));
                assert_eq!(found.irreducible, is_entered, "{graph:?}");
                seen += 1;
                irreducible += usize::from(is_entered);
            }
        }
        assert!(seen > 1000 && irreducible > 100, "{seen} {irreducible}");
    }

    /// Many loops in each other, each also entered from outside at its last node.
    #[test]
    fn a_deep_nest_takes_no_stack() {
        let depth = 200_000;
        let mut graph = Graph::new();
        for node in 0..depth {
            graph.push(&[node + 1, 2 * depth - node]);
        }
        for node in depth..=2 * depth {
            let header = 2 * depth - node;
            if node == 2 * depth { graph.push(&[0]) } else { graph.push(&[header, node + 1]) }
        }
        let nest = Nest::of(&graph, &[0]);
        assert_eq!(nest.loops.len(), 200_001);
        assert!(nest.loops.iter().skip(1).all(|found| found.parent != NONE));
    }
}
