//! Function names compared with globs, in all their forms: whole, without arguments, without
//! templates, and that from each namespace inwards.
//!
//! Three things sort out nearly all names before the forms are looked at, the first two by a table
//! with 24 bytes for each name: whether a form may begin with the same three characters as the
//! glob, whether one may begin and end with the same letter, and whether the longest plain word of
//! the glob is in the name.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use super::super::nearest::has;
use super::lists::Lists;
use super::{Glob, Part};
use crate::profile::{BareNames, NameForms, Profile};

/// The bare names of the profile's functions: made when a pattern first needs them, shared by all
/// forests made of the profile.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Names(Arc<OnceLock<NameTable>>);

impl Names {
    /// The table of a profile.
    pub(in super::super) fn of(&self, profile: &Profile) -> &NameTable {
        self.0.get_or_init(|| {
            NameTable::of(profile.functions.iter().map(|function| function.name.as_str()))
        })
    }
}

/// What is known of names before a pattern is.
#[derive(Debug)]
pub(in super::super) struct NameTable {
    /// Their bare forms.
    bare: BareNames,
    /// For each name, what is known of the ends of its forms, together.
    ends: Vec<Ends>,
}

/// What texts begin and end with, or what a glob wants there, each in one of 64 bits.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    /// What [`beginning`] gives.
    beginning: u64,
    /// What [`letter`] gives for the first character, and for the last.
    first: u64,
    last: u64,
}

impl Ends {
    const ALL: Self = Self { beginning: u64::MAX, first: u64::MAX, last: u64::MAX };

    fn add(&mut self, text: &str) {
        self.beginning |= beginning(text);
        self.first |= text.bytes().next().map_or(0, letter);
        self.last |= text.bytes().last().map_or(0, letter);
    }

    /// Whether one of the texts may be what a glob wants.
    fn may_match(&self, wanted: &Self) -> bool {
        self.beginning & wanted.beginning != 0
            && self.first & wanted.first != 0
            && self.last & wanted.last != 0
    }
}

impl NameTable {
    pub(super) fn of<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Self {
        let bare = BareNames::of(names.clone());
        let ends = names.enumerate().map(|(number, name)| {
            let mut ends = Ends::default();
            ends.add(name);
            if is_of_c(name) {
                let public = name.trim_start_matches('_');
                ends.add(public);
                public.split_once("_MOD_").into_iter().for_each(|(_, name)| ends.add(name));
                // What else is left out of it is left out at the end.
                ends.last = u64::MAX;
                return ends;
            }
            // What carries arguments or template arguments begins like what does not, and ends
            // with a bracket or like the name.
            bare.components(number).for_each(|form| ends.add(form));
            name.find(" [clone ").into_iter().for_each(|end| ends.add(&name[..end]));
            ends
        });
        Self { ends: ends.collect(), bare }
    }

    /// Whether a glob matches a name, in any of its forms. Of a name that is not in the table,
    /// nothing is known before.
    pub(super) fn matches(&self, number: usize, name: &str, glob: &NameGlob) -> bool {
        self.ends.get(number).is_none_or(|ends| ends.may_match(&glob.ends))
            && self.may_begin(number, name, glob)
            && glob.matches_name(name, |matches| self.bare.any(number, matches))
    }

    /// Whether a form of a name may begin with the letters that a glob does; of names in C, and for
    /// globs that are nothing but a beginning, this is found out as fast by comparing.
    fn may_begin(&self, number: usize, name: &str, glob: &NameGlob) -> bool {
        let begins = |text: &str| {
            let mut letters = text.chars();
            glob.begins.chars().all(|c| letters.next().is_some_and(|next| glob.glob.same(c, next)))
        };
        let mut components = self.bare.components(number);
        glob.is_beginning || components.len() == 0 || begins(name) || components.any(begins)
    }
}

