//! Definitions of sets of frames that people name: `@solver = {dgemm_, module:libblas*}`.
//!
//! A set is a frame pattern with a name. Those that csprof ships are
//! [`Preset`](super::preset::Preset)s; others come from files: one of the user's, for all profiles,
//! and one beside a profile, for it alone. A set in a later file replaces one of the same name in
//! an earlier one, or a shipped one.
//!
//! ```text
//! # What runs on the accelerator.
//! @gpu = {cu*, cuda*, module:libcuda.so*}
//! @wait = {@lock, poll, epoll_wait,
//!          MPI_Wait*}
//! ```
//!
//! A line that begins with white space goes on with the line above; `#` begins a comment line. Sets
//! may name sets, wherever these are defined. What is wrong with a definition is a [`Problem`] that
//! names its place: the other sets work, and only a refinement that asks for this one is refused.
//!
//! Invariant: the sets that a [`Sets`] hands out contain no set twice below itself, are nested at
//! most [`MAX_DEPTH`] deep, and stand for at most [`MAX_SIZE`] patterns, so that matching ends
//! soon.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use super::lexer::{self, TokenKind};
use super::parser;
use super::parser::state::ParseError;
use super::sets::{Problem, Sets};
use super::stage::Refinement;
use super::syntax::{Chain, FramePattern, NamedSet};

/// Text with definitions, and what to call the place it came from.
#[derive(Clone, Copy, Debug)]
pub struct SetText<'s> {
    /// A file name, for people.
    pub place: &'s str,
    /// What is written there.
    pub text: &'s str,
}

/// How deep sets may lie inside each other.
const MAX_DEPTH: u32 = 32;

/// How many patterns a set may stand for once the sets inside it are written out.
const MAX_SIZE: u64 = 10_000;

/// Sets of a circle that are named in full.
const MOST_NAMED: usize = 8;

