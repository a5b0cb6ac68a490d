//! What could have been meant by a pattern that matches nothing.

use super::super::bits::Bits;
use super::super::nearest::nearest;
use super::super::parser::STAGES;
use super::super::syntax::{Field, FramePattern, KINDS};
use super::{Glob, Matcher, kind_name, regex};
use crate::profile::{Frame, Function, FunctionRef, short_name};

/// Suggestions at most.
const MOST: usize = 5;

/// What there is instead, likeliest first.
pub(super) fn instead_of(matcher: &Matcher<'_, '_>, pattern: &FramePattern) -> Vec<String> {
    let shown = Shown { matcher };
    match pattern {
        FramePattern::Glob(glob) | FramePattern::Field(Field::Function, glob) => {
            // Any of its forms will do.
            let near = nearest(glob, shown.functions().into_iter());
            let mut found: Vec<String> =
                near.iter().map(|name| short_name(name).into_owned()).collect();
            found.dedup();
            found.extend(shown.of_another_kind(glob));
            found.truncate(MOST);
            found
        }
        FramePattern::Exact(name) | FramePattern::Regex(name) => {
            nearest(name, shown.functions().into_iter())
        }
        FramePattern::Field(Field::Module, glob) => nearest(glob, shown.modules().into_iter()),
        FramePattern::Field(Field::File, glob) => nearest(glob, shown.files().into_iter()),
        FramePattern::Field(Field::Line, glob) => shown.lines_near(glob),
        FramePattern::Field(Field::Kind, _) => {
            let shown = shown.of_frames(|frame, _| Some(kind_name(frame.kind)));
            KINDS.into_iter().filter(|kind| shown.contains(kind)).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// What is shown of a forest.
struct Shown<'m, 'r, 'p> {
    matcher: &'m Matcher<'r, 'p>,
}

impl<'r> Shown<'_, 'r, '_> {
    /// What the frames that are shown have of something; each once, in order.
    fn of_frames<T: Ord>(&self, of: impl Fn(&'r Frame, &'r Function) -> Option<T>) -> Vec<T> {
        let refined = self.matcher.refined;
        let frames = refined.frames_shown.of(refined).iter().map(|frame| &refined.frames[frame]);
        let mut found: Vec<T> = frames
            .filter_map(|frame| of(frame, &refined.functions[frame.function.index()]))
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Their names, in no order. There may be very many.
    fn functions(&self) -> Vec<&'r str> {
        let refined = self.matcher.refined;
        let mut shown = Bits::none(refined.functions.len());
        for frame in refined.frames_shown.of(refined).iter() {
            shown.insert(refined.frames[frame].function.index());
        }
        let named = shown.iter().filter(|&function| function != FunctionRef::ROOT.index());
        named.map(|function| refined.functions[function].name.as_str()).collect()
    }

    fn modules(&self) -> Vec<&'r str> {
        let profile = self.matcher.refined.profile;
        self.of_frames(|_, function| Some(name_of_file(profile.module_path(function.module?))))
    }

    fn files(&self) -> Vec<&'r str> {
        let profile = self.matcher.refined.profile;
        let file = |frame: &Frame, function: &Function| frame.file.or(function.file);
        self.of_frames(|frame, function| Some(name_of_file(profile.string(file(frame, function)?))))
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
            .filter(|regex| self.functions().iter().any(|name| regex.is_match(name)))
            .map(|_| format!("/{word}/, which is a regular expression"));
        let stage = STAGES
            .iter()
            .find(|(name, _)| name.split(' ').next() == Some(word))
            .map(|(name, about)| format!("the stage `{name}`: {about}"));
        let (modules, files) =
            (first(self.modules(), Field::Module), first(self.files(), Field::File));
        [stage, modules, files, expression].into_iter().flatten().collect()
    }
}

/// The last part of a path.
fn name_of_file(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
