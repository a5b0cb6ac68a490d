//! From text to stages. Errors point at the bytes that are wrong and say what would be right.
//!
//! Recursive descent over the tokens. Nesting is limited, so no input can exhaust the stack.

mod advice;
mod frames;
mod metric_test;
mod predicates;

use std::fmt;
use std::ops::Range;

pub(super) use frames::property;

use super::lexer::{self, Token, TokenKind};
use super::sets::Sets;
use super::syntax::{Axis, Chain, FramePattern, Grain, Refinement, Stage};

/// Parentheses, `not`, `!` and braces inside each other at most.
const MAX_NESTING: usize = 40;

/// Words that begin a stage and what they do, in the order of help.
pub(super) const STAGES: [(&str, &str); 25] = [
    ("through", "paths through these frames: a > b directly, a >> b at any depth"),
    ("not", "paths that do not"),
    ("under", "what lies below a frame"),
    ("in", "samples in a frame's own and inlined code"),
    ("leaf", "paths that end in a frame"),
    ("depth", "paths of so many frames"),
    ("times", "paths with a frame so many times: times(f) >= 3"),
    ("rank", "samples of ranks: rank in 0..3"),
    ("process", "samples of processes: process in 0..3, process = solver*"),
    ("thread", "samples of threads: thread in 0..3, thread = worker*"),
    ("epoch", "samples of epochs: epoch in 1"),
    ("node[", "samples of rows that pass a test: node[incl(time) > 5%]"),
    ("hide", "delete frames, keep their cost"),
    ("stop at", "end paths at a frame"),
    ("cut", "delete a frame and all below it, keep the cost"),
    ("group", "show frames as one: group f as name"),
    ("root at", "begin paths at a frame"),
    ("collapse", "delete repeated occurrences of a function"),
    ("collapse-run", "delete direct recursion"),
    ("fold", "first to last occurrence become one"),
    ("by", "rows are functions, files, modules or lines: by module"),
    ("callers of", "callers upside down, from a frame to the root"),
    ("split", "a row for each rank, process, thread or epoch: split rank"),
    ("small", "rows that pass a test become one: small incl(time) < 0.5%"),
    ("where", "any of the predicates above"),
];

/// How many of them are predicates.
const PREDICATES: usize = 12;

