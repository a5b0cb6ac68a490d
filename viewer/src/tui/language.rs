//! Where the viewer meets the refinement language: reading what is typed, and writing what a key
//! means.

use super::message::{Completion, RowStage};
use crate::refine::{Chain, FramePattern, ParseError, Predicate, Refined, Sets, Stage};
use crate::views::Row;
use crate::views::pattern::{chain, pattern};

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
    sets.free_set_name(&name).map_err(|cause| (0, cause))?;
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
