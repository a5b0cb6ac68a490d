//! The bare forms of many names.

use super::scan::{Parts, scan};
use super::spelling::{by_self_type, is_plain, of_type, with_aliases};
use super::versions::{is_version, without_versions};

/// The bare forms of many names, to be compared with patterns again and again.
#[derive(Debug, Default)]
pub(crate) struct BareNames {
    text: String,
    /// From where to where in `text` a form is, from each of its components on.
    components: Vec<(u32, u32)>,
    /// For each name, where its components begin; the last is the end of all.
    first: Vec<u32>,
    /// For each name, where it begins: behind its return type; [`UNKNOWN`] if that is not known.
    begin: Vec<u32>,
    /// The first component of the form that is being added.
    form: usize,
}

/// No place in a name.
const UNKNOWN: u32 = u32::MAX;

/// Bytes for each component of a name, with all it carries: names that have less are rare.
const LEAST_IN_COMPONENT: usize = 8;

impl BareNames {
    /// For so many names with so many bytes in all: there is room for all that may come, since
    /// pages that are not written to take no memory.
    pub(crate) fn with_capacity(count: usize, length: usize) -> Self {
        Self {
            text: String::with_capacity(length),
            components: Vec::with_capacity(length / LEAST_IN_COMPONENT),
            first: Vec::with_capacity(count + 1),
            begin: Vec::with_capacity(count),
            form: 0,
        }
    }

    /// The bare forms of these names.
    pub(crate) fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut bare = Self::default();
        names.for_each(|name| bare.add(name));
        bare
    }

    /// Adds the bare forms of one more name. One that has nothing to set aside has no components.
    pub(crate) fn add(&mut self, name: &str) {
        let first = self.components.len();
        let mut begin = 0;
        if !is_plain(name) {
            let pieces = of_type(name);
            let found = scan(pieces, self);
            let is_whole = pieces[0].len() == name.len();
            begin = if is_whole || found.begin == 0 { number(found.begin) } else { UNKNOWN };
            self.end_form();
            self.add_without_versions(first, found.is_called);
            if self.components[first..]
                .iter()
                .any(|&component| self.slice(component).starts_with("basic_"))
            {
                let outside = without_versions(name, found.is_called);
                if let Some(name) = with_aliases(outside.as_deref().unwrap_or(name)) {
                    scan(of_type(&name), self);
                    self.end_form();
                }
            }
            for pieces in by_self_type(pieces, &found) {
                scan(pieces, self);
                self.end_form();
            }
        }
        if self.first.is_empty() {
            self.first.push(0);
        }
        self.first.push(number(self.components.len()));
        self.begin.push(begin);
    }
    /// Adds the form whose components are from this one on, if it has such namespaces, without
    /// them.
    fn add_without_versions(&mut self, first: usize, is_called: bool) {
        let components = first..self.components.len();
        let is_left_out = |bare: &Self, at: usize| {
            let next = (at > first).then(|| bare.components.get(at + 1)).flatten();
            next.is_some_and(|&(next, _)| {
                let start = bare.components[at].0 as usize;
                is_version(&bare.text[start..next as usize - 2], is_called)
            })
        };
        if !components.clone().any(|at| is_left_out(self, at)) {
            return;
        }
        let kept: Vec<(usize, usize)> = components
            .clone()
            .filter(|&at| !is_left_out(self, at))
            .map(|at| {
                let (start, end) = self.components[at];
                let next = self.components.get(at + 1).map_or(end, |&(next, _)| next - 2);
                (start as usize, next as usize)
            })
            .collect();
        for (start, end) in kept {
            self.begin_component();
            let component = self.text[start..end].to_owned();
            self.push(&component);
        }
        self.end_form();
    }

    /// The form is whole.
    fn end_form(&mut self) {
        let end = number(self.text.len());
        self.components[self.form..].iter_mut().for_each(|(_, of)| *of = end);
        self.form = self.components.len();
    }

    fn slice(&self, (start, end): (u32, u32)) -> &str {
        &self.text[start as usize..end as usize]
    }

    /// The places of a name's components; none if there is no such name, or it has nothing to set
    /// aside.
    fn places(&self, name: usize) -> &[(u32, u32)] {
        let range = self.first.get(name..).and_then(|rest| Some([*rest.first()?, *rest.get(1)?]));
        let [first, end] = range.unwrap_or_default();
        &self.components[first as usize..end as usize]
    }

    /// A name from each of its components on; nothing if there is no such name, or it has nothing
    /// to set aside.
    pub(crate) fn components(&self, name: usize) -> impl ExactSizeIterator<Item = &str> {
        self.places(name).iter().map(|&place| self.slice(place))
    }

    /// Each form of a name, from its last so many components on.
    pub(crate) fn last(&self, name: usize, count: usize) -> impl Iterator<Item = &str> {
        let forms = self.places(name).chunk_by(|(_, one), (_, other)| one == other);
        forms.map(move |form| self.slice(form[form.len().saturating_sub(count)]))
    }

    /// Where a name begins, behind its return type, if it is known.
    pub(crate) fn begin(&self, name: usize) -> Option<usize> {
        let begin = self.begin.get(name).filter(|&&begin| begin != UNKNOWN);
        begin.map(|&begin| begin as usize)
    }
}

/// Forms are put behind each other.
impl Parts for BareNames {
    fn begin_component(&mut self) {
        if self.components.len() > self.form {
            self.text.push_str("::");
        }
        self.components.push((number(self.text.len()), 0));
    }

    fn at_component_start(&self) -> bool {
        self.components.last().is_some_and(|&(start, _)| start as usize == self.text.len())
    }

    fn restart(&mut self) {
        let start = self.components[self.form].0;
        self.text.truncate(start as usize);
        self.components.truncate(self.form);
        self.begin_component();
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn push_braces(&mut self, bare: [&str; 2], _whole: &str) {
        bare.into_iter().for_each(|piece| self.push(piece));
    }
}

/// A place in the text of all names, which is smaller than a profile can be.
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
