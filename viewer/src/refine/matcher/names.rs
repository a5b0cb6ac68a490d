//! Function names compared with globs, in all their forms: whole, without arguments, without
//! templates, and that from each namespace inwards.
//!
//! Two things sort out nearly all names before the forms are looked at. A glob that is the
//! beginning of a name is compared with those only of which a form may begin with the same three
//! characters; a table says which, with 64 bits for each name. Of other globs, the longest plain
//! word is looked for in the name.

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
    /// For each name, what [`beginning`] gives for its forms, together.
    beginnings: Vec<u64>,
}

impl NameTable {
    pub(super) fn of<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Self {
        let bare = BareNames::of(names.clone());
        let beginnings = names.enumerate().map(|(number, name)| {
            let components = bare.components(number);
            if components.len() > 0 {
                return components.map(beginning).fold(beginning(name), |all, one| all | one);
            }
            // A function of C or Fortran.
            let public = name.trim_start_matches('_');
            let in_module = public.split_once("_MOD_").map_or(0, |(_, name)| beginning(name));
            beginning(name) | beginning(public) | in_module
        });
        Self { beginnings: beginnings.collect(), bare }
    }

    /// Whether a glob matches a name, in any of its forms. Of a name that is not in the table,
    /// nothing is known before.
    pub(super) fn matches(&self, number: usize, name: &str, glob: &NameGlob) -> bool {
        let known = self.beginnings.get(number).copied().unwrap_or(u64::MAX);
        known & glob.begins_with != 0
            && glob.matches_name(name, |matches| self.bare.any(number, matches))
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

/// A glob over function names in all their forms.
pub(super) struct NameGlob {
    glob: Glob,
    /// If it is a beginning of at least three letters, digits and `_`, the [`beginning`] of every
    /// name that matches; otherwise all bits.
    begins_with: u64,
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
        let begins_with = match &glob.parts[..] {
            [Part::Is(a), Part::Is(b), Part::Is(c), ..]
                if is_beginning
                    && [a, b, c].iter().all(|c| c.is_ascii_alphanumeric() || **c == '_') =>
            {
                beginning(&String::from_iter([a, b, c]))
            }
            _ => u64::MAX,
        };
        let forms = RefCell::default();
        Self { glob, begins_with, word, is_beginning, ends_in_colon, lists, forms }
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
            _ => self.matches(name),
        }
    }

    fn matches_in_c(&self, name: &str, begins: impl Fn(&str) -> bool) -> bool {
        (begins(name) || begins(name.trim_start_matches('_')) || name.contains("_MOD_"))
            && !name.starts_with('[')
            && !name.contains(['(', '<', ':'])
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
        if !name.contains(['(', '<', ':']) {
            return c_forms(name).any(|form| self.glob.matches(form));
        }
        self.forms.borrow_mut().any(name, |form| {
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
