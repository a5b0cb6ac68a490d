//! From text to stages. Errors point at the bytes that are wrong and say what would be right.
//!
//! Recursive descent over the tokens. Nesting is limited, so no input can exhaust the stack.

mod advice;
mod frames;
mod metric_test;
mod predicates;
pub(crate) mod state;

use self::state::{ParseError, Parser};
use super::axis::Axis;
use super::lexer::{self, TokenKind};
use super::period::Period;
use super::preset::Preset;
use super::sets::{RefinementLookup, Sets};
use super::stage::{Refinement, STAGES, Stage, StageEntry, StageForm};
use super::syntax::{Chain, FramePattern, Grain};

/// Reads a refinement that names no sets but those that csprof ships; see [`Sets::parse`] for
/// others. Nothing, or white space only, is the refinement without stages.
///
/// # Errors
/// Points at the first bytes that cannot be understood.
pub fn parse(text: &str) -> Result<Refinement, ParseError> {
    refinement(text, &Sets::default())
}

/// Reads a refinement that may name these sets.
pub(crate) fn refinement(text: &str, sets: &Sets) -> Result<Refinement, ParseError> {
    refinement_up_to(text, sets, usize::MAX)
}

/// The same of so many stages at most.
pub(crate) fn refinement_up_to(
    text: &str,
    sets: &Sets,
    most: usize,
) -> Result<Refinement, ParseError> {
    let tokens = lexer::tokens(text).map_err(|error| ParseError::of_lexer(text, error))?;
    let mut parser = Parser { text, tokens: &tokens, sets, at: 0, nesting: 0 };
    match parser.all_stages(most) {
        Err(error) => Err(match advice::joined_by_semicolons(text, &tokens) {
            Some((joined, advice)) if refinement_up_to(&joined, sets, most).is_ok() => advice,
            _ => error,
        }),
        stages => Ok(Refinement { stages: stages? }),
    }
}

/// Reads a chain without ends: the path of a table. Nothing is the empty path.
pub(crate) fn path(text: &str, sets: &Sets) -> Result<Option<Chain>, ParseError> {
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

/// The frames that a set of csprof stands for.
pub(crate) fn shipped(preset: Preset) -> FramePattern {
    // A test parses all definitions, so none is empty.
    parse_pattern(preset.definition()).unwrap_or_else(|_| FramePattern::Any(Vec::new()))
}

/// Reads one frame pattern, as presets are written.
pub(crate) fn parse_pattern(text: &str) -> Result<FramePattern, ParseError> {
    pattern_at(text, 0, &Sets::default())
}

/// Reads the frame pattern that begins at a byte of a text and ends with it.
pub(crate) fn pattern_at(text: &str, at: usize, sets: &Sets) -> Result<FramePattern, ParseError> {
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

impl Parser<'_> {
    /// The stages of a whole text, or of none.
    fn all_stages(&mut self, most: usize) -> Result<Vec<Stage>, ParseError> {
        let mut stages = Vec::new();
        while self.at < self.tokens.len() {
            if self.at > 0 {
                self.expect("|")?;
            }
            let at = self.at;
            stages.extend(self.stages()?);
            if stages.len() > most {
                self.at = at;
                return Err(self.error(format!("these are more than {most} stages"), &[]));
            }
        }
        Ok(stages)
    }

    /// A stage, or those of a refinement that was saved under a name.
    fn stages(&mut self) -> Result<Vec<Stage>, ParseError> {
        let is_alone = self.at + 1 == self.tokens.len() || self.is_sign(1, "|");
        let name = self.keyword(0).strip_prefix('@').filter(|_| is_alone);
        let stages = match name.map(|name| self.sets.refinement(name)) {
            Some(RefinementLookup::Saved(stages)) => stages.to_vec(),
            Some(RefinementLookup::Broken(problem)) => {
                let message = format!("this refinement cannot be used: {problem}");
                return Err(self.error(message, &[]));
            }
            Some(RefinementLookup::Unknown) | None => return Ok(vec![self.stage()?]),
        };
        self.at += 1;
        Ok(stages)
    }

    fn stage(&mut self) -> Result<Stage, ParseError> {
        match self.here() {
            Some(TokenKind::Sign("|")) => {
                return Err(self.error("a stage is missing before this `|`", &[]));
            }
            None => return Err(self.error("a stage is missing behind the last `|`", &[])),
            _ => {}
        }
        let stage = match STAGES.iter().find(|stage| self.begins(stage)) {
            Some(stage) => {
                self.at += stage.words.split(' ').count();
                self.behind(stage.form)?
            }
            None if self.take_keyword("where") => Stage::Where(self.predicate()?),
            // A function may be called `callers`.
            None if self.lacks("at") => {
                self.at += 1;
                return Err(self.error("`at` is missing here", &[]));
            }
            None => Stage::Where(self.predicate()?),
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

    /// Whether the words of a stage stand here. Where what must follow them does not follow, they
    /// are the name of a function.
    fn begins(&self, stage: &StageEntry) -> bool {
        let mut words = stage.words.split(' ').enumerate();
        let next = self.keyword(stage.words.split(' ').count());
        words.all(|(distance, word)| self.keyword(distance) == word)
            && match stage.form {
                StageForm::Frames(_) | StageForm::Place(_) | StageForm::Named(_) => true,
                StageForm::Grain(_) => !next.is_empty(),
                StageForm::Axis(_) | StageForm::Test(_) | StageForm::Period(_) => {
                    !matches!(next, "" | "and" | "or")
                }
            }
    }

    /// Whether the first word of a stage stands here whose second is this one.
    fn lacks(&self, second: &str) -> bool {
        let mut words = STAGES.iter().filter_map(|stage| stage.words.split_once(' '));
        words.any(|words| words == (self.keyword(0), second))
    }

    /// What stands behind the words of a stage.
    fn behind(&mut self, form: StageForm) -> Result<Stage, ParseError> {
        Ok(match form {
            StageForm::Frames(stage) => stage(self.pattern()?),
            StageForm::Place(stage) => {
                let last = self.take_keyword("last");
                stage(self.pattern()?, last)
            }
            StageForm::Named(stage) => {
                let pattern = self.pattern()?;
                self.expect_keyword("as")?;
                stage(pattern, self.name()?)
            }
            StageForm::Grain(stage) => {
                // What it was called before.
                let word = if self.keyword(0) == "func" { "function" } else { self.keyword(0) };
                let word = word.to_owned();
                stage(self.one_of(&word, &Grain::ALL, "rows can be by")?)
            }
            StageForm::Axis(stage) => {
                let word = self.keyword(0).to_owned();
                stage(self.one_of(&word, &Axis::ALL, "samples can be split by")?)
            }
            StageForm::Period(stage) => {
                let Some(period) = Period::read(self.keyword(0)) else {
                    let known = ["2.5s..4s", "..10s", "90%.."];
                    return Err(self.error("a part of the run is expected here, FROM..TO in s, ms, us, ns or %, FROM before TO", &known));
                };
                self.at += 1;
                stage(period)
            }
            StageForm::Test(stage) => stage(self.metric_test()?),
        })
    }

    /// The value of this name, which stands here.
    fn one_of<T: Copy>(
        &mut self,
        name: &str,
        known: &[(T, &'static str)],
        message: &str,
    ) -> Result<T, ParseError> {
        let Some(&(value, _)) = known.iter().find(|(_, known)| *known == name) else {
            let names: Vec<_> = known.iter().map(|&(_, known)| known).collect();
            return Err(self.error(message, &names));
        };
        self.at += 1;
        Ok(value)
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
