//! Frame patterns compiled to sets of frames.
//!
//! A pattern is asked once of every function, not once of every node: a profile of ten million
//! nodes has some hundred thousand functions. Globs are compared with all forms of a name: whole,
//! without arguments, without templates, and that from each namespace inwards. Before the forms
//! are made, the longest plain word of the glob is looked for in the name, which sorts out nearly
//! all of them.

use std::sync::{Arc, OnceLock};

use regex::{Regex, RegexBuilder};

use super::Refined;
use super::bits::Bits;
use super::costs::in_width;
use super::stages::Unmatched;
use super::syntax::{Field, FramePattern, KINDS};
use crate::profile::{self, BareNames, Frame, FrameKind, Function, Profile};

/// Which frames nodes with samples have: found out when first asked for, shared by all clones of
/// a forest.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown(Arc<OnceLock<Bits>>);

impl Shown {
    /// One pass over the nodes, the first time.
    fn of(&self, refined: &Refined<'_>) -> &Bits {
        self.0.get_or_init(|| {
            let mut shown = Bits::none(refined.frames.len());
            in_width!(&refined.costs, costs => {
                for (frame, &inclusive) in refined.frame.iter().zip(&costs.inclusive) {
                    if inclusive > Default::default() {
                        shown.insert(frame.index());
                    }
                }
            });
            shown
        })
    }
}

/// The bare names of the profile's functions: made when a pattern first needs them, shared by all
/// forests made of the profile.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(Arc<OnceLock<BareNames>>);

impl Names {
    fn of(&self, profile: &Profile) -> &BareNames {
        self.0.get_or_init(|| {
            BareNames::of(profile.functions.iter().map(|function| function.name.as_str()))
        })
    }
}

/// The tables that patterns are matched against.
pub(super) struct Matcher<'r, 'p> {
    refined: &'r Refined<'p>,
}

impl<'r, 'p> Matcher<'r, 'p> {
    /// A matcher for what a forest shows.
    pub(super) fn new(refined: &'r Refined<'p>) -> Self {
        Self { refined }
    }

    /// The frames that a pattern means.
    ///
    /// # Errors
    /// There are none among the frames of nodes with samples. Parts of a pattern may match
    /// nothing: in `{malloc, calloc}` one is enough.
    pub(super) fn frames(&self, pattern: &FramePattern) -> Result<Bits, Unmatched> {
        let set = self.any_frames(pattern);
        let is_shown = set.intersects(self.refined.frames_shown.of(self.refined));
        if is_shown { Ok(set) } else { Err(self.explain(pattern)) }
    }

    fn explain(&self, pattern: &FramePattern) -> Unmatched {
        Unmatched {
            part: pattern.to_string(),
            among: match pattern {
                FramePattern::Field(Field::Module, _) => "load module",
                FramePattern::Field(Field::File, _) => "source file",
                FramePattern::Glob(_) | FramePattern::Regex(_) | FramePattern::Exact(_) => {
                    "function"
                }
                _ => "frame",
            },
            suggestions: self.nearest(pattern),
        }
    }

    /// As [`Self::frames`], but there may be none. Recursion ends where the parser's limit on
    /// nesting does.
    pub(super) fn any_frames(&self, pattern: &FramePattern) -> Bits {
        match pattern {
            FramePattern::Glob(glob) | FramePattern::Field(Field::Function, glob) => {
                let glob = NameGlob::new(glob);
                let bare = self.refined.names.of(self.refined.profile);
                self.by_function(|number, function| {
                    glob.matches_name(&function.name, |matches| bare.any(number, matches))
                })
            }
            FramePattern::Regex(source) => match regex(source) {
                Ok(regex) => self.by_function(|_, function| regex.is_match(&function.name)),
                Err(_) => Bits::none(self.refined.frames.len()),
            },
            FramePattern::Exact(name) => self.by_function(|_, function| function.name == *name),
            FramePattern::Field(Field::Module, glob) => {
                let glob = Glob::new(glob);
                let modules = &self.refined.profile.info.modules;
                let matching = Bits::from_fn(modules.len(), |module| {
                    glob.matches_path(self.refined.profile.string(modules[module].path))
                });
                self.by_function(|_, function| {
                    function.module.is_some_and(|module| {
                        module.index() < matching.len() && matching.contains(module.index())
                    })
                })
            }
            FramePattern::Field(Field::File, glob) => {
                let glob = Glob::new(glob);
                let strings = &self.refined.profile.info.strings;
                let matching =
                    Bits::from_fn(strings.len(), |string| glob.matches_path(&strings[string]));
                self.by_frame(|frame, function| {
                    frame.file.or(function.file).is_some_and(|file| {
                        file.index() < matching.len() && matching.contains(file.index())
                    })
                })
            }
            FramePattern::Field(Field::Line, glob) => {
                let glob = Glob::new(glob);
                self.by_frame(|frame, _| frame.line > 0 && glob.matches(&frame.line.to_string()))
            }
            FramePattern::Field(Field::Kind, glob) => {
                let glob = Glob::new(glob);
                self.by_frame(|frame, _| glob.matches(kind_name(frame.kind)))
            }
            FramePattern::Any(any) => {
                let mut set = Bits::none(self.refined.frames.len());
                for pattern in any {
                    set.unite(&self.any_frames(pattern));
                }
                set
            }
            FramePattern::All(all) => {
                let mut set = self.everything();
                for pattern in all {
                    set.intersect(&self.any_frames(pattern));
                }
                set
            }
            FramePattern::Not(inner) => {
                let mut set = self.any_frames(inner);
                set.complement();
                set.intersect(&self.everything());
                set
            }
            FramePattern::Preset(preset) => self.any_frames(&preset.pattern()),
            FramePattern::Named(set) => self.any_frames(set.pattern()),
        }
    }