impl Sets {
    /// Reads definitions; later sources count more than earlier ones.
    #[must_use]
    pub fn read(sources: &[SetText<'_>]) -> Self {
        let mut sets = Self::default();
        let mut definitions: Vec<Definition> = Vec::new();
        let mut index: HashMap<String, usize> = HashMap::new();
        for source in sources {
            let first = definitions.len();
            for found in statements(source.text) {
                let place = format!("{}:{}", source.place, found.line);
                match Definition::read(&found.text, place) {
                    Ok(new) => match index.get(&new.name) {
                        Some(&old) => {
                            if old >= first {
                                sets.problems.push(Problem {
                                    place: new.place.clone(),
                                    name: Some(new.name.clone()),
                                    cause: format!("replaces {}", definitions[old].place),
                                });
                            }
                            definitions[old] = new;
                        }
                        None => {
                            index.insert(new.name.clone(), definitions.len());
                            definitions.push(new);
                        }
                    },
                    Err(problem) => sets.problems.push(problem),
                }
            }
        }
        sets.resolve(&definitions, &index);
        sets.named.sort_by(|a, b| a.name.cmp(&b.name));
        let places = sets.named.iter().enumerate();
        sets.place_of = places.map(|(place, set)| (set.name.clone(), place)).collect();
        sets
    }

    /// Reads every definition after those that it names.
    fn resolve(&mut self, definitions: &[Definition], index: &HashMap<String, usize>) {
        let mut named_by = vec![Vec::new(); definitions.len()];
        let mut waits_for = vec![0_usize; definitions.len()];
        for (at, definition) in definitions.iter().enumerate() {
            for name in &definition.names {
                if let Some(&other) = index.get(name) {
                    named_by[other].push(at);
                    waits_for[at] += 1;
                }
            }
        }
        let mut ready: VecDeque<usize> =
            (0..definitions.len()).filter(|&at| waits_for[at] == 0).collect();
        while let Some(at) = ready.pop_front() {
            match definitions[at].resolve(self) {
                Ok(set) => {
                    self.place_of.insert(set.name.clone(), self.named.len());
                    self.named.push(Arc::new(set));
                }
                Err(problem) => self.break_set(problem),
            }
            for &other in &named_by[at] {
                waits_for[other] -= 1;
                if waits_for[other] == 0 {
                    ready.push_back(other);
                }
            }
        }
        // What still waits is in a circle, or names a set that is. Each names one that waits, so
        // that the way from any of them ends in a circle; the way of an earlier one is not gone
        // again.
        let next = |at: usize| {
            let mut names = definitions[at].names.iter().filter_map(|name| index.get(name));
            names.find(|&&to| waits_for[to] > 0).copied()
        };
        let mut circle_of: Vec<Option<Rc<str>>> = vec![None; definitions.len()];
        let mut seen = vec![usize::MAX; definitions.len()];
        for (at, definition) in definitions.iter().enumerate().filter(|&(at, _)| waits_for[at] > 0)
        {
            let mut way = Vec::new();
            let mut here = at;
            while circle_of[here].is_none() && seen[here] != at {
                seen[here] = at;
                way.push(here);
                let Some(to) = next(here) else { break };
                here = to;
            }
            let circle = circle_of[here].clone().unwrap_or_else(|| {
                let begin = way.iter().position(|&seen| seen == here).unwrap_or(0);
                let names = way[begin..].iter().map(|&at| definitions[at].name.as_str());
                circle(&names.collect::<Vec<_>>()).into()
            });
            for at in way {
                circle_of[at] = Some(Rc::clone(&circle));
            }
            self.break_set(Problem {
                place: definition.place.clone(),
                name: Some(definition.name.clone()),
                cause: format!("sets go round in a circle: {circle}"),
            });
        }
    }

    /// Notes why a set cannot be used.
    fn break_set(&mut self, problem: Problem) {
        if let Some(name) = &problem.name {
            self.broken.entry(name.clone()).or_insert(self.problems.len());
        }
        self.problems.push(problem);
    }

    /// Reads a refinement that may name these sets.
    ///
    /// # Errors
    /// As for [`parse`](crate::refine::parse).
    pub fn parse(&self, text: &str) -> Result<Refinement, ParseError> {
        parser::refinement(text, self)
    }

    /// Reads a path, `a > b >> c`, whose frames may name these sets; nothing is the empty path.
    ///
    /// # Errors
    /// Points at the first bytes that cannot be understood.
    pub fn parse_path(&self, text: &str) -> Result<Option<Chain>, ParseError> {
        parser::path(text, self)
    }

    /// Reads a definition, `@name = frames`; returns the name and the frames.
    ///
    /// # Errors
    /// Points at the first bytes that cannot be understood.
    pub fn parse_definition(&self, text: &str) -> Result<(String, FramePattern), ParseError> {
        let error = |range, message: &str| ParseError {
            text: text.to_owned(),
            range,
            message: message.to_owned(),
            suggestions: Vec::new(),
        };
        let (name, at) = head(text).map_err(|(range, cause)| error(range, cause))?;
        let pattern = parser::pattern_at(text, at, self)?;
        if names_in(&text[at..]).contains(&name) || contains(&pattern, &name) {
            return Err(error(at..text.len(), "a set cannot contain itself"));
        }
        let (depth, size) = extent(&pattern);
        match too_large(depth, size) {
            Some(cause) => Err(error(at..text.len(), &cause)),
            None => Ok((name, pattern)),
        }
    }
}

/// Whether a text is meant to define a set.
#[must_use]
pub fn is_definition(text: &str) -> bool {
    let text = text.trim_start();
    text.strip_prefix('@').is_some_and(|rest| {
        let name = rest.trim_start_matches(is_name_character);
        name.trim_start().starts_with('=')
    })
}

/// The text of a file in which a set is defined anew: its definition is replaced where it stands,
/// or added at the end. Everything else stays as it is.
#[must_use]
pub fn defined_in(file: &str, name: &str, pattern: &FramePattern) -> String {
    replaced_in(file, name, &format!("@{name} = {pattern}\n"))
}

/// The text of a file with a definition in place of the last one of this name, or at the end.
pub(crate) fn replaced_in(file: &str, name: &str, definition: &str) -> String {
    let defines = |text: &str| head(text).is_ok_and(|(known, _)| known == name);
    let mut lines: Vec<&str> = file.split_inclusive('\n').collect();
    let found: Vec<_> = statements(file).into_iter().filter(|s| defines(&s.text)).collect();
    // The last one is the one that counts.
    if let Some(statement) = found.last() {
        let first = statement.line - 1;
        lines.splice(first..first + statement.lines, [definition]);
        return lines.concat();
    }
    let mut text = file.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text + definition
}

/// A definition as it stands in a file.
pub(crate) struct Statement {
    /// Its line, from 1.
    pub(crate) line: usize,
    /// How many lines it has.
    lines: usize,
    pub(crate) text: String,
}

pub(crate) fn statements(text: &str) -> Vec<Statement> {
    let mut found: Vec<Statement> = Vec::new();
    // Whether a line that begins with white space goes on with what is above.
    let mut goes_on = false;
    // Some editors begin files with the mark of an encoding that has no byte order.
    let marked = text.starts_with('\u{feff}');
    for (number, line) in text.lines().enumerate() {
        let line = if number == 0 && marked { line.trim_start_matches('\u{feff}') } else { line };
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            goes_on = false;
        } else if goes_on && line.starts_with(char::is_whitespace) {
            if let Some(last) = found.last_mut() {
                last.text.push('\n');
                last.text.push_str(line);
                last.lines += 1;
            }
        } else {
            found.push(Statement { line: number + 1, lines: 1, text: line.to_owned() });
            goes_on = true;
        }
    }
    found
}

