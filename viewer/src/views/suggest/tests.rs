use super::*;
use crate::profile::{NodesBuilder, Stream};
use crate::refine::unwatched;
use crate::views::tests::profile;

/// As an outline, it would take gigabytes of spaces.
#[test]
fn what_is_below_a_deep_recursion_is_listed() {
    let mut profile = profile("f\n  leaf 1\n");
    let [f, leaf] = [1, 2].map(|node: usize| profile.nodes.frame[node]);
    let mut nodes = NodesBuilder::new(0);
    let depth = 100_000;
    let innermost = (0..depth).fold(0, |above, _| nodes.push(above, f, 0, 0));
    nodes.push(innermost, leaf, 90, 0);
    nodes.push(innermost, f, 10, 0);
    let streams = profile.streams.iter().cloned();
    let streams: Vec<_> = streams.map(|stream| Stream { nodes: 1..depth + 3, ..stream }).collect();
    (profile.nodes, profile.streams) = (nodes.finish(), streams.into());

    let refined = Refined::base(&profile);
    let found = unwatched(|watch| suggestions(&refined, MOST, watch));
    let listed = |entry: &Suggestion| {
        let stage = entry.stage(&refined).unwrap();
        (entry.why, entry.part[0], entry.rows.len(), stage.len() < 1000)
    };
    let listed: Vec<_> = found.list.iter().map(listed).collect();
    let deep = depth as usize + 1;
    assert_eq!(listed, [(Why::Own(90), 90, deep, true), (Why::Own(10), 10, deep, true)]);
    assert!(!found.is_cut);
}
