//! Questions: words joined by "and" and "or", evaluated recursively.

use super::index::Index;
use super::text::{Random, word_hash};

/// A question.
#[derive(Debug)]
pub(super) enum Question {
    /// Documents with this word.
    Word(u64),
    /// Documents that both sides find.
    Both(Box<[Question; 2]>),
    /// Documents that either side finds.
    Either(Box<[Question; 2]>),
}

#[cfg(test)]
impl Question {
    /// Documents with all these words.
    pub(super) fn all(words: impl Iterator<Item = u64>) -> Self {
        words
            .map(Question::Word)
            .reduce(|left, right| Self::Both(Box::new([left, right])))
            .unwrap_or(Self::Word(0))
    }
}

/// A question of this depth.
pub(super) fn question(random: &mut Random, depth: u32) -> Question {
    if depth == 0 {
        return Question::Word(word_hash(random));
    }
    let sides = Box::new([question(random, depth - 1), question(random, depth - 1)]);
    if random.below(3) == 0 { Question::Both(sides) } else { Question::Either(sides) }
}

/// The documents that a question finds, ascending.
#[inline(never)]
pub(super) fn evaluate(question: &Question, index: &Index) -> Vec<u32> {
    match question {
        Question::Word(word) => index.documents_with(*word).to_vec(),
        Question::Both(sides) => {
            intersect(&evaluate(&sides[0], index), &evaluate(&sides[1], index))
        }
        Question::Either(sides) => unite(&evaluate(&sides[0], index), &evaluate(&sides[1], index)),
    }
}

#[inline(never)]
fn intersect(left: &[u32], right: &[u32]) -> Vec<u32> {
    left.iter().copied().filter(|document| right.binary_search(document).is_ok()).collect()
}

#[inline(never)]
fn unite(left: &[u32], right: &[u32]) -> Vec<u32> {
    let mut all: Vec<u32> = left.iter().chain(right).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}
