//! Frame patterns compiled to sets of frames.
//!
//! A pattern is asked once of every function, not once of every node: a profile of ten million
//! nodes has some hundred thousand functions. How globs are compared with names stands in
//! [`names`].

mod lists;
mod names;
#[cfg(test)]
mod reference;
mod suggest;
mod walk;
mod words;

use std::sync::{Arc, OnceLock};

use names::NameGlob;
pub(super) use names::Names;
use regex::{Regex, RegexBuilder};

use super::Refined;
use super::apply::Cause;
use super::bits::Bits;
use super::costs::in_width;
use super::stages::Unmatched;
use super::syntax::{Field, FramePattern};
use crate::profile::{Frame, FrameKind, Function, FunctionRef};

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
        if is_shown { Ok(set) } else { Err(self.explain(pattern, &set)) }
    }

    /// Whether some frames of a procedure are among these, which a pattern means, and others not.
    pub(super) fn parts_procedures(&self, pattern: &FramePattern, frames: &Bits) -> bool {
        let procedures = &self.refined.procedures;
        let is_whole = procedures.are_functions() && asks_for_functions(pattern);
        !is_whole && procedures.are_parted(self.refined, |frame| frames.contains(frame))
    }

    /// Why a pattern that means these frames matches nothing that is shown.
    fn explain(&self, pattern: &FramePattern, set: &Bits) -> Unmatched {
        let among = match pattern {
            FramePattern::Field(Field::Module, _) => "load module",
            FramePattern::Field(Field::File, _) => "source file",
            FramePattern::Glob(_) | FramePattern::Regex(_) | FramePattern::Exact(_) => "function",
            _ => "frame",
        };
        let refined = self.refined;
        let is_first = refined.outcomes.is_empty();
        let cause = if !is_first && (!refined.is_shown(0) || !set.is_empty()) {
            Cause::Gone { among, nothing_left: !refined.is_shown(0) }
        } else {
            Cause::Unmatched { among, suggestions: suggest::instead_of(self, pattern) }
        };
        Unmatched { part: pattern.to_string(), cause }
    }

    /// As [`Self::frames`], but there may be none. Recursion ends where the parser's limit on
    /// nesting does.
    pub(super) fn any_frames(&self, pattern: &FramePattern) -> Bits {
        match pattern {
            _ if asks_for_functions(pattern) => self.of_functions(&self.functions(pattern)),
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
            FramePattern::Any(any) => {
                let mut functions = Bits::none(self.refined.functions.len());
                let mut set = Bits::none(self.refined.frames.len());
                for pattern in any {
                    if asks_for_functions(pattern) {
                        functions.unite(&self.functions(pattern));
                    } else {
                        set.unite(&self.any_frames(pattern));
                    }
                }
                set.unite(&self.of_functions(&functions));
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
            FramePattern::Field(Field::Kind, glob) => {
                let glob = Glob::new(glob);
                self.by_frame(|frame, _| glob.matches(kind_name(frame.kind)))
            }
            FramePattern::Glob(_)
            | FramePattern::Regex(_)
            | FramePattern::Exact(_)
            | FramePattern::Field(Field::Function | Field::Module, _) => {
                self.of_functions(&self.functions(pattern))
            }
        }
    }

    /// The functions that a pattern means, if it asks for nothing else of a frame.
    fn functions(&self, pattern: &FramePattern) -> Bits {
        let functions = &self.refined.functions;
        let by_name = |test: &dyn Fn(usize, &str) -> bool| {
            Bits::from_fn(functions.len(), |number| test(number, &functions[number].name))
        };
        match pattern {
            FramePattern::Glob(glob) | FramePattern::Field(Field::Function, glob) => {
                let names = self.refined.names.for_pattern(self.refined.profile);
                let glob = NameGlob::new(glob);
                by_name(&|number, name| names.matches(number, name, &glob))
            }
            FramePattern::Regex(source) => match regex(source) {
                Ok(regex) => by_name(&|_, name| regex.is_match(name)),
                Err(_) => Bits::none(functions.len()),
            },
            FramePattern::Exact(wanted) => by_name(&|_, name| name == wanted),
            FramePattern::Field(Field::Module, glob) => {
                let glob = Glob::new(glob);
                let modules = &self.refined.profile.info.modules;
                let matching = Bits::from_fn(modules.len(), |module| {
                    glob.matches_path(self.refined.profile.string(modules[module].path))
                });
                Bits::from_fn(functions.len(), |number| {
                    functions[number].module.is_some_and(|module| {
                        module.index() < matching.len() && matching.contains(module.index())
                    })
                })
            }
            FramePattern::Any(any) => {
                let mut set = Bits::none(functions.len());
                for pattern in any {
                    set.unite(&self.functions(pattern));
                }
                set
            }
            FramePattern::All(all) => {
                let mut set = Bits::none(functions.len());
                set.complement();
                for pattern in all {
                    set.intersect(&self.functions(pattern));
                }
                set
            }
            FramePattern::Not(inner) => {
                let mut set = self.functions(inner);
                set.complement();
                set
            }
            FramePattern::Preset(preset) => self.functions(&preset.pattern()),
            FramePattern::Named(set) => self.functions(set.pattern()),
            // Frames have these.
            FramePattern::Field(Field::File | Field::Line | Field::Kind, _) => {
                Bits::none(functions.len())
            }
        }
    }

    /// The frames of functions.
    fn of_functions(&self, functions: &Bits) -> Bits {
        if functions.is_empty() {
            return Bits::none(self.refined.frames.len());
        }
        self.by_frame(|frame, _| functions.contains(frame.function.index()))
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
}

impl<'p> Refined<'p> {
    /// The names of the profile's functions that a glob matches in any of their forms.
    pub(super) fn names_that_match(&self, glob: &str) -> impl Iterator<Item = &'p str> {
        let names = self.names.for_pattern(self.profile);
        let glob = NameGlob::new(glob);
        let functions = self.profile.functions.iter().map(|function| function.name.as_str());
        let named = functions.enumerate().skip(FunctionRef::ROOT.index() + 1);
        named
            .filter(move |(number, name)| names.matches(*number, name, &glob))
            .map(|(_, name)| name)
    }
}

