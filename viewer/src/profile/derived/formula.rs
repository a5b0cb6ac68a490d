//! Formulas over metrics: numbers, names, `+ - * /` and parentheses.
//!
//! A formula is kept as its steps in the order in which they are done, so that neither reading it
//! back nor computing it needs recursion.

use core::fmt;

/// Characters of a formula at most, which bounds how deep it nests.
pub const MOST_CHARACTERS: usize = 1000;

/// What is done, one after the other, on a stack of values.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<T> {
    /// Puts a number on the stack.
    Number(f64),
    /// Puts what a row has of something on the stack.
    Term(T),
    /// Takes two values from the stack and puts one on it.
    Two(Operation),
    /// Changes the sign of the last value.
    Negated,
}

/// What is made of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Their sum.
    Add,
    /// The first less the second.
    Subtract,
    /// Their product.
    Multiply,
    /// The first by the second.
    Divide,
}

/// Which cost of a row a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// That which the column is about.
    Column,
    /// Inclusive cost: `incl(NAME)`.
    Inclusive,
    /// Exclusive cost: `excl(NAME)`.
    Exclusive,
}

/// A name in a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The metric, or `edges`.
    pub name: String,
    /// Whether it was written in quotes: then it is a metric, whatever it is called.
    pub is_quoted: bool,
    /// Which cost is meant.
    pub of: Of,
    /// Its place in the text, in characters from 0.
    pub at: usize,
}

/// A formula as it was written, the names in which stand for nothing yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// The text, in which names have their places.
    pub text: String,
    /// What is done.
    pub steps: Vec<Step<Name>>,
    /// Whether the value is shown in percent.
    pub is_percent: bool,
}

/// Why a text is no formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place, in characters from 0.
    pub at: usize,
    /// What is wrong there.
    pub cause: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.at + 1, self.cause)
    }
}

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let characters: Vec<char> = text.chars().collect();
        if characters.len() > MOST_CHARACTERS {
            let cause = format!("a formula has {MOST_CHARACTERS} characters at most");
            return Err(Problem { at: MOST_CHARACTERS, cause });
        }
        let mut reader = Reader { text: &characters, at: 0, steps: Vec::new() };
        reader.sum()?;
        let is_percent = reader.percent()?;
        reader.space();
        match reader.next() {
            None => {}
            Some(')') => return Err(reader.wrong("there is no `(` for this `)`")),
            Some(_) => return Err(reader.wrong(EXPECTED_OPERATOR)),
        }
        Ok(Self { text: text.to_owned(), steps: reader.steps, is_percent })
    }
}

const EXPECTED_OPERATOR: &str = "expected one of + - * / or the end";
const EXPECTED_VALUE: &str = "expected a number, a metric, `edges` or `(`";

struct Reader<'t> {
    text: &'t [char],
    at: usize,
    steps: Vec<Step<Name>>,
}

