//! A refined profile as text: what a person would see of it, for tests.

use std::collections::HashMap;
use std::fmt::Write as _;

use csprof_format::profile::Metric;

use super::children::node_number;
use super::refined::Refined;
use crate::profile::{FrameKind, FunctionRef, MetricRef, quoted, write_kind};

/// Writes the nodes that are shown, as [`crate::profile::from_outline`] notes them: exclusive
/// samples, whichever metric is looked at, and edge counts, `e=4..9` where these are bounds.
/// Siblings of one function and kind are one line, in the order in which they first occur; threads
/// and epochs are not told apart.
///
/// ```
/// use csprof::profile::from_outline;
/// use csprof::refine::{apply, parse, to_outline};
/// let profile = from_outline("main 2\n  solve 3 e=4\n").unwrap();
/// let refined = apply(&profile, &parse("group solve as S").unwrap()).unwrap();
/// assert_eq!(to_outline(&refined), "main 2\n  S 3 e=4\n");
/// ```
#[must_use]
pub fn to_outline(refined: &Refined) -> String {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); refined.node_count()];
    for node in 1..refined.node_count() {
        if refined.is_shown(node) {
            children[refined.parent[node] as usize].push(node);
        }
    }
    let mut out = String::new();
    // Rows still to be written, the next one last: depth and the nodes that make the row.
    let mut rows = rows_below(refined, &children, &[0], 0);
    while let Some((depth, nodes)) = rows.pop() {
        write_row(refined, depth, &nodes, &mut out);
        rows.extend(rows_below(refined, &children, &nodes, depth + 1));
    }
    out
}

/// The rows below a row, last one first.
fn rows_below(
    refined: &Refined,
    children: &[Vec<usize>],
    nodes: &[usize],
    depth: usize,
) -> Vec<(usize, Vec<usize>)> {
    let mut rows: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut known: HashMap<(FunctionRef, FrameKind), usize> = HashMap::new();
    for &child in nodes.iter().flat_map(|&node| &children[node]) {
        let frame = refined.frames[refined.frame[child].index()];
        let row = *known.entry((frame.function, frame.kind)).or_insert_with(|| {
            rows.push((depth, Vec::new()));
            rows.len() - 1
        });
        rows[row].1.push(child);
    }
    rows.reverse();
    rows
}

fn write_row(refined: &Refined, depth: usize, nodes: &[usize], out: &mut String) {
    let frame = refined.frames[refined.frame[nodes[0]].index()];
    let name = &refined.functions[frame.function.index()].name;
    let _ = write!(out, "{:width$}{}", "", quoted(name), width = 2 * depth);
    let of_metric = |(metric, about): (MetricRef, &Metric)| {
        let own: u64 = nodes.iter().map(|&node| refined.of_metric(node, metric).1).sum();
        (own, about.source.clone())
    };
    let metrics: Vec<(u64, String)> = refined.profile.metrics().map(of_metric).collect();
    let exclusive: u64 = metrics.iter().map(|&(own, _)| own).sum();
    if exclusive > 0 {
        let _ = write!(out, " {exclusive}");
    }
    for (own, source) in metrics.iter().skip(1).filter(|&&(own, _)| own > 0) {
        let _ = write!(out, " {source}:{own}");
    }
    let edges = nodes.iter().filter_map(|&node| refined.edges(node_number(node)));
    let (low, high) = edges.fold((0, 0), |(low, high), (a, b)| (low + a, high + b));
    match frame.kind {
        kind if !kind.is_in_paths() => {}
        _ if low != high => {
            let _ = write!(out, " e={low}..{high}");
        }
        _ if low > 0 => {
            let _ = write!(out, " e={low}");
        }
        _ => {}
    }
    write_kind(frame.kind, out);
    out.push('\n');
}