/// Whether a pattern asks for nothing but what all frames of a function have in common: then one
/// pass over the frames is enough, however many parts it has.
fn asks_for_functions(pattern: &FramePattern) -> bool {
    match pattern {
        FramePattern::Glob(_) | FramePattern::Regex(_) | FramePattern::Exact(_) => true,
        FramePattern::Field(field, _) => matches!(field, Field::Function | Field::Module),
        FramePattern::Any(inner) | FramePattern::All(inner) => inner.iter().all(asks_for_functions),
        FramePattern::Not(inner) => asks_for_functions(inner),
        FramePattern::Preset(preset) => asks_for_functions(&preset.pattern()),
        FramePattern::Named(set) => asks_for_functions(set.pattern()),
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
#[derive(Clone, Debug)]
pub(super) struct Glob {
    parts: Vec<Part>,
    ignore_case: bool,
}

#[derive(Clone, Debug, PartialEq)]
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
                (Some(part), Some(next)) => self.fits(part, next),
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

    /// Whether a part that is no `*` stands for a character.
    fn fits(&self, part: &Part, next: char) -> bool {
        match part {
            Part::Any => false,
            Part::One => true,
            Part::Is(wanted) => self.same(*wanted, next),
        }
    }

    fn same(&self, wanted: char, next: char) -> bool {
        wanted == next
            || (self.ignore_case
                && (wanted.eq_ignore_ascii_case(&next)
                    || (!next.is_ascii() && next.to_lowercase().eq(wanted.to_lowercase()))))
    }
}

#[cfg(test)]
mod tests;
