//! The program that `csprof demo` profiles: a toy search engine that is csprof itself, started
//! with a hidden subcommand, so that a first look needs no compiler and no program of one's own.
//!
//! It is made to be looked at. Worker threads add documents to an index while the main thread asks
//! it questions:
//!
//! ```text
//! run ─ main thread ──── query ── evaluate (recursive) ── intersect, unite
//!     └ indexer threads ─ add ─┬─ tokenize
//!                              └─ store::put ─┬─ append (memcpy)
//!                                             ├─ checksum
//!                                             └─ compact ── merge_sort (recursive)
//! ```
//!
//! Things to find: the hot path; that most of `checksum` is due to few calls with long records
//! (cost per edge of its two callers); what is below `store::put` whoever calls it
//! (`through *store*`).

mod index;
mod query;
mod store;
mod text;

use std::fmt;
use std::hint::black_box;
use std::io;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use self::index::Index;
use self::text::Random;

/// How long the program runs.
pub const DURATION: Duration = Duration::from_secs(2);
/// Threads that add documents.
pub const INDEXERS: u64 = 3;

/// What the program did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Documents that were indexed.
    pub documents: u64,
    /// Questions that were answered.
    pub questions: u64,
    /// Documents in all answers together.
    pub found: u64,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { documents, questions, found } = self;
        write!(f, "indexed {documents} documents, answered {questions} questions, found {found}")
    }
}

/// Runs for `duration`.
///
/// # Errors
///
/// When a thread cannot be started.
pub fn run(duration: Duration) -> io::Result<Done> {
    let end = Instant::now() + duration;
    let index = Mutex::new(Index::default());
    thread::scope(|scope| {
        let mut indexers = Vec::new();
        for number in 0..INDEXERS {
            let index = &index;
            let name = format!("indexer-{number}");
            indexers.push(
                thread::Builder::new()
                    .name(name)
                    .spawn_scoped(scope, move || index_documents(number, index, end))?,
            );
        }
        let mut done = ask_questions(&index, end);
        for indexer in indexers {
            done.documents += indexer.join().unwrap_or_default();
        }
        Ok(done)
    })
}

/// Adds documents until `end`; every now and then publishes them for questions.
#[inline(never)]
fn index_documents(number: u64, shared: &Mutex<Index>, end: Instant) -> u64 {
    const BATCH: u64 = 24;
    let mut random = Random::new(number);
    let mut own = Index::default();
    let mut documents = 0;
    while Instant::now() < end {
        for _ in 0..BATCH {
            let text = text::document(&mut random);
            own.add(documents as u32, black_box(&text));
            documents += 1;
        }
        own.save_snapshot();
        if let Ok(mut index) = shared.lock() {
            index.take_over(&own);
        }
    }
    documents
}

/// Answers questions until `end`.
#[inline(never)]
fn ask_questions(shared: &Mutex<Index>, end: Instant) -> Done {
    let mut random = Random::new(99);
    let mut done = Done::default();
    while Instant::now() < end {
        let index = match shared.lock() {
            Ok(index) => index.clone(),
            Err(_) => break, // an indexer has panicked; its join tells
        };
        for _ in 0..200 {
            let question = query::question(&mut random, 5);
            done.found += query::evaluate(black_box(&question), &index).len() as u64;
            done.questions += 1;
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_can_be_found_by_their_words() {
        let mut index = Index::default();
        index.add(1, "the tree of calls");
        index.add(2, "the calling context tree");
        index.add(3, "returns of calls");
        let all = |words: &[&str]| {
            let question = query::Question::all(words.iter().copied().map(text::hash));
            query::evaluate(&question, &index)
        };
        assert_eq!(all(&["tree"]), [1, 2]);
        assert_eq!(all(&["calls"]), [1, 3]);
        assert_eq!(all(&["tree", "calls"]), [1]);
        assert_eq!(all(&["tree", "returns"]), [0u32; 0]);
    }

    #[test]
    fn sorting_is_by_key_and_stable() {
        let mut records = vec![(3, 'a'), (1, 'b'), (3, 'c'), (2, 'd'), (1, 'e')];
        store::merge_sort(&mut records);
        assert_eq!(records, [(1, 'b'), (1, 'e'), (2, 'd'), (3, 'a'), (3, 'c')]);
    }
}
