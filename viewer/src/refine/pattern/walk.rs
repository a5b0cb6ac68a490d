//! A glob compared with a name in all its forms at once, in one pass and without making them.
//!
//! The glob is an automaton whose states are bits: the bit of a part is set if what came so far of
//! a name, from one of its components on, matches all parts before. What a form may lack is a way
//! around it: the bits that were set before are added to those behind it (Navarro and Raffinot,
//! *Flexible Pattern Matching in Strings*, 2002, on automata in words of the machine).
//!
//! There are two ways through a name, with and without arguments and qualifiers. Each may go around
//! template arguments. So a pattern that has such arguments may go around more of them:
//!
//! ```text
//! std::vector<app::Key, std::allocator<app::Key> >::emplace_back<int&>
//!            │    ↑   │                          ↑│             │    ↑   a list
//!            │        └──────────────────────────┘│                      arguments from one on
//!            └────┘                                                      the namespaces of a type
//! ```
//!
//! and around blanks that a list may have or not.

use super::glob::{Glob, GlobPart};
use crate::profile::Parts;

/// The states of an automaton.
type Bits<const WORDS: usize> = [u64; WORDS];

/// A glob as an automaton.
#[derive(Debug)]
pub(crate) struct Automaton<const WORDS: usize> {
    /// For each ASCII character the parts that it fits.
    fits: Box<[Bits<WORDS>; 128]>,
    /// The parts that are `*`.
    any: Bits<WORDS>,
    glob: Glob,
    /// Whether it may go around what is in lists.
    skips: bool,
    /// Whether all matches whatever follows a text that does.
    ends_in_any: bool,
}

impl<const WORDS: usize> Automaton<WORDS> {
    /// Parts that there is room for.
    pub(crate) const MOST: usize = 64 * WORDS - 1;

    /// Of a glob with [`Self::MOST`] parts or less.
    pub(crate) fn new(glob: Glob, skips: bool) -> Self {
        let mut fits = Box::new([[0; WORDS]; 128]);
        let mut any = [0; WORDS];
        for (at, part) in glob.parts.iter().enumerate() {
            if *part == GlobPart::Any {
                set(&mut any, at);
                continue;
            }
            if *part == GlobPart::One {
                fits.iter_mut().for_each(|fits| set(fits, at));
            } else if let GlobPart::Is(wanted) = part {
                for character in [*wanted, wanted.to_ascii_lowercase(), wanted.to_ascii_uppercase()]
                {
                    if glob.fits(part, character)
                        && let Some(fits) = fits.get_mut(character as usize)
                    {
                        set(fits, at);
                    }
                }
            }
        }
        let ends_in_any = glob.parts.last() == Some(&GlobPart::Any);
        Self { fits, any, glob, skips, ends_in_any }
    }

    /// What is set where a name begins.
    fn begin(&self) -> Bits<WORDS> {
        let mut begin = [0; WORDS];
        set(&mut begin, 0);
        self.around_any(begin)
    }

    /// With the parts behind a `*`, which stands for nothing, too. There are no two in a row.
    fn around_any(&self, mut bits: Bits<WORDS>) -> Bits<WORDS> {
        let mut carry = 0;
        for (bits, any) in bits.iter_mut().zip(&self.any) {
            let next = *bits & any;
            *bits |= next << 1 | carry;
            carry = next >> 63;
        }
        bits
    }

    fn step(&self, bits: Bits<WORDS>, fits: &Bits<WORDS>) -> Bits<WORDS> {
        let mut after = [0; WORDS];
        let mut carry = 0;
        for (word, after) in after.iter_mut().enumerate() {
            let next = bits[word] & fits[word];
            *after = next << 1 | carry | bits[word] & self.any[word];
            carry = next >> 63;
        }
        self.around_any(after)
    }

    /// Behind a text.
    fn behind(&self, mut bits: Bits<WORDS>, text: &str) -> Bits<WORDS> {
        let mut at = 0;
        while let Some(&byte) = text.as_bytes().get(at) {
            if bits == [0; WORDS] {
                return bits;
            }
            if let Some(fits) = self.fits.get(byte as usize) {
                bits = self.step(bits, fits);
                at += 1;
                continue;
            }
            let character = text[at..].chars().next().unwrap_or_default();
            let mut fits = [0; WORDS];
            for (part, of) in self.glob.parts.iter().enumerate() {
                if self.glob.fits(of, character) {
                    set(&mut fits, part);
                }
            }
            bits = self.step(bits, &fits);
            at += character.len_utf8();
        }
        bits
    }

