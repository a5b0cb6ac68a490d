//! Function names compared with globs, in all their forms: whole, without arguments, without
//! templates, and that from each namespace inwards.
//!
//! Three things sort out nearly all names before the forms are looked at, the first two by a table
//! with 24 bytes for each name: whether a form may begin with the same three characters as the
//! glob, whether one may begin and end with the same letter, and whether the words of the glob are
//! in the name.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use super::c_names::{c_forms, dotted, in_marks, is_of_c, parts, spelled};
use super::glob::{Glob, GlobPart};
use super::lists::Lists;
use super::walk::{Automaton, Walk};
use super::words::Words;
use crate::profile::{BareNames, Profile, ShownName, short_name, spell};

/// What is known of the profile's functions by name, shared by all forests made of the profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    table: OnceLock<NameTable>,
    /// Patterns that were compared without the table.
    without: AtomicUsize,
}

/// Patterns that are compared without a table: each takes 6 to 18 ms for 165 000 names, with the
/// table 1 to 18, and the table takes 35. So whoever has few patterns does not pay for many, and
/// whoever has many pays about twice at most.
const WITHOUT_TABLE: usize = 4;

impl Names {
    /// The table of a profile, made if nobody did.
    pub(crate) fn of(&self, profile: &Profile) -> &NameTable {
        self.0
            .table
            .get_or_init(|| NameTable::of(profile.functions.iter().map(|function| &*function.name)))
    }

    /// The table for one more pattern; an empty one as long as it is not worth while to make it.
    pub(crate) fn for_pattern(&self, profile: &Profile) -> &NameTable {
        static EMPTY: LazyLock<NameTable> = LazyLock::new(|| NameTable::of(std::iter::empty()));
        let few = || self.0.without.fetch_add(1, Ordering::Relaxed) < WITHOUT_TABLE;
        if self.0.table.get().is_none() && few() { &EMPTY } else { self.of(profile) }
    }
}

/// What is known of names before a pattern is.
#[derive(Debug)]
pub(crate) struct NameTable {
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
    pub(crate) fn of<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Self {
        let [count, length] =
            names.clone().fold([0, 0], |[count, length], name| [count + 1, length + name.len()]);
        let mut table =
            Self { bare: BareNames::with_capacity(count, length), ends: Vec::with_capacity(count) };
        names.for_each(|name| table.add(name));
        table
    }

    fn add(&mut self, name: &str) {
        self.bare.add(name);
        let mut ends = Ends::default();
        ends.add(name);
        if is_of_c(name) {
            let public = name.trim_start_matches('_');
            ends.add(public);
            public.split_once("_MOD_").into_iter().for_each(|(_, name)| ends.add(name));
            parts(name).chain(in_marks(name)).for_each(|form| ends.add(form));
            // What else is left out of it is left out at the end.
            ends.last = u64::MAX;
        } else {
            // What carries arguments or template arguments begins like what does not, and ends
            // with a bracket or like the name.
            let number = self.ends.len();
            let bare = self.bare.components(number);
            bare.chain(self.dotted(number, name)).for_each(|form| ends.add(form));
            if name.ends_with(']') {
                name.find(" [clone ").into_iter().for_each(|end| ends.add(&name[..end]));
            }
        }
        self.ends.push(ends);
    }

    /// The bare forms of the names.
    pub(crate) fn bare(&self) -> &BareNames {
        &self.bare
    }

    /// The parts from each dot on of a name that is a path with brackets, and of its bare form.
    fn dotted<'n>(&'n self, number: usize, name: &'n str) -> impl Iterator<Item = &'n str> {
        dotted(name).chain(self.bare.components(number).take(1).flat_map(dotted))
    }

    /// Whether a glob matches a name, in any of its forms. Of a name that is not in the table,
    /// nothing is known before. Whether its language `writes_dots` is asked where it matters.
    pub(crate) fn matches(
        &self,
        number: usize,
        name: &str,
        glob: &NameGlob,
        writes_dots: impl Fn() -> bool,
    ) -> bool {
        let shown = ShownName::of(name);
        if shown.in_marks().next().is_some() && !is_of_c(name) {
            let has = |name| glob.glob.matches(name) || glob.matches_unknown(name, &writes_dots);
            return std::iter::once(name).chain(shown.called()).chain(shown.own).any(has);
        }
        if self.ends.get(number).is_some_and(|ends| !ends.may_match(&glob.ends))
            || !self.may_begin(number, name, glob)
        {
            return false;
        }
        let bare = |glob: &Glob| self.bare.components(number).any(|form| glob.matches(form));
        let has_bare = self.bare.components(number).len() > 0;
        // Of a name that begins so the words need not be looked for.
        if glob.is_beginning && bare(&glob.glob) {
            return true;
        }
        if !glob.words.are_in(name) {
            return false;
        }
        let Some(begin) = self.bare.begin(number).filter(|_| has_bare) else {
            return glob.glob.matches(name) || glob.matches_unknown(name, writes_dots);
        };
        if self.dotted(number, name).any(|form| glob.glob.matches(form))
            || glob.matches_dotted(name)
        {
            return true;
        }
        match &glob.lists {
            // Where the bare forms differ, no list has to be looked at.
            Some(Lists { bare: Some(without), .. }) if !bare(without) => glob.glob.matches(name),
            None if !glob.is_beginning && bare(&glob.glob) => true,
            None if glob.is_beginning && !(glob.ends_in_colon && name.contains("::<")) => {
                glob.glob.matches(name)
            }
            _ => glob.glob.matches(name) || glob.automaton.matches(&name[begin..], true),
        }
    }

