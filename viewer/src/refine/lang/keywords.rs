//! The words of the language that have a meaning.

use super::stage::STAGES;

/// Words that begin a predicate and what it asks for, in the order of help.
pub(crate) const PREDICATES: [(&str, &str); 14] = [
    ("through", "paths through these frames: a > b directly, a >> b at any depth"),
    ("not", "paths that do not"),
    ("under", "what lies below a frame"),
    ("in", "samples in a frame's own and inlined code"),
    ("leaf", "paths that end in a frame"),
    ("depth", "paths of so many frames"),
    ("times", "paths with a frame so many times: times(f) >= 3"),
    ("rank", "samples of ranks: rank in 0..3"),
    ("host", "samples of ranks on hosts: host = node7, host = node*"),
    ("process", "samples of processes: process in 0..3, process = solver*"),
    ("thread", "samples of threads: thread in 0..3, thread = worker*"),
    ("epoch", "samples of epochs: epoch in 1"),
    ("phase", "samples of phases: phase = assemble, phase = as*"),
    ("node[", "samples of rows that pass a test: node[incl(time) > 5%]"),
];

/// What may stand before a predicate that is a stage.
const WHERE: (&str, &str) = ("where", "any of the predicates above");

/// Words that stand within a stage, beside those that begin one.
const INNER: [&str; 4] = ["and", "or", "as", "last"];

/// Words that begin a stage and what it does, in the order of help: predicates first.
pub(crate) fn beginnings() -> impl Iterator<Item = (&'static str, &'static str)> {
    let stages = STAGES.iter().map(|stage| (stage.words, stage.help));
    PREDICATES.into_iter().chain(stages).chain([WHERE])
}

/// Whether a word has a meaning: a frame of such a name is written with `\` before it.
pub(crate) fn is_keyword(word: &str) -> bool {
    let mut words = beginnings().flat_map(|(words, _)| words.split([' ', '[']));
    !word.is_empty() && (INNER.contains(&word) || words.any(|known| known == word))
}
