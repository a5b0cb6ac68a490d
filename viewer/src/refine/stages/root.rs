//! `root at`: paths that begin at a match.

use super::super::Refined;
use super::super::bits::Bits;
use super::super::column::Column;
use super::super::watch::{Cancelled, Watch};
use super::{add_up, contexts, out_of};

/// Strips what is above the first match of each path, or the last one; takes out paths without.
/// What `split` put above paths stays above them.
pub(super) fn root_at<'p>(
    mut refined: Refined<'p>,
    frames: &Bits,
    last: bool,
    watch: &Watch<'_>,
) -> Result<Refined<'p>, Cancelled> {
    let workspace = refined.workspace.clone();
    let frame = refined.frame.clone();
    let contexts = contexts(&refined);
    let mut parent = out_of(&mut refined.parent).take(&workspace.nodes);
    let mut exclusive = out_of(&mut refined.exclusive).take(&workspace.counts);
    // Nodes at or below a match; node 0 never is.
    let mut inside = Bits::none(parent.len());
    exclusive[0] = 0;
    for (stream, &context) in refined.streams.iter().zip(&contexts) {
        // Contexts come first and stay below one another.
        let first = if context == 0 { stream.nodes.start } else { context + 1 };
        for node in stream.nodes.start..first {
            exclusive[node as usize] = 0;
        }
        watch.forward(first as usize..stream.nodes.end as usize, |nodes| {
            for node in nodes {
                let below = inside.contains(parent[node] as usize);
                let matches = frames.contains(frame[node].index());
                if matches && (last || !below) {
                    parent[node] = context;
                }
                if matches || below {
                    inside.insert(node);
                } else {
                    exclusive[node] = 0;
                }
            }
        })?;
    }
    let mut inclusive = out_of(&mut refined.inclusive).into_empty(&workspace.counts);
    inclusive.extend_from_slice(&exclusive);
    add_up(&parent, &mut inclusive, watch)?;
    refined.parent = Column::made(parent, &workspace.nodes);
    refined.exclusive = Column::made(exclusive, &workspace.counts);
    refined.inclusive = Column::made(inclusive, &workspace.counts);
    Ok(refined)
}
