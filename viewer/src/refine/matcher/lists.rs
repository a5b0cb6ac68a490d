//! Patterns with template arguments, as people write them: `std::vector<int>::push_back` means
//! `std::vector<int, std::allocator<int> >::push_back(int const&)`.
//!
//! The demangler writes every argument, defaults too, each with its namespaces. People leave out
//! arguments from the right, namespaces of types, and lists that they have no interest in. So a
//! name may be skipped in certain places while it is compared:
//!
//! ```text
//! std::vector<app::Key, std::allocator<app::Key> >::emplace_back<int&>
//!            │    ↑   │                          ↑│             │    ↑   a list
//!            │        └──────────────────────────┘│                      arguments from one on
//!            └────┘                                                      the namespaces of a type
//! ```
//!
//! A place in the pattern may so stand for several in the name: all are kept, as in the simulation
//! of an automaton, and none is looked at twice. O(pattern · name).

use super::names::{has_word, without_width};
use super::{Glob, Part};
use crate::profile::{closed_group, short_name};

/// A glob with template arguments or arguments.
#[derive(Debug)]
pub(super) struct Lists {
    glob: Glob,
    /// The same without them: matches the bare form of every name that matches. Not known of a glob
    /// with more words behind arguments, as they may be a function that these are a type of.
    bare: Option<Glob>,
    /// Its words: what is skipped of a name leaves them whole, so they are in every name that
    /// matches. The last first, for namespaces tell names apart least.
    words: Vec<String>,
}

impl Lists {
    /// `None` of a pattern that has neither such a list nor arguments.
    pub(super) fn of(text: &str) -> Option<Self> {
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
        let is_known = text.rsplit_once(')').is_none_or(|(_, rest)| !rest.contains(' '));
        has_list.then(|| Self {
            glob: Glob::new(&without_blanks(text)),
            bare: is_known.then(|| Glob::new(&short_name(text))),
            words: text
                .rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .map(|word| without_width(word).to_owned())
                .filter(|word| !word.is_empty())
                .collect(),
        })
    }

    /// Whether the bare form of a name may be that of one that matches.
    pub(super) fn may_match(&self, bare: &str) -> bool {
        self.bare.as_ref().is_none_or(|glob| glob.matches(bare))
    }

    /// Whether a name has all the words.
    pub(super) fn has_words(&self, name: &str) -> bool {
        self.words.iter().all(|word| has_word(name, word, self.glob.ignore_case))
    }

    /// Whether a name in one of its forms matches.
    pub(super) fn matches(&self, form: &str) -> bool {
        // Nearly all end here.
        match (self.glob.parts.first(), form.chars().next()) {
            (Some(Part::Is(first)), Some(next)) if !self.glob.same(*first, next) => return false,
            _ => {}
        }
        let skips = Skips::of(form);
        let mut here = vec![false; form.len() + 1];
        here[0] = true;
        skips.spread(&mut here);
        let mut next = vec![false; form.len() + 1];
        for part in &self.glob.parts {
            next.fill(false);
            match part {
                Part::Any => {
                    let Some(first) = here.iter().position(|&is_here| is_here) else {
                        return false;
                    };
                    for (at, is_here) in next.iter_mut().enumerate().skip(first) {
                        *is_here = form.is_char_boundary(at);
                    }
                }
                part => {
                    let mut goes_on = false;
                    for (at, character) in form.char_indices().filter(|&(at, _)| here[at]) {
                        let fits = match part {
                            Part::Is(wanted) => self.glob.same(*wanted, character),
                            _ => true,
                        };
                        next[at + character.len_utf8()] |= fits;
                        goes_on |= fits;
                    }
                    if !goes_on {
                        return false;
                    }
                }
            }
            skips.spread(&mut next);
            std::mem::swap(&mut here, &mut next);
        }
        here[form.len()]
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

/// One past a template argument list that opens here.
fn list_end(text: &str, at: usize) -> Option<usize> {
    closed_group(text.as_bytes(), at).filter(|end| text[..*end].ends_with('>'))
}

/// From where to where a name may be skipped: always forward, from one boundary of characters to
/// another.
struct Skips(Vec<(usize, usize)>);

impl Skips {
    fn of(name: &str) -> Self {
        let bytes = name.as_bytes();
        let mut skips = Vec::new();
        // The brackets around the present place: where they close, and whether they hold a list.
        let mut around: Vec<(usize, bool)> = Vec::new();
        for at in 0..bytes.len() {
            while around.last().is_some_and(|&(close, _)| at > close) {
                around.pop();
            }
            let before = at.checked_sub(1).map(|before| bytes[before]);
            let is_name =
                |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
            let list = around.last().filter(|(_, is_list)| *is_list).map(|(close, _)| *close);
            match bytes[at] {
                b'<' if before.is_some_and(|b| is_name(b) || b == b':') => {
                    if let Some(end) = list_end(name, at) {
                        // Rust's `f::<T>` is `f` and `f<T>`.
                        let turbofish = name[..at].ends_with("::");
                        skips.push((at - if turbofish { 2 } else { 0 }, end));
                        skips.extend(turbofish.then_some((at - 2, at)));
                        around.push((end - 1, true));
                    }
                }
                b'(' | b'[' | b'{' => {
                    around.extend(closed_group(bytes, at).map(|end| (end - 1, false)));
                }
                b',' => skips.extend(list.map(|close| (at, close))),
                b' ' if bytes.get(at + 1) == Some(&b'>') || before == Some(b',') => {
                    skips.push((at, at + 1));
                }
                byte if is_name(byte) && !around.is_empty() && !before.is_some_and(is_name) => {
                    let end = name[at..].find(|c: char| !c.is_alphanumeric() && c != '_');
                    let end = end.map_or(name.len(), |end| at + end);
                    if name[end..].starts_with("::") {
                        skips.push((at, end + 2));
                    }
                }
                _ => {}
            }
        }
        // So that one pass is enough.
        skips.sort_unstable();
        Self(skips)
    }

    /// Adds the places that can be reached by skipping.
    fn spread(&self, places: &mut [bool]) {
        for &(from, to) in &self.0 {
            places[to] |= places[from];
        }
    }
}
