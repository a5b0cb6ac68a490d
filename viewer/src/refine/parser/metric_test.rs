//! Tests on what rows cost.

use super::super::metric_test::{MetricTest, Quantity, Unit, Value, Whole};
use super::{ParseError, Parser};

impl Parser<'_> {
    /// `node[test]`, at the bracket.
    pub(super) fn bracketed_test(&mut self) -> Result<MetricTest, ParseError> {
        self.expect("[")?;
        let test = self.metric_test()?;
        self.expect("]")?;
        Ok(test)
    }

    /// `incl(time) < 0.5%`
    pub(super) fn metric_test(&mut self) -> Result<MetricTest, ParseError> {
        let quantity = self.quantity()?;
        let Some(comparison) = self.comparison_at(0) else {
            return Err(self.error("a comparison is expected here", &["< 0.5%"]));
        };
        self.at += 1;
        let start = self.at;
        let Some(mut value) = Value::read(self.keyword(0)) else {
            return Err(self.error("a number is expected here", &examples(quantity)));
        };
        self.at += 1;
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
            let message = format!("`{}` is compared with values such as", quantity.name());
            return Err(self.error_at(range, message, &examples(quantity)));
        }
        Ok(MetricTest { quantity, comparison, value })
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
        let names = Quantity::ALL.map(|(_, name)| name);
        Err(self.error("rows are tested by", &names))
    }
}

fn examples(quantity: Quantity) -> Vec<&'static str> {
    let all = [("3", Unit::One), ("0.5%", Unit::Percent(Whole::Base)), ("5ms", Unit::Milliseconds)];
    all.iter().filter(|(_, unit)| quantity.allows(*unit)).map(|&(text, _)| text).collect()
}