/// Words with a meaning; a frame of such a name is written with `\` before it.
pub(super) const KEYWORDS: [&str; 31] = [
    "where",
    "through",
    "under",
    "in",
    "leaf",
    "depth",
    "times",
    "rank",
    "process",
    "thread",
    "epoch",
    "node",
    "hide",
    "stop",
    "at",
    "cut",
    "group",
    "as",
    "root",
    "last",
    "collapse",
    "collapse-run",
    "fold",
    "by",
    "callers",
    "of",
    "split",
    "small",
    "and",
    "or",
    "not",
];

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
        write!(f, "{}\n{:before$}{:^<marked$}\n{}", self.text, "", "", self.message)?;
        if !self.suggestions.is_empty() {
            write!(f, ": {}", self.suggestions.join(", "))?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseError {}

impl ParseError {
    /// Cause, suggestions and the wrong words in one line.
    pub(super) fn in_one_line(&self) -> String {
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

    fn of_lexer(text: &str, error: lexer::LexError) -> Self {
        let lexer::LexError { range, message } = error;
        let (text, message) = (text.to_owned(), message.to_owned());
        Self { text, range, message, suggestions: Vec::new() }
    }
}

/// Reads a refinement that names no sets but those that csprof ships; see [`Sets::parse`] for
/// others. Nothing, or white space only, is the refinement without stages.
///
/// # Errors
/// Points at the first bytes that cannot be understood.
pub fn parse(text: &str) -> Result<Refinement, ParseError> {
    refinement(text, &Sets::default())
}

/// Reads a refinement that may name these sets.
pub(super) fn refinement(text: &str, sets: &Sets) -> Result<Refinement, ParseError> {
    let tokens = lexer::tokens(text).map_err(|error| ParseError::of_lexer(text, error))?;
    let mut parser = Parser { text, tokens: &tokens, sets, at: 0, nesting: 0 };
    if tokens.is_empty() {
        return Ok(Refinement::default());
    }
    let mut stages = vec![parser.stage()?];
    while parser.at < tokens.len() {
        parser.expect("|")?;
        stages.push(parser.stage()?);
    }
    Ok(Refinement { stages })
}

/// Reads a chain without ends: the path of a table. Nothing is the empty path.
pub(super) fn path(text: &str, sets: &Sets) -> Result<Option<Chain>, ParseError> {
    let tokens = lexer::tokens(text).map_err(|error| ParseError::of_lexer(text, error))?;
    let mut parser = Parser { text, tokens: &tokens, sets, at: 0, nesting: 0 };
    if tokens.is_empty() {
        return Ok(None);
    }
    if parser.is_sign(0, "^") {
        return Err(parser.error("a path begins anywhere, so it has no ^", &[]));
    }
    let chain = parser.chain()?;
    if chain.to_leaf {
        parser.at -= 1;
        return Err(parser.error("a path ends anywhere, so it has no $", &[]));
    }
    match parser.here() {
        None => Ok(Some(chain)),
        Some(_) => Err(parser.error("`>` or `>>` is expected here", &[])),
    }
}

/// Reads one frame pattern, as presets are written.
pub(super) fn parse_pattern(text: &str) -> Result<FramePattern, ParseError> {
    pattern_at(text, 0, &Sets::default())
}

/// Reads the frame pattern that begins at a byte of a text and ends with it.
pub(super) fn pattern_at(text: &str, at: usize, sets: &Sets) -> Result<FramePattern, ParseError> {
    let mut tokens = lexer::tokens(&text[at..]).map_err(|mut error| {
        error.range = error.range.start + at..error.range.end + at;
        ParseError::of_lexer(text, error)
    })?;
    for token in &mut tokens {
        token.range = token.range.start + at..token.range.end + at;
    }
    let mut parser = Parser { text, tokens: &tokens, sets, at: 0, nesting: 0 };
    let pattern = parser.pattern()?;
    match parser.here() {
        None => Ok(pattern),
        Some(_) => Err(parser.error("nothing more is expected here", &[])),
    }
}

struct Parser<'t> {
    text: &'t str,
    tokens: &'t [Token],
    sets: &'t Sets,
    at: usize,
    nesting: usize,
}

impl Parser<'_> {
    fn here(&self) -> Option<&TokenKind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    /// The keyword at a distance from here, or an empty text.
    fn keyword(&self, distance: usize) -> &str {
        match self.tokens.get(self.at + distance).map(|token| &token.kind) {
            Some(TokenKind::Word { text, plain: true }) => text,
            _ => "",
        }
    }

    fn is_sign(&self, distance: usize, sign: &str) -> bool {
        matches!(self.tokens.get(self.at + distance).map(|token| &token.kind),
            Some(TokenKind::Sign(here)) if *here == sign)
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let is_here = self.is_sign(0, sign);
        self.at += usize::from(is_here);
        is_here
    }

    fn take_keyword(&mut self, word: &str) -> bool {
        let is_here = self.keyword(0) == word;
        self.at += usize::from(is_here);
        is_here
    }

    /// An error at the present token, or at the end.
    fn error(&self, message: impl Into<String>, suggestions: &[&str]) -> ParseError {
        let end = self.text.trim_end().len();
        let range = self.tokens.get(self.at).map_or(end..end, |token| token.range.clone());
        match self.doubled_sign() {
            Some(advice) => self.error_at(range, advice, &[]),
            None => self.error_at(range, message, suggestions),
        }
    }

    fn error_at(
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

    fn expect(&mut self, sign: &str) -> Result<(), ParseError> {
        if self.take_sign(sign) {
            return Ok(());
        }
        Err(match self.here() {
            None => self.error(format!("`{sign}` is missing here"), &[]),
            Some(_) => self.unexpected(&format!("`{sign}` is expected here")),
        })
    }

    fn expect_keyword(&mut self, word: &str) -> Result<(), ParseError> {
        if self.take_keyword(word) {
            return Ok(());
        }
        Err(self.error(format!("`{word}` is missing here"), &[]))
    }

    fn nested<T>(
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

    fn stage(&mut self) -> Result<Stage, ParseError> {
        match self.here() {
            Some(TokenKind::Sign("|")) => {
                return Err(self.error("a stage is missing before this `|`", &[]));
            }
            None => return Err(self.error("a stage is missing behind the last `|`", &[])),
            _ => {}
        }
        let stage = match (self.keyword(0), self.keyword(1)) {
            ("where", _) => {
                self.at += 1;
                Stage::Where(self.predicate()?)
            }
            ("hide", _) => Stage::Hide(self.after(1)?),
            ("cut", _) => Stage::Cut(self.after(1)?),
            ("collapse", _) => Stage::Collapse(self.after(1)?),
            ("collapse-run", _) => Stage::CollapseRun(self.after(1)?),
            ("fold", _) => Stage::Fold(self.after(1)?),
            ("stop", "at") => Stage::StopAt(self.after(2)?),
            ("root", "at") => {
                self.at += 2;
                let last = self.take_keyword("last");
                Stage::RootAt { pattern: self.pattern()?, last }
            }
            ("by", word) if !word.is_empty() => {
                // What it was called before.
                let word = if word == "func" { "function" } else { word };
                let found = Grain::ALL.iter().find(|(_, name)| *name == word);
                self.at += 1;
                let Some(&(grain, _)) = found else {
                    let names: Vec<_> = Grain::ALL.iter().map(|&(_, name)| name).collect();
                    return Err(self.error("rows can be by", &names));
                };
                self.at += 1;
                Stage::By(grain)
            }
            ("group", _) => {
                let pattern = self.after(1)?;
                self.expect_keyword("as")?;
                Stage::Group { pattern, name: self.name()? }
            }
            ("callers", "of") => Stage::CallersOf(self.after(2)?),
            ("split", word) if !matches!(word, "" | "and" | "or") => {
                let found = Axis::ALL.iter().find(|(_, name)| *name == word);
                self.at += 1;
                let Some(&(axis, _)) = found else {
                    let names: Vec<_> = Axis::ALL.iter().map(|&(_, name)| name).collect();
                    return Err(self.error("samples can be split by", &names));
                };
                self.at += 1;
                Stage::Split(axis)
            }
            ("small", word) if !matches!(word, "" | "and" | "or") => {
                self.at += 1;
                Stage::Small(self.metric_test()?)
            }
            ("stop" | "root", _) => {
                self.at += 1;
                return Err(self.error("`at` is missing here", &[]));
            }
            _ => Stage::Where(self.predicate()?),
        };
        match self.here() {
            None | Some(TokenKind::Sign("|")) => Ok(stage),
            _ if stage.pattern().is_some() && !matches!(stage, Stage::Where(_)) => {
                Err(self.more_than_one_pattern())
            }
            _ => Err(self.unexpected(match stage {
                Stage::Where(_) => "`|`, `and` or `or` is expected here",
                _ => "`|` is expected here",
            })),
        }
    }

    /// The pattern behind so many keywords.
    fn after(&mut self, keywords: usize) -> Result<FramePattern, ParseError> {
        self.at += keywords;
        self.pattern()
    }

    /// What a group is called.
    fn name(&mut self) -> Result<String, ParseError> {
        let name = match self.here() {
            Some(TokenKind::Word { text, .. } | TokenKind::Quoted(text)) if !text.is_empty() => {
                text.clone()
            }
            _ => return Err(self.error("the name of the group is missing here", &[])),
        };
        self.at += 1;
        Ok(name)
    }
}

/// The only element, or all of them together.
fn one_or<T>(mut elements: Vec<T>, together: fn(Vec<T>) -> T) -> T {
    match elements.pop() {
        Some(only) if elements.is_empty() => only,
        Some(last) => {
            elements.push(last);
            together(elements)
        }
        None => together(elements),
    }
}