/// One of 64 bits, chosen by the first three characters of a text without regard to case; all of
/// them if these are not ASCII.
fn beginning(text: &str) -> u64 {
    let mut letters = [0; 3];
    for (letter, byte) in letters.iter_mut().zip(text.bytes()) {
        *letter = byte.to_ascii_lowercase();
    }
    if !letters.is_ascii() {
        return u64::MAX;
    }
    let [a, b, c] = letters.map(u32::from);
    // Fibonacci hashing: the highest bits of the product depend on all letters.
    1 << ((a << 16 | b << 8 | c).wrapping_mul(0x9E37_79B9) >> 26)
}

/// The same for one letter, digit and so on; all bits for what is neither.
fn letter(byte: u8) -> u64 {
    match byte.to_ascii_uppercase() {
        upper @ 32..96 => 1 << (upper - 32),
        _ => u64::MAX,
    }
}

/// Whether a name is one of a function of C or Fortran.
fn is_of_c(name: &str) -> bool {
    !name.contains(['(', '<', ':'])
}

/// A glob over function names in all their forms.
pub(super) struct NameGlob {
    glob: Glob,
    /// What a form of every name that matches begins and ends with: so far as these are letters,
    /// digits and `_`, which no form lacks in part.
    ends: Ends,
    /// The letters, digits and `_` that it begins with.
    begins: String,
    /// The longest run of ASCII letters, digits and `_`, or of two with a `<` between them: it is in
    /// every name that matches.
    word: String,
    /// Whether it is a beginning, perhaps followed by `*`, without signs that begin what a bare
    /// name lacks: then a form that matches does so before any such part, and the bare form
    /// matches as well.
    is_beginning: bool,
    /// Rust's `f::<T>` without its template arguments is `f`: a colon at the end of the glob may
    /// be part of what a bare name lacks.
    ends_in_colon: bool,
    /// The same, if it has arguments or template arguments: some may be left out.
    lists: Option<Lists>,
    /// The forms of the present name.
    forms: RefCell<NameForms>,
}

impl NameGlob {
    pub(super) fn new(text: &str) -> Self {
        let glob = Glob::new(text);
        let lists = Lists::of(text);
        let mut word = String::new();
        let mut run = String::new();
        for part in &glob.parts {
            match part {
                Part::Is(character) if character.is_ascii_alphanumeric() || *character == '_' => {
                    run.push(*character);
                }
                // Template arguments are left out as a whole, so what they begin with stands
                // directly behind what has them; but for their namespaces.
                Part::Is('<') if lists.is_none() && !run.is_empty() && !run.ends_with('<') => {
                    run.push('<');
                }
                _ => run.clear(),
            }
            if run.len() > word.len() {
                word.clone_from(&run);
            }
        }
        let word = without_width(&word).to_owned();
        let (last, others) = glob.parts.split_last().map_or((None, &[][..]), |(l, o)| (Some(l), o));
        let is_plain = |part: &Part| matches!(part, Part::Is(c) if !"(<{[ ".contains(*c));
        let end = if last == Some(&Part::Any) { others.last() } else { last };
        let is_beginning = end.is_some_and(is_plain) && others.iter().all(is_plain);
        let ends_in_colon = end == Some(&Part::Is(':'));
        let mut ends = Ends::ALL;
        let plain = |part: &Part| match part {
            Part::Is(c) if c.is_ascii_alphanumeric() || *c == '_' => u8::try_from(*c).ok(),
            _ => None,
        };
        let begins: String = glob.parts.iter().map_while(plain).map(char::from).collect();
        if begins.len() >= 3 {
            ends.beginning = beginning(&begins);
        }
        ends.first = glob.parts.first().and_then(plain).map_or(u64::MAX, letter);
        ends.last = glob.parts.last().and_then(plain).map_or(u64::MAX, letter);
        let forms = RefCell::default();
        Self { glob, ends, begins, word, is_beginning, ends_in_colon, lists, forms }
    }

