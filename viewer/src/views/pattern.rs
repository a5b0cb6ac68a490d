//! Rows in the refinement language: the frames that a row is about, and the path that leads to it.

use super::row::Row;
use crate::profile::{FrameKind, Function};
use crate::refine::{Chain, Field, FramePattern, Link, Refined};

/// The frames that a row is about. Names are taken exactly: a bare word would be a pattern, which
/// may mean more than the row, as `solve` also finds `ns::Solve(int)`.
pub(crate) fn pattern(refined: &Refined, row: &Row) -> Result<FramePattern, String> {
    let function = refined.functions.get(row.function.index());
    match (row.kind, function) {
        (FrameKind::Context, Some(Function { module: Some(id), .. })) => {
            Ok(FramePattern::Field(Field::Module, literally(refined.profile.module_path(*id))))
        }
        (FrameKind::Context, Some(Function { file: Some(id), line: 0, .. })) => {
            Ok(FramePattern::Field(Field::File, literally(refined.profile.string(*id))))
        }
        (FrameKind::Context, Some(Function { file: Some(id), line, .. })) => {
            let file = literally(refined.profile.string(*id));
            Ok(FramePattern::All(vec![
                FramePattern::Field(Field::File, file),
                FramePattern::Field(Field::Line, line.to_string()),
            ]))
        }
        (kind, Some(function)) if kind.is_in_paths() => Ok(function_pattern(refined, function)),
        _ => Err("this row is no function, so no stage can be made of it".to_owned()),
    }
}

/// A pattern that means this function; together with its module, where others have its name.
pub(crate) fn function_pattern(refined: &Refined, function: &Function) -> FramePattern {
    let name = FramePattern::Exact(function.name.to_string());
    let others = refined.functions.iter().filter(|other| other.name == function.name);
    match function.module {
        Some(module) if others.count() > 1 => {
            let glob = literally(refined.profile.module_path(module));
            FramePattern::All(vec![name, FramePattern::Field(Field::Module, glob)])
        }
        _ => name,
    }
}

/// A glob that matches this text alone.
pub(super) fn literally(text: &str) -> String {
    let mut glob = String::new();
    for character in text.chars() {
        if matches!(character, '*' | '?' | '\\') {
            glob.push('\\');
        }
        glob.push(character);
    }
    glob
}

/// The chain of a path's frames. A long path keeps both ends, with a gap between.
pub(crate) fn chain(refined: &Refined, path: &[&Row]) -> Result<Chain, String> {
    let left_out = path.len().saturating_sub(Chain::MAX_LENGTH);
    let head = (path.len() - left_out).div_ceil(2);
    let mut frames = Vec::with_capacity(path.len() - left_out);
    for (place, row) in path.iter().enumerate() {
        if place < head || place >= head + left_out {
            let link =
                if left_out > 0 && place == head + left_out { Link::Below } else { Link::Direct };
            frames.push((link, pattern(refined, row)?));
        }
    }
    let mut frames = frames.into_iter();
    let (_, first) = frames.next().ok_or("there is no row")?;
    Ok(Chain { from_root: false, first, rest: frames.collect(), to_leaf: false })
}
