//! `group … as`: several functions shown as one.

use super::super::Refined;
use super::super::bits::Bits;
use super::relocate::{Moves, has};
use crate::profile::{Frame, FrameKind, FrameRef, Function, FunctionRef};

/// Maximal runs of these frames become one frame each: the first one, under the group's name and
/// with its own edge count. Returns the samples that moved to another node, too.
pub(super) fn group<'p>(refined: &Refined<'p>, frames: &Bits, name: &str) -> (Refined<'p>, u64) {
    let moves = Moves::runs(refined, frames);
    let (mut next, moved) = moves.apply(refined);
    let function = function(&mut next, name);
    let called = frame(&mut next, function, FrameKind::Call);
    let inlined = frame(&mut next, function, FrameKind::Inline);
    let renamed: Vec<FrameRef> = refined
        .frame
        .iter()
        .enumerate()
        .map(|(node, &frame)| {
            if !has(refined, frames, node) {
                frame
            } else if refined.frames[frame.index()].kind == FrameKind::Inline {
                inlined
            } else {
                called
            }
        })
        .collect();
    next.frame = renamed.into();
    (next, moved)
}

/// The group's function: an earlier group of the same name, or a new one.
fn function(refined: &mut Refined<'_>, name: &str) -> FunctionRef {
    let loaded = refined.profile.functions.len();
    let known = refined.functions[loaded..].iter().position(|function| function.name == name);
    let index = known.map_or(refined.functions.len(), |position| loaded + position);
    if known.is_none() {
        let mut functions = refined.functions.to_vec();
        functions.push(Function { name: name.to_owned(), module: None, file: None, line: 0 });
        refined.functions = functions.into();
    }
    FunctionRef(u32::try_from(index).unwrap_or(u32::MAX))
}

fn frame(refined: &mut Refined<'_>, function: FunctionRef, kind: FrameKind) -> FrameRef {
    let wanted = Frame { function, kind, file: None, line: 0 };
    let loaded = refined.profile.frames.len();
    let known = refined.frames[loaded..].iter().position(|frame| *frame == wanted);
    let index = known.map_or(refined.frames.len(), |position| loaded + position);
    if known.is_none() {
        let mut frames = refined.frames.to_vec();
        frames.push(wanted);
        refined.frames = frames.into();
    }
    FrameRef(u32::try_from(index).unwrap_or(u32::MAX))
}
