//! Stages made by one key on a row: the function is known, so no pattern needs to be typed.
//!
//! The name is taken exactly. A bare word would be a pattern, which may mean more than the row:
//! `solve` also finds `ns::Solve(int)`.

use super::syntax::{Chain, FramePattern, Predicate, Stage};

fn exactly(function: &str) -> FramePattern {
    FramePattern::Exact(function.to_owned())
}

impl Stage {
    /// Keeps paths through a function.
    #[must_use]
    pub fn through(function: &str) -> Self {
        Self::Where(Predicate::Through(Chain::of(exactly(function))))
    }

    /// Takes out paths through a function.
    #[must_use]
    pub fn not_through(function: &str) -> Self {
        let through = Predicate::Through(Chain::of(exactly(function)));
        Self::Where(Predicate::Not(Box::new(through)))
    }

    /// Deletes a function's frames and keeps their cost.
    #[must_use]
    pub fn hide(function: &str) -> Self {
        Self::Hide(exactly(function))
    }

    /// Shows functions as one.
    #[must_use]
    pub fn group(functions: &[&str], name: &str) -> Self {
        let pattern = match functions {
            [only] => exactly(only),
            _ => FramePattern::Any(functions.iter().map(|name| exactly(name)).collect()),
        };
        Self::Group { pattern, name: name.to_owned() }
    }

    /// Begins paths at a function.
    #[must_use]
    pub fn root_at(function: &str) -> Self {
        Self::RootAt { pattern: exactly(function), last: false }
    }

    /// Callers of a function, upside down.
    #[must_use]
    pub fn callers_of(function: &str) -> Self {
        Self::CallersOf(exactly(function))
    }

    /// Ends paths at a function.
    #[must_use]
    pub fn stop_at(function: &str) -> Self {
        Self::StopAt(exactly(function))
    }

    /// Deletes a function's recursion, direct and indirect.
    #[must_use]
    pub fn collapse(function: &str) -> Self {
        Self::Collapse(exactly(function))
    }
}

impl Stage {
    /// The frames it is about, if it is about those of one pattern.
    #[must_use]
    pub fn pattern(&self) -> Option<&FramePattern> {
        match self {
            Self::Hide(pattern)
            | Self::StopAt(pattern)
            | Self::Cut(pattern)
            | Self::Group { pattern, .. }
            | Self::RootAt { pattern, .. }
            | Self::Collapse(pattern)
            | Self::CollapseRun(pattern)
            | Self::Fold(pattern)
            | Self::CallersOf(pattern) => Some(pattern),
            Self::Where(predicate) => predicate.pattern(),
            Self::By(_) | Self::Split(_) | Self::Small(_) => None,
        }
    }
}

impl Predicate {
    fn pattern(&self) -> Option<&FramePattern> {
        match self {
            Self::Not(inner) => inner.pattern(),
            Self::Through(chain) => chain.rest.is_empty().then_some(&chain.first),
            Self::Under(pattern)
            | Self::In(pattern)
            | Self::Leaf(pattern)
            | Self::Times { pattern, .. } => Some(pattern),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn composed_stages_are_what_their_text_says() {
        let name = "ns::f<int>(char const*)";
        for (stage, text) in [
            (Stage::through(name), r#"through "ns::f<int>(char const*)""#),
            (Stage::not_through(name), r#"not through "ns::f<int>(char const*)""#),
            (Stage::hide("a\"b"), r#"hide "a\"b""#),
            (Stage::group(&["f"], "my group"), r#"group "f" as "my group""#),
            (Stage::group(&["f", "g"], "G"), r#"group {"f", "g"} as G"#),
            (Stage::root_at("main"), r#"root at "main""#),
            (Stage::callers_of("f"), r#"callers of "f""#),
            (Stage::stop_at("main"), r#"stop at "main""#),
            (Stage::collapse("visit"), r#"collapse "visit""#),
        ] {
            assert_eq!(stage.to_string(), text);
            assert_eq!(parse(text).unwrap().stages, [stage]);
        }
    }
}
