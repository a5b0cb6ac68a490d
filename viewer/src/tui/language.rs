//! Where the viewer meets the refinement language: reading what is typed, and writing what a key
//! means.

use super::message::{Completion, RowStage};
use crate::profile::{FrameKind, Function};
use crate::refine::{
    Chain, Field, FramePattern, Link, ParseError, Predicate, Refined, Sets, Stage,
};
use crate::views::Row;

/// The stages of a text, each as the language writes it.
///
/// The error is a byte of the text and what is wrong there.
pub(super) fn stages(text: &str, sets: &Sets) -> Result<Vec<String>, (usize, String)> {
    let refinement = sets.parse(text).map_err(at_and_cause)?;
    Ok(refinement.stages.iter().map(ToString::to_string).collect())
}

/// The set of frames that a text defines, and a stage by which it is tried out.
///
/// The error is a byte of the text and what is wrong there.
pub(super) fn definition(
    text: &str,
    sets: &Sets,
) -> Result<(String, FramePattern, String), (usize, String)> {
    let (name, pattern) = sets.parse_definition(text).map_err(at_and_cause)?;
    let through = Stage::Where(Predicate::Through(Chain::of(pattern.clone()))).to_string();
    Ok((name, pattern, through))
}

fn at_and_cause(error: ParseError) -> (usize, String) {
    let mut cause = error.message;
    if !error.suggestions.is_empty() {
        cause.push_str(": ");
        cause.push_str(&error.suggestions.join(", "));
    }
    (error.range.start, cause)
}

/// The frames that a stage is about, if it is about one pattern: what could be saved as a set.
pub(super) fn frames_of_stage(text: &str, sets: &Sets) -> Option<String> {
    let mut stages = sets.parse(text).ok()?.stages;
    stages.pop().filter(|_| stages.is_empty())?.pattern().map(ToString::to_string)
}

/// The frames that a row is about. Names are taken exactly: a bare word would be a pattern, which
/// may mean more than the row, as `solve` also finds `ns::Solve(int)`.
fn pattern(refined: &Refined, row: &Row) -> Result<FramePattern, String> {
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
        (FrameKind::Root | FrameKind::Context, _) | (_, None) => {
            Err("this row is no function, so no stage can be made of it".to_owned())
        }
        (_, Some(function)) => Ok(function_pattern(refined, function)),
    }
}

/// A pattern that means this function; together with its module, where others have its name.
pub(super) fn function_pattern(refined: &Refined, function: &Function) -> FramePattern {
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
fn literally(text: &str) -> String {
    let mut glob = String::new();
    for character in text.chars() {
        if matches!(character, '*' | '?' | '\\') {
            glob.push('\\');
        }
        glob.push(character);
    }
    glob
}

/// The stage that a key makes of the last row of `path`, as text.
///
/// The error is a sentence for people.
pub(super) fn row_stage(
    action: RowStage,
    refined: &Refined,
    path: &[&Row],
) -> Result<String, String> {
    let row = path.last().ok_or("there is no row")?;
    let pattern = pattern(refined, row)?;
    let through = |pattern| Predicate::Through(Chain::of(pattern));
    let stage = match action {
        RowStage::Through => Stage::Where(through(pattern)),
        RowStage::Exclude => Stage::Where(Predicate::Not(Box::new(through(pattern)))),
        RowStage::Hide => Stage::Hide(pattern),
        RowStage::RootAt => Stage::RootAt { pattern, last: false },
        RowStage::CallersOf => Stage::CallersOf(pattern),
        RowStage::Collapse => Stage::Collapse(pattern),
        RowStage::StopAt => Stage::StopAt(pattern),
        RowStage::ThroughPath => Stage::Where(Predicate::Through(chain(refined, path)?)),
    };
    Ok(stage.to_string())
}

/// The chain of a path's frames. A long path keeps both ends, with a gap between.
fn chain(refined: &Refined, path: &[&Row]) -> Result<Chain, String> {
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

/// The beginning of a stage that groups a row's function: all but the name of the group.
///
/// The error is a sentence for people.
pub(super) fn group_beginning(refined: &Refined, row: &Row) -> Result<String, String> {
    Ok(format!("group {} as ", pattern(refined, row)?))
}

/// What the word before the cursor could become, and the byte at which it begins; names of
/// functions only if so asked, since there may be very many to look through.
pub(super) fn complete(
    refined: &Refined,
    sets: &Sets,
    text: &str,
    cursor: usize,
    with_names: bool,
) -> (usize, Vec<Completion>) {
    let offered = if with_names {
        crate::refine::complete(text, cursor, refined, sets)
    } else {
        crate::refine::complete_words(text, cursor, &refined.profile, sets)
    };
    let completion = |text| Completion { text, note: String::new() };
    (offered.range.start, offered.candidates.into_iter().map(completion).collect())
}