    fn by_function(&self, test: impl Fn(usize, &Function) -> bool) -> Bits {
        let functions = &self.refined.functions;
        let matching = Bits::from_fn(functions.len(), |number| test(number, &functions[number]));
        if matching.is_empty() {
            return Bits::none(self.refined.frames.len());
        }
        self.by_frame(|frame, _| matching.contains(frame.function.index()))
    }

    fn by_frame(&self, test: impl Fn(&Frame, &Function) -> bool) -> Bits {
        let (frames, functions) = (&self.refined.frames, &self.refined.functions);
        Bits::from_fn(frames.len(), |index| {
            let frame = &frames[index];
            !matches!(frame.kind, FrameKind::Root | FrameKind::Context)
                && test(frame, &functions[frame.function.index()])
        })
    }

    /// All frames but the root's and those that `split` made, which no pattern means.
    fn everything(&self) -> Bits {
        self.by_frame(|_, _| true)
    }

    /// Names like the one that was not found, nearest first.
    fn nearest(&self, pattern: &FramePattern) -> Vec<String> {
        let wanted = match pattern {
            FramePattern::Glob(text)
            | FramePattern::Regex(text)
            | FramePattern::Exact(text)
            | FramePattern::Field(_, text) => text,
            _ => return Vec::new(),
        };
        let profile = self.refined.profile;
        let names: Box<dyn Iterator<Item = &str> + '_> = match pattern {
            FramePattern::Field(Field::Module, _) => {
                Box::new(profile.info.modules.iter().map(|module| {
                    let path = profile.string(module.path);
                    path.rsplit('/').next().unwrap_or(path)
                }))
            }
            FramePattern::Field(Field::Kind, _) => {
                let shown = self.refined.frames_shown.of(self.refined);
                let is_there = |kind: &&str| {
                    shown.iter().any(|frame| kind_name(self.refined.frames[frame].kind) == *kind)
                };
                return KINDS.into_iter().filter(is_there).map(str::to_owned).collect();
            }
            FramePattern::Field(Field::File | Field::Line, _) => return Vec::new(),
            _ => {
                let mut functions = Bits::none(self.refined.functions.len());
                for frame in self.refined.frames_shown.of(self.refined).iter() {
                    functions.insert(self.refined.frames[frame].function.index());
                }
                functions.remove(0);
                let named: Vec<_> = functions.iter().collect();
                let table = &self.refined.functions;
                Box::new(named.into_iter().map(move |function| table[function].name.as_str()))
            }
        };
        let found = super::nearest::nearest(wanted, names);
        match pattern {
            // Any of its forms will do, but for an exact name and in a regular expression.
            FramePattern::Glob(_) | FramePattern::Field(Field::Function, _) => {
                let mut short: Vec<String> =
                    found.iter().map(|name| profile::short_name(name).into_owned()).collect();
                short.dedup();
                short
            }
            _ => found,
        }
    }
}

fn kind_name(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Call => "call",
        FrameKind::Inline => "inline",
        FrameKind::Unknown => "unknown",
        FrameKind::Partial => "partial",
        FrameKind::Root => "root",
        FrameKind::Context => "context",
    }
}

/// A regular expression that ignores case if it has no upper-case letter.
pub(super) fn regex(source: &str) -> Result<Regex, String> {
    let mut upper = false;
    let mut characters = source.chars();
    while let Some(character) = characters.next() {
        match character {
            // Classes such as `\W` and `\S` are no letters.
            '\\' => drop(characters.next()),
            _ => upper |= character.is_uppercase(),
        }
    }
    RegexBuilder::new(source).case_insensitive(!upper).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "this regular expression is too big".to_owned(),
        _ => {
            let text = error.to_string();
            let cause = text.lines().last().unwrap_or("").trim_start_matches("error: ").trim();
            format!("this regular expression is wrong: {cause}")
        }
    })
}

