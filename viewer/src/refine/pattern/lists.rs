//! Patterns with template arguments, as people write them: `std::vector<int>::push_back` means
//! `std::vector<int, std::allocator<int> >::push_back(int const&)`.
//!
//! The demangler writes every argument, defaults too, each with its namespaces. People leave out
//! arguments from the right, namespaces of types, and lists that they have no interest in.

use super::glob::Glob;
use crate::profile::{closed_group, short_name};

/// What a pattern with template arguments or arguments is compared with.
#[derive(Debug)]
pub(crate) struct Lists {
    /// The pattern without blanks that lists may have or not.
    pub(crate) glob: Glob,
    /// The same without lists: matches the bare form of every name that matches. Not known of a
    /// glob with more words behind arguments, as they may be a function that these are a type of,
    /// nor of one that begins or ends within brackets.
    pub(crate) bare: Option<Glob>,
}

impl Lists {
    /// `None` of a pattern that has neither such a list nor arguments.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let begins = |at: usize| text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_list = |at: usize| {
            let at_name = begins(at) || text[..at].ends_with("::");
            at_name && !text[..at].ends_with("operator") && list_end(text, at).is_some()
        };
        let are_arguments = |at: usize| {
            let types = |end: usize| text[at..end].contains(char::is_alphabetic);
            begins(at) && closed_group(text.as_bytes(), at).is_some_and(types)
        };
        let has_list = text.match_indices('<').any(|(at, _)| is_list(at))
            || text.match_indices('(').any(|(at, _)| are_arguments(at));
        let is_known = text.rsplit_once(')').is_none_or(|(_, rest)| !rest.contains(' '))
            && [('<', '>'), ('(', ')'), ('[', ']'), ('{', '}')]
                .into_iter()
                .all(|brackets| are_paired(text, brackets));
        has_list.then(|| Self {
            glob: Glob::new(&without_blanks(text)),
            bare: is_known.then(|| Glob::new(&short_name(text))),
        })
    }
}

/// A pattern without the blanks that a list may have or not.
fn without_blanks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let is_optional =
            character == ' ' && (out.ends_with(',') || matches!(rest.peek(), Some('>' | ' ')));
        if !is_optional {
            out.push(character);
        }
    }
    out
}

/// Whether all brackets of a kind that open also close.
fn are_paired(text: &str, (opens, closes): (char, char)) -> bool {
    let open = text.chars().try_fold(0_usize, |open, character| match character {
        _ if character == opens => Some(open + 1),
        _ if character == closes => open.checked_sub(1),
        _ => Some(open),
    });
    open == Some(0)
}

/// One past a template argument list that opens here.
pub(crate) fn list_end(text: &str, at: usize) -> Option<usize> {
    closed_group(text.as_bytes(), at).filter(|end| text[..*end].ends_with('>'))
}
