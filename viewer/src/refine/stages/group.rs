//! `group … as`: several functions shown as one.

use super::super::Refined;
use super::super::bits::Bits;
use super::super::column::Table;
use super::super::watch::{Cancelled, Watch};
use super::{Moved, relocate};
use crate::profile::{Frame, FrameKind, Function, FunctionRef};

/// Maximal runs of these frames become one frame each: the first one, under the group's name and
/// with its own edge count. Returns the samples that moved to another node, too.
pub(super) fn group<'p>(
    refined: Refined<'p>,
    members: &Bits,
    name: &str,
    watch: &Watch<'_>,
) -> Result<(Refined<'p>, Moved), Cancelled> {
    let (mut refined, moved) = relocate::runs(refined, members, watch)?;
    let function = Function { name: name.to_owned(), module: None, file: None, line: 0 };
    let function = FunctionRef(refined.functions.number_of(function));
    let mut frames: Vec<Frame> = refined.frames.iter().copied().collect();
    for member in members.iter() {
        let kind = match frames[member].kind {
            FrameKind::Inline => FrameKind::Inline,
            _ => FrameKind::Call,
        };
        frames[member] = Frame { function, kind, file: None, line: 0 };
    }
    refined.frames = Table::made(frames);
    Ok((refined, moved))
}