/// A glob over whole texts.
#[derive(Debug)]
pub(super) struct Glob {
    parts: Vec<Part>,
    ignore_case: bool,
}

#[derive(Debug, PartialEq)]
enum Part {
    Any,
    One,
    Is(char),
}

impl Glob {
    pub(super) fn new(glob: &str) -> Self {
        let mut parts: Vec<Part> = Vec::with_capacity(glob.len());
        let mut characters = glob.chars();
        while let Some(character) = characters.next() {
            let part = match character {
                '*' => Part::Any,
                '?' => Part::One,
                '\\' => Part::Is(characters.next().unwrap_or('\\')),
                _ => Part::Is(character),
            };
            if part != Part::Any || parts.last() != Some(&Part::Any) {
                parts.push(part);
            }
        }
        Self { parts, ignore_case: !glob.chars().any(char::is_uppercase) }
    }

    /// Whether the whole text matches. Greedy with one point of return: the last `*` decides.
    pub(super) fn matches(&self, text: &str) -> bool {
        let mut rest = text.chars();
        let mut part = 0;
        let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            if let Some(Part::Any) = self.parts.get(part) {
                part += 1;
                if part == self.parts.len() {
                    return true;
                }
                retry = Some((part, rest.clone()));
                continue;
            }
            let next = rest.next();
            let fits = match (self.parts.get(part), next) {
                (None, None) => return true,
                (Some(Part::One), Some(_)) => true,
                (Some(&Part::Is(wanted)), Some(next)) => self.same(wanted, next),
                _ => false,
            };
            if fits {
                part += 1;
                continue;
            }
            let Some((after, mut from)) = retry else { return false };
            if from.next().is_none() {
                return false;
            }
            part = after;
            rest = from.clone();
            retry = Some((after, from));
        }
    }

    /// Whether a path matches as a whole or from one of its components on.
    fn matches_path(&self, path: &str) -> bool {
        self.matches(path)
            || path.match_indices('/').any(|(slash, _)| self.matches(&path[slash + 1..]))
    }

    fn same(&self, wanted: char, next: char) -> bool {
        wanted == next
            || (self.ignore_case
                && (wanted.eq_ignore_ascii_case(&next)
                    || (!next.is_ascii() && next.to_lowercase().eq(wanted.to_lowercase()))))
    }
}

/// A glob over function names in all their forms.
struct NameGlob {
    glob: Glob,
    /// The longest run of ASCII letters, digits and `_`: it is in every name that matches.
    word: String,
    /// Whether it is a beginning, perhaps followed by `*`, without signs that begin what a bare
    /// name lacks: then a form that matches does so before any such part, and the bare form
    /// matches as well.
    is_beginning: bool,
    /// Rust's `f::<T>` without its template arguments is `f`: a colon at the end of the glob may
    /// be part of what a bare name lacks.
    ends_in_colon: bool,
}

impl NameGlob {
    fn new(text: &str) -> Self {
        let glob = Glob::new(text);
        let mut word = String::new();
        let mut run = String::new();
        for part in &glob.parts {
            match part {
                Part::Is(character) if character.is_ascii_alphanumeric() || *character == '_' => {
                    run.push(*character);
                }
                _ => run.clear(),
            }
            if run.len() > word.len() {
                word.clone_from(&run);
            }
        }
        let (last, others) = glob.parts.split_last().map_or((None, &[][..]), |(l, o)| (Some(l), o));
        let is_plain = |part: &Part| matches!(part, Part::Is(c) if !"(<{[ ".contains(*c));
        let end = if last == Some(&Part::Any) { others.last() } else { last };
        let is_beginning = end.is_some_and(is_plain) && others.iter().all(is_plain);
        let ends_in_colon = end == Some(&Part::Is(':'));
        Self { glob, word, is_beginning, ends_in_colon }
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
        self.matches(name)
    }

    fn matches_in_c(&self, name: &str, begins: impl Fn(&str) -> bool) -> bool {
        (begins(name) || begins(name.trim_start_matches('_')) || name.contains("_MOD_"))
            && !name.starts_with('[')
            && !name.contains(['(', '<', ':'])
            && c_forms(name).any(|form| self.glob.matches(form))
    }

    fn matches(&self, name: &str) -> bool {
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
        profile::has_form(name, |form| self.glob.matches(form))
    }

    fn has_word(&self, name: &str) -> bool {
        if !self.glob.ignore_case {
            return name.contains(&self.word);
        }
        let (name, word) = (name.as_bytes(), self.word.as_bytes());
        let Some((&first, rest)) = word.split_first() else { return true };
        let (lower, upper) = (first, first.to_ascii_uppercase());
        let last = (name.len() + 1).saturating_sub(word.len());
        (0..last).any(|at| {
            (name[at] == lower || name[at] == upper)
                && name[at + 1..at + word.len()].eq_ignore_ascii_case(rest)
        })
    }
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

#[cfg(test)]
mod tests;
