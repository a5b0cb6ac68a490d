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
    pub(crate) parts: Vec<GlobPart>,
    pub(crate) ignore_case: bool,
}

/// What one place of a glob stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GlobPart {
    Any,
    One,
    Is(char),
}

impl Glob {
    pub(crate) fn new(glob: &str) -> Self {
        let mut parts: Vec<GlobPart> = Vec::with_capacity(glob.len());
        let mut characters = glob.chars();
        while let Some(character) = characters.next() {
            let part = match character {
                '*' => GlobPart::Any,
                '?' => GlobPart::One,
                '\\' => GlobPart::Is(characters.next().unwrap_or('\\')),
                _ => GlobPart::Is(character),
            };
            if part != GlobPart::Any || parts.last() != Some(&GlobPart::Any) {
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
            if let Some(GlobPart::Any) = self.parts.get(part) {
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

    /// Whether a path matches as a whole or from one of its components on. O(path × glob).
    pub(crate) fn matches_path(&self, path: &str) -> bool {
        let star = self.parts.iter().position(|part| *part == GlobPart::Any);
        let before_star = &self.parts[..star.unwrap_or(self.parts.len())];
        let components = path.match_indices('/').map(|(slash, _)| slash + 1);
        let ends = std::iter::once(0).chain(components).map(|start| &path[start..]);
        let mut ends = ends.filter(|end| {
            let mut characters = end.chars();
            before_star
                .iter()
                .all(|part| characters.next().is_some_and(|next| self.fits(part, next)))
        });
        match star {
            // The first `*` stands for anything, so what follows it matches here if it matches
            // further on.
            Some(_) => ends.next().is_some_and(|end| self.matches(end)),
            None => ends.any(|end| self.matches(end)),
        }
    }

    /// Whether a part that is no `*` stands for a character.
    pub(crate) fn fits(&self, part: &GlobPart, next: char) -> bool {
        match part {
            GlobPart::Any => false,
            GlobPart::One => true,
            GlobPart::Is(wanted) => self.same(*wanted, next),
        }
    }

    pub(crate) fn same(&self, wanted: char, next: char) -> bool {
        wanted == next
            || (self.ignore_case
                && (wanted.eq_ignore_ascii_case(&next)
                    || (!next.is_ascii() && next.to_lowercase().eq(wanted.to_lowercase()))))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_path_matches_from_any_component_on(
            glob in "[ab/*?]{0,7}|[abA/*?]{0,5}",
            path in "[ab/]{0,10}",
        ) {
            let glob = Glob::new(&glob);
            let starts = (0..=path.len()).filter(|&at| at == 0 || path.as_bytes()[at - 1] == b'/');
            let expected = starts.map(|start| &path[start..]).any(|end| glob.matches(end));
            prop_assert_eq!(glob.matches_path(&path), expected);
        }
    }

    #[test]
    fn a_path_of_many_components_is_compared_soon() {
        let path = "/".repeat(1 << 20);
        for glob in ["*x", "/*x", "?*x*y", "x", "/x"] {
            assert!(!Glob::new(glob).matches_path(&path), "{glob}");
        }
        assert!(Glob::new("*/").matches_path(&path));
    }
}
