//! `root at`: paths that begin at a match.

use super::super::Refined;
use super::super::bits::Bits;
use super::super::column::Column;
use super::super::watch::{Cancelled, Watch};
use super::{contexts, out_of, select};

/// Strips what is above the first match of each path, or the last one; takes out paths without.
/// What `split` put above paths stays above them.
pub(super) fn root_at<'p>(
    mut refined: Refined<'p>,
    frames: &Bits,
    last: bool,
    watch: &Watch<'_>,
) -> Result<Refined<'p>, Cancelled> {
    let home = refined.workspace.nodes.clone();
    let (frame, contexts) = (refined.frame.clone(), contexts(&refined));
    let mut parent = out_of(&mut refined.parent).take(&home);
    // Nodes at or below a match; node 0 never is.
    let mut inside = Bits::none(parent.len());
    for (stream, &context) in refined.streams.iter().zip(&contexts) {
        // Contexts come first and stay below one another.
        let first = if context == 0 { stream.nodes.start } else { context + 1 };
        watch.forward(first as usize..stream.nodes.end as usize, |nodes| {
            for node in nodes {
                let below = inside.contains(parent[node] as usize);
                let matches = frames.contains(frame[node].index());
                if matches && (last || !below) {
                    parent[node] = context;
                }
                if matches || below {
                    inside.insert(node);
                }
            }
        })?;
    }
    refined.parent = Column::made(parent, &home);
    select::keep(refined, &inside, watch)
}
