//! Tests on what rows cost.

use super::state::{ParseError, Parser};
use crate::refine::lang::comparison::Comparison;
use crate::refine::lang::lexer::TokenKind;
use crate::refine::lang::metric_test::{Metric, MetricTest, Quantity, Sides, Unit, Value, Whole};

impl Parser<'_> {
    /// `node[test]`, at the bracket.
    pub(crate) fn bracketed_test(&mut self) -> Result<MetricTest, ParseError> {
        self.expect("[")?;
        let test = self.metric_test()?;
        self.expect("]")?;
        Ok(test)
    }

    /// `incl(time) < 0.5%`, `delta incl(time) > 20ms`
    pub(crate) fn metric_test(&mut self) -> Result<MetricTest, ParseError> {
        let side = Sides::NAMED.iter().find(|(_, name)| *name == self.keyword(0));
        let of = side.map_or(Sides::Both, |&(of, _)| of);
        self.at += usize::from(side.is_some());
        let measured = self.at;
        let quantity = self.quantity()?;
        if of == Sides::Delta && !quantity.has_delta() {
            self.at = measured;
            let known = Quantity::ALL.into_iter().filter(|(quantity, _)| quantity.has_delta());
            let names: Vec<_> = known.map(|(_, name)| name).collect();
            return Err(self.error("there are differences of", &names));
        }
        let Some(comparison) = self.comparison_at(0) else {
            return Err(self.error("a comparison is expected here", &["< 0.5%"]));
        };
        self.at += 1;
        let start = self.at;
        let mut value = self.value(of).ok_or_else(|| match self.keyword(0).strip_prefix('-') {
            Some(number) if Value::read(number).is_some() => {
                self.error("only a difference can be below zero: delta incl(time) < -5%", &[])
            }
            _ => self.error("a number is expected here", &examples(&quantity)),
        })?;
        if value.unit == Unit::Percent(Whole::Base) && self.take_keyword("of") {
            let whole = match self.keyword(0) {
                "base" => Whole::Base,
                "view" => Whole::View,
                _ => return Err(self.error("percentages can be of", &["base", "view"])),
            };
            self.at += 1;
            value.unit = Unit::Percent(whole);
        }
        if !quantity.allows(value.unit) {
            let range = self.tokens[start].range.clone();
            let message = format!("`{quantity}` is compared with values such as");
            return Err(self.error_at(range, message, &examples(&quantity)));
        }
        Ok(MetricTest { of, quantity, comparison, value })
    }

    pub(crate) fn comparison_at(&self, distance: usize) -> Option<Comparison> {
        match self.tokens.get(self.at + distance).map(|token| &token.kind) {
            Some(TokenKind::Sign(here)) => {
                Comparison::ALL.iter().find(|(_, sign)| sign == here).map(|&(found, _)| found)
            }
            _ => None,
        }
    }

    /// A number and its unit, with or without a blank between them.
    fn value(&mut self, of: Sides) -> Option<Value> {
        let word = self.keyword(0);
        let number = word.strip_prefix('-').filter(|_| of == Sides::Delta);
        let mut value = Value::read(number.unwrap_or(word))?;
        let mut words = 1;
        if value.unit == Unit::One
            && let Some(&(unit, _)) =
                Unit::ALL.iter().find(|(_, name)| !name.is_empty() && *name == self.keyword(1))
        {
            value.unit = unit;
            words = 2;
        }
        value.negative = number.is_some() && value.digits > 0;
        self.at += words;
        Some(value)
    }

    fn quantity(&mut self) -> Result<Quantity, ParseError> {
        // As columns are headed, too.
        let short = match self.keyword(0) {
            "time/edge" => Some(Quantity::CostPerEdge),
            "samples/edge" => Some(Quantity::SamplesPerEdge),
            _ => None,
        };
        if let Some(quantity) = short {
            self.at += 1;
            return Ok(quantity);
        }
        for (quantity, name) in Quantity::ALL {
            // A name is words, and signs, one token each.
            let mut at = 0;
            let spaced = name.replace('(', " ( ").replace(')', " )");
            let is_here = spaced.split_whitespace().all(|part| {
                at += 1;
                self.keyword(at - 1) == part || self.is_sign(at - 1, part)
            });
            if is_here {
                self.at += at;
                return Ok(quantity);
            }
        }
        let of_source = match self.keyword(0) {
            "incl" => Some(Quantity::Inclusive as fn(Metric) -> Quantity),
            "excl" => Some(Quantity::Exclusive as fn(Metric) -> Quantity),
            _ => None,
        };
        if let Some(of_source) = of_source
            && self.is_sign(1, "(")
            && !self.keyword(2).is_empty()
            && self.is_sign(3, ")")
        {
            let source = self.keyword(2).to_owned();
            self.at += 4;
            return Ok(of_source(Metric::Source(source)));
        }
        let names = Quantity::ALL.map(|(_, name)| name);
        Err(self.error("rows are tested by", &names))
    }
}

fn examples(quantity: &Quantity) -> Vec<&'static str> {
    let examples = [
        ("3", Unit::One),
        ("0.5%", Unit::Percent(Whole::Base)),
        ("5ms", Unit::Milliseconds),
        ("1MiB", Unit::Mebibytes),
    ];
    examples.iter().filter(|(_, unit)| quantity.allows(*unit)).map(|&(text, _)| text).collect()
}
