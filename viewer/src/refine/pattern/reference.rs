//! Globs compared with names the long way: with every form, one after the other.

use super::c_names::{c_forms, dotted, is_of_c, spelled};
use super::glob::{Glob, GlobPart};
use super::lists::{Lists, list_end};
use crate::profile::{Parts, ShownName, closed_group, short_name, spell};

/// Whether a glob matches a name in one of its forms, of a language that may write paths with dots.
pub(crate) fn matches(text: &str, name: &str, writes_dots: bool) -> bool {
    let glob = Glob::new(text);
    if glob.matches(name) {
        return true;
    }
    if name.starts_with('[') {
        return false;
    }
    let shown = ShownName::of(name);
    if !is_of_c(name)
        && shown.called().chain(shown.own).any(|of| of != name && matches(text, of, writes_dots))
    {
        return true;
    }
    if is_of_c(name) {
        return c_forms(name, || writes_dots).any(|form| glob.matches(form));
    }
    if dotted(name).chain(dotted(&short_name(name))).any(|form| glob.matches(form)) {
        return true;
    }
    std::iter::once(name).chain(spelled(name)).any(|name| matches_spelled(text, name))
}

/// Whether a glob matches a name, from one of its components on, in one of its spellings.
fn matches_spelled(text: &str, name: &str) -> bool {
    let glob = Glob::new(text);
    let lists = Lists::of(text);
    spell(name, &mut Forms::default(), |forms| {
        let forms = std::mem::take(forms);
        forms.plain.iter().chain(forms.called.iter().flatten()).any(|form| {
            let ends = [Some(form.text.len()), form.before_qualifier, form.before_clone];
            ends.into_iter().flatten().any(|end| {
                form.starts.iter().filter(|&&start| start <= end).any(|&start| match &lists {
                    Some(lists) => form.matches(start..end, &lists.glob),
                    None => glob.matches(&form.text[start..end]),
                })
            })
        })
    })
}

/// All forms of a name, with and without arguments.
#[derive(Default)]
struct Forms {
    plain: Vec<Form>,
    called: Option<Vec<Form>>,
    at_component_start: bool,
}

#[derive(Clone, Default)]
struct Form {
    text: String,
    starts: Vec<usize>,
    /// From where to where a glob with lists may skip the text: always forward.
    skips: Vec<(usize, usize)>,
    /// Where it may end, too.
    before_qualifier: Option<usize>,
    before_clone: Option<usize>,
}

impl Forms {
    fn each(&mut self, change: impl Fn(&mut Form)) {
        self.plain.iter_mut().chain(self.called.iter_mut().flatten()).for_each(change);
    }

    /// There are two ways to go on with each.
    fn fork(&mut self, changes: [&dyn Fn(&mut Form); 2]) {
        for forms in [Some(&mut self.plain), self.called.as_mut()].into_iter().flatten() {
            *forms = forms
                .iter()
                .flat_map(|form| {
                    changes.map(|change| {
                        let mut form = form.clone();
                        change(&mut form);
                        form
                    })
                })
                .collect();
        }
    }
}

impl Parts for Forms {
    fn begin_component(&mut self) {
        if self.plain.is_empty() {
            self.plain.push(Form::default());
        }
        self.each(|form| {
            if !form.starts.is_empty() {
                form.text.push_str("::");
            }
            form.starts.push(form.text.len());
            form.before_qualifier = None;
        });
        self.at_component_start = true;
    }

    fn at_component_start(&self) -> bool {
        self.at_component_start
    }

    fn restart(&mut self) {
        *self = Self::default();
        self.begin_component();
    }

    fn push(&mut self, text: &str) {
        self.at_component_start &= text.is_empty();
        self.each(|form| form.text.push_str(text));
    }

    fn push_braces(&mut self, bare: [&str; 2], whole: &str) {
        self.at_component_start = false;
        self.fork([&|form| form.text.extend(bare), &|form| form.push_brackets(whole)]);
    }

    fn push_template(&mut self, text: &str) {
        self.fork([&|_| {}, &|form| form.push_brackets(text)]);
    }

    fn push_arguments(&mut self, text: &str) {
        let called = self.called.get_or_insert_with(|| self.plain.clone());
        for form in called {
            if text.starts_with(' ') && form.text.ends_with(')') {
                form.before_qualifier = Some(form.text.len());
            }
            if text.starts_with(" [clone ") {
                form.before_clone.get_or_insert(form.text.len());
            }
            form.push_brackets(text);
        }
    }
}

impl Form {
    fn push_brackets(&mut self, text: &str) {
        let base = self.text.len();
        self.skips.extend(skips(text).into_iter().map(|(from, to)| (base + from, base + to)));
        self.text.push_str(text);
    }

    /// Whether a part of it matches. All places that a place in the glob may stand for are kept,
    /// and none is looked at twice.
    fn matches(&self, range: std::ops::Range<usize>, glob: &Glob) -> bool {
        let form = &self.text[range.clone()];
        let spread = |places: &mut [bool]| {
            for &(from, to) in &self.skips {
                if range.start <= from && to <= range.end {
                    places[to - range.start] |= places[from - range.start];
                }
            }
        };
        let mut here = vec![false; form.len() + 1];
        here[0] = true;
        spread(&mut here);
        for part in &glob.parts {
            let mut next = vec![false; form.len() + 1];
            if *part == GlobPart::Any {
                let first = here.iter().position(|&is_here| is_here).unwrap_or(next.len());
                for (at, is_here) in next.iter_mut().enumerate().skip(first) {
                    *is_here = form.is_char_boundary(at);
                }
            } else {
                for (at, character) in form.char_indices().filter(|&(at, _)| here[at]) {
                    next[at + character.len_utf8()] |= glob.fits(part, character);
                }
            }
            spread(&mut next);
            here = next;
        }
        here[form.len()]
    }
}

/// From where to where a text with brackets may be skipped.
fn skips(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut skips = Vec::new();
    // The brackets around the present place: where they close, and whether they hold a list.
    let mut around: Vec<(usize, bool)> = Vec::new();
    for at in 0..bytes.len() {
        while around.last().is_some_and(|&(close, _)| at > close) {
            around.pop();
        }
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
        let list = around.last().filter(|(_, is_list)| *is_list).map(|(close, _)| *close);
        match bytes[at] {
            b'<' if before.is_none_or(|b| is_name(b) || b == b':') => {
                if let Some(end) = list_end(text, at) {
                    // Rust's `f::<T>` is `f` and `f<T>`.
                    let turbofish = text[..at].ends_with("::");
                    skips.push((at - if turbofish { 2 } else { 0 }, end));
                    skips.extend(turbofish.then(|| (at - 2, at)));
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
                let end = text[at..].find(|c: char| c.is_ascii() && !is_name(c as u8));
                let end = end.map_or(text.len(), |end| at + end);
                if text[end..].starts_with("::") {
                    skips.push((at, end + 2));
                }
            }
            _ => {}
        }
    }
    // So that one pass is enough.
    skips.sort_unstable();
    skips
}
