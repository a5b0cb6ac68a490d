//! Globs and regular expressions over whole texts.

use regex::{Regex, RegexBuilder};

/// A regular expression that ignores case if it has no upper-case letter.
pub(crate) fn regex(source: &str) -> Result<Regex, String> {
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
pub(crate) struct Glob {
    pub(crate) parts: Vec<Part>,
    pub(crate) ignore_case: bool,
}

/// What one place of a glob stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Any,
    One,
    Is(char),
}

impl Glob {
    pub(crate) fn new(glob: &str) -> Self {
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
    pub(crate) fn matches(&self, text: &str) -> bool {
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
    pub(crate) fn matches_path(&self, path: &str) -> bool {
        self.matches(path)
            || path.match_indices('/').any(|(slash, _)| self.matches(&path[slash + 1..]))
    }

    /// Whether a part that is no `*` stands for a character.
    pub(crate) fn fits(&self, part: &Part, next: char) -> bool {
        match part {
            Part::Any => false,
            Part::One => true,
            Part::Is(wanted) => self.same(*wanted, next),
        }
    }

    pub(crate) fn same(&self, wanted: char, next: char) -> bool {
        wanted == next
            || (self.ignore_case
                && (wanted.eq_ignore_ascii_case(&next)
                    || (!next.is_ascii() && next.to_lowercase().eq(wanted.to_lowercase()))))
    }
}
