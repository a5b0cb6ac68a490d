//! Predicates on call paths.

use super::state::{ParseError, Parser, one_or};
use crate::refine::lang::axis::Axis;
use crate::refine::lang::comparison::Comparison;
use crate::refine::lang::lexer::TokenKind;
use crate::refine::lang::syntax::Predicate;

impl Parser<'_> {
    pub(crate) fn predicate(&mut self) -> Result<Predicate, ParseError> {
        self.nested(|parser| {
            let mut any = vec![parser.conjunction()?];
            while parser.take_keyword("or") {
                any.push(parser.conjunction()?);
            }
            Ok(one_or(any, Predicate::Or))
        })
    }

    fn conjunction(&mut self) -> Result<Predicate, ParseError> {
        let mut predicates = vec![self.negation()?];
        while self.take_keyword("and") {
            predicates.push(self.negation()?);
        }
        Ok(one_or(predicates, Predicate::And))
    }

    fn negation(&mut self) -> Result<Predicate, ParseError> {
        if self.take_keyword("not") {
            return self.nested(|parser| Ok(Predicate::Not(Box::new(parser.negation()?))));
        }
        if self.take_sign("(") {
            let inside = self.predicate()?;
            self.expect(")")?;
            return Ok(inside);
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Predicate, ParseError> {
        // A keyword begins an atom only if what must follow it does follow: functions may be
        // called `in`, `leaf` or `rank`.
        let word = self.keyword(0);
        if let Some(axis) = Axis::named(word)
            && (self.keyword(1) == "in" || self.is_sign(1, "="))
        {
            return self.context(axis);
        }
        match word {
            "through" => {
                self.at += 1;
                Ok(Predicate::Through(self.chain()?))
            }
            "under" => Ok(Predicate::Under(self.after(1)?)),
            "in" => Ok(Predicate::In(self.after(1)?)),
            "leaf" => Ok(Predicate::Leaf(self.after(1)?)),
            "depth" if self.comparison_at(1).is_some() => {
                self.at += 1;
                let (comparison, count) = self.comparison()?;
                Ok(Predicate::Depth { comparison, count })
            }
            "times" if self.is_sign(1, "(") => {
                self.at += 2;
                let pattern = self.pattern()?;
                self.expect(")")?;
                let (comparison, count) = self.comparison()?;
                Ok(Predicate::Times { pattern, comparison, count })
            }
            "node" if self.is_sign(1, "[") => {
                self.at += 1;
                Ok(Predicate::Node(self.bracketed_test()?))
            }
            "and" | "or" | "as" | "at" => {
                Err(self.error(format!("a stage or a frame is expected before `{word}`"), &[]))
            }
            "" if matches!(self.here(), None | Some(TokenKind::Sign("|" | ")"))) => {
                Err(self.error("a predicate is missing here, such as `through f`", &[]))
            }
            // Without a keyword: the chain itself.
            _ => Ok(Predicate::Through(self.chain()?)),
        }
    }

    fn context(&mut self, axis: Axis) -> Result<Predicate, ParseError> {
        self.at += 1;
        if self.take_sign("=") {
            let Some(TokenKind::Word { text: glob, .. }) = self.here() else {
                return Err(self.error("a name or number is missing here", &[]));
            };
            let glob = glob.clone();
            self.at += 1;
            return Ok(Predicate::Named { axis, glob });
        }
        self.at += 1;
        let mut ranges = vec![self.range()?];
        while self.take_sign(",") {
            ranges.push(self.range()?);
        }
        Ok(Predicate::Numbered { axis, ranges })
    }

    /// `3`, `0..3`, `4..`, `..3`; both ends included.
    fn range(&mut self) -> Result<(u32, u32), ParseError> {
        let wrong = |parser: &Self| parser.error("a number or range is expected here", &["0..3"]);
        let word = self.keyword(0);
        let (first, last) = word.split_once("..").unwrap_or((word, word));
        if first.is_empty() && last.is_empty() {
            return Err(wrong(self));
        }
        let first = if first.is_empty() { Ok(0) } else { first.parse() };
        let last = if last.is_empty() { Ok(u32::MAX) } else { last.parse() };
        match (first, last) {
            (Ok(first), Ok(last)) if first <= last => {
                self.at += 1;
                Ok((first, last))
            }
            (Ok(_), Ok(_)) => Err(self.error("this range ends before it begins", &[])),
            _ => Err(wrong(self)),
        }
    }

    fn comparison(&mut self) -> Result<(Comparison, u32), ParseError> {
        let Some(comparison) = self.comparison_at(0) else {
            return Err(self.error("a comparison is expected here", &[">= 3"]));
        };
        self.at += 1;
        match self.keyword(0).parse() {
            Ok(count) => {
                self.at += 1;
                Ok((comparison, count))
            }
            Err(_) => Err(self.error("a number is expected here", &[])),
        }
    }
}
