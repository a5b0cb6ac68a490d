//! The tokens of a text while they are read, and errors at them.

use std::fmt;
use std::ops::Range;

use crate::refine::lang::lexer::{self, Token, TokenKind};
use crate::refine::lang::sets::Sets;

/// Parentheses, `not`, `!` and braces inside each other at most.
const MAX_NESTING: usize = 40;

/// Why a text is no refinement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The text.
    pub text: String,
    /// The bytes that are wrong; empty at the place where something is missing.
    pub range: Range<usize>,
    /// What is wrong with them.
    pub message: String,
    /// What could stand there instead.
    pub suggestions: Vec<String>,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.text.get(..self.range.start).unwrap_or(&self.text).chars().count();
        let marked = self.text.get(self.range.clone()).unwrap_or("").chars().count().max(1);
        write!(f, "{}\n{}\n{}", self.text, marks(before, marked), self.message)?;
        if !self.suggestions.is_empty() {
            write!(f, ": {}", self.suggestions.join(", "))?;
        }
        Ok(())
    }
}

/// The line below a text that marks so many of its characters, behind so many.
pub(crate) fn marks(before: usize, marked: usize) -> String {
    // Not by widths of a format: those end at 65535.
    format!("{}{}", " ".repeat(before), "^".repeat(marked))
}

impl std::error::Error for ParseError {}

impl ParseError {
    /// Cause, suggestions and the wrong words in one line.
    pub(crate) fn in_one_line(&self) -> String {
        let mut line = self.message.clone();
        if !self.suggestions.is_empty() {
            line.push_str(&format!(": {}", self.suggestions.join(", ")));
        }
        match self.text.get(self.range.clone()).unwrap_or("").trim() {
            "" => line.push_str(", at the end"),
            wrong => line.push_str(&format!(", at `{wrong}`")),
        }
        line
    }

    pub(crate) fn of_lexer(text: &str, error: lexer::LexError) -> Self {
        let lexer::LexError { range, message } = error;
        let (text, message) = (text.to_owned(), message.to_owned());
        Self { text, range, message, suggestions: Vec::new() }
    }
}

/// What reads a text, and how far it has come.
pub(crate) struct Parser<'t> {
    pub(crate) text: &'t str,
    pub(crate) tokens: &'t [Token],
    pub(crate) sets: &'t Sets,
    pub(crate) at: usize,
    pub(crate) nesting: usize,
}

impl Parser<'_> {
    pub(crate) fn here(&self) -> Option<&TokenKind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    /// The keyword at a distance from here, or an empty text.
    pub(crate) fn keyword(&self, distance: usize) -> &str {
        match self.tokens.get(self.at + distance).map(|token| &token.kind) {
            Some(TokenKind::Word { text, plain: true }) => text,
            _ => "",
        }
    }

    pub(crate) fn is_sign(&self, distance: usize, sign: &str) -> bool {
        matches!(self.tokens.get(self.at + distance).map(|token| &token.kind),
            Some(TokenKind::Sign(here)) if *here == sign)
    }

    pub(crate) fn take_sign(&mut self, sign: &str) -> bool {
        let is_here = self.is_sign(0, sign);
        self.at += usize::from(is_here);
        is_here
    }

    pub(crate) fn take_keyword(&mut self, word: &str) -> bool {
        let is_here = self.keyword(0) == word;
        self.at += usize::from(is_here);
        is_here
    }

    /// An error at the present token, or at the end.
    pub(crate) fn error(&self, message: impl Into<String>, suggestions: &[&str]) -> ParseError {
        let end = self.text.trim_end().len();
        let range = self.tokens.get(self.at).map_or(end..end, |token| token.range.clone());
        match self.doubled_sign() {
            Some(advice) => self.error_at(range, advice, &[]),
            None => self.error_at(range, message, suggestions),
        }
    }

    pub(crate) fn error_at(
        &self,
        range: Range<usize>,
        message: impl Into<String>,
        suggestions: &[&str],
    ) -> ParseError {
        ParseError {
            text: self.text.to_owned(),
            range,
            message: message.into(),
            suggestions: suggestions.iter().map(|&text| text.to_owned()).collect(),
        }
    }

    pub(crate) fn expect_keyword(&mut self, word: &str) -> Result<(), ParseError> {
        if self.take_keyword(word) {
            return Ok(());
        }
        Err(self.error(format!("`{word}` is missing here"), &[]))
    }

    pub(crate) fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        if self.nesting == MAX_NESTING {
            return Err(self.error(format!("nested more than {MAX_NESTING} deep"), &[]));
        }
        self.nesting += 1;
        let result = inner(self);
        self.nesting -= 1;
        result
    }

    /// What is said of the second of two equal signs without a blank between them.
    pub(crate) fn doubled_sign(&self) -> Option<&'static str> {
        let before = &self.tokens.get(self.at.checked_sub(1)?)?;
        let here = self.tokens.get(self.at)?;
        if before.range.end != here.range.start || before.kind != here.kind {
            return None;
        }
        match here.kind {
            TokenKind::Sign("|") => Some("`|` means then; one predicate or another is `or`"),
            TokenKind::Sign("&") => {
                Some("`&` joins properties of one frame; predicates have `and`")
            }
            TokenKind::Sign("=") => Some("`=` alone says that two are equal"),
            _ => None,
        }
    }
}

/// The only element, or all of them together.
pub(crate) fn one_or<T>(mut elements: Vec<T>, together: fn(Vec<T>) -> T) -> T {
    match elements.pop() {
        Some(only) if elements.is_empty() => only,
        Some(last) => {
            elements.push(last);
            together(elements)
        }
        None => together(elements),
    }
}