    /// Whether a form of a name may begin with the letters that a glob does; of names in C, and for
    /// globs that are nothing but a beginning, this is found out as fast by comparing.
    fn may_begin(&self, number: usize, name: &str, glob: &NameGlob) -> bool {
        let begins = |text: &str| {
            let mut letters = text.chars();
            glob.begins.chars().all(|c| letters.next().is_some_and(|next| glob.glob.same(c, next)))
        };
        let mut components = self.bare.components(number);
        glob.is_beginning
            || components.len() == 0
            || begins(name)
            || components.any(begins)
            || self.dotted(number, name).any(begins)
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

/// A glob over function names in all their forms.
pub(crate) struct NameGlob {
    glob: Glob,
    /// What a form of every name that matches begins and ends with: so far as these are letters,
    /// digits and `_`, which no form lacks in part.
    ends: Ends,
    /// The letters, digits and `_` that it begins with.
    begins: String,
    /// What every name that matches has.
    words: Words,
    /// Whether it is a beginning, perhaps followed by `*`, without signs that begin what a bare
    /// name lacks: then a form that matches does so before any such part, and the bare form
    /// matches as well.
    is_beginning: bool,
    /// Rust's `f::<T>` without its template arguments is `f`: a colon at the end of the glob may
    /// be part of what a bare name lacks.
    ends_in_colon: bool,
    /// The same, if it has arguments or template arguments: some may be left out.
    lists: Option<Lists>,
    automaton: AnyAutomaton,
}

impl NameGlob {
    pub(crate) fn new(text: &str) -> Self {
        let glob = Glob::new(text);
        let lists = Lists::of(text);
        let (last, others) = glob.parts.split_last().map_or((None, &[][..]), |(l, o)| (Some(l), o));
        let is_plain = |part: &GlobPart| matches!(part, GlobPart::Is(c) if !"(<{[ ".contains(*c));
        let end = if last == Some(&GlobPart::Any) { others.last() } else { last };
        let is_beginning = end.is_some_and(is_plain) && others.iter().all(is_plain);
        let ends_in_colon = end == Some(&GlobPart::Is(':'));
        let mut ends = Ends::ALL;
        let plain = |part: &GlobPart| match part {
            GlobPart::Is(c) if c.is_ascii_alphanumeric() || *c == '_' => u8::try_from(*c).ok(),
            _ => None,
        };
        let begins: String = glob.parts.iter().map_while(plain).map(char::from).collect();
        if begins.len() >= 3 {
            ends.beginning = beginning(&begins);
        }
        ends.first = glob.parts.first().and_then(plain).map_or(u64::MAX, letter);
        ends.last = glob.parts.last().and_then(plain).map_or(u64::MAX, letter);
        let words = Words::of(&glob);
        let automaton = AnyAutomaton::new(&glob, lists.as_ref());
        Self { glob, ends, begins, words, is_beginning, ends_in_colon, lists, automaton }
    }

    /// Whether it matches a name that is no function's, which has no other form.
    pub(crate) fn matches_whole(&self, name: &str) -> bool {
        self.glob.matches(name)
    }

    /// Whether a name of which no bare forms are known matches in another form than its own.
    fn matches_unknown(&self, name: &str, writes_dots: impl Fn() -> bool) -> bool {
        if name.starts_with('[') {
            false
        } else if is_of_c(name) {
            c_forms(name, writes_dots).any(|form| self.glob.matches(form))
        } else {
            let bare = short_name(name);
            let mut dotted = dotted(name).chain(dotted(&bare));
            dotted.any(|form| self.glob.matches(form))
                || self.matches_dotted(name)
                || self.automaton.matches(name, false)
        }
    }

    /// Whether a path with dots and brackets matches from one of its dots on, perhaps without
    /// something of what stands in or behind the brackets.
    fn matches_dotted(&self, name: &str) -> bool {
        spelled(name).any(|form| self.automaton.matches(form, false))
    }
}

/// An automaton with as many words as a glob needs.
enum AnyAutomaton {
    Short(Automaton<1>),
    Long(Automaton<4>),
    /// What a glob of more than 4000 parts ends with does not count.
    Longest(Box<Automaton<64>>),
}

impl AnyAutomaton {
    fn new(glob: &Glob, lists: Option<&Lists>) -> Self {
        let skips = lists.is_some();
        let mut glob = lists.map_or(glob, |lists| &lists.glob).clone();
        let length = glob.parts.len();
        if length <= Automaton::<1>::MOST {
            return Self::Short(Automaton::new(glob, skips));
        }
        if length <= Automaton::<4>::MOST {
            return Self::Long(Automaton::new(glob, skips));
        }
        if length > Automaton::<64>::MOST {
            glob.parts.truncate(Automaton::<64>::MOST - 1);
            if glob.parts.last() != Some(&GlobPart::Any) {
                glob.parts.push(GlobPart::Any);
            }
        }
        Self::Longest(Box::new(Automaton::new(glob, skips)))
    }

    /// Whether a name matches in one of its forms. `is_settled` says that it has no return type.
    fn matches(&self, name: &str, is_settled: bool) -> bool {
        match self {
            Self::Short(automaton) => spell(name, &mut Walk::new(automaton, is_settled), Walk::end),
            Self::Long(automaton) => spell(name, &mut Walk::new(automaton, is_settled), Walk::end),
            Self::Longest(automaton) => {
                spell(name, &mut Walk::new(automaton, is_settled), Walk::end)
            }
        }
    }
}