pub(crate) fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.')
}

/// The name that a definition gives, and the byte at which the pattern begins.
pub(crate) fn head(text: &str) -> Result<(String, usize), (std::ops::Range<usize>, &'static str)> {
    let start = text.len() - text.trim_start().len();
    let Some(rest) = text[start..].strip_prefix('@') else {
        return Err((start..text.len(), "a definition is written @name = frames"));
    };
    let after = rest.trim_start_matches(is_name_character);
    let name = &rest[..rest.len() - after.len()];
    let at = text.len() - after.len();
    if name.is_empty() {
        return Err((at..at, "the name of the set is missing here"));
    }
    match after.trim_start().strip_prefix('=') {
        Some(pattern) => Ok((name.to_owned(), text.len() - pattern.len())),
        None => Err((at..text.len(), "`=` is missing here: @name = frames")),
    }
}

/// The sets that a pattern names.
fn names_in(text: &str) -> Vec<String> {
    let tokens = lexer::tokens(text).unwrap_or_default();
    let named = tokens.into_iter().filter_map(|token| match token.kind {
        TokenKind::Word { text, plain: true } => text.strip_prefix('@').map(str::to_owned),
        _ => None,
    });
    named.collect()
}

struct Definition {
    name: String,
    /// From `@` on.
    text: String,
    /// Byte of the text at which the pattern begins.
    pattern_at: usize,
    /// Sets that it names.
    names: Vec<String>,
    place: String,
}

impl Definition {
    fn read(text: &str, place: String) -> Result<Self, Problem> {
        match head(text) {
            Ok((name, pattern_at)) => {
                let names = names_in(&text[pattern_at..]);
                Ok(Self { name, text: text.to_owned(), pattern_at, names, place })
            }
            Err((range, cause)) => {
                let word = text[range].trim();
                let cause = if word.is_empty() {
                    cause.to_owned()
                } else {
                    format!("{cause}, not `{}`", text.trim())
                };
                Err(Problem { place, name: None, cause })
            }
        }
    }

    fn resolve(&self, sets: &Sets) -> Result<NamedSet, Problem> {
        let problem =
            |cause| Problem { place: self.place.clone(), name: Some(self.name.clone()), cause };
        // One reason is enough, however many sets lie between.
        if let Some(broken) = self.names.iter().find(|name| sets.broken.contains_key(*name)) {
            return Err(problem(format!("it names @{broken}, which cannot be used")));
        }
        let pattern = parser::pattern_at(&self.text, self.pattern_at, sets)
            .map_err(|error| problem(error.in_one_line()))?;
        let (depth, size) = extent(&pattern);
        if let Some(cause) = too_large(depth, size) {
            return Err(problem(cause));
        }
        let (name, place) = (self.name.clone(), self.place.clone());
        Ok(NamedSet { name, pattern, place, depth, size })
    }
}

/// The sets of a circle, each in the one before, the first one again at the end.
fn circle(names: &[&str]) -> String {
    let mut shown: Vec<String> =
        names.iter().take(MOST_NAMED).map(|name| format!("@{name}")).collect();
    if names.len() > MOST_NAMED {
        shown.push(format!("{} more", names.len() - MOST_NAMED));
    }
    shown.extend(names.first().map(|name| format!("@{name}")));
    shown.join(" in ")
}

fn too_large(depth: u32, size: u64) -> Option<String> {
    if depth > MAX_DEPTH {
        return Some(format!("sets lie more than {MAX_DEPTH} deep inside each other"));
    }
    (size > MAX_SIZE).then(|| format!("this stands for more than {MAX_SIZE} patterns"))
}

/// Whether a set of this name lies inside a pattern, at any depth.
fn contains(pattern: &FramePattern, name: &str) -> bool {
    match pattern {
        FramePattern::Any(inner) | FramePattern::All(inner) => {
            inner.iter().any(|inner| contains(inner, name))
        }
        FramePattern::Not(inner) => contains(inner, name),
        FramePattern::Named(set) => set.name == name || contains(&set.pattern, name),
        _ => false,
    }
}

/// How deep sets lie inside a pattern, and how many patterns it stands for.
fn extent(pattern: &FramePattern) -> (u32, u64) {
    match pattern {
        FramePattern::Any(inner) | FramePattern::All(inner) => inner
            .iter()
            .map(extent)
            .fold((0, 0_u64), |(depth, size), (d, s)| (depth.max(d), size.saturating_add(s))),
        FramePattern::Not(inner) => extent(inner),
        FramePattern::Named(set) => (set.depth + 1, set.size),
        _ => (0, 1),
    }
}

#[cfg(test)]
mod tests;
