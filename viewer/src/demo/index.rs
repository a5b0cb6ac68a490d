//! Which words are in which documents.

use std::collections::HashMap;

use super::store::Store;
use super::text::hash;

/// Documents by word, and the store that keeps what was added.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// Documents that have a word, ascending, by the hash of the word.
    documents: HashMap<u64, Vec<u32>>,
    store: Store,
}

/// Documents that are kept for each word; the oldest go first.
const MOST_DOCUMENTS: usize = 400;

impl Index {
    /// Adds a document.
    #[inline(never)]
    pub(super) fn add(&mut self, document: u32, text: &str) {
        for word in tokenize(text) {
            let documents = self.documents.entry(word).or_default();
            if documents.last() != Some(&document) {
                documents.push(document);
            }
            if documents.len() > MOST_DOCUMENTS {
                documents.drain(..MOST_DOCUMENTS / 2);
            }
        }
        self.store.put(u64::from(document) % 64, text.as_bytes());
    }

    /// Keeps all document lists: few records, but long ones.
    #[inline(never)]
    pub(super) fn save_snapshot(&mut self) {
        let lists = self.documents.values().flatten();
        let snapshot: Vec<u8> = lists.flat_map(|document| document.to_le_bytes()).collect();
        self.store.put(64, &snapshot);
    }

    /// Replaces the document lists with those of another index.
    #[inline(never)]
    pub(super) fn take_over(&mut self, other: &Self) {
        self.documents.clone_from(&other.documents);
    }

    /// Documents that have a word.
    pub(super) fn documents_with(&self, word: u64) -> &[u32] {
        self.documents.get(&word).map_or(&[], Vec::as_slice)
    }
}

/// The hashes of the words of a text.
#[inline(never)]
fn tokenize(text: &str) -> Vec<u64> {
    text.split_ascii_whitespace().map(hash).collect()
}
