//! The words of a glob: what every name that matches has, in this order.
//!
//! What is left out of a name in one of its forms leaves words whole, and what remains in its
//! order. So a name without the words of a glob need not be looked at part by part. A word that
//! is whole in the glob, as both are in `step::run`, is whole in the name: no letter stands beside
//! it. Only names of C and Fortran lose `_` at their ends.

use super::c_names::is_of_c;
use super::glob::{Glob, GlobPart};
use super::letters::Letters;

/// The words of a glob.
#[derive(Debug)]
pub(crate) struct Words(Vec<Word>);

#[derive(Debug)]
struct Word {
    letters: Letters,
    /// Whether no letter comes before it, and whether none comes behind it.
    begins: bool,
    ends: bool,
}

impl Words {
    pub(crate) fn of(glob: &Glob) -> Self {
        let parts = &glob.parts;
        let letter = |at: usize| match parts.get(at) {
            Some(GlobPart::Is(c)) if c.is_ascii() && is_letter(*c as u8) => Some(*c as u8),
            _ => None,
        };
        // Wildcards may stand for letters, and what cannot be of a word sets it apart.
        let sets_apart = |part: Option<&GlobPart>| matches!(part, None | Some(GlobPart::Is(_)));
        let mut words = Vec::new();
        let mut at = 0;
        while at < parts.len() {
            let text: Vec<u8> = (at..).map_while(letter).collect();
            let end = at + text.len();
            if !text.is_empty() {
                // `std::wstring` is in `std::basic_string<wchar_t, …>`.
                let narrow = text.strip_prefix(b"w");
                words.push(Word {
                    letters: Letters::new(narrow.unwrap_or(&text), glob.ignore_case),
                    begins: narrow.is_none()
                        && sets_apart(at.checked_sub(1).and_then(|before| parts.get(before))),
                    ends: sets_apart(parts.get(end)),
                });
            }
            at = end + 1;
        }
        Self(words)
    }

    /// Whether a name has them all.
    pub(crate) fn are_in(&self, name: &str) -> bool {
        let bytes = name.as_bytes();
        let is_apart = |at: Option<usize>| match at.and_then(|at| bytes.get(at)) {
            Some(b'_') => is_of_c(name),
            beside => beside.is_none_or(|&byte| !is_letter(byte)),
        };
        let mut at = 0;
        self.0.iter().all(|word| {
            while let Some(begin) = word.letters.find(bytes, at) {
                let end = begin + word.letters.len();
                at = begin + 1;
                // `std::string` is `std::basic_string<char, …>`.
                let begins =
                    || is_apart(begin.checked_sub(1)) || bytes[..begin].ends_with(b"basic_");
                if (!word.begins || begins()) && (!word.ends || is_apart(Some(end))) {
                    at = end;
                    return true;
                }
            }
            false
        })
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