    /// Whether a name matches. `bare` has its bare forms, if it has any but itself.
    fn matches_name(
        &self,
        name: &str,
        bare: impl Fn(&dyn Fn(&str) -> bool) -> Option<bool>,
    ) -> bool {
        if self.is_beginning {
            let Some(Part::Is(first)) = self.glob.parts.first() else { return false };
            let begins =
                |text: &str| text.chars().next().is_some_and(|c| self.glob.same(*first, c));
            let is_match = |text: &str| begins(text) && self.glob.matches(text);
            if let Some(found) = bare(&is_match) {
                let may_be_elsewhere = self.ends_in_colon && name.contains("::<");
                return found || is_match(name) || (may_be_elsewhere && self.matches(name));
            }
            return is_match(name) || self.matches_in_c(name, begins);
        }
        match &self.lists {
            // Where the bare forms differ, no list has to be looked at.
            Some(lists)
                if !lists.has_words(name) || bare(&|text| lists.may_match(text)) != Some(true) =>
            {
                self.has_word(name) && self.glob.matches(name)
            }
            // Forms without anything set aside are there already.
            None if !self.has_word(name) => false,
            None if bare(&|text| self.glob.matches(text)) == Some(true) => true,
            _ => self.matches(name),
        }
    }

    fn matches_in_c(&self, name: &str, begins: impl Fn(&str) -> bool) -> bool {
        (begins(name) || begins(name.trim_start_matches('_')) || name.contains("_MOD_"))
            && !name.starts_with('[')
            && is_of_c(name)
            && c_forms(name).any(|form| self.glob.matches(form))
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        if !self.has_word(name) {
            return false;
        }
        if self.glob.matches(name) {
            return true;
        }
        if name.starts_with('[') {
            return false;
        }
        if is_of_c(name) {
            return c_forms(name).any(|form| self.glob.matches(form));
        }
        let ends_too = self.glob.parts.first() == Some(&Part::Any);
        self.forms.borrow_mut().any(name, ends_too, |form| {
            self.glob.matches(form) || self.lists.as_ref().is_some_and(|lists| lists.matches(form))
        })
    }

    fn has_word(&self, name: &str) -> bool {
        has_word(name, &self.word, self.glob.ignore_case)
    }
}

/// A word as it stands in names: `std::wstring` is in `std::basic_string<wchar_t, …>`.
pub(super) fn without_width(word: &str) -> &str {
    let is_wide =
        |rest: &&str| ["string", "stream", "buf", "view"].iter().any(|end| rest.ends_with(end));
    word.strip_prefix('w').filter(is_wide).unwrap_or(word)
}

/// Whether a word, of ASCII letters where case is ignored, is somewhere in a name.
pub(super) fn has_word(name: &str, word: &str, ignore_case: bool) -> bool {
    if ignore_case { has(name, word.as_bytes()) } else { name.contains(word) }
}

/// What else a function of C or Fortran is called. `__write` is `write`;
/// `__memcpy_avx512_unaligned_erms`, one of the implementations that glibc chooses from when the
/// program starts, is `memcpy_avx512_unaligned_erms` and `memcpy`; `scan.part.0`, which the compiler
/// made of a piece of it, is `scan`; `dgemm_` is `dgemm`, and `__grid_MOD_step` is `step`.
fn c_forms(name: &str) -> impl Iterator<Item = &str> {
    const PROCESSORS: [&str; 7] =
        ["_avx", "_evex", "_sse2", "_sse4", "_ssse3", "_erms", "_generic"];
    let whole = without_clone(name);
    let public = whole.trim_start_matches('_');
    let end = PROCESSORS.iter().filter_map(|processor| public.find(processor)).min();
    let plain = end.filter(|&end| end > 0).and_then(|end| public.get(..end));
    let fortran = whole.strip_suffix('_').filter(|name| {
        !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    });
    let in_module = public.split_once("_MOD_").map(|(_, name)| name);
    (whole.len() < name.len())
        .then_some(whole)
        .into_iter()
        .chain((public.len() < whole.len()).then_some(public))
        .chain(plain)
        .chain(fortran)
        .chain(in_module)
}

/// The name of the function that a compiler made this one of.
fn without_clone(name: &str) -> &str {
    const MADE: [&str; 9] = [
        ".cold",
        ".warm",
        ".part.",
        ".isra.",
        ".constprop.",
        ".lto_priv.",
        ".llvm.",
        ".clone.",
        ".localalias",
    ];
    let end = MADE.iter().filter_map(|made| name.find(made)).min();
    end.filter(|&end| end > 0).map_or(name, |end| &name[..end])
}
