//! Frame patterns and the chains they form.

use std::sync::Arc;

use super::state::{ParseError, Parser, one_or};
use crate::refine::lang::lexer::{TokenKind, property};
use crate::refine::lang::sets::{RefinementLookup, SetLookup};
use crate::refine::lang::syntax::{Chain, Field, FramePattern, Link, kind_words};
use crate::refine::pattern::glob::{self, Glob};
use crate::refine::pattern::nearest::nearest;

/// Sets that are named in a message at most.
const MOST_SETS: usize = 24;

/// Refinements that are, too.
const MOST_REFINEMENTS: usize = 5;

/// Sets whose name is compared with one that does not exist.
const MOST_COMPARED: usize = 1000;

impl Parser<'_> {
    /// The pattern behind so many keywords.
    pub(crate) fn after(&mut self, keywords: usize) -> Result<FramePattern, ParseError> {
        self.at += keywords;
        self.pattern()
    }

    pub(crate) fn chain(&mut self) -> Result<Chain, ParseError> {
        let start = self.at;
        let from_root = self.take_sign("^");
        let first = self.pattern()?;
        let mut rest = Vec::new();
        loop {
            let link = if self.take_sign(">") {
                Link::Direct
            } else if self.take_sign(">>") {
                Link::Below
            } else {
                break;
            };
            rest.push((link, self.pattern()?));
        }
        let to_leaf = self.take_sign("$");
        let chain = Chain { from_root, first, rest, to_leaf };
        if chain.length() > Chain::MAX_LENGTH {
            let range = self.tokens[start].range.start..self.tokens[self.at - 1].range.end;
            let message = format!("a chain can have {} frames at most", Chain::MAX_LENGTH);
            return Err(self.error_at(range, message, &[]));
        }
        Ok(chain)
    }

    pub(crate) fn pattern(&mut self) -> Result<FramePattern, ParseError> {
        let mut patterns = vec![self.single()?];
        while self.take_sign("&") {
            patterns.push(self.single()?);
        }
        Ok(one_or(patterns, FramePattern::All))
    }

    fn single(&mut self) -> Result<FramePattern, ParseError> {
        if self.take_sign("!") {
            return self.nested(|parser| Ok(FramePattern::Not(Box::new(parser.single()?))));
        }
        if self.take_sign("{") {
            return self.nested(|parser| {
                let mut any = vec![parser.pattern()?];
                while parser.take_sign(",") {
                    any.push(parser.pattern()?);
                }
                parser.expect("}")?;
                Ok(FramePattern::Any(any))
            });
        }
        let pattern = match self.here() {
            Some(TokenKind::Quoted(name)) => FramePattern::Exact(name.clone()),
            Some(TokenKind::Regex(source)) => {
                if let Err(error) = glob::regex(source) {
                    return Err(self.error(error, &[]));
                }
                FramePattern::Regex(source.clone())
            }
            Some(TokenKind::Word { text, plain: true }) => self.word_pattern(text)?,
            Some(TokenKind::Word { text, plain: false }) => FramePattern::Glob(text.clone()),
            Some(TokenKind::Sign(sign)) => {
                return Err(self.error(format!("a frame is expected before `{sign}`"), &[]));
            }
            None => return Err(self.error("a frame is missing here", &[])),
        };
        self.at += 1;
        Ok(pattern)
    }

    /// `@set`, `field:glob` or a glob.
    fn word_pattern(&self, word: &str) -> Result<FramePattern, ParseError> {
        if let Some(name) = word.strip_prefix('@') {
            return match self.sets.find(name) {
                SetLookup::Shipped(preset) => Ok(FramePattern::Preset(preset)),
                SetLookup::Named(set) => Ok(FramePattern::Named(Arc::clone(set))),
                SetLookup::Broken(problem) => {
                    Err(self.error(format!("this set cannot be used: {problem}"), &[]))
                }
                SetLookup::Unknown
                    if !matches!(self.sets.refinement(name), RefinementLookup::Unknown) =>
                {
                    let message = format!("@{name} is a refinement: it stands alone between `|`");
                    Err(self.error(message, &[]))
                }
                SetLookup::Unknown => {
                    let saved = self.sets.refinements().iter().map(|saved| &*saved.name);
                    let compared = self.sets.names().chain(saved).take(MOST_COMPARED);
                    let meant = nearest(name, compared).into_iter().next();
                    // Fewer letters are like anything.
                    let meant = meant.filter(|_| name.chars().count() >= 3);
                    let is_saved =
                        |name: &str| self.sets.refinements().iter().any(|saved| saved.name == name);
                    if let Some(meant) = meant.as_deref().filter(|meant| is_saved(meant)) {
                        let message = format!("there is no such set, but a refinement @{meant}");
                        return Err(self.error(message, &[]));
                    }
                    let mut names: Vec<_> = self
                        .sets
                        .names()
                        .take(MOST_SETS)
                        .map(|known| format!("@{known}"))
                        .collect();
                    if self.sets.names().nth(MOST_SETS).is_some() {
                        names.push("…".to_owned());
                    }
                    let names: Vec<_> = names.iter().map(String::as_str).collect();
                    let mut saved: Vec<_> = { self.sets.refinements().iter() }
                        .take(MOST_REFINEMENTS)
                        .map(|saved| format!("@{}", saved.name))
                        .collect();
                    if self.sets.refinements().len() > MOST_REFINEMENTS {
                        saved.push("…".to_owned());
                    }
                    let saved = saved.join(", ");
                    let message = match meant {
                        None if !saved.is_empty() => {
                            format!("there is no such set, nor a refinement ({saved}); sets are")
                        }
                        Some(meant) => format!("there is no such set, but @{meant} is; sets are"),
                        None => "there is no such set; sets are".to_owned(),
                    };
                    Err(self.error(message, &names))
                }
            };
        }
        if let Some((name, glob)) = property(word) {
            // What it was called before.
            let name = if name == "fn" { "function" } else { name };
            let Some(&(field, _)) = Field::ALL.iter().find(|(_, known)| *known == name) else {
                let names: Vec<_> = Field::ALL.iter().map(|&(_, known)| known).collect();
                return Err(self.error(format!("frames have no property `{name}`, only"), &names));
            };
            if glob.is_empty() {
                return Err(self.error("a glob is missing after the colon", &[]));
            }
            if field == Field::Kind {
                self.check_kind(glob)?;
            }
            return Ok(FramePattern::Field(field, glob.to_owned()));
        }
        Ok(FramePattern::Glob(word.to_owned()))
    }

    /// Refuses a kind that no profile has.
    fn check_kind(&self, glob: &str) -> Result<(), ParseError> {
        let wanted = Glob::new(glob);
        let words = kind_words();
        if words.iter().any(|word| wanted.matches(word)) {
            return Ok(());
        }
        Err(self.error("there is no such kind of frame; kinds are", &words))
    }
}
