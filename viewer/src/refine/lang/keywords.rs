//! The words of the language that have a meaning.

use super::axis::Axis;
use super::stage::STAGES;

/// Words that begin a predicate on paths and what it asks for, in the order of help.
const PATHS: [(&str, &str); 7] = [
    ("through", "paths through these frames: a > b directly, a >> b at any depth"),
    ("not", "paths that do not"),
    ("under", "what lies below a frame"),
    ("in", "samples in a frame's own and inlined code"),
    ("leaf", "paths that end in a frame"),
    ("depth", "paths of so many frames"),
    ("times", "paths with a frame so many times: times(f) >= 3"),
];

/// What begins a predicate on rows.
const NODE: (&str, &str) = ("node[", "samples of rows that pass a test: node[incl(time) > 5%]");

/// What may stand before a predicate that is a stage.
const WHERE: (&str, &str) = ("where", "any of the predicates above");

/// Words that stand within a stage, beside those that begin one.
const INNER: [&str; 4] = ["and", "or", "as", "last"];

/// Words that begin a predicate and what it asks for, in the order of help.
pub(crate) fn predicates() -> impl Iterator<Item = (&'static str, &'static str)> {
    let contexts = Axis::ALL.into_iter().map(|(axis, name)| (name, axis.definition().help));
    PATHS.into_iter().chain(contexts).chain([NODE])
}

/// Words that begin a stage and what it does, in the order of help: predicates first.
pub(crate) fn beginnings() -> impl Iterator<Item = (&'static str, &'static str)> {
    let stages = STAGES.iter().map(|stage| (stage.words, stage.help));
    predicates().chain(stages).chain([WHERE])
}

/// Whether a word has a meaning: a frame of such a name is written with `\` before it.
pub(crate) fn is_keyword(word: &str) -> bool {
    let mut words = beginnings().flat_map(|(words, _)| words.split([' ', '[']));
    !word.is_empty() && (INNER.contains(&word) || words.any(|known| known == word))
}
