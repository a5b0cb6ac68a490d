//! Frame patterns compiled to sets of frames.
//!
//! A pattern is asked once of every function, not once of every node: a profile of ten million
//! nodes has some hundred thousand functions. How globs are compared with names stands in
//! [`names`](crate::refine::pattern::names).

use std::borrow::Borrow;

use csprof_format::profile::GENERATED_CODE;

use super::suggest;
use crate::profile::{
    Frame, FrameKind, Function, FunctionRef, Profile, ShownName, is_same_name, name_of_file,
};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::error::{Cause, Loopless, Unmatched};
use crate::refine::forest::refined::Refined;
use crate::refine::lang::parser::shipped;
use crate::refine::lang::syntax::{Field, FramePattern};
use crate::refine::pattern::c_names::writes_dots;
use crate::refine::pattern::glob::{Glob, regex};
use crate::refine::pattern::names::NameGlob;

/// The tables that patterns are matched against.
pub(crate) struct Matcher<'r> {
    refined: &'r Refined,
}

impl<'r> Matcher<'r> {
    /// A matcher for what a forest shows.
    pub(crate) fn new(refined: &'r Refined) -> Self {
        Self { refined }
    }

    /// The frames that a pattern means.
    ///
    /// # Errors
    /// There are none among the frames of nodes with samples. Parts of a pattern may match
    /// nothing: in `{malloc, calloc}` one is enough.
    pub(crate) fn frames(&self, pattern: &FramePattern) -> Result<Bits, Unmatched> {
        let set = self.any_frames(pattern);
        let is_shown = set.intersects(self.refined.frames_shown());
        if is_shown { Ok(set) } else { Err(self.explain(pattern, &set)) }
    }

    /// Whether a pattern means some frames of a procedure, and others not. Which it means is asked
    /// only if need be: to compare a pattern with all names takes as long as a stage.
    pub(crate) fn parts_procedures<B: Borrow<Bits>>(
        &self,
        pattern: &FramePattern,
        frames: impl FnOnce() -> B,
    ) -> bool {
        if self.refined.procedures.are_functions() && asks_for_functions(pattern) {
            return false;
        }
        let frames = frames();
        self.refined.are_procedures_parted(|frame| frames.borrow().contains(frame))
    }

    /// Why a pattern that means these frames matches nothing that is shown.
    fn explain(&self, pattern: &FramePattern, set: &Bits) -> Unmatched {
        let among = match pattern {
            FramePattern::Field(Field::Module, _) => "load module",
            FramePattern::Field(Field::File, _) => "source file",
            FramePattern::Field(Field::Loop, _) => "loop",
            FramePattern::Glob(_) | FramePattern::Regex(_) | FramePattern::Exact(_) => "function",
            _ => "frame",
        };
        let refined = self.refined;
        let is_first = refined.outcomes.is_empty();
        let asks_for_loops = match pattern {
            FramePattern::Field(Field::Loop, _) => true,
            FramePattern::Field(Field::Kind, glob) => glob == "loop",
            _ => false,
        };
        let are_there = refined.frames.iter().any(|frame| frame.kind == FrameKind::Loop);
        let cause = if asks_for_loops && !are_there {
            let is_profile = refined.profile.info.structure.in_loops.is_empty();
            Cause::NoLoops(if is_profile { Loopless::Profile } else { Loopless::Stages })
        } else if !is_first && (!refined.is_shown(0) || !set.is_empty()) {
            Cause::Gone { among, nothing_left: !refined.is_shown(0) }
        } else {
            Cause::Unmatched { among, suggestions: suggest::instead_of(self.refined, pattern) }
        };
        Unmatched { part: pattern.to_string(), cause }
    }

    /// As [`Self::frames`], but there may be none. Recursion ends where the parser's limit on
    /// nesting does.
    pub(crate) fn any_frames(&self, pattern: &FramePattern) -> Bits {
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
            FramePattern::Preset(preset) => self.any_frames(&shipped(*preset)),
            FramePattern::Named(set) => self.any_frames(set.pattern()),
            FramePattern::Field(Field::Kind, glob) => {
                let glob = Glob::new(glob);
                self.by_frame(|frame, _| glob.matches(frame.kind.definition().word))
            }
            FramePattern::Field(Field::Loop, glob) => {
                let glob = Glob::new(glob);
                self.by_frame(|frame, function| {
                    let path =
                        |file| format!("{}:{}", self.refined.profile.string(file), frame.line);
                    let is_path = |file| frame.line > 0 && glob.matches_path(&path(file));
                    let is_place = |place| glob.matches(place);
                    frame.kind == FrameKind::Loop
                        && (frame.file.is_some_and(is_path)
                            || function.place_of_loop().is_some_and(is_place))
                })
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
                let names = self.refined.names.for_pattern(&self.refined.profile);
                let glob = NameGlob::new(glob);
                by_name(&|number, name| match self.refined.is_of_place(number) {
                    true => glob.matches_whole(name),
                    false => names.matches(number, name, &glob, || {
                        self.refined.profile.writes_dots(&functions[number])
                    }),
                })
            }
            FramePattern::Regex(source) => match regex(source) {
                Ok(regex) => by_name(&|_, name| regex.is_match(name)),
                Err(_) => Bits::none(functions.len()),
            },
            FramePattern::Exact(wanted) => by_name(&|_, name| {
                // What stands in the marks depends on what else is in the profile.
                is_same_name(name, wanted) || ShownName::of(name).first == wanted
            }),
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
            FramePattern::Preset(preset) => self.functions(&shipped(*preset)),
            FramePattern::Named(set) => self.functions(set.pattern()),
            // Frames have these.
            FramePattern::Field(Field::File | Field::Line | Field::Kind | Field::Loop, _) => {
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
            frame.kind.is_in_paths() && test(frame, &functions[frame.function.index()])
        })
    }

    /// All frames but the root's and those that `split` made, which no pattern means.
    fn everything(&self) -> Bits {
        self.by_frame(|_, _| true)
    }
}

impl Refined {
    /// Whether what stands for a function is a row that `by module` or `by file` made of a load
    /// module or a source file.
    fn is_of_place(&self, number: usize) -> bool {
        if number < self.profile.functions.len() {
            return false;
        }
        let function = &self.functions[number];
        let path = match (function.file, function.module) {
            (Some(file), _) if function.line == 0 => self.profile.string(file),
            (None, Some(module)) => self.profile.module_path(module),
            _ => return false,
        };
        name_of_file(path) == &*function.name
    }

    /// The names of the profile's functions that a glob matches in any of their forms.
    pub(crate) fn names_that_match(&self, glob: &str) -> impl Iterator<Item = &str> {
        let names = self.names.for_pattern(&self.profile);
        let glob = NameGlob::new(glob);
        let functions = self.profile.functions.iter().enumerate();
        functions.skip(FunctionRef::ROOT.index() + 1).filter_map(move |(number, function)| {
            let (name, writes_dots) = (&*function.name, || self.profile.writes_dots(function));
            names.matches(number, name, &glob, writes_dots).then_some(name)
        })
    }
}

impl Profile {
    /// Whether a function is of a language that writes paths with dots, as far as that is known.
    fn writes_dots(&self, function: &Function) -> bool {
        let path = function.module.map(|module| self.module_path(module));
        path == Some(GENERATED_CODE)
            || function.file.is_some_and(|file| writes_dots(self.string(file)))
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
        FramePattern::Preset(preset) => asks_for_functions(&shipped(*preset)),
        FramePattern::Named(set) => asks_for_functions(set.pattern()),
    }
}
