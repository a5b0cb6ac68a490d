//! What could have been meant by a pattern that matches nothing.

use crate::profile::{Frame, FrameKind, Function, FunctionRef, name_of_file, short_name};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::keywords::beginnings;
use crate::refine::lang::syntax::{Field, FramePattern, kind_words};
use crate::refine::pattern::glob::{Glob, regex};
use crate::refine::pattern::nearest::{nearest, nearest_of};

/// Suggestions at most.
const MOST: usize = 5;

/// What there is instead, likeliest first.
pub(crate) fn instead_of(refined: &Refined, pattern: &FramePattern) -> Vec<String> {
    let shown = Shown { refined };
    match pattern {
        FramePattern::Glob(glob) | FramePattern::Field(Field::Function, glob) => {
            // Any of its forms will do.
            let near = shown.nearest_functions(glob);
            let mut found: Vec<String> =
                near.iter().map(|name| short_name(name).into_owned()).collect();
            found.dedup();
            found.extend(shown.of_another_kind(glob));
            found.truncate(MOST);
            found
        }
        FramePattern::Exact(name) | FramePattern::Regex(name) => shown.nearest_functions(name),
        FramePattern::Field(Field::Module, glob) => nearest(glob, shown.modules().into_iter()),
        FramePattern::Field(Field::File, glob) => nearest(glob, shown.files().into_iter()),
        FramePattern::Field(Field::Loop, glob) => nearest(glob, shown.loops().into_iter()),
        FramePattern::Field(Field::Line, glob) => shown.lines_near(glob),
        FramePattern::Field(Field::Kind, _) => {
            let shown = shown.of_frames(|frame, _| Some(frame.kind.definition().word));
            kind_words()
                .into_iter()
                .filter(|word| shown.contains(word))
                .map(str::to_owned)
                .collect()
        }
        _ => Vec::new(),
    }
}

/// What is shown of a forest.
struct Shown<'r> {
    refined: &'r Refined,
}

impl<'r> Shown<'r> {
    /// What the frames that are shown have of something; each once, in order.
    fn of_frames<T: Ord>(&self, property: impl Fn(&'r Frame, &'r Function) -> Option<T>) -> Vec<T> {
        let refined = self.refined;
        let frames = refined.frames_shown().iter().map(|frame| &refined.frames[frame]);
        let property = |frame| property(frame, &refined.functions[frame.function.index()]);
        sorted(frames.filter_map(property).collect())
    }

    /// Their functions.
    fn functions(&self) -> impl Iterator<Item = usize> + use<> {
        let refined = self.refined;
        let mut shown = Bits::none(refined.functions.len());
        for frame in refined.frames_shown().iter() {
            shown.insert(refined.frames[frame].function.index());
        }
        let numbers: Vec<usize> = shown.iter().collect();
        numbers.into_iter().filter(|&number| number != FunctionRef::ROOT.index())
    }

    /// The names of functions that are near to one.
    fn nearest_functions(&self, wanted: &str) -> Vec<String> {
        let refined = self.refined;
        let names = self.functions().map(|number| (number, &*refined.functions[number].name));
        nearest_of(wanted, refined.names.of(&refined.profile).bare(), names)
    }

    /// The names of their load modules, each once, in order.
    fn modules(&self) -> Vec<&'r str> {
        let Refined { profile, functions, .. } = self.refined;
        let mut modules = Bits::none(profile.info.modules.len());
        for function in self.functions() {
            let module = functions[function].module;
            let module = module.filter(|module| module.index() < modules.len());
            module.into_iter().for_each(|module| modules.insert(module.index()));
        }
        let modules =
            modules.iter().map(|module| profile.string(profile.info.modules[module].path));
        sorted(modules.map(name_of_file).collect())
    }

    /// The names of their source files, each once, in order.
    fn files(&self) -> Vec<&'r str> {
        let refined = self.refined;
        let mut files = Bits::none(refined.profile.info.strings.len());
        for frame in refined.frames_shown().iter() {
            let frame = &refined.frames[frame];
            let file = frame.file.or(refined.functions[frame.function.index()].file);
            let file = file.filter(|file| file.index() < files.len());
            file.into_iter().for_each(|file| files.insert(file.index()));
        }
        let files = files.iter().map(|file| &*refined.profile.info.strings[file]);
        sorted(files.map(name_of_file).collect())
    }

    /// The places of their loops, each once, in order.
    fn loops(&self) -> Vec<&'r str> {
        self.of_frames(|frame, function| {
            function.place_of_loop().filter(|_| frame.kind == FrameKind::Loop)
        })
    }

    /// The lines that are nearest to one.
    fn lines_near(&self, glob: &str) -> Vec<String> {
        let Ok(wanted) = glob.parse::<u32>() else { return Vec::new() };
        let mut lines = self.of_frames(|frame, _| (frame.line > 0).then_some(frame.line));
        lines.sort_by_key(|line| line.abs_diff(wanted));
        lines.truncate(MOST);
        lines.iter().map(u32::to_string).collect()
    }

    /// What a bare word may have been meant to be, if not a function: a load module, a file, a
    /// regular expression, a stage.
    fn of_another_kind(&self, word: &str) -> Vec<String> {
        let glob = Glob::new(&format!("{word}*"));
        let first = |names: Vec<&str>, field: Field| {
            let found = names.into_iter().find(|name| word.len() > 1 && glob.matches(name));
            found.map(|name| format!("{}:{name}", field.name()))
        };
        let expression = (word.contains(['.', '|', '^', '$', '+', '[']))
            .then(|| regex(word).ok())
            .flatten()
            .filter(|regex| {
                let functions = &self.refined.functions;
                self.functions().any(|number| regex.is_match(&functions[number].name))
            })
            .map(|_| format!("/{word}/, which is a regular expression"));
        let stage = beginnings()
            .find(|(name, _)| name.split(' ').next() == Some(word))
            .map(|(name, about)| format!("the stage `{name}`: {about}"));
        let (modules, files) =
            (first(self.modules(), Field::Module), first(self.files(), Field::File));
        [stage, modules, files, expression].into_iter().flatten().collect()
    }
}

/// Each once, in order.
fn sorted<T: Ord>(mut all: Vec<T>) -> Vec<T> {
    all.sort_unstable();
    all.dedup();
    all
}
