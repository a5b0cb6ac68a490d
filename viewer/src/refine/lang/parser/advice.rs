//! Errors that say what was meant: a word that is none of the language, or stands where it means
//! nothing, and signs of other languages.

use super::state::{ParseError, Parser};
use crate::refine::lang::axis::Axis;
use crate::refine::lang::keywords::{beginnings, is_keyword, predicates};
use crate::refine::lang::lexer::{Token, TokenKind};
use crate::refine::pattern::nearest::nearest;

/// What other tools call it, or people.
const ELSEWHERE: [(&str, &str); 25] = [
    ("calls", "through"),
    ("filter", "through"),
    ("find", "through"),
    ("focus", "through"),
    ("keep", "through"),
    ("only", "through"),
    ("search", "through"),
    ("select", "through"),
    ("show", "through"),
    ("drop", "not"),
    ("exclude", "not"),
    ("ignore", "not"),
    ("without", "not"),
    ("below", "under"),
    ("callees", "under"),
    ("self", "leaf"),
    ("delete", "hide"),
    ("merge", "hide"),
    ("remove", "hide"),
    ("skip", "hide"),
    ("prune", "stop at"),
    ("truncate", "stop at"),
    ("zoom", "root at"),
    ("invert", "callers of"),
    ("flatten", "by"),
];

/// How predicates and stages are written that are more than a word and frames.
fn usage(word: &str) -> Option<&'static str> {
    if let Some(axis) = Axis::named(word) {
        return Some(axis.definition().usage);
    }
    Some(match word {
        "depth" => "`depth >= 3`",
        "times" => "`times(f) >= 3`",
        "node" => "`node[incl(time) > 5%]`",
        "small" => "`small incl(time) < 0.5%`",
        "callers" => "`callers of f`",
        _ => return None,
    })
}

/// A text with `|` in the place of `;`, which may be of a name, and what is said of it if that is
/// right.
pub(super) fn joined_by_semicolons(text: &str, tokens: &[Token]) -> Option<(String, ParseError)> {
    let words = tokens.iter().filter(|token| matches!(token.kind, TokenKind::Word { .. }));
    let signs = words.flat_map(|token| {
        let word = text.get(token.range.clone()).unwrap_or("");
        word.match_indices(';').map(|(at, _)| token.range.start + at)
    });
    let signs: Vec<_> = signs.collect();
    let first = *signs.first()?;
    let mut stages = Vec::new();
    let mut at = 0;
    for end in signs.into_iter().chain([text.len()]) {
        stages.push(text.get(at..end)?.trim());
        at = end + 1;
    }
    stages.retain(|stage| !stage.is_empty());
    let joined = stages.join(" | ");
    let error = ParseError {
        text: text.to_owned(),
        range: first..first + 1,
        message: format!("stages are joined by `|`: {joined}"),
        suggestions: Vec::new(),
    };
    (!joined.is_empty()).then_some((joined, error))
}