    fn accepts(&self, bits: &Bits<WORDS>) -> bool {
        let end = self.glob.parts.len();
        bits[end / 64] >> (end % 64) & 1 != 0
    }
}

fn set<const WORDS: usize>(bits: &mut Bits<WORDS>, at: usize) {
    bits[at / 64] |= 1 << (at % 64);
}

fn unite<const WORDS: usize>(bits: &mut Bits<WORDS>, others: &Bits<WORDS>) {
    bits.iter_mut().zip(others).for_each(|(bits, others)| *bits |= others);
}

/// A name that is being compared.
#[derive(Debug)]
pub(crate) struct Walk<'a, const WORDS: usize> {
    automaton: &'a Automaton<WORDS>,
    /// Whether no return type is to come, so that a match cannot be taken back.
    is_settled: bool,
    /// Whether it matches whatever follows, unless that is what a return type stands before.
    has_won: bool,
    /// The way without arguments.
    plain: Bits<WORDS>,
    /// The way with arguments, from the first ones on.
    called: Option<Bits<WORDS>>,
    /// Whether what stands before the last qualifier of the present component matches, and what
    /// stands before the first `[clone …]`: people leave it out.
    before_qualifier: bool,
    before_clone: Option<bool>,
    /// Whether the text behind which `called` is ends in a `)`.
    behind_arguments: bool,
    /// Whether nothing of the present component has come yet, and whether any component has begun.
    at_component_start: bool,
    has_begun: bool,
    /// The brackets that are open.
    open: Vec<Open<WORDS>>,
}

/// A bracket that is open.
#[derive(Clone, Copy, Debug)]
struct Open<const WORDS: usize> {
    bracket: u8,
    is_list: bool,
    /// What goes around the whole list, and what from one of its arguments on.
    around: Bits<WORDS>,
    to_end: Bits<WORDS>,
}

impl<'a, const WORDS: usize> Walk<'a, WORDS> {
    /// `is_settled` says that the names have no return types.
    pub(crate) fn new(automaton: &'a Automaton<WORDS>, is_settled: bool) -> Self {
        Self {
            automaton,
            is_settled,
            has_won: false,
            plain: [0; WORDS],
            called: None,
            before_qualifier: false,
            before_clone: None,
            behind_arguments: false,
            at_component_start: false,
            has_begun: false,
            open: Vec::new(),
        }
    }

    /// Whether the name that ends here matches. What follows is another one.
    pub(crate) fn end(&mut self) -> bool {
        let is_match = self.is_match();
        let open = std::mem::take(&mut self.open);
        *self = Self { open, ..Self::new(self.automaton, self.is_settled) };
        is_match
    }

    fn is_match(&self) -> bool {
        self.automaton.accepts(&self.plain)
            || self.called.is_some_and(|called| self.automaton.accepts(&called))
            || self.before_qualifier
            || self.before_clone == Some(true)
    }

    /// Calls `through` with each way.
    fn each(&mut self, mut through: impl FnMut(&mut Self, Bits<WORDS>) -> Bits<WORDS>) {
        if self.has_won {
            return;
        }
        self.plain = through(self, self.plain);
        if let Some(called) = self.called {
            self.called = Some(through(self, called));
        }
        self.behind_arguments = false;
        self.has_won = self.automaton.ends_in_any && self.is_match();
    }