impl Reader<'_> {
    fn next(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while self.next().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn wrong(&self, cause: &str) -> Problem {
        Problem { at: self.at, cause: cause.to_owned() }
    }

    /// Takes this character, if it comes next.
    fn takes(&mut self, wanted: char) -> bool {
        self.space();
        let is_next = self.next() == Some(wanted);
        self.at += usize::from(is_next);
        is_next
    }

    fn sum(&mut self) -> Result<(), Problem> {
        self.product()?;
        loop {
            let operation = if self.takes('+') {
                Operation::Add
            } else if self.takes('-') || self.takes('−') {
                Operation::Subtract
            } else {
                return Ok(());
            };
            self.product()?;
            self.steps.push(Step::Two(operation));
        }
    }

    fn product(&mut self) -> Result<(), Problem> {
        self.value()?;
        loop {
            let operation = if self.takes('*') || self.takes('×') {
                Operation::Multiply
            } else if self.takes('/') {
                Operation::Divide
            } else {
                return Ok(());
            };
            self.value()?;
            self.steps.push(Step::Two(operation));
        }
    }

    fn value(&mut self) -> Result<(), Problem> {
        if self.takes('-') || self.takes('−') {
            self.value()?;
            self.steps.push(Step::Negated);
            return Ok(());
        }
        if self.takes('(') {
            let opened = self.at - 1;
            self.sum()?;
            return self.closed(opened);
        }
        match self.next() {
            Some(next) if next.is_ascii_digit() || next == '.' => self.number(),
            Some(next) if begins_name(next) || is_quote(next) => self.named(),
            _ => Err(self.wrong(EXPECTED_VALUE)),
        }
    }

    /// The `)` of a `(`.
    fn closed(&mut self, opened: usize) -> Result<(), Problem> {
        match (self.takes(')'), self.next()) {
            (true, _) => Ok(()),
            (false, None) => {
                Err(Problem { at: opened, cause: "there is no `)` for this `(`".to_owned() })
            }
            (false, Some(_)) => Err(self.wrong("expected one of + - * / or `)`")),
        }
    }

    fn number(&mut self) -> Result<(), Problem> {
        let start = self.at;
        let digits = |reader: &mut Self| {
            while reader.next().is_some_and(|next| next.is_ascii_digit() || next == '.') {
                reader.at += 1;
            }
        };
        digits(self);
        if matches!(self.next(), Some('e' | 'E')) {
            let is_signed = matches!(self.text.get(self.at + 1), Some('+' | '-'));
            let first = self.at + 1 + usize::from(is_signed);
            if self.text.get(first).is_some_and(char::is_ascii_digit) {
                self.at = first;
                digits(self);
            }
        }
        let text: String = self.text[start..self.at].iter().collect();
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => {
                self.steps.push(Step::Number(number));
                Ok(())
            }
            _ => Err(Problem { at: start, cause: format!("`{text}` is no number") }),
        }
    }

    /// A name, or `incl(NAME)` or `excl(NAME)`.
    fn named(&mut self) -> Result<(), Problem> {
        let mut name = self.name()?;
        let of = match name.name.as_str() {
            "incl" => Of::Inclusive,
            "excl" => Of::Exclusive,
            _ => Of::Column,
        };
        if self.takes('(') {
            let opened = self.at - 1;
            if name.is_quoted || of == Of::Column {
                let cause = format!("there is no function `{}`; there are incl, excl", name.name);
                return Err(Problem { at: name.at, cause });
            }
            self.space();
            match self.next() {
                Some(next) if begins_name(next) || is_quote(next) => {}
                _ => return Err(self.wrong("expected a metric")),
            }
            name = Name { of, ..self.name()? };
            self.closed(opened)?;
        }
        self.steps.push(Step::Term(name));
        Ok(())
    }

    fn name(&mut self) -> Result<Name, Problem> {
        let at = self.at;
        let quote = self.next().filter(|&next| is_quote(next));
        if let Some(quote) = quote {
            let rest = &self.text[at + 1..];
            let Some(length) = rest.iter().position(|&next| next == quote) else {
                return Err(self.wrong("this quote has no end"));
            };
            self.at += length + 2;
            let name = rest[..length].iter().collect();
            return Ok(Name { name, is_quoted: true, of: Of::Column, at });
        }
        // A minus belongs to a name between two of its characters: `cache-misses`.
        let after = |place: usize| self.text.get(place + 1).copied();
        let goes_on = |(place, next): (usize, char)| {
            is_of_name(next) || next == '-' && after(place).is_some_and(is_of_name)
        };
        let mut places = self.text.iter().copied().enumerate().skip(at);
        let end = places.find(|&place| !goes_on(place)).map_or(self.text.len(), |(end, _)| end);
        let name = self.text[at..end].iter().collect();
        self.at = end;
        Ok(Name { name, is_quoted: false, of: Of::Column, at })
    }

    /// `as percent` behind the formula.
    fn percent(&mut self) -> Result<bool, Problem> {
        self.space();
        let start = self.at;
        if !self.next().is_some_and(begins_name) || self.name()?.name != "as" {
            self.at = start;
            return Ok(false);
        }
        self.space();
        let start = self.at;
        if self.next().is_some_and(begins_name) && self.name()?.name == "percent" {
            return Ok(true);
        }
        self.at = start;
        Err(self.wrong("expected `percent`"))
    }
}

fn begins_name(character: char) -> bool {
    character.is_alphabetic() || character == '_'
}

fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | ':' | '.')
}

fn is_quote(character: char) -> bool {
    matches!(character, '"' | '\'')
}