impl Parser<'_> {
    pub(crate) fn expect(&mut self, sign: &str) -> Result<(), ParseError> {
        if self.take_sign(sign) {
            return Ok(());
        }
        Err(match self.here() {
            None => self.error(format!("`{sign}` is missing here"), &[]),
            Some(_) => self.unexpected(&format!("`{sign}` is expected here")),
        })
    }

    /// Something follows the pattern of a stage.
    pub(crate) fn more_than_one_pattern(&self) -> ParseError {
        if let Some(advice) = self.two_stages() {
            return self.error(advice, &[]);
        }
        let joins = matches!(self.keyword(0), "and" | "or") || self.is_sign(0, ",");
        if joins || matches!(self.here(), Some(TokenKind::Word { .. })) {
            return self.error("`|` is expected here; several frames are written {a, b}", &[]);
        }
        self.unexpected("`|` is expected here")
    }

    /// Something follows that does not fit. If a bare word stands before it, that word was meant to
    /// be the name of a stage, or of a predicate.
    pub(crate) fn unexpected(&self, otherwise: &str) -> ParseError {
        if let Some(advice) = self.advice() {
            return self.error(advice, &[]);
        }
        let is_word = |at: usize| matches!(self.tokens[at].kind, TokenKind::Word { .. });
        let follows =
            self.at < self.tokens.len() && !matches!(self.here(), Some(TokenKind::Sign(_)));
        let Some(last) = self.at.checked_sub(1).filter(|&last| follows && is_word(last)) else {
            return self.error(otherwise, &[]);
        };
        let word = match &self.tokens[last].kind {
            TokenKind::Word { text, plain: true } if !is_keyword(text) => text,
            _ => return self.error(otherwise, &[]),
        };
        let Some(what) = self.begun_by(last) else { return self.error(otherwise, &[]) };
        let names: Vec<_> = match what {
            "stage" => beginnings().map(|(name, _)| name).collect(),
            _ => predicates().map(|(name, _)| name).collect(),
        };
        let elsewhere =
            ELSEWHERE.iter().find(|(theirs, ours)| theirs == word && names.contains(ours));
        let meant = match elsewhere {
            Some((_, ours)) => Some((*ours).to_owned()),
            None => nearest(word, names.iter().copied()).into_iter().next(),
        };
        let message = match meant {
            Some(meant) => format!("`{word}` is no {what}, `{meant}` is; {what}s are"),
            None => format!("`{word}` is no {what}; {what}s are"),
        };
        self.error_at(self.tokens[last].range.clone(), message, &names)
    }

    /// How two stages are joined, if one begins here behind another.
    fn two_stages(&self) -> Option<String> {
        let comma = usize::from(self.is_sign(0, ","));
        let next = self.tokens.get(self.at + comma)?;
        let word = self.keyword(comma);
        let stage = self.text.get(..self.tokens[self.at].range.start)?.trim_end();
        if !beginnings().any(|(name, _)| name.split(' ').next() == Some(word)) {
            return None;
        }
        let then = self.text.get(next.range.start..)?;
        Some(format!("stages are joined by `|`: {stage} | {then}"))
    }

    /// What a word in this place would begin: a stage, a predicate, or nothing.
    fn begun_by(&self, word: usize) -> Option<&'static str> {
        match word.checked_sub(1).map(|before| &self.tokens[before].kind) {
            None | Some(TokenKind::Sign("|")) => Some("stage"),
            Some(TokenKind::Sign("(")) => Some("predicate"),
            Some(TokenKind::Word { text, plain: true })
                if matches!(text.as_str(), "where" | "not" | "and" | "or") =>
            {
                Some("predicate")
            }
            _ => None,
        }
    }

    /// What is said of a sign or word where the grammar has no place for it.
    fn advice(&self) -> Option<String> {
        let is_alone = self.at.checked_sub(1).and_then(|last| self.begun_by(last)).is_some();
        let is_separated = self.is_sign(0, ",");
        if let Some(advice) = self.two_stages().filter(|_| !is_alone || is_separated) {
            return Some(advice);
        }
        match self.here()? {
            TokenKind::Sign(")") => return Some("there is no `(` before this `)`".to_owned()),
            TokenKind::Sign("}") => return Some("there is no `{` before this `}`".to_owned()),
            TokenKind::Sign(",") => {
                return Some("`,` stands between frames in braces: {a, b}".to_owned());
            }
            TokenKind::Word { text, .. } if text == "-" && self.is_sign(1, ">") => {
                return Some("a direct call is written `>`, one at any depth `>>`".to_owned());
            }
            _ => {}
        }
        let last = self.at.checked_sub(1)?;
        let TokenKind::Word { text: word, plain: true } = &self.tokens[last].kind else {
            return None;
        };
        let is_negated = last > 0 && self.tokens[last - 1].kind == TokenKind::Sign("!");
        if is_negated && beginnings().any(|(name, _)| name == word) {
            return Some(format!("`!` is for frames; predicates have `not`: not {word} …"));
        }
        self.begun_by(last)?;
        usage(word).map(|usage| format!("`{word}` is written {usage}"))
    }
}