    /// Behind a text with brackets.
    fn behind_brackets(&mut self, mut bits: Bits<WORDS>, text: &str) -> Bits<WORDS> {
        let automaton = self.automaton;
        if !automaton.skips {
            return automaton.behind(bits, text);
        }
        let bytes = text.as_bytes();
        self.open.clear();
        // Before the last word, and before the last `::` that a list follows.
        let (mut before_word, mut before_colons) = (None, None);
        let mut at = 0;
        while at < bytes.len() {
            let before = at.checked_sub(1).map(|before| bytes[before]);
            let start = at;
            at += 1;
            match bytes[start] {
                b'<' => {
                    let is_list = before.is_none_or(|b| is_of_word(b) || b == b':');
                    let around = before_colons.take().unwrap_or(bits);
                    self.open.push(Open { bracket: b'<', is_list, around, to_end: [0; WORDS] });
                    bits = automaton.behind(bits, "<");
                }
                b'>' if before != Some(b'-') && self.innermost() == Some(b'<') => {
                    let Some(list) = self.open.pop() else { continue };
                    if list.is_list {
                        unite(&mut bits, &list.to_end);
                    }
                    bits = automaton.behind(bits, ">");
                    if list.is_list {
                        unite(&mut bits, &list.around);
                    }
                }
                bracket @ (b'(' | b'[' | b'{') => {
                    let (is_list, nowhere) = (false, [0; WORDS]);
                    self.open.push(Open { bracket, is_list, around: nowhere, to_end: nowhere });
                    bits = automaton.behind(bits, &text[start..at]);
                }
                bracket @ (b')' | b']' | b'}') => {
                    // As in `(1 << 3)`.
                    while self.innermost() == Some(b'<') {
                        self.open.pop();
                    }
                    if matches!(
                        (self.innermost(), bracket),
                        (Some(b'('), b')') | (Some(b'['), b']') | (Some(b'{'), b'}')
                    ) {
                        self.open.pop();
                    }
                    bits = automaton.behind(bits, &text[start..at]);
                }
                b',' => {
                    if let Some(list) = self.open.last_mut().filter(|open| open.is_list) {
                        unite(&mut list.to_end, &bits);
                    }
                    bits = automaton.behind(bits, ",");
                }
                b' ' => {
                    let is_optional = before == Some(b',') || bytes.get(at) == Some(&b'>');
                    let around = bits;
                    bits = automaton.behind(bits, " ");
                    if is_optional {
                        unite(&mut bits, &around);
                    }
                }
                b':' if bytes.get(at) == Some(&b':') => {
                    at += 1;
                    let around = bits;
                    bits = automaton.behind(bits, "::");
                    if let Some(before_word) = before_word.take() {
                        unite(&mut bits, &before_word);
                    }
                    // Rust's `f::<T>` is `f` and `f<T>`.
                    if bytes.get(at) == Some(&b'<') {
                        unite(&mut bits, &around);
                        before_colons = Some(around);
                    }
                    continue;
                }
                byte if is_of_word(byte) => {
                    let rest = bytes[at..].iter().position(|&byte| !is_of_word(byte));
                    at = rest.map_or(bytes.len(), |rest| at + rest);
                    before_word = (!self.open.is_empty()).then_some(bits);
                    bits = automaton.behind(bits, &text[start..at]);
                    continue;
                }
                _ => bits = automaton.behind(bits, &text[start..at]),
            }
            before_word = None;
        }
        bits
    }

    fn innermost(&self) -> Option<u8> {
        self.open.last().map(|open| open.bracket)
    }
}

impl<const WORDS: usize> Parts for Walk<'_, WORDS> {
    fn begin_component(&mut self) {
        if self.has_begun {
            self.each(|walk, bits| walk.automaton.behind(bits, "::"));
        }
        let begin = self.automaton.begin();
        self.each(|_, mut bits| {
            unite(&mut bits, &begin);
            bits
        });
        self.before_qualifier &= self.has_won;
        self.has_begun = true;
        self.at_component_start = true;
    }

    fn at_component_start(&self) -> bool {
        self.at_component_start
    }

    fn restart(&mut self) {
        self.end();
        self.begin_component();
    }

    fn push(&mut self, text: &str) {
        self.at_component_start &= text.is_empty();
        self.each(|walk, bits| walk.automaton.behind(bits, text));
    }

    fn push_braces(&mut self, [first, rest]: [&str; 2], whole: &str) {
        self.at_component_start = false;
        self.each(|walk, bits| {
            let around = walk.automaton.behind(walk.automaton.behind(bits, first), rest);
            let mut bits = walk.behind_brackets(bits, whole);
            unite(&mut bits, &around);
            bits
        });
    }

    fn push_template(&mut self, text: &str) {
        self.each(|walk, around| {
            let mut bits = walk.behind_brackets(around, text);
            unite(&mut bits, &around);
            bits
        });
    }

    fn push_arguments(&mut self, text: &str) {
        if self.has_won {
            return;
        }
        let called = self.called.unwrap_or(self.plain);
        if text.starts_with(' ') && self.behind_arguments {
            self.before_qualifier = self.automaton.accepts(&called);
        }
        if text.starts_with(" [clone ") {
            self.before_clone.get_or_insert(self.automaton.accepts(&called));
        }
        self.called = Some(self.behind_brackets(called, text));
        self.behind_arguments = text.ends_with(')');
    }

    fn is_done(&self) -> bool {
        self.is_settled && self.has_won
    }
}

/// Whether a byte is of a letter, a digit or `_`.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}
